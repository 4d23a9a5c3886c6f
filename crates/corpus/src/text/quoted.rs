//! Rows with quoted fields, as Python's csv module writes them (dialects excel and excel-tab).

use crate::error::{BadKind, CorpusError, excerpt};
use crate::text::LineReader;

/// The fields of one row.
#[derive(Debug)]
pub(crate) struct QuotedRow {
    /// What separates fields.
    delimiter: char,
    /// As many fields as the widest row had; only the first `width` belong to this row.
    fields: Vec<String>,
    width: usize,
    /// The line on which the row begins.
    pub(crate) line: u64,
}

impl QuotedRow {
    /// For fields that are separated by `delimiter`.
    pub(crate) fn new(delimiter: char) -> Self {
        Self { delimiter, fields: Vec::new(), width: 0, line: 0 }
    }

    pub(crate) fn delimiter(&self) -> char {
        self.delimiter
    }

    pub(crate) fn fields(&self) -> &[String] {
        self.fields.get(..self.width).unwrap_or_default()
    }

    /// Reads the row that begins with the current line. A quoted field may span lines.
    pub(crate) fn read(&mut self, lines: &mut LineReader) -> Result<(), CorpusError> {
        self.line = lines.line();
        let (mut state, mut bytes) = (self.begin(lines.text()), lines.text().len());
        while state == State::Quoted {
            let limit = lines.max_line_bytes();
            if bytes > limit {
                return Err(self.endless(lines, BadKind::TooLong, format!("at most {limit} bytes a row")));
            }
            if !lines.advance()? {
                return Err(self.endless(lines, BadKind::Malformed, "a closing double quote".to_owned()));
            }
            bytes += lines.text().len() + 1;
            self.push('\n');
            state = self.scan(lines.text(), State::Quoted);
        }
        Ok(())
    }

    fn endless(&self, lines: &LineReader, kind: BadKind, expected: String) -> CorpusError {
        let field = self.fields.get(self.width).map(String::as_bytes).unwrap_or_default();
        let found = format!("a quoted field without end that begins {}", excerpt(field));
        lines.bad_at(self.line, kind, found, expected)
    }

    fn begin(&mut self, line: &str) -> State {
        self.width = 0;
        self.clear_field();
        self.scan(line, State::Start)
    }

    /// Appends the characters of a line to the fields. At the end the state is `Quoted` if a quoted field is
    /// still open; otherwise the row is finished.
    fn scan(&mut self, mut rest: &str, mut state: State) -> State {
        loop {
            let found = match state {
                State::Quoted => rest.find('"'),
                // A quote opens a field only as its first character.
                State::Start if rest.starts_with('"') => Some(0),
                State::Start | State::Bare => rest.find(self.delimiter),
            };
            let Some(at) = found else {
                self.push_str(rest);
                if state != State::Quoted {
                    self.width += 1;
                }
                return state;
            };
            self.push_str(rest.get(..at).unwrap_or_default());
            let stopped_by = rest.as_bytes().get(at).copied();
            rest = rest.get(at + 1..).unwrap_or_default();
            state = match (state, stopped_by) {
                (State::Quoted, _) if rest.starts_with('"') => {
                    self.push('"');
                    rest = rest.get(1..).unwrap_or_default();
                    State::Quoted
                }
                // Text after a closing quote belongs to the field, as in Python.
                (State::Quoted, _) => State::Bare,
                (State::Start, Some(b'"')) => State::Quoted,
                _ => {
                    self.width += 1;
                    self.clear_field();
                    State::Start
                }
            };
        }
    }

    /// Empties the field that is being filled, or makes it.
    fn clear_field(&mut self) {
        match self.fields.get_mut(self.width) {
            Some(field) => field.clear(),
            None => self.fields.push(String::new()),
        }
    }

    fn push(&mut self, char: char) {
        if let Some(field) = self.fields.get_mut(self.width) {
            field.push(char);
        }
    }

    fn push_str(&mut self, text: &str) {
        if let Some(field) = self.fields.get_mut(self.width) {
            field.push_str(text);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a field.
    Start,
    /// Inside double quotes.
    Quoted,
    /// In a field, outside quotes.
    Bare,
}

/// The fields of a row on one line, or `None` if a quoted field does not end on it.
pub(crate) fn parse_quoted(line: &str, delimiter: char) -> Option<Vec<String>> {
    let mut row = QuotedRow::new(delimiter);
    let state = row.begin(line);
    row.fields.truncate(row.width);
    (state != State::Quoted).then_some(row.fields)
}

#[cfg(test)]
mod tests {
    use super::parse_quoted;

    #[test]
    fn quotes_are_read_as_python_reads_them() {
        let parse = |text| parse_quoted(text, '\t').unwrap_or_default();
        assert_eq!(parse("1\t\"Aaron (\"\"Ahärôn\"\") is\"\tAaron"), ["1", "Aaron (\"Ahärôn\") is", "Aaron"]);
        assert_eq!(parse("1\ta \"b\" c\t"), ["1", "a \"b\" c", ""]);
        assert_eq!(parse("\"\"\tx"), ["", "x"]);
        assert_eq!(parse("\"a\"b\"c\tx"), ["ab\"c", "x"], "what follows the closing quote is literal");
        assert_eq!(parse("\"a\tb\""), ["a\tb"]);
        assert_eq!(parse(""), [""]);
        assert_eq!(parse("\t"), ["", ""]);
        let commas = parse_quoted("1,\"a, b\",c\td", ',');
        assert_eq!(commas.unwrap_or_default(), ["1", "a, b", "c\td"]);
        assert_eq!(parse_quoted("\"open", '\t'), None);
        assert_eq!(parse_quoted("\"open\"\"", '\t'), None);
    }
}
