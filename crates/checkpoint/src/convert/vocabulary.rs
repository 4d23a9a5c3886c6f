//! The vocabulary: a token a line, as BERT has it, or a token, a tab and its number, as ERNIE has it.

use std::path::{Path, PathBuf};

use toller_files::FileError;

use super::ConvertError;

/// The tokens in the order of their numbers.
pub(super) struct Vocabulary {
    path: PathBuf,
    pub(super) tokens: Vec<String>,
}

impl Vocabulary {
    pub(super) fn read(path: &Path) -> Result<Self, ConvertError> {
        let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
        let tokens =
            parse(&text).map_err(|problem| ConvertError::Format { path: path.to_owned(), problem })?;
        Ok(Self { path: path.to_owned(), tokens })
    }

    /// Whether there is an embedding for every token; ERNIE has some more, for training.
    pub(super) fn check_fits(&self, embeddings: usize) -> Result<(), ConvertError> {
        if self.tokens.len() <= embeddings {
            return Ok(());
        }
        let problem =
            format!("has {} tokens, but the model has {embeddings} word embeddings", self.tokens.len());
        Err(ConvertError::Format { path: self.path.clone(), problem })
    }
}

fn parse(text: &str) -> Result<Vec<String>, String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let numbered = lines.iter().any(|line| line.contains('\t'));
    let mut tokens = vec![None; lines.len()];
    for (row, line) in lines.iter().enumerate() {
        let (token, number) = match line.rsplit_once('\t') {
            Some((token, number)) => (token, number.trim().parse().ok()),
            None => (*line, Some(row).filter(|_| !numbered)),
        };
        let place = number.and_then(|number: usize| tokens.get_mut(number)).filter(|place| place.is_none());
        let place = place.ok_or_else(|| {
            format!(
                "line {}: {line:?} is not a token with a number of its own, from 0 to {}",
                row + 1,
                lines.len() - 1
            )
        })?;
        *place = Some(token.to_owned());
    }
    let tokens: Vec<String> = tokens.into_iter().flatten().collect();
    for special in ["[CLS]", "[SEP]", "[UNK]"] {
        if !tokens.iter().any(|token| token == special) {
            return Err(format!("has no {special}"));
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::parse;

    #[test]
    fn with_and_without_numbers() {
        let expected = ["[UNK]", "[CLS]", "[SEP]", "的"];
        assert_eq!(parse("[UNK]\n[CLS]\n[SEP]\n的\n").unwrap(), expected);
        assert_eq!(parse("[UNK]\t0\r\n的\t3\r\n[SEP]\t2\r\n[CLS]\t1").unwrap(), expected);
    }

    #[test]
    fn what_is_no_vocabulary_is_an_error() {
        for text in [
            "", "a\nb\n", "[UNK]\t0\n[CLS]\t1\n[SEP]\t1\n", "[UNK]\t0\n[CLS]\t1\n[SEP]\t3\n",
            "[UNK]\t0\n[CLS]\n[SEP]\t2\n",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a\t0-3\n\r]{0,30}") {
            let _ = parse(&text);
        }
    }
}
