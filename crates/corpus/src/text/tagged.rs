//! Records between tags, `<doc>...</doc>` and `<top>...</top>`, in TREC's SGML and in XML.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{BadKind, CorpusError, excerpt};
use crate::text::LineReader;

/// A record between its tags.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The one of the reader's names that its tags have.
    pub(crate) name: &'static str,
    /// The line of its opening tag.
    pub(crate) line: u64,
    /// The attributes of its opening tag, as written.
    pub(crate) attributes: String,
    /// The text between the tags.
    pub(crate) body: String,
}

/// Reads the elements with one of `names` one by one. An XML declaration, a root element and comments around
/// them are ignored; text between them is a bad record.
pub(crate) struct ElementReader {
    lines: LineReader,
    names: &'static [&'static str],
    /// How much of the current line is used. It stays where it is, so that a line of many elements takes no
    /// more time than several lines.
    start: usize,
    max_bytes: usize,
}

impl ElementReader {
    pub(crate) fn new(lines: LineReader, names: &'static [&'static str], max_bytes: usize) -> Self {
        Self { lines, names, start: 0, max_bytes }
    }

    pub(crate) fn lines(&self) -> &LineReader {
        &self.lines
    }

    pub(crate) fn next(&mut self) -> Result<Option<Element>, CorpusError> {
        loop {
            let line = self.lines.text();
            let tag = find_first(line, self.names, self.start, |closes| !closes);
            let end = tag.as_ref().map_or(line.len(), |tag| tag.range.start);
            let outside = self.check_outside(line.get(self.start..end).unwrap_or_default().trim());
            // Text before the element is an error; the element itself is returned by the next call.
            self.start = end;
            outside?;
            if let Some(Tag { name, range, attributes, .. }) = tag {
                let attributes = line.get(attributes).unwrap_or_default().to_owned();
                self.start = range.end;
                return self.body(name, attributes).map(Some);
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }

    /// Reads on to the closing tag.
    fn body(&mut self, name: &'static str, attributes: String) -> Result<Element, CorpusError> {
        let line = self.lines.line();
        let mut body = String::new();
        loop {
            let rest = self.lines.text();
            let tag = find_first(rest, &[name], self.start, |_| true);
            let end = tag.as_ref().map_or(rest.len(), |tag| tag.range.start);
            body.push_str(rest.get(self.start..end).unwrap_or_default());
            match tag {
                Some(tag) if tag.closes => {
                    self.start = tag.range.end;
                    return Ok(Element { name, line, attributes, body });
                }
                Some(_) => {
                    self.start = end;
                    let found = format!("another <{name}> on line {}", self.lines.line());
                    return Err(self.lines.bad_at(line, BadKind::Malformed, found, format!("</{name}>")));
                }
                None => self.start = end,
            }
            if body.len() > self.max_bytes {
                let found = format!("a longer <{name}> that begins {}", excerpt(body.as_bytes()));
                let expected = format!("at most {} bytes a record", self.max_bytes);
                return Err(self.lines.bad_at(line, BadKind::TooLong, found, expected));
            }
            if !self.advance()? {
                let found = "the end of the file";
                return Err(self.lines.bad_at(line, BadKind::Malformed, found, format!("</{name}>")));
            }
            body.push('\n');
        }
    }

    /// Moves to the next line. Returns false at the end of the file.
    fn advance(&mut self) -> Result<bool, CorpusError> {
        self.start = 0;
        self.lines.advance()
    }

    fn check_outside(&self, outside: &str) -> Result<(), CorpusError> {
        if outside.is_empty() || outside.starts_with('<') {
            return Ok(());
        }
        let expected = format!("<{}>", self.names.join("> or <"));
        Err(self.lines.bad(BadKind::Malformed, excerpt(outside.as_bytes()), expected))
    }
}

struct Tag<'n> {
    name: &'n str,
    /// Whether it is `</name>`.
    closes: bool,
    /// The whole tag.
    range: Range<usize>,
    /// The text between the name and the `>`.
    attributes: Range<usize>,
}

