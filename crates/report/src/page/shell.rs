//! What every page has: one file that needs neither a server nor the network.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::text::Plain;

/// The style of every page. A server that shows pages of its own next to these gives them the same look.
pub const STYLE: &str = include_str!("page.css");

/// What wrote every page, as it says itself.
pub const GENERATOR: &str = "Toller";

const COMMON: &str = include_str!("common.js");

/// A page with its own scripts after the common one. Pages with the same `key` share what is filled in.
pub(super) fn page(title: &str, key: &str, scripts: &[&str], body: &Markup) -> String {
    let script = joined(scripts);
    // Nothing is loaded from elsewhere, and no other script or style counts, whatever a text says.
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        source(STYLE),
        source(&script)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ (GENERATOR) " " (env!("CARGO_PKG_VERSION")) };
                title { (Plain(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body data-key=(key) {
                (body)
                script { (PreEscaped(script)) }
            }
        }
    };
    page.into_string()
}

/// The one script of a page.
fn joined(scripts: &[&str]) -> String {
    format!("(() => {{\n\"use strict\";\n{COMMON}{}}})();\n", scripts.concat())
}

/// An inline style or script, as a Content-Security-Policy allows it.
fn source(content: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)))
}

/// What a Content-Security-Policy has to allow, for a page that shows these pages in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSources {
    /// For `style-src`.
    pub styles: String,
    /// For `script-src`.
    pub scripts: String,
}

impl FrameSources {
    /// Of the pages that have these scripts.
    pub(super) fn of(pages: &[&[&str]]) -> Self {
        let scripts: Vec<String> = pages.iter().map(|scripts| source(&joined(scripts))).collect();
        Self { styles: source(STYLE), scripts: scripts.join(" ") }
    }
}
