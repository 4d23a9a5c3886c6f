//! The OpenAPI document.

use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Components, OpenApi as Described, PathItem, RefOr};

/// What the document says before its routes.
#[derive(OpenApi)]
#[openapi(info(
    title = "Toller",
    description = "Vectors, scores and searches, with the bits of the command line."
))]
pub(super) struct Document;

/// Adds what the routes leave open: what they answer, which other names they have, and which keys they take
/// if there are any.
pub(super) fn complete(document: &mut Described, aliases: &[(&str, &str)], has_keys: bool) {
    document.paths.paths.values_mut().flat_map(operations).for_each(describe_answers);
    for (alias, route) in aliases {
        describe_alias(document, alias, route);
    }
    let header = |name| SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(name)));
    let schemes = [
        ("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer))),
        ("x-api-key", header("X-API-Key")),
        ("api-key", header("api-key")),
    ];
    let required = |(name, _): &(&str, _)| SecurityRequirement::new(*name, [""; 0]);
    document.security = has_keys.then(|| schemes.iter().map(required).collect());
    document.components.get_or_insert_with(Components::new).add_security_schemes_from_iter(schemes);
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post].into_iter().flatten()
}

/// Each response needs a description. A route's own answer is what its summary says.
fn describe_answers(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = operation.summary.clone().unwrap_or_default();
        }
    }
}

/// Adds that `alias` is another name of `route`.
fn describe_alias(document: &mut Described, alias: &str, route: &str) {
    let Some(mut item) = document.paths.paths.get(route).cloned() else { return };
    for operation in operations(&mut item) {
        // An id names one operation.
        operation.operation_id = None;
        operation.summary = Some(format!("The same as {route}"));
    }
    document.paths.paths.insert(alias.to_owned(), item);
}