/// The first opening tag `<name ...>` at or after `from`, whatever its case.
fn find_tag<'n>(text: &str, name: &'n str, from: usize) -> Option<Tag<'n>> {
    find_first(text, &[name], from, |closes| !closes)
}

/// The first closing tag `</name>` at or after `from`, whatever its case.
fn find_closing_tag(text: &str, name: &str, from: usize) -> Option<Range<usize>> {
    find_first(text, &[name], from, |closes| closes).map(|tag| tag.range)
}

/// The first tag at or after `from` with one of `names`, whatever its case; `is_wanted` says whether closing
/// tags, and whether others, are meant.
fn find_first<'n>(
    text: &str,
    names: &[&'n str],
    from: usize,
    is_wanted: impl Fn(bool) -> bool,
) -> Option<Tag<'n>> {
    let bytes = text.as_bytes();
    for offset in memchr::memchr_iter(b'<', bytes.get(from..)?) {
        let start = from + offset;
        let closes = bytes.get(start + 1) == Some(&b'/');
        if !is_wanted(closes) {
            continue;
        }
        let name_start = start + 1 + usize::from(closes);
        let ends = |next: &u8| *next == b'>' || next.is_ascii_whitespace();
        let is_here = |name: &&str| {
            let name_end = name_start + name.len();
            let found = bytes.get(name_start..name_end).unwrap_or_default();
            found.eq_ignore_ascii_case(name.as_bytes()) && bytes.get(name_end).is_some_and(ends)
        };
        if let Some(name) = names.iter().copied().find(is_here) {
            let name_end = name_start + name.len();
            let close = name_end + memchr::memchr(b'>', bytes.get(name_end..)?)?;
            return Some(Tag { name, closes, range: start..close + 1, attributes: name_end..close });
        }
    }
    None
}

/// The content of every element of `body` with the first of `names` that it has, joined by line breaks;
/// `None` if there is no such element.
pub(crate) fn field_text<'a>(body: &'a str, names: &[&str]) -> Option<Cow<'a, str>> {
    names
        .iter()
        .find_map(|name| joined(fields(body, name).map(|(_, content)| body.get(content).unwrap_or_default())))
}

/// The contents, joined by line breaks; `None` if there are none.
pub(crate) fn joined<'a>(contents: impl IntoIterator<Item = &'a str>) -> Option<Cow<'a, str>> {
    let mut contents = contents.into_iter();
    let first = Cow::Borrowed(contents.next()?);
    Some(contents.fold(first, |mut earlier, content| {
        let text = earlier.to_mut();
        text.push('\n');
        text.push_str(content);
        earlier
    }))
}

/// The elements of `body` with one of `names`, in the order of the document: the name, and the content. Of
/// elements that overlap, the one whose name comes first counts.
pub(crate) fn elements<'a, 'n>(body: &'a str, names: &[&'n str]) -> Vec<(&'n str, &'a str)> {
    // The end, the name and the content of each, by where it begins.
    let mut found: BTreeMap<usize, (usize, &'n str, &'a str)> = BTreeMap::new();
    for name in names {
        for (element, content) in fields(body, name) {
            let before = found.range(..element.end).next_back();
            if before.is_none_or(|(_, (end, ..))| *end <= element.start) {
                let content = body.get(content).unwrap_or_default();
                found.insert(element.start, (element.end, *name, content));
            }
        }
    }
    found.into_values().map(|(_, name, content)| (name, content)).collect()
}

/// The plain text of `body` outside the elements with one of `names`.
pub(crate) fn text_outside(body: &str, names: &[&str]) -> String {
    let mut elements: Vec<_> = names.iter().flat_map(|name| fields(body, name)).collect();
    elements.sort_unstable_by_key(|(element, _)| element.start);
    let mut markup = String::with_capacity(body.len());
    let mut end = 0;
    for (element, _) in elements {
        // Nothing for an element inside the last one.
        markup.push_str(body.get(end..element.start).unwrap_or_default());
        end = end.max(element.end);
    }
    markup.push_str(body.get(end..).unwrap_or_default());
    plain_text(&markup).trim().to_owned()
}

