//! SQuAD as Hugging Face has it: a row for each question, with its paragraph.

use indexmap::IndexMap;
use parquet::record::Field;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use toller_files::InputReader;

use crate::error::DatasetError;
use crate::records::{Id, NotTaken, for_each_record_of, read_parquet};
use crate::squad::{Squad, SquadAnswer, SquadArticle, SquadParagraph, SquadQuestion};

/// How a Parquet file begins.
const PARQUET: &[u8] = b"PAR1";

/// The first row is not longer.
const LONGEST_ROW: usize = 64 << 10;

const EXPECTED: &str =
    "rows with id, question, context and answers: {\"text\": [...], \"answer_start\": [...]}";

#[derive(Deserialize)]
struct Row {
    id: Id,
    title: Option<String>,
    context: String,
    question: String,
    answers: Option<Answers>,
}

/// The answers of a question, by column or one by one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answers {
    Columns { text: Vec<String>, answer_start: Vec<i64> },
    Each(Vec<SquadAnswer>),
}

/// The paragraphs of each title, by their texts.
type Articles = IndexMap<String, IndexMap<String, Vec<SquadQuestion>>>;

/// Whether a file has rows: it is in Parquet, or its first line is a JSON object with a context.
pub(crate) fn is_rows(reader: &mut InputReader) -> bool {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "context")]
        _context: IgnoredAny,
    }
    let head = reader.peek(LONGEST_ROW);
    let line = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    head.starts_with(PARQUET) || line.is_some_and(|line| serde_json::from_slice::<Head>(line).is_ok())
}

/// Reads rows as a set. Its articles and paragraphs are in the order of their first questions.
pub(crate) fn read_squad_rows(mut reader: InputReader) -> Result<Squad, DatasetError> {
    let (source, mut articles) = (reader.input().to_string(), Articles::new());
    if reader.peek(PARQUET.len()) == PARQUET {
        for row in read_parquet(&reader, EXPECTED)? {
            let bad = |problem: String| DatasetError::Record {
                file: source.clone(),
                line: 0,
                problem,
                expected: EXPECTED,
            };
            let row = serde_json::from_value(object(&row)).map_err(|error| bad(error.to_string()))?;
            add(&mut articles, row).map_err(|problem| bad(problem.to_owned()))?;
        }
    } else {
        for_each_record_of(reader, EXPECTED, |row| add(&mut articles, row).map_err(NotTaken::from))?;
    }
    let article = |(title, paragraphs): (String, IndexMap<String, Vec<SquadQuestion>>)| {
        let paragraph = |(context, qas)| SquadParagraph { context, sentence_breaks: None, qas };
        SquadArticle { title, paragraphs: paragraphs.into_iter().map(paragraph).collect() }
    };
    Ok(Squad { data: articles.into_iter().map(article).collect(), source })
}

fn add(articles: &mut Articles, row: Row) -> Result<(), &'static str> {
    let Row { id, title, context, question, answers } = row;
    let answers = match answers {
        None => Vec::new(),
        Some(Answers::Each(answers)) => answers,
        Some(Answers::Columns { text, answer_start }) if text.len() == answer_start.len() => {
            let answer = |(text, answer_start)| SquadAnswer { answer_start, text };
            text.into_iter().zip(answer_start).map(answer).collect()
        }
        Some(Answers::Columns { .. }) => return Err("the answers have more texts than places, or fewer"),
    };
    let question = SquadQuestion { id: String::from(id), question, answers, is_impossible: false };
    articles.entry(title.unwrap_or_default()).or_default().entry(context).or_default().push(question);
    Ok(())
}

