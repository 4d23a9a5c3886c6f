//! The tables of ReQA's section 3.3: numbers, lengths, query coverage, question types.

use std::collections::HashSet;

use super::Reqa;
use crate::answers::word_tokens;
use crate::statistics::{Part, Statistics, mean};

/// The question words of the paper's table, and their names there.
const TYPES: [&str; 7] = ["what", "who", "how", "when", "which", "where", "why"];

/// Prepositions that may come before `what` and `which`.
const PREPOSITIONS: [&str; 12] =
    ["at", "by", "for", "from", "in", "into", "of", "on", "through", "to", "under", "with"];

impl Reqa {
    /// The statistics of the paper. A token is a word or a single other character, in lower case. Lengths of
    /// answers and query coverage, the share of a question's tokens that occur in the answer, are means over
    /// the pairs of a question and a sentence that answers it.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let (mut question_tokens, mut answer_tokens, mut coverage) = (0, 0, Vec::new());
        let mut types = [0_usize; TYPES.len()];
        for question in &self.questions {
            let tokens = word_tokens(&question.text);
            question_tokens += tokens.len();
            if let Some(count) = question_type(&tokens).and_then(|at| types.get_mut(at)) {
                *count += 1;
            }
            for sentence in question.answers.iter().filter_map(|answer| self.sentences.get(*answer)) {
                let answer = word_tokens(&sentence.text);
                answer_tokens += answer.len();
                let answer: HashSet<&str> = answer.iter().map(String::as_str).collect();
                let covered = tokens.iter().filter(|token| answer.contains(token.as_str())).count();
                coverage.push(mean(covered as f64, tokens.len()).unwrap_or(0.0));
            }
        }
        let pairs = coverage.len();
        let average = mean(coverage.iter().sum(), pairs);
        let deviation = average.and_then(|average| {
            let squares = coverage.iter().map(|share| (share - average).powi(2)).sum();
            mean(squares, pairs).map(f64::sqrt)
        });
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        let all = self.questions.len();
        let counts = Part::new("reqa")
            .count("questions", all)
            .count("sentences", self.sentences.len())
            .count("paragraphs", self.paragraphs.len())
            .count("answers", pairs);
        let lengths = Part::new("tokens")
            .real("question_length", mean(question_tokens as f64, all))
            .real("answer_length", mean(answer_tokens as f64, pairs))
            .real("coverage_mean_percent", percent(average))
            .real("coverage_deviation_percent", percent(deviation));
        let share = |count: usize| percent(mean(count as f64, all));
        let kinds = TYPES
            .into_iter()
            .zip(types)
            .fold(Part::new("question types"), |part, (name, count)| part.real(name, share(count)));
        let other = all - types.iter().sum::<usize>();
        Statistics(vec![counts, lengths, kinds.real("other", share(other))])
    }
}

/// Which of the types a question is: its first word, or `what` or `which` after a preposition.
fn question_type(tokens: &[String]) -> Option<usize> {
    let place = |word: &str| TYPES.iter().position(|name| *name == word);
    let mut words = tokens.iter().map(String::as_str);
    let first = words.next()?;
    if PREPOSITIONS.contains(&first) {
        return words.next().filter(|word| ["what", "which"].contains(word)).and_then(place);
    }
    place(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Paragraph, Question, Reqa, Sentence};

    #[test]
    fn the_tables_of_the_paper() {
        let question =
            |text: &str, answers: Vec<usize>| Question { id: text.into(), text: text.into(), answers };
        let reqa = Reqa {
            paragraphs: vec![Paragraph { title: String::new(), text: "A dog. The sea.".into() }],
            sentences: ["A dog.", "The sea."].map(|text| Sentence { text: text.into(), paragraph: 0 }).into(),
            questions: vec![
                question("Who is a dog", vec![0]),
                question("In which the sea", vec![1]),
                question("Name it", vec![0, 1]),
            ],
            ..Reqa::default()
        };
        // Coverage: 2 of 4, 2 of 4, 0 of 2 twice.
        let third = 100.0 * (1.0 / 3.0);
        let expected = json!({
            "reqa": {"questions": 3, "sentences": 2, "paragraphs": 1, "answers": 4},
            "tokens": {"question_length": 10.0 / 3.0, "answer_length": 3.0,
                "coverage_mean_percent": 25.0, "coverage_deviation_percent": 25.0},
            "question types": {"what": 0.0, "who": third, "how": 0.0, "when": 0.0, "which": third,
                "where": 0.0, "why": 0.0, "other": third},
        });
        assert_eq!(reqa.statistics().to_json(), expected);
    }
}