/// Where the elements of `body` with this name are, and where the content of each is. An element without a
/// closing tag ends at the next tag, as in the classical topics.
fn fields(body: &str, name: &str) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let (mut from, mut may_close) = (0, true);
    std::iter::from_fn(move || {
        let tag = find_tag(body, name, from)?.range;
        // After a tag that nothing closes, nothing closes the later ones: it is not looked for again.
        let close = if may_close { find_closing_tag(body, name, tag.end) } else { None };
        may_close = close.is_some();
        let close = close.unwrap_or_else(|| {
            let end = next_tag(body, tag.end);
            end..end
        });
        from = close.end;
        Some((tag.start..close.end, tag.end..close.start))
    })
}

/// Whether there is any element in `body`.
pub(crate) fn has_tags(body: &str) -> bool {
    next_tag(body, 0) < body.len()
}

/// Where the next tag begins: `<` and a letter or a slash.
fn next_tag(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes.get(from..).unwrap_or_default())
        .map(|offset| from + offset)
        .find(|at| bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'/'))
        .unwrap_or(bytes.len())
}

/// The text of `markup`: tags and comments become spaces, CDATA sections are taken as they are, the five
/// entities of XML and numeric references are decoded, and other entities stay as they are.
pub(crate) fn plain_text(markup: &str) -> String {
    let mut text = String::with_capacity(markup.len());
    let mut rest = markup;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, special) = rest.split_at(at);
        text.push_str(before);
        let (replacement, length) =
            if special.starts_with('&') { entity(special) } else { markup_piece(special) };
        text.push_str(&replacement);
        rest = special.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The replacement of the markup at the start of `text` (which begins with `<`), and its length.
fn markup_piece(text: &str) -> (Cow<'_, str>, usize) {
    if let Some(section) = text.strip_prefix("<![CDATA[") {
        let length = section.find("]]>").unwrap_or(section.len());
        let content = section.get(..length).unwrap_or_default();
        return (Cow::Borrowed(content), "<![CDATA[".len() + length + "]]>".len());
    }
    let end = if text.starts_with("<!--") { "-->" } else { ">" };
    let is_tag =
        text.as_bytes().get(1).is_some_and(|next| next.is_ascii_alphabetic() || b"/!?".contains(next));
    match text.find(end).filter(|_| is_tag) {
        Some(at) => (Cow::Borrowed(" "), at + end.len()),
        None => (Cow::Borrowed("<"), 1),
    }
}

/// The character of the entity at the start of `text` (which begins with `&`), and its length.
fn entity(text: &str) -> (Cow<'_, str>, usize) {
    const LONGEST: usize = 10;
    let literal = (Cow::Borrowed("&"), 1);
    let Some(end) = text.bytes().take(LONGEST + 1).position(|byte| byte == b';') else { return literal };
    let name = text.get(1..end).unwrap_or_default();
    let numeric = |digits: &str, radix| {
        u32::from_str_radix(digits, radix)
            .ok()
            .and_then(char::from_u32)
            .map(|char| Cow::Owned(char.to_string()))
    };
    let decoded = match name {
        "amp" => Some(Cow::Borrowed("&")),
        "lt" => Some(Cow::Borrowed("<")),
        "gt" => Some(Cow::Borrowed(">")),
        "quot" => Some(Cow::Borrowed("\"")),
        "apos" => Some(Cow::Borrowed("'")),
        _ => match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
            Some(hex) => numeric(hex, 16),
            None => name.strip_prefix('#').and_then(|decimal| numeric(decimal, 10)),
        },
    };
    decoded.map_or(literal, |decoded| (decoded, end + 1))
}

