//! Natural Questions as a reading comprehension set (ReQA, section 3.2).

use serde::Deserialize;
use toller_files::Input;

use crate::error::DatasetError;
use crate::records::{Id, for_each_record};
use crate::squad::{Squad, SquadAnswer, SquadArticle, SquadParagraph, SquadQuestion};

/// A record, original or simplified: the one has the page and its tokens, the other the tokens' text with
/// spaces between.
#[derive(Deserialize)]
struct Example {
    example_id: Id,
    question_text: String,
    #[serde(default)]
    document_title: String,
    document_html: Option<String>,
    document_tokens: Option<Vec<Token>>,
    document_text: Option<String>,
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
struct Token {
    token: String,
    html_token: bool,
    start_byte: Option<usize>,
    end_byte: Option<usize>,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    short_answers: Vec<Span>,
    long_answer: LongAnswer,
}

/// Tokens, the end excluded; -1 if there is none.
#[derive(Clone, Copy, Deserialize)]
struct LongAnswer {
    start_token: i64,
    end_token: i64,
}

/// Tokens, the end excluded.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
struct Span {
    start_token: usize,
    end_token: usize,
}

/// A token of either format.
struct Word<'a> {
    text: &'a str,
    is_tag: bool,
    /// Where it begins and ends on the page, if that is known.
    bytes: Option<(usize, usize)>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaturalQuestions {
    /// A paragraph for each question that is kept: its tokens without tags, with a space where the page has
    /// white space, or between all of a simplified record.
    pub squad: Squad,
    /// How many records there are.
    pub examples: usize,
    /// Records without a short answer, or with one of several spans.
    pub without_answer: usize,
    /// Records whose long answer is not a paragraph (`<P>`), but a list or a table, or is missing.
    pub outside_paragraph: usize,
}

/// Reads Natural Questions, original (`document_tokens`) or simplified (`document_text`), one record a line.
/// Questions are kept whose first annotation with a short answer has one span, and a paragraph as the long
/// answer, as in the authors' conversion.
///
/// # Errors
/// If a file cannot be read, or a record is not of this form.
pub fn read_natural_questions(inputs: &[Input]) -> Result<NaturalQuestions, DatasetError> {
    const EXPECTED: &str = "Natural Questions: objects with example_id, question_text, annotations, and \
                            document_tokens or document_text";
    let mut found = NaturalQuestions::default();
    for input in inputs {
        found.squad.source = input.to_string();
        for_each_record(input, EXPECTED, |example: Example| {
            found.examples += 1;
            let annotation = example.annotations.iter().find(|found| !found.short_answers.is_empty());
            let Some((annotation, [span])) =
                annotation.map(|annotation| (annotation, annotation.short_answers.as_slice()))
            else {
                found.without_answer += 1;
                return Ok(());
            };
            let words: Vec<Word<'_>> = match (&example.document_tokens, &example.document_text) {
                (Some(tokens), _) => tokens.iter().map(Word::from).collect(),
                (None, Some(text)) => text.split(' ').map(Word::from).collect(),
                (None, None) => return Err("there is neither document_tokens nor document_text".into()),
            };
            match paragraph(&words, example.document_html.as_deref(), annotation.long_answer, *span) {
                Some((context, answer)) => {
                    let question = SquadQuestion {
                        id: String::from(example.example_id),
                        question: example.question_text,
                        answers: vec![answer],
                        is_impossible: false,
                    };
                    let paragraph = SquadParagraph { context, sentence_breaks: None, qas: vec![question] };
                    let article = SquadArticle { title: example.document_title, paragraphs: vec![paragraph] };
                    found.squad.data.push(article);
                }
                None => found.outside_paragraph += 1,
            }
            Ok(())
        })?;
    }
    Ok(found)
}

impl<'a> From<&'a Token> for Word<'a> {
    fn from(token: &'a Token) -> Self {
        Self { text: &token.token, is_tag: token.html_token, bytes: token.start_byte.zip(token.end_byte) }
    }
}

impl<'a> From<&'a str> for Word<'a> {
    fn from(text: &'a str) -> Self {
        let is_tag = text.len() > 2 && text.starts_with('<') && text.ends_with('>');
        Self { text, is_tag, bytes: None }
    }
}

