//! The notation of ir_measures: `Name(key=value,...)@number`.

use std::fmt;

use crate::error::MeasureError;
use crate::parameters::Value;

/// A measure's text, taken apart.
#[derive(Debug, PartialEq)]
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    pub(super) named: Vec<(&'a str, Value)>,
    pub(super) at: Option<&'a str>,
}

impl Parts<'_> {
    /// Whether there is a name and nothing else.
    pub(super) fn is_bare_name(&self) -> bool {
        self.named.is_empty() && self.at.is_none()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => f.write_str(text),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Map(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{key}:{value}")).collect();
                write!(f, "{{{}}}", pairs.join(","))
            }
        }
    }
}

/// Splits a list at blanks and commas outside of parentheses. A number after a comma belongs to the family
/// before it: `P.5,10` is one item.
pub(super) fn split_list(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut item = String::new();
    let mut after_comma = false;
    let mut depth = 0_usize;
    for char in text.chars().chain([' ']) {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 || !(char.is_whitespace() || char == ',') {
            item.push(char);
            continue;
        }
        if !item.is_empty() {
            let is_number = item.parse::<f64>().is_ok_and(f64::is_finite);
            match items.last_mut() {
                Some(family) if after_comma && is_number && !family.contains(['(', '@']) => {
                    family.push(',');
                    family.push_str(&item);
                }
                _ => items.push(std::mem::take(&mut item)),
            }
            item.clear();
            after_comma = false;
        }
        after_comma |= char == ',';
    }
    if !item.trim().is_empty() {
        // An open parenthesis swallowed the blank at the end; parsing the item will say so.
        items.push(item);
    }
    items
}

/// Takes a measure's text apart.
pub(super) fn parse(text: &str) -> Result<Parts<'_>, MeasureError> {
    let mut cursor = Cursor { whole: text, rest: text };
    let name = cursor.take_while(|char| !matches!(char, '(' | ')' | '@' | '{' | '}' | '=' | '\'' | '"'));
    if name.is_empty() {
        return Err(cursor.error("a name first"));
    }
    let named = if cursor.eat('(') { cursor.named()? } else { Vec::new() };
    let at = if cursor.eat('@') { Some(cursor.number()?) } else { None };
    cursor.skip_blanks();
    if !cursor.rest.is_empty() {
        return Err(cursor.error(if at.is_some() {
            "nothing after the number"
        } else {
            "'(' or '@' after the name"
        }));
    }
    Ok(Parts { name: name.trim_end(), named, at })
}

/// A place in the text.
struct Cursor<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn error(&self, expected: &'static str) -> MeasureError {
        MeasureError::Syntax { text: self.whole.to_owned(), expected }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|char| !accept(char)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, char: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The characters of a number; the parameter checks that they are one.
    fn number(&mut self) -> Result<&'a str, MeasureError> {
        self.skip_blanks();
        let text = self.take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '+'));
        if text.is_empty() { Err(self.error("a number")) } else { Ok(text) }
    }

    /// `key=value,...)`
    fn named(&mut self) -> Result<Vec<(&'a str, Value)>, MeasureError> {
        let mut named = Vec::new();
        loop {
            if self.eat(')') {
                return Ok(named);
            }
            let key = self.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
            if key.is_empty() {
                return Err(self.error("a parameter's name or ')'"));
            }
            if !self.eat('=') {
                return Err(self.error("'=' after the parameter's name"));
            }
            named.push((key, self.value()?));
            if !self.eat(',') {
                if self.eat(')') {
                    return Ok(named);
                }
                return Err(self.error("',' or ')' after the value"));
            }
        }
    }

    fn value(&mut self) -> Result<Value, MeasureError> {
        for quote in ['\'', '"'] {
            if self.eat(quote) {
                let text = self.take_while(|char| char != quote);
                return if self.eat(quote) {
                    Ok(Value::Text(text.to_owned()))
                } else {
                    Err(self.error("a closing quote"))
                };
            }
        }
        if self.eat('{') {
            return self.map();
        }
        Ok(match self.number()? {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            // Shells take quotes away.
            text if text.starts_with(|char: char| char.is_ascii_alphabetic()) => Value::Text(text.to_owned()),
            text => Value::Number(text.to_owned()),
        })
    }

    /// `key:value,...}`
    fn map(&mut self) -> Result<Value, MeasureError> {
        let mut pairs = Vec::new();
        loop {
            if self.eat('}') {
                return Ok(Value::Map(pairs));
            }
            let key = self.number()?.to_owned();
            if !self.eat(':') {
                return Err(self.error("':' after the grade"));
            }
            pairs.push((key, self.number()?.to_owned()));
            if !self.eat(',') {
                if self.eat('}') {
                    return Ok(Value::Map(pairs));
                }
                return Err(self.error("',' or '}' after the gain"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_list;

    #[test]
    fn lists_split_outside_of_parentheses() {
        let split = |text: &str| split_list(text).join("|");
        assert_eq!(split("nDCG@10 RR@10,R@100"), "nDCG@10|RR@10|R@100");
        assert_eq!(
            split(" nDCG(gains={1:1, 2:3}, dcg='log2')@5 , AP\n"),
            "nDCG(gains={1:1, 2:3}, dcg='log2')@5|AP"
        );
        assert_eq!(split("P.5,10,15 recip_rank"), "P.5,10,15|recip_rank");
        assert_eq!(split("P_5, recall.5,10"), "P_5|recall.5,10");
        assert_eq!(split("P@5,10"), "P@5|10");
        assert_eq!(split(", ,"), "");
        assert_eq!(split("AP(rel=2"), "AP(rel=2 ");
    }
}