/// `text` with every run of white space replaced by one space, and trimmed.
pub(crate) fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::time::{Duration, Instant};

    use toller_files::{Input, InputReader};

    use super::{ElementReader, collapse, elements, field_text, plain_text, text_outside};
    use crate::text::LineReader;

    fn reader(text: String) -> ElementReader {
        const MAX_BYTES: usize = 1 << 26;
        let reader = InputReader::from_reader(Input::File("d".into()), Cursor::new(text.into_bytes()));
        ElementReader::new(LineReader::new(reader.unwrap(), MAX_BYTES), &["top", "doc"], MAX_BYTES)
    }

    #[test]
    fn elements_of_one_line_take_the_time_of_their_bytes() {
        const ELEMENTS: usize = 200_000;
        let begun = Instant::now();
        let mut closed = reader("<doc>a</doc>".repeat(ELEMENTS) + "\n<Doc x>b\nc</DOC>");
        let (mut count, mut last) = (0, None);
        while let Some(element) = closed.next().unwrap() {
            (count, last) = (count + 1, Some(element));
        }
        let last = last.unwrap();
        assert_eq!((count, last.line, last.body.as_str()), (ELEMENTS + 1, 2, "b\nc"));
        assert_eq!((last.name, last.attributes.as_str()), ("doc", " x"));
        let mut open = reader("<doc>".repeat(ELEMENTS));
        for _ in 0..ELEMENTS {
            assert!(open.next().is_err());
        }
        assert_eq!(open.next().unwrap(), None);
        let open = "<text>".repeat(ELEMENTS);
        assert_eq!(field_text(&open, &["text"]).map(|text| text.len()), Some(ELEMENTS - 1));
        // Minutes, if each element takes the time of the whole line.
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn fields_end_at_their_closing_tag_or_at_the_next_tag() {
        let closed = "<num> 7</num>\n<TITLE>a\nb < c</TITLE>";
        assert_eq!(field_text(closed, &["num"]).as_deref(), Some(" 7"));
        assert_eq!(field_text(closed, &["title"]).as_deref(), Some("a\nb < c"));
        let open = "<num> Number: 301\n<title> x < y\n<desc> Description:\nz\n";
        assert_eq!(field_text(open, &["title"]).as_deref(), Some(" x < y\n"));
        assert_eq!(field_text(open, &["desc"]).as_deref(), Some(" Description:\nz\n"));
        assert_eq!(field_text(open, &["headline"]), None);
        assert_eq!(field_text("<text>a</text> <text>b</text>", &["text"]).as_deref(), Some("a\nb"));
        assert_eq!(field_text("<titles>a</titles>", &["title"]), None);
    }

    #[test]
    fn elements_are_in_the_order_of_the_document() {
        let body = "<lp>a</lp><text>b <lp>c</lp></text><hl>d<date>e</date></hl><LP>f</LP>";
        let found = elements(body, &["text", "hl", "lp", "date"]);
        assert_eq!(found, [("lp", "a"), ("text", "b <lp>c</lp>"), ("hl", "d<date>e</date>"), ("lp", "f")]);
        assert_eq!(elements("<head><title>t</title></head>", &["title", "head"]), [("title", "t")]);
        assert_eq!(elements("<a>b</a>", &["b"]), []);
    }

    #[test]
    fn text_outside_of_elements_is_plain() {
        let names = ["docno", "title", "text"];
        assert_eq!(text_outside("<DOCNO>1</DOCNO>\na <b>b</b>\n<TITLE>c</TITLE> d", &names), "a  b \n d");
        assert_eq!(text_outside("a<text>b<title>c</title>d</text>e", &names), "ae");
        assert_eq!(text_outside("a<text>b<title>c</text>d</title>e", &names), "ae");
        assert_eq!(text_outside("<docno>1\n<p>a &lt; b", &names), "a < b");
        assert_eq!(text_outside("<docno>1</docno> \n", &names), "");
    }

    #[test]
    fn markup_is_not_text() {
        assert_eq!(plain_text("a<p class=\"x\">b</p><!-- <c> -->d"), "a b  d");
        assert_eq!(
            plain_text("AT&amp;T &lt;1&gt; &#233;&#x4E2D; R&D &hyph; 1 < 2"),
            "AT&T <1> é中 R&D &hyph; 1 < 2"
        );
        assert_eq!(plain_text("<![CDATA[a <b> &amp;]]>c"), "a <b> &amp;c");
        assert_eq!(plain_text("<![CDATA[open"), "open");
        assert_eq!(plain_text("&#1114112; &#xD800; & <"), "&#1114112; &#xD800; & <");
        assert_eq!(collapse(" a\r\n b\t c "), "a b c");
    }
}