/// The text of the paragraph that is the long answer, and the short answer in it.
fn paragraph(
    words: &[Word<'_>],
    html: Option<&str>,
    long: LongAnswer,
    short: Span,
) -> Option<(String, SquadAnswer)> {
    let range = usize::try_from(long.start_token).ok()?..usize::try_from(long.end_token).ok()?;
    let first = words.get(range.start)?;
    let is_paragraph = first.is_tag && first.text.eq_ignore_ascii_case("<P>");
    if !is_paragraph || short.start_token < range.start || short.end_token > range.end {
        return None;
    }
    let (mut text, mut start, mut end) = (String::new(), None, 0);
    let mut before: Option<&Word<'_>> = None;
    for (place, word) in range.clone().zip(words.get(range)?) {
        if word.is_tag {
            continue;
        }
        if before.is_some_and(|before| is_apart(before, word, html)) {
            text.push(' ');
        }
        let begin = text.len();
        text.push_str(word.text);
        if (short.start_token..short.end_token).contains(&place) {
            start = start.or(Some(begin));
            end = text.len();
        }
        before = Some(word);
    }
    let (lead, answer) = (text.get(..start?)?, text.get(start?..end)?);
    let answer_start = i64::try_from(lead.chars().count()).ok()?;
    let answer = SquadAnswer { answer_start, text: answer.to_owned() };
    (!answer.text.is_empty()).then_some((text, answer))
}

/// Whether there is white space between two words on the page, outside of tags. Where the page is not known,
/// there is.
fn is_apart(before: &Word<'_>, after: &Word<'_>, html: Option<&str>) -> bool {
    let (Some(html), Some((_, end)), Some((start, _))) = (html, before.bytes, after.bytes) else {
        return true;
    };
    let between = html.as_bytes().get(end..start).unwrap_or_default();
    let mut open = 0_i32;
    String::from_utf8_lossy(between).chars().any(|character| {
        match character {
            '<' => open += 1,
            '>' => open -= 1,
            _ => return open == 0 && character.is_whitespace(),
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use toller_files::Input;

    use super::{NaturalQuestions, read_natural_questions};

    const TEXT: &str =
        "<H1> Ann </H1> <P> Ann was born in <A> Oslo </A> . She sings . </P> <Ul> <Li> Rome </Li> </Ul>";

    fn example(id: u32, spans: &str, long: &str) -> String {
        format!(
            r#"{{"example_id": {id}, "question_text": "where was ann born", "document_text": "{TEXT}", "annotations": [{{"short_answers": [{spans}], "long_answer": {long}}}]}}"#
        )
    }

    fn read(lines: &[String]) -> NaturalQuestions {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nq.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        let mut found = read_natural_questions(&[Input::parse(path)]).unwrap();
        found.squad.source.clear();
        found
    }

    #[test]
    fn original_and_simplified_are_the_same() {
        let span = r#"{"start_token": 9, "end_token": 10}"#;
        let rome = r#"{"start_token": 18, "end_token": 19}"#;
        let paragraph = r#"{"start_token": 3, "end_token": 16}"#;
        let list = r#"{"start_token": 16, "end_token": 21}"#;
        let simple = [
            example(1, span, paragraph),
            example(2, "", paragraph),
            example(3, &format!("{span}, {rome}"), paragraph),
            example(4, rome, list),
            example(5, span, r#"{"start_token": -1, "end_token": -1}"#),
            // In a paragraph, but of a long answer that is more.
            example(6, span, r#"{"start_token": 0, "end_token": 16}"#),
        ];
        let tokens: Vec<serde_json::Value> = TEXT
            .split(' ')
            .map(|token| serde_json::json!({"token": token, "html_token": token.starts_with('<')}))
            .collect();
        let original = simple.iter().map(|line| {
            let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
            value.as_object_mut().unwrap().remove("document_text");
            value["document_tokens"] = tokens.clone().into();
            value.to_string()
        });
        let found = read(&simple);
        assert_eq!(found, read(&original.collect::<Vec<String>>()));
        assert_eq!((found.examples, found.without_answer, found.outside_paragraph), (6, 2, 3));
        let paragraph = &found.squad.data[0].paragraphs[0];
        assert_eq!(paragraph.context, "Ann was born in Oslo . She sings .");
        let answer = &paragraph.qas[0].answers[0];
        assert_eq!((answer.answer_start, answer.text.as_str()), (16, "Oslo"));
        assert_eq!(paragraph.qas[0].id, "1");
    }

    /// Spaces come from the page, and a tag does not count as one.
    #[test]
    fn the_page_says_where_spaces_are() {
        let html = "<P>\u{c5}se won<sup>2</sup>  in <a href=\"x y\">New\n York</a>, twice.</P>";
        let mut from = 0;
        let token = |word: &&str| {
            let start = from + html[from..].find(word).unwrap();
            from = start + word.len();
            let is_tag = word.starts_with('<');
            serde_json::json!({"token": word, "html_token": is_tag, "start_byte": start, "end_byte": from})
        };
        let words = ["<P>", "\u{c5}se", "won", "2", "in", "New", "York", ",", "twice", ".", "</P>"];
        let tokens: Vec<serde_json::Value> = words.iter().map(token).collect();
        let record = serde_json::json!({
            "example_id": 1, "question_text": "where", "document_html": html, "document_tokens": tokens,
            "annotations": [{
                "short_answers": [{"start_token": 5, "end_token": 7}],
                "long_answer": {"start_token": 0, "end_token": 11},
            }],
        });
        let found = read(&[record.to_string()]);
        let paragraph = &found.squad.data[0].paragraphs[0];
        assert_eq!(paragraph.context, "\u{c5}se won2 in New York, twice.");
        let answer = &paragraph.qas[0].answers[0];
        assert_eq!((answer.answer_start, answer.text.as_str()), (12, "New York"));
    }
}
