//! Writing judgments.

use std::iter;

use toller_ir::Qrels;

/// What separates the columns of judgments in TREC's format: a space, or a tab if an identifier has spaces,
/// which readers here take and trec_eval does not.
///
/// # Errors
/// The first identifier that judgments cannot hold: an empty one, one with other white space than single
/// spaces between its words, or a query's with `#` at its beginning, which makes a comment of the line.
pub fn qrels_separator(qrels: &Qrels) -> Result<char, &str> {
    let mut separator = ' ';
    for (query, judged) in qrels.iter() {
        if query.starts_with('#') {
            return Err(query);
        }
        for id in iter::once(query).chain(judged.keys().map(String::as_str)) {
            if id.split(' ').any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
                return Err(id);
            }
            if id.contains(' ') {
                separator = '\t';
            }
        }
    }
    Ok(separator)
}

#[cfg(test)]
mod tests {
    use toller_ir::Qrels;

    use super::qrels_separator;

    #[test]
    fn spaces_need_tabs() {
        let of = |query: &str, document: &str| {
            let mut qrels = Qrels::new();
            qrels.insert("q", "d", 1);
            qrels.insert(query, document, 1);
            qrels_separator(&qrels).map_err(str::to_owned)
        };
        assert_eq!(of("q", "e"), Ok(' '));
        assert_eq!((of("q", "e f"), of("q r", "e")), (Ok('\t'), Ok('\t')));
        for bad in ["", " e", "e ", "e  f", "e\tf", "e\u{a0}f"] {
            assert_eq!(of("q", bad), Err(bad.to_owned()));
        }
        assert_eq!((of("#q", "e"), of("q", "#e")), (Err("#q".to_owned()), Ok(' ')));
    }
}
