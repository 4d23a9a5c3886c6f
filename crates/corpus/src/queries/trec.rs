//! TREC topics.

use toller_files::InputReader;
use toller_ir::{Query, Setting};

use crate::ColumnNames;
use crate::error::{BadKind, CorpusError, excerpt};
use crate::queries::sink::QuerySink;
use crate::text::{
    Element, ElementReader, GivenElements, LineReader, collapse, field_text, has_tags, plain_text,
    text_outside,
};

/// The labels that the classical topics put before their fields.
const LABELS: &[(&str, &str)] = &[
    ("num", "Number:"),
    ("number", "Number:"),
    ("dom", "Domain:"),
    ("title", "Topic:"),
    ("query", "Topic:"),
    ("desc", "Description:"),
    ("smry", "Summary:"),
    ("narr", "Narrative:"),
    ("con", "Concept(s):"),
    ("fac", "Factor(s):"),
    ("def", "Definition(s):"),
];

/// Reads `<top>`, `<topic>` and `<doc>` elements. The identifier is `<num>` (after "Number:"), the attribute
/// `number` or `<docno>`. The text is `<title>` or `<query>` (after "Topic:"), otherwise `<desc>` (after
/// "Description:"), and otherwise everything in a `<doc>` except its number, or in an element that holds no
/// others. A user may name other elements.
pub(crate) fn read_topics(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let files = reader.input().to_string();
    let mut elements =
        ElementReader::new(LineReader::new(reader, max_bytes), &["top", "topic", "doc"], max_bytes);
    let text = columns.text.as_ref().map(|names| GivenElements::new(Setting::TextColumn, names));
    let mut names = TopicNames { id: columns.id.as_deref(), text };
    loop {
        match elements.next() {
            Ok(None) => break,
            Ok(Some(topic)) => {
                let query = names.query(&topic).map_err(|(found, expected)| {
                    elements.lines().bad_at(topic.line, BadKind::MissingField, found, expected)
                });
                sink.take(elements.lines().place_of(topic.line), query)?;
            }
            Err(error) => sink.take(elements.lines().place(), Err(error))?,
        }
    }
    match names.text.iter().flat_map(GivenElements::unseen).next() {
        None => Ok(()),
        Some((setting, name)) => {
            let (name, found) = (name.to_owned(), String::new());
            Err(CorpusError::NoSuchName { files, setting, name, found })
        }
    }
}

/// The names of elements that a user gave.
struct TopicNames<'a> {
    id: Option<&'a str>,
    text: Option<GivenElements>,
}

impl TopicNames<'_> {
    /// The query of a topic; or what is missing, and what is expected.
    fn query(&mut self, topic: &Element) -> Result<Query, (String, String)> {
        let field = |names: &[&str]| {
            names.iter().find_map(|name| Some(plain(name, &field_text(&topic.body, &[name])?)))
        };
        let missing = |what: &str| format!("no {what} in {}", excerpt(topic.body.trim().as_bytes()));
        let id = match self.id {
            Some(name) => field(&[name])
                .or_else(|| attribute(&topic.attributes, name))
                .ok_or_else(|| (missing("number"), format!("<{name}> or the attribute {name}")))?,
            None => field(&["num", "number"])
                .or_else(|| attribute(&topic.attributes, "number"))
                .or_else(|| field(&["docno"]))
                .ok_or_else(|| (missing("number"), "<num>, the attribute number or <docno>".to_owned()))?,
        };
        let is_all_text = topic.name == "doc" || !has_tags(&topic.body);
        let rest = || is_all_text.then(|| collapse(&text_outside(&topic.body, &["docno"])));
        let text = match &mut self.text {
            Some(names) => {
                let found: Vec<_> = names.of(&topic.body);
                let texts: Vec<_> = found.iter().map(|(name, content)| plain(name, content)).collect();
                let text = Some(texts.join(" ")).filter(|_| !texts.is_empty());
                text.ok_or_else(|| (missing("text"), names.tags()))?
            }
            None => field(&["title", "query"])
                .or_else(|| field(&["desc"]))
                .or_else(rest)
                .ok_or_else(|| (missing("title"), "<title>, <query> or <desc>".to_owned()))?,
        };
        Ok(Query { id, text, answers: Vec::new() })
    }
}

/// The plain text of the element `name`, without its label.
fn plain(name: &str, content: &str) -> String {
    let label = LABELS.iter().find(|(of, _)| of.eq_ignore_ascii_case(name)).map_or("", |(_, label)| label);
    collapse(without_label(plain_text(content).trim(), label))
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
