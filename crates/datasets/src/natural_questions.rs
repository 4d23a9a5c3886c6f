//! Natural Questions as a reading comprehension set (ReQA, section 3.2).

use serde::Deserialize;
use toller_files::Input;

use crate::error::DatasetError;
use crate::records::{Id, for_each_record};
use crate::squad::{Squad, SquadAnswer, SquadArticle, SquadParagraph, SquadQuestion};

/// A record, original or simplified: the one has tokens, the other their text with spaces between.
#[derive(Deserialize)]
struct Example {
    example_id: Id,
    question_text: String,
    #[serde(default)]
    document_title: String,
    document_tokens: Option<Vec<Token>>,
    document_text: Option<String>,
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
struct Token {
    token: String,
    html_token: bool,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    short_answers: Vec<Span>,
}

/// Tokens, the end excluded.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
struct Span {
    start_token: usize,
    end_token: usize,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaturalQuestions {
    /// A paragraph for each question that is kept: its tokens with single spaces between, without tags.
    pub squad: Squad,
    /// How many records there are.
    pub examples: usize,
    /// Records without a short answer, or with one of several spans.
    pub without_answer: usize,
    /// Records whose answer is not inside a paragraph (`<P>`), but in a list or a table.
    pub outside_paragraph: usize,
}

/// Reads Natural Questions, original (`document_tokens`) or simplified (`document_text`), one record a line.
/// Questions are kept whose first annotation with a short answer has one span, inside a paragraph.
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
            let mut answers = example.annotations.iter().map(|annotation| &annotation.short_answers);
            let answer = answers.find(|spans| !spans.is_empty());
            let Some([span]) = answer.map(Vec::as_slice) else {
                found.without_answer += 1;
                return Ok(());
            };
            let tokens = match (&example.document_tokens, &example.document_text) {
                (Some(tokens), _) => {
                    tokens.iter().map(|token| (token.token.as_str(), token.html_token)).collect()
                }
                (None, Some(text)) => text.split(' ').map(|token| (token, is_tag(token))).collect::<Vec<_>>(),
                (None, None) => return Err("there is neither document_tokens nor document_text".into()),
            };
            match paragraph(&tokens, *span) {
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

fn is_tag(token: &str) -> bool {
    token.len() > 2 && token.starts_with('<') && token.ends_with('>')
}

/// The text of the paragraph around a span, and where the span begins in it.
fn paragraph(tokens: &[(&str, bool)], span: Span) -> Option<(String, SquadAnswer)> {
    let is = |(token, html): &(&str, bool), tag: &str| *html && token.eq_ignore_ascii_case(tag);
    let before = tokens.get(..span.start_token)?;
    let start = before.iter().rposition(|token| is(token, "<P>") || is(token, "</P>"))?;
    if !before.get(start).is_some_and(|token| is(token, "<P>")) {
        return None;
    }
    let after = tokens.get(span.start_token..)?;
    let end = span.start_token + after.iter().position(|token| is(token, "</P>"))?;
    if span.end_token <= span.start_token || span.end_token > end {
        return None;
    }
    let words = |from: usize, to: usize| {
        let words = tokens.get(from..to).unwrap_or_default().iter().filter(|(_, html)| !html);
        words.map(|(token, _)| *token).collect::<Vec<_>>().join(" ")
    };
    let lead = words(start, span.start_token);
    let answer_start = lead.chars().count() + usize::from(!lead.is_empty());
    let answer = SquadAnswer {
        answer_start: i64::try_from(answer_start).ok()?,
        text: words(span.start_token, span.end_token),
    };
    (!answer.text.is_empty()).then(|| (words(start, end), answer))
}

#[cfg(test)]
mod tests {
    use toller_files::Input;

    use super::read_natural_questions;

    const TEXT: &str =
        "<H1> Ann </H1> <P> Ann was born in <A> Oslo </A> . She sings . </P> <Ul> <Li> Rome </Li> </Ul>";

    fn example(id: u32, spans: &str) -> String {
        format!(
            r#"{{"example_id": {id}, "question_text": "where was ann born", "document_text": "{TEXT}", "annotations": [{{"short_answers": [{spans}]}}]}}"#
        )
    }

    #[test]
    fn original_and_simplified_are_the_same() {
        let span = r#"{"start_token": 9, "end_token": 10}"#;
        let rome = r#"{"start_token": 18, "end_token": 19}"#;
        let simple =
            [example(1, span), example(2, ""), example(3, &format!("{span}, {rome}")), example(4, rome)];
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
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, lines: Vec<String>| {
            let path = folder.path().join(name);
            std::fs::write(&path, lines.join("\n")).unwrap();
            let mut found = read_natural_questions(&[Input::parse(path)]).unwrap();
            found.squad.source.clear();
            found
        };
        let found = read("simple.jsonl", simple.to_vec());
        assert_eq!(found, read("original.jsonl", original.collect()));
        assert_eq!((found.examples, found.without_answer, found.outside_paragraph), (4, 2, 1));
        let paragraph = &found.squad.data[0].paragraphs[0];
        assert_eq!(paragraph.context, "Ann was born in Oslo . She sings .");
        let answer = &paragraph.qas[0].answers[0];
        assert_eq!((answer.answer_start, answer.text.as_str()), (16, "Oslo"));
        assert_eq!(paragraph.qas[0].id, "1");
    }
}
