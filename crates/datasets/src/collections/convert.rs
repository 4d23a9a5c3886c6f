//! From the files that users have to corpus.jsonl, queries and judgments.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toller_corpus::{
    CollectionFormat, ColumnNames, DuplicateIds, QueryFormat, ReadOptions, open_collection, read_qrels,
    read_queries, survey,
};
use toller_files::Input;
use toller_ir::{Passage, Qrels, Query};

use crate::collections::examples::{Examples, read_examples};
use crate::collections::layout::{Layout, Sources, SplitFiles, find_sources};
use crate::error::DatasetError;
use crate::folder::{Folder, check_judged, check_queries};
use crate::lines::{DocumentLine, QueryLine};
use crate::statistics::{Lengths, Part, Statistics};

/// What was read, and the files that were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collection {
    /// The passages, if there is a collection.
    pub corpus: Option<Corpus>,
    /// The parts `collection` and one for each split.
    pub statistics: Statistics,
    /// The names of the files.
    pub files: Vec<String>,
    /// Queries with tabs or line breaks, which become spaces in a TSV file.
    pub changed_queries: usize,
    /// Splits with judgments, but without a file of queries.
    pub without_queries: Vec<String>,
    /// The file of the queries of all splits, if no judgments say which queries a split has.
    pub unused_queries: Option<String>,
    /// Judged documents that the collection does not have, in the order of their identifiers.
    pub missing_documents: Vec<String>,
    /// Of BEIR's collections, queries that have the identifier of a passage.
    pub own_passages: usize,
}

/// The ends of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    /// How many passages there are.
    pub passages: usize,
    /// The identifier of the first.
    pub first: String,
    /// The identifier of the last.
    pub last: String,
}

/// Reads a collection in a published layout, and writes it to `output`, if that is given:
///
/// - `corpus.jsonl`, with titles where the collection has them;
/// - `queries.SPLIT.tsv`, or `queries.SPLIT.jsonl` where queries have answers;
/// - `qrels.SPLIT.txt`, in TREC's format;
/// - `exclude.SPLIT.tsv`, what a query must not retrieve;
/// - of T2Ranking, `qrels.retrieval.SPLIT.txt`, with levels 2 and 3 as relevant.
///
/// The files appear when all are complete; after an error there are none. `check` sees what was read before
/// anything appears. `only` names the split to read. `on_progress` is given the number of passages now and
/// then.
///
/// # Errors
/// If there is no file of the layout or of the split, or two for one purpose, a file cannot be read or
/// written, a record is bad, an identifier is not unique, or judged queries are missing.
pub fn convert(
    layout: Layout,
    paths: &[PathBuf],
    only: Option<&str>,
    output: Option<&Path>,
    check: impl FnOnce(&Collection) -> Result<(), DatasetError>,
    on_progress: impl FnMut(u64),
) -> Result<Collection, DatasetError> {
    let sources = find_sources(layout, paths, only)?;
    let mut writer = Writer { folder: output.map(Folder::create).transpose()?, ..Writer::default() };
    let splits = sources.splits.iter().filter(|(name, _)| only.is_none_or(|only| *name == only));
    let splits = splits.map(|(name, files)| Ok((name, read_split(layout, &sources, files)?)));
    let splits = splits.collect::<Result<Vec<_>, DatasetError>>()?;
    if splits.is_empty() {
        writer.done.unused_queries = sources.all_queries.as_ref().map(Input::to_string);
    }
    if !sources.corpus.is_empty() {
        writer.corpus(layout, &sources.corpus, &splits, on_progress)?;
    }
    for (name, split) in &splits {
        writer.split(layout, name, split)?;
    }
    writer.done.files = writer.folder.as_ref().map(Folder::names).unwrap_or_default();
    check(&writer.done)?;
    if let Some(folder) = writer.folder {
        folder.commit()?;
    }
    Ok(writer.done)
}

fn read_split(layout: Layout, sources: &Sources, files: &SplitFiles) -> Result<Examples, DatasetError> {
    if let Some(examples) = &files.examples {
        return read_examples(layout, examples);
    }
    let qrels = match &files.qrels {
        Some(file) => read_qrels(file, &ReadOptions::default())?.0,
        None => Qrels::new(),
    };
    let format = (layout == Layout::Psgs).then_some(QueryFormat::Dpr);
    let Some(file) = files.queries.as_ref().or(sources.all_queries.as_ref()) else {
        return Ok(Examples { qrels, ..Examples::default() });
    };
    let options = ReadOptions { format, ..ReadOptions::default() };
    let mut queries = read_queries(std::slice::from_ref(file), &options)?.0;
    check_judged(&queries, &qrels, Some(file))?;
    if files.queries.is_none() {
        // The file has the queries of all splits: those of this one are judged.
        queries.retain(|query| qrels.query(&query.id).is_some());
    }
    Ok(Examples { queries, qrels, excluded: Vec::new() })
}

#[derive(Default)]
struct Writer {
    folder: Option<Folder>,
    done: Collection,
}

/// Passages between two calls of `on_progress`.
const PROGRESS: usize = 4096;

