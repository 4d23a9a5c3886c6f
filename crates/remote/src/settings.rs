//! Settings that `object_store` takes as they are: it panics because of some when the first request is made, and
//! names none.

use ureq::http::Uri;

use crate::RemoteError;
use crate::url::Scheme;

/// The variables with which tools of a provider are set up, without empty ones. They are checked as far as a
/// mistake in them would not be explained.
pub(crate) fn of_provider(
    scheme: Scheme,
    variables: &[(String, String)],
) -> Result<Vec<(&str, &str)>, RemoteError> {
    let prefix = match scheme {
        Scheme::S3 => "AWS_",
        Scheme::Gs => "GOOGLE_",
        Scheme::Az => "AZURE_",
    };
    let own = variables.iter().map(|(name, value)| (&**name, &**value));
    let own: Vec<_> = own.filter(|(name, value)| name.starts_with(prefix) && !value.is_empty()).collect();
    for (name, value) in &own {
        let wrong = |problem: String| RemoteError::Setting { name: (*name).to_owned(), problem };
        if value.contains(char::is_control) {
            return Err(wrong("has a line break or another control character".to_owned()));
        }
        if name.contains("ENDPOINT") && !is_server(value) {
            return Err(wrong(format!("is {value:?}; expected an address such as https://server:9000")));
        }
        if *name == "GOOGLE_APPLICATION_CREDENTIALS" {
            std::fs::File::open(value).map_err(|error| wrong(format!("names {value:?}: {error}")))?;
        }
    }
    Ok(own)
}

/// Whether a text is the address of a server.
fn is_server(text: &str) -> bool {
    let address = text.parse::<Uri>().ok();
    address.is_some_and(|address| {
        matches!(address.scheme_str(), Some("http" | "https"))
            && address.host().is_some_and(|host| !host.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::of_provider;
    use crate::RemoteError;
    use crate::url::Scheme;

    #[test]
    fn mistakes_are_named() {
        let with = |name: &str, value: &str| {
            of_provider(Scheme::S3, &[(name.to_owned(), value.to_owned())]).map(|own| own.len())
        };
        for right in ["http://127.0.0.1:9", "https://minio.example", "http://[::1]:9000/path"] {
            assert_eq!(with("AWS_ENDPOINT_URL", right), Ok(1), "{right}");
        }
        for wrong in
            ["127.0.0.1:9", "http://", "http://[::1", "not a url", "http://127.0.0.1:9/a b", "ftp://x"]
        {
            let refused = with("AWS_ENDPOINT_URL", wrong);
            assert!(
                matches!(&refused, Err(RemoteError::Setting { name, .. }) if name == "AWS_ENDPOINT_URL"),
                "{wrong}"
            );
        }
        assert!(with("AWS_ACCESS_KEY_ID", "a\nb").is_err());
        assert_eq!(with("AWS_ENDPOINT_URL", ""), Ok(0));
        assert_eq!(with("AZURE_ENDPOINT", "not a url"), Ok(0));
    }
}
