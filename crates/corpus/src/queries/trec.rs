//! TREC topics.

use toller_files::InputReader;
use toller_ir::Query;

use crate::error::{BadKind, CorpusError, excerpt};
use crate::queries::sink::QuerySink;
use crate::text::{Element, ElementReader, LineReader, collapse, field_text, plain_text, text_outside};

/// Reads `<top>`, `<topic>` and `<doc>` elements. The identifier is `<num>` (after "Number:"), the attribute
/// `number` or `<docno>`. The text is `<title>` or `<query>` (after "Topic:"), otherwise `<desc>` (after
/// "Description:"), and otherwise everything in a `<doc>` except its number.
pub(crate) fn read_topics(
    reader: InputReader,
    max_bytes: usize,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut elements =
        ElementReader::new(LineReader::new(reader, max_bytes), &["top", "topic", "doc"], max_bytes);
    loop {
        match elements.next() {
            Ok(None) => return Ok(()),
            Ok(Some(topic)) => {
                let query = parse(&topic).map_err(|(found, expected)| {
                    elements.lines().bad_at(topic.line, BadKind::MissingField, found, expected)
                });
                sink.take(elements.lines().place_of(topic.line), query)?;
            }
            Err(error) => sink.take(elements.lines().place(), Err(error))?,
        }
    }
}

fn parse(topic: &Element) -> Result<Query, (String, &'static str)> {
    let field = |names: &[&'static str], label: &str| {
        field_text(&topic.body, names).map(|text| collapse(without_label(plain_text(&text).trim(), label)))
    };
    let missing = |what: &str| format!("no {what} in {}", excerpt(topic.body.trim().as_bytes()));
    let id = field(&["num", "number"], "Number:")
        .or_else(|| attribute(&topic.attributes, "number"))
        .or_else(|| field(&["docno"], ""))
        .ok_or_else(|| (missing("number"), "<num>, the attribute number or <docno>"))?;
    let rest = || Some(collapse(&text_outside(&topic.body, &["docno"]))).filter(|_| topic.name == "doc");
    let text = field(&["title", "query"], "Topic:")
        .or_else(|| field(&["desc"], "Description:"))
        .or_else(rest)
        .ok_or_else(|| (missing("title"), "<title>, <query> or <desc>"))?;
    Ok(Query { id, text, answers: Vec::new() })
}

/// `text` without the label that the classical topics put before a field.
fn without_label<'a>(text: &'a str, label: &str) -> &'a str {
    match text.get(..label.len()) {
        Some(start) if start.eq_ignore_ascii_case(label) => text.get(label.len()..).unwrap_or_default(),
        _ => text,
    }
}

/// The value of `name="value"` (or with single quotes) among the attributes of a tag.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, after) = after.get(1..)?.split_once(quote)?;
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(plain_text(value).trim().to_owned());
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::attribute;

    #[test]
    fn attributes_have_either_quote() {
        let attributes = r#" type = 'faceted' number="12" "#;
        assert_eq!(attribute(attributes, "number").as_deref(), Some("12"));
        assert_eq!(attribute(attributes, "type").as_deref(), Some("faceted"));
        assert_eq!(attribute(attributes, "id"), None);
        assert_eq!(attribute(" number=1", "number"), None);
    }
}
