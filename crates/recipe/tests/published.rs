//! configs/published.toml against the text of the papers: every row of every table is there, and as printed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;

use toller_recipe::{FigureTable, Figures};
use toller_testing::{repository, shared};

/// The tables: where they begin and end in the paper's text, and how many values they have. A table lies
/// between the first line that starts with `end` and the last one before it that has `start`.
const TABLES: [Table; 21] = [
    table("ReQA, table 4", "reqa", "Model MRR", "Table 4:", 24),
    table("ReQA, table 5", "reqa", "Model Size", "Table 5:", 6),
    table("ReQA, table 6", "reqa", "Model MRR", "Table 6:", 32),
    table("DuReader-retrieval, table 4", "dureader-retrieval", "| | MRR@10", "Table 4:", 6),
    table("DuReader-retrieval, table 5", "dureader-retrieval", "BM25's top-50", "Table 5:", 9),
    table("DuReader-retrieval, table 6", "dureader-retrieval", "| Model | MRR@10", "Table 6:", 4),
    table("DuReader-retrieval, table 7", "dureader-retrieval", "| cMedQA |", "Table 7:", 9),
    table("DuReader-retrieval, table 8", "dureader-retrieval", "| cCOVID-News |", "Table 8:", 9),
    table("DuReader-retrieval, table 9", "dureader-retrieval", "Monolingual |", "Table 9:", 4),
    table("T2Ranking, table 4", "t2ranking", "Dataset\tILS", "Figure 4:", 4),
    table("T2Ranking, table 5", "t2ranking", "Table 5:", "by the deep learning", 15),
    table("T2Ranking, table 6", "t2ranking", "Table 6:", "In this study, we introduce", 6),
    table("Mr. TyDi, table 2a", "mr-tydi", "Ar\tBn", "(a) MRR", 38),
    table("Mr. TyDi, table 2b", "mr-tydi", "Ar\tBn", "(b) Recall", 48),
    table("EntityQuestions, table 1", "entity-questions", "DPR | DPR", "Based on these", 27),
    table("EntityQuestions, table 2", "entity-questions", "p-of-birth | head", "4.2 Observing", 18),
    table("EntityQuestions, table 3", "entity-questions", "NQ | Rel", "We find that fine-tuning", 29),
    table("EntityQuestions, table 4", "entity-questions", "EntityQ. |", "6 Conclusion", 7),
    table("EntityQuestions, table 5", "entity-questions", "Relation | DPR", "Relation | REALM", 78),
    table("EntityQuestions, table 6", "entity-questions", "Relation | REALM", "Question | Retrieved", 52),
    table("EntityQuestions, table 8", "entity-questions", "BM25 | |||", "", 182),
];

struct Table {
    title: &'static str,
    paper: &'static str,
    start: &'static str,
    end: &'static str,
    values: usize,
}

const fn table(
    title: &'static str,
    paper: &'static str,
    start: &'static str,
    end: &'static str,
    values: usize,
) -> Table {
    Table { title, paper, start, end, values }
}

fn published() -> Figures {
    Figures::read(&[repository("configs/published.toml")]).unwrap()
}

/// The values of rows, by the row's printed name.
type Rows = BTreeMap<String, Vec<String>>;

fn rows_of<'a>(tables: impl Iterator<Item = &'a FigureTable>) -> Rows {
    let mut rows = Rows::new();
    for figure in tables.flat_map(|table| &table.figures) {
        rows.entry(compact(&figure.row)).or_default().extend(figure.printed.clone());
    }
    rows.values_mut().for_each(|values| values.sort());
    rows
}

/// A line without blanks, bars and tags.
fn compact(line: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for letter in line.chars() {
        match letter {
            '<' => is_tag = true,
            '>' => is_tag = false,
            '|' | '*' => {}
            _ if is_tag || letter.is_whitespace() => {}
            _ => text.push(letter),
        }
    }
    text
}

/// The numbers of a line; signs of significance do not count.
fn numbers(line: &str) -> Vec<String> {
    let plain = line.replace("^{\\dagger}", " ");
    let tokens = plain.split(|letter: char| letter.is_whitespace() || letter == '|');
    let is_number =
        |token: &&str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    tokens.filter(is_number).map(str::to_owned).collect()
}

#[test]
fn every_row_is_as_the_papers_print_it() {
    let figures = published();
    let titles = |title: &str| {
        let of = |table: &&FigureTable| table.title == title || table.title.starts_with(&format!("{title}:"));
        figures.tables.iter().filter(of).collect::<Vec<_>>()
    };
    let mut checked = 0;
    for Table { title, paper, start, end, values } in TABLES {
        let tables = titles(title);
        checked += tables.len();
        let count = |table: &&FigureTable| table.figures.iter().filter(|cell| cell.printed.is_some()).count();
        assert_eq!(tables.iter().map(count).sum::<usize>(), values, "{title}");
        let Some(file) = shared(&format!("papers/{paper}.txt")) else { continue };
        let text = fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.iter().position(|line| !end.is_empty() && line.starts_with(end));
        let last = last.unwrap_or(lines.len());
        let first = lines[..last].iter().rposition(|line| line.contains(start)).expect(title);
        let rows = rows_of(tables.iter().copied());
        let mut found = Rows::new();
        for line in &lines[first + 1..last] {
            let whole = compact(line);
            let named =
                rows.keys().filter(|name| whole.starts_with(name.as_str())).max_by_key(|name| name.len());
            let numbers = numbers(line);
            let Some(name) = named else {
                assert!(
                    !numbers.iter().any(|number| number.contains('.')),
                    "{title} has no row for {line:?}"
                );
                continue;
            };
            found.entry(name.clone()).or_default().extend(numbers);
        }
        found.values_mut().for_each(|values| values.sort());
        assert_eq!(found, rows, "{title}");
    }
    assert_eq!(checked, figures.tables.len(), "a table is checked against no paper");
}

#[test]
fn percentages_are_shares_to_the_last_digit() {
    let figures = published();
    let value = |id: &str| figures.get(id).and_then(|figure| figure.value);
    assert_eq!(value("dureader.4.bm25.test.RR@10"), Some(0.2103));
    assert_eq!(value("t2ranking.5.ql.test.RR@10"), Some(0.2803));
    assert_eq!(value("mr-tydi.2.mdpr.ar.RR@100"), Some(0.26));
    assert_eq!(value("mr-tydi.2.mdpr.bn.RR@100"), None);
    assert_eq!(value("entity-questions.5.dpr-nq.P36.Success@20"), Some(0.773));
}

/// A page names systems and collections, and says why a system has no recipe.
#[test]
fn what_has_a_name_is_in_a_table() {
    let figures = published();
    let ids: Vec<_> =
        figures.tables.iter().flat_map(|table| &table.figures).map(|figure| &figure.id).collect();
    for absent in figures.absent.keys() {
        let (paper, system) = absent.split_once('.').expect(absent);
        assert!(ids.iter().any(|id| id.paper == paper && id.system == system), "{absent}");
    }
    for id in ids {
        assert!(figures.names.contains_key(&id.paper) && figures.names.contains_key(&id.system), "{id}");
    }
}
