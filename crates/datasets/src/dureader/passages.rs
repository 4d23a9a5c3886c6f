//! Passages of about equal length (DuReader-retrieval, section 2.2).

/// A passage of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedPassage {
    /// The paragraphs' texts, one after the other.
    pub text: String,
    /// Whether one of its paragraphs is positive.
    pub positive: bool,
}

/// Joins the paragraphs of a document, each with whether it is positive:
///
/// - A document of less than `length` characters is one passage.
/// - In any other, a paragraph of less than `length` characters is joined with the next ones until the
///   passage exceeds `length`. What is left at the end is a passage, too.
#[must_use]
pub fn join_paragraphs(paragraphs: &[(&str, bool)], length: usize) -> Vec<JoinedPassage> {
    let characters = |text: &str| text.chars().count();
    let is_short = paragraphs.iter().map(|(text, _)| characters(text)).sum::<usize>() < length;
    let mut passages: Vec<JoinedPassage> = Vec::new();
    // Whether the last passage takes more.
    let mut is_open = false;
    for (text, positive) in paragraphs {
        if let Some(last) = passages.last_mut().filter(|_| is_open) {
            last.text.push_str(text);
            last.positive |= positive;
            is_open = is_short || characters(&last.text) <= length;
        } else {
            passages.push(JoinedPassage { text: (*text).to_owned(), positive: *positive });
            is_open = is_short || characters(text) < length;
        }
    }
    passages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{JoinedPassage, join_paragraphs};

    #[test]
    fn lengths_at_the_limit() {
        let joined = |lengths: &[usize]| -> Vec<usize> {
            let texts: Vec<String> = lengths.iter().map(|length| "字".repeat(*length)).collect();
            let paragraphs: Vec<(&str, bool)> = texts.iter().map(|text| (text.as_str(), false)).collect();
            join_paragraphs(&paragraphs, 256).iter().map(|passage| passage.text.chars().count()).collect()
        };
        assert_eq!(joined(&[100, 100, 55]), [255]);
        assert_eq!(joined(&[100, 156]), [256]);
        assert_eq!(joined(&[100, 156, 1, 9]), [257, 9]);
        assert_eq!(joined(&[255, 300, 256, 10, 20]), [555, 256, 30]);
        assert_eq!(joined(&[]), [0; 0]);
    }

    /// The rule as prose: a list of lists of paragraphs.
    fn slow(paragraphs: &[(&str, bool)], length: usize) -> Vec<JoinedPassage> {
        let size = |group: &[(&str, bool)]| group.iter().map(|(text, _)| text.chars().count()).sum::<usize>();
        let groups: Vec<Vec<(&str, bool)>> = if size(paragraphs) < length {
            if paragraphs.is_empty() { vec![] } else { vec![paragraphs.to_vec()] }
        } else {
            let (mut groups, mut at) = (Vec::new(), 0);
            while at < paragraphs.len() {
                let mut end = at + 1;
                if size(&paragraphs[at..end]) < length {
                    while end < paragraphs.len() && size(&paragraphs[at..end]) <= length {
                        end += 1;
                    }
                }
                groups.push(paragraphs[at..end].to_vec());
                at = end;
            }
            groups
        };
        let join = |group: &Vec<(&str, bool)>| JoinedPassage {
            text: group.iter().map(|(text, _)| *text).collect(),
            positive: group.iter().any(|(_, positive)| *positive),
        };
        groups.iter().map(join).collect()
    }

    proptest! {
        #[test]
        fn as_the_rule_says(
            paragraphs in prop::collection::vec(("[a-z]{0,9}", any::<bool>()), 0..9), length in 1_usize..16,
        ) {
            let paragraphs: Vec<(&str, bool)> = paragraphs.iter().map(|(text, flag)| (text.as_str(), *flag)).collect();
            prop_assert_eq!(join_paragraphs(&paragraphs, length), slow(&paragraphs, length));
        }
    }
}
