//! What every page has: one file that needs neither a server nor the network.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::text::Plain;

const STYLE: &str = include_str!("page.css");
const COMMON: &str = include_str!("common.js");

/// Nothing is loaded from elsewhere, whatever a text says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A page with its own scripts after the common one. Pages with the same `key` share what is filled in.
pub(super) fn page(title: &str, key: &str, scripts: &[&str], body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "Toller " (env!("CARGO_PKG_VERSION")) };
                title { (Plain(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body data-key=(key) {
                (body)
                script {
                    (PreEscaped("(() => {\n\"use strict\";\n"))
                    (PreEscaped(COMMON))
                    @for script in scripts { (PreEscaped(script)) }
                    (PreEscaped("})();\n"))
                }
            }
        }
    };
    page.into_string()
}
