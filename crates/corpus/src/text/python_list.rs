//! Lists of strings as Python prints them: the answers in DPR's question files.

/// Parses a Python list of string literals, `['a', "b's"]`, as `repr` writes it; JSON lists of strings are
/// such lists too. `None` for anything else.
pub(crate) fn parse_string_list(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim().strip_prefix('[')?.trim_start();
    let mut items = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            return after.trim().is_empty().then_some(items);
        }
        let (item, after) = string_literal(rest)?;
        items.push(item);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with(']') => {}
            None => return None,
        }
    }
}

/// One string literal at the start of `text`, and what follows it.
fn string_literal(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('u').unwrap_or(text);
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    let mut chars = text.get(1..)?.char_indices();
    let mut value = String::new();
    while let Some((at, char)) = chars.next() {
        if char == quote {
            return Some((value, text.get(1 + at + 1..)?));
        }
        if char != '\\' {
            value.push(char);
            continue;
        }
        let (_, escape) = chars.next()?;
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        match escape {
            'n' => value.push('\n'),
            't' => value.push('\t'),
            'r' => value.push('\r'),
            '\\' | '\'' | '"' | '/' => value.push(escape),
            _ if digits > 0 => {
                let mut code = 0;
                for _ in 0..digits {
                    code = code * 16 + chars.next()?.1.to_digit(16)?;
                }
                value.push(char::from_u32(code)?);
            }
            // Python leaves an unknown escape as it is.
            _ => value.extend(['\\', escape]),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parse_string_list;

    #[test]
    fn literals_with_either_quote() {
        let parse = |text| parse_string_list(text).unwrap_or_else(|| vec!["none".to_owned()]);
        assert_eq!(parse("['Wilhelm Conrad Röntgen']"), ["Wilhelm Conrad Röntgen"]);
        assert_eq!(
            parse(r#"["Children 's novel", 'Graphic Novel' ,]"#),
            ["Children 's novel", "Graphic Novel"]
        );
        assert_eq!(
            parse(r"['it\'s', 'a\\b', '\xe9\u4e2d\U0001f600', '\d']"),
            ["it's", "a\\b", "é中😀", "\\d"]
        );
        assert_eq!(parse(" [ ] "), [""; 0]);
    }

    #[test]
    fn what_is_no_list_of_strings_is_none() {
        let bad = [
            "", "[", "['a'", "['a' 'b']", "['a'] x", "[1]", "['a', None]", r"['\x4']", "['a", "[,]",
            r"['\ud800']",
        ];
        for text in bad {
            assert_eq!(parse_string_list(text), None, "{text}");
        }
    }
}
