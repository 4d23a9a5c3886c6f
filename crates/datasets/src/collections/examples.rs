//! Queries that come with their judgments: Tevatron's lines, BRIGHT's Parquet rows.

use parquet::record::Field;
use serde::Deserialize;
use toller_files::{Input, InputReader};
use toller_ir::{Position, Qrels, Query};

use crate::collections::Layout;
use crate::error::DatasetError;
use crate::folder::UniqueIds;
use crate::records::{Id, for_each_record, read_parquet};

/// Queries, what is relevant to them, and what they must not retrieve.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Qrels,
    /// Pairs of query and document, for `search --exclude`.
    pub(crate) excluded: Vec<(String, String)>,
}

/// Reads a file of examples.
pub(crate) fn read_examples(layout: Layout, input: &Input) -> Result<Examples, DatasetError> {
    if layout == Layout::Bright { read_bright(input) } else { read_tevatron(input) }
}

#[derive(Deserialize)]
struct TevatronExample {
    query_id: Id,
    query: String,
    #[serde(default)]
    answers: Vec<String>,
    positive_passages: Vec<TevatronPassage>,
}

#[derive(Deserialize)]
struct TevatronPassage {
    docid: Id,
}

fn read_tevatron(input: &Input) -> Result<Examples, DatasetError> {
    const EXPECTED: &str = "objects with query_id, query and positive_passages, each passage with a docid";
    let (mut examples, mut ids) = (Examples::default(), UniqueIds::of_queries());
    for_each_record(input, EXPECTED, |example: TevatronExample| {
        let id = String::from(example.query_id);
        for passage in example.positive_passages {
            examples.qrels.insert(&id, &String::from(passage.docid), 1);
        }
        let query = Query { id, text: example.query, answers: example.answers };
        ids.add_query(&query)?;
        examples.queries.push(query);
        Ok(())
    })?;
    Ok(examples)
}

fn read_bright(input: &Input) -> Result<Examples, DatasetError> {
    const EXPECTED: &str = "Parquet with the columns id, query, gold_ids and excluded_ids";
    let missing = |name: &str| DatasetError::Record {
        file: input.to_string(),
        line: 0,
        problem: format!("a row has no column '{name}' of strings"),
        expected: EXPECTED,
    };
    let (mut examples, mut ids) = (Examples::default(), UniqueIds::of_queries());
    for (row, number) in read_parquet(&InputReader::open(input)?, EXPECTED)?.into_iter().zip(1..) {
        let field =
            |name: &str| row.get_column_iter().find(|(found, _)| *found == name).map(|(_, field)| field);
        let text = |name: &str| match field(name) {
            Some(Field::Str(text)) => Ok(text.clone()),
            _ => Err(missing(name)),
        };
        let list = |name: &str| match field(name) {
            Some(Field::ListInternal(list)) => {
                let text =
                    |field: &Field| if let Field::Str(text) = field { Some(text.clone()) } else { None };
                list.elements().iter().map(text).collect::<Option<Vec<String>>>().ok_or_else(|| missing(name))
            }
            _ => Err(missing(name)),
        };
        let id = text("id")?;
        for document in list("gold_ids")? {
            examples.qrels.insert(&id, &document, 1);
        }
        // Without excluded documents the list is ["N/A"].
        let excluded = list("excluded_ids")?.into_iter().filter(|document| document != "N/A");
        examples.excluded.extend(excluded.map(|document| (id.clone(), document)));
        let query = Query { id, text: text("query")?, answers: Vec::new() };
        ids.add_query(&query).map_err(|error| error.at(input, Some(Position::Row(number))))?;
        examples.queries.push(query);
    }
    Ok(examples)
}