impl Writer {
    /// Writes the collection, and notes which of the judged documents it does not have.
    fn corpus(
        &mut self,
        layout: Layout,
        inputs: &[Input],
        splits: &[(&String, Examples)],
        mut on_progress: impl FnMut(u64),
    ) -> Result<(), DatasetError> {
        let splits = || splits.iter().map(|(_, split)| split);
        let judged = splits().flat_map(|split| split.qrels.iter()).flat_map(|(_, judged)| judged.keys());
        let mut judged: HashSet<&str> = judged.map(String::as_str).collect();
        // In other layouts, queries and passages are often numbered apart.
        let queries = splits().filter(|_| layout == Layout::Beir).flat_map(|split| &split.queries);
        let queries: HashSet<&str> = queries.map(|query| query.id.as_str()).collect();
        let options = collection_options(layout);
        let mut reader = open_collection(inputs, &options)?;
        let (mut lengths, mut ids, mut ends) = (Lengths::default(), DuplicateIds::new(), Corpus::default());
        let mut titles = 0;
        let mut file = self.folder.as_mut().map(|folder| folder.file("corpus.jsonl")).transpose()?;
        while let Some(passage) = reader.next().transpose()? {
            let passage = if layout == Layout::Mrtydi { with_title(passage) } else { passage };
            ids.push(&passage.id, reader.location())?;
            judged.remove(passage.id.as_str());
            self.done.own_passages += usize::from(queries.contains(passage.id.as_str()));
            lengths.add(&passage.text);
            titles += usize::from(passage.title.is_some());
            ends.last.clone_from(&passage.id);
            if ends.passages == 0 {
                ends.first.clone_from(&passage.id);
            }
            ends.passages += 1;
            if let Some(file) = &mut file {
                let title = passage.title.as_deref().unwrap_or_default();
                file.json(&DocumentLine { id: passage.id, title, text: &passage.text })?;
            }
            if ends.passages % PROGRESS == 0 {
                on_progress(ends.passages as u64);
            }
        }
        if ids.finish()?.earliest.is_some() {
            // A survey fails at the duplicate, with both of its places.
            survey(inputs, &options, |_| ())?;
        }
        let part = Part::new("collection").count("passages", ends.passages).count("titles", titles);
        self.done.statistics.0.push(part.lengths(&lengths));
        self.done.corpus = Some(ends);
        self.done.missing_documents = judged.into_iter().map(str::to_owned).collect();
        self.done.missing_documents.sort_unstable();
        Ok(())
    }

    fn split(&mut self, layout: Layout, name: &str, split: &Examples) -> Result<(), DatasetError> {
        let lengths: Lengths = split.queries.iter().map(|query| query.text.as_str()).collect();
        let part = Part::new(name).count("queries", split.queries.len()).lengths(&lengths);
        self.done.statistics.0.push(part.judgments(&split.qrels));
        if split.queries.is_empty() && !split.qrels.is_empty() {
            self.done.without_queries.push(name.to_owned());
        }
        let Some(folder) = &mut self.folder else { return Ok(()) };
        if !split.queries.is_empty() {
            self.done.changed_queries += write_queries(folder, name, &split.queries)?;
        }
        if !split.qrels.is_empty() {
            folder.qrels(&format!("qrels.{name}.txt"), &split.qrels)?;
            if layout == Layout::T2ranking {
                folder.qrels(
                    &format!("qrels.retrieval.{name}.txt"),
                    &relevant(&split.qrels, RETRIEVAL_LEVEL),
                )?;
            }
        }
        if !split.excluded.is_empty() {
            let mut file = folder.file(&format!("exclude.{name}.tsv"))?;
            for (query, document) in &split.excluded {
                file.line(format_args!("{query}\t{document}"))?;
            }
        }
        Ok(())
    }
}

/// The lowest of T2Ranking's four levels that counts as relevant in retrieval.
const RETRIEVAL_LEVEL: i32 = 2;

/// The judgments of at least this grade, each with grade 1.
fn relevant(qrels: &Qrels, level: i32) -> Qrels {
    let mut relevant = Qrels::new();
    for (query, judged) in qrels.iter() {
        for (document, _) in judged.iter().filter(|(_, grade)| **grade >= level) {
            relevant.insert(query, document, 1);
        }
    }
    relevant
}

/// Writes queries as TSV, or as JSON if one has answers. Returns how many had to be changed for TSV.
fn write_queries(folder: &mut Folder, name: &str, queries: &[Query]) -> Result<usize, DatasetError> {
    if queries.iter().any(|query| !query.answers.is_empty()) {
        check_queries(queries)?;
        let mut file = folder.file(&format!("queries.{name}.jsonl"))?;
        for Query { id, text, answers } in queries {
            file.json(&QueryLine { id, text, answers })?;
        }
        return Ok(0);
    }
    folder.queries(&format!("queries.{name}.tsv"), queries)
}

fn collection_options(layout: Layout) -> ReadOptions<CollectionFormat> {
    let text = (layout == Layout::Bright).then(|| "content".to_owned());
    let format = match layout {
        Layout::Msmarco | Layout::T2ranking => Some(CollectionFormat::Tsv),
        Layout::Psgs => Some(CollectionFormat::Dpr),
        Layout::Bright => Some(CollectionFormat::Parquet),
        Layout::Mrtydi | Layout::Miracl | Layout::Tevatron => Some(CollectionFormat::Jsonl),
        // JSON lines, or Parquet.
        Layout::Beir => None,
    };
    ReadOptions { format, columns: ColumnNames { text, ..ColumnNames::default() }, ..ReadOptions::default() }
}

/// Version 1.1 of Mr. TyDi has the title in front of the text, and an empty line between them.
fn with_title(passage: Passage) -> Passage {
    match passage.text.split_once("\n\n") {
        Some((title, text)) if passage.title.is_none() && !title.trim().is_empty() => {
            Passage { title: Some(title.to_owned()), text: text.to_owned(), ..passage }
        }
        _ => passage,
    }
}