fn object(row: &parquet::record::Row) -> Value {
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

/// A field as JSON. Other types than those of the columns that are read are null.
fn value(field: &Field) -> Value {
    match field {
        Field::Str(text) => text.as_str().into(),
        Field::Int(number) => (*number).into(),
        Field::Long(number) => (*number).into(),
        Field::Group(row) => object(row),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use serde_json::{Value, json};
    use tempfile::TempDir;
    use toller_files::Input;

    use crate::{Squad, read_squad};

    fn expected(source: &str) -> Squad {
        let paragraph = |context: &str, qas: Value| json!({"context": context, "qas": qas});
        let squad = json!({"data": [
            {"title": "T", "paragraphs": [
                paragraph("Oslo is north.", json!([
                    {"id": "a", "question": "Where?", "answers": [{"text": "Oslo", "answer_start": 0}, {"text": "north", "answer_start": 8}]},
                    {"id": "c", "question": "Who?", "answers": []},
                ])),
            ]},
            {"title": "", "paragraphs": [paragraph("Rome", json!([{"id": "b", "question": "Which?", "answers": []}]))]},
        ]});
        Squad { source: source.to_owned(), ..serde_json::from_value(squad).unwrap() }
    }

    /// The set that is read from a file, without its name.
    fn read(content: &[u8]) -> Result<Squad, String> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("rows");
        std::fs::write(&path, content).unwrap();
        let squad = read_squad(&Input::File(path)).map_err(|error| error.to_string())?;
        Ok(Squad { source: String::new(), ..squad })
    }

    #[test]
    fn rows_become_paragraphs() {
        let row = |id: &str, title: Value, context: &str, question: &str, answers: Value| {
            json!({"id": id, "title": title, "context": context, "question": question, "answers": answers})
                .to_string()
        };
        let north = "Oslo is north.";
        let columns = json!({"text": ["Oslo", "north"], "answer_start": [0, 8]});
        let each = json!([{"text": "Oslo", "answer_start": 0}, {"text": "north", "answer_start": 8}]);
        for answers in [columns, each] {
            let rows = [
                row("a", json!("T"), north, "Where?", answers),
                row("b", Value::Null, "Rome", "Which?", Value::Null),
                row("c", json!("T"), north, "Who?", json!({"text": [], "answer_start": []})),
            ];
            assert_eq!(read(rows.join("\n").as_bytes()), Ok(expected("")));
        }
        let odd = row("a", json!("T"), north, "Where?", json!({"text": ["Oslo"], "answer_start": []}));
        assert!(read(odd.as_bytes()).unwrap_err().contains("line 1: the answers have more texts"));
        assert!(read(b"{\"context\": 1}").unwrap_err().contains("line 1"));
        assert!(read(b"PAR1 and no more").unwrap_err().contains("rows"));
    }

    #[test]
    fn rows_of_parquet() {
        let schema = "message m { required binary id (UTF8); optional binary title (UTF8); required binary context (UTF8);
            required binary question (UTF8); optional group answers {
                optional group text (LIST) { repeated group list { optional binary element (UTF8); } }
                optional group answer_start (LIST) { repeated group list { optional int32 element; } } } }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::default());
        let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = file.next_row_group().unwrap();
        let texts = |texts: &[&str]| texts.iter().map(|text| ByteArray::from(*text)).collect::<Vec<_>>();
        let columns: [(Vec<ByteArray>, Option<&[i16]>); 4] = [
            (texts(&["a", "b", "c"]), None),
            (texts(&["T", "T"]), Some(&[1, 0, 1])),
            (texts(&["Oslo is north.", "Rome", "Oslo is north."]), None),
            (texts(&["Where?", "Which?", "Who?"]), None),
        ];
        for (values, levels) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap();
            column.close().unwrap();
        }
        // Two answers, null, and an empty list.
        let (definitions, repetitions) = ([4, 4, 0, 2], [0, 1, 0, 0]);
        let mut column = group.next_column().unwrap().unwrap();
        let values = texts(&["Oslo", "north"]);
        column.typed::<ByteArrayType>().write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[0, 8], Some(&definitions), Some(&repetitions)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        assert_eq!(read(&bytes), Ok(expected("")));
    }
}
