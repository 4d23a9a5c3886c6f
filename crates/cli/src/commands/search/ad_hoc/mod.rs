//! `toller search WORDS`, and its prompt: queries that are typed, hits in the terminal.

mod hit;
mod prompt;

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use toller_ir::{Passage, Query, Setting, counted};
use toller_pipeline::fusion::Fusion;
use toller_sparse::Explanation;
use toller_texts::{Texts, TextsOptions};

use self::hit::ShownHit;
use self::prompt::Lines;
use super::{KeptRuns, SearchArgs, Sources};
use crate::args::input::CORPUS_FORMAT;
use crate::args::paths::InputPath;
use crate::engine;
use crate::error::{Context, Failure, Remedied, UsageError};
use crate::ui::Ui;

/// Hits that are shown unless --k says otherwise.
const SHOWN: u32 = 10;

/// Shows the hits of the words, or of each line of the prompt.
pub(super) fn run(args: &SearchArgs, fusion: Option<Fusion>, ui: &Ui) -> crate::Result<()> {
    if let Some(flag) = args.sources.filter.by_query() {
        let message = format!("{flag} is for queries with identifiers, and typed queries have none");
        return Err(UsageError::new(message, format!("leave {flag} out, or give --queries")).into());
    }
    if let Some(flag) = args.shard.map(|_| "--shard").or(args.output.first_given()) {
        let message = format!("{flag} is for a run, and queries are typed here");
        return Err(UsageError::new(message, "give --queries FILE and --output RUN, or leave it out").into());
    }
    if args.corpus.is_empty() && args.sources.bad_lines.skip_bad_lines {
        let message = "--skip-bad-lines is for --corpus, which is not given";
        return Err(UsageError::new(message, "leave it out").into());
    }
    if !args.words.is_empty() && args.words.iter().all(|words| words.trim().is_empty()) {
        return Err(
            UsageError::new("there are no words to search for", "give some, or leave out \"\"").into()
        );
    }
    check_no_words(args)?;
    if let [word] = &args.words[..]
        && Path::new(word).is_file()
    {
        ui.warning(format!("{word} is a file; to search for the queries in it, give --queries {word}"));
    }
    let engine = engine::open(ui)?;
    let none = Some(Vec::new());
    let mut kept = KeptRuns::none();
    let sources = Sources::open_for(&args.sources, none, fusion, &mut kept, &engine, ui)?;
    let texts = if args.corpus.is_empty() {
        None
    } else {
        let reading = args.collection.options(args.sources.bad_lines.skip_bad_lines);
        let options = TextsOptions { reading, ..TextsOptions::default() };
        let texts = engine.texts(&engine.collection_files(&args.corpus)?, &options);
        Some(texts.with_flag(Setting::Format, CORPUS_FORMAT)?)
    };
    let k = args.k.unwrap_or(SHOWN) as usize;
    let session = Session { sources, texts, k, explain: args.explain, ui };
    if !args.words.is_empty() {
        return session.answer(&args.words.join(" "));
    }
    let mut lines = Lines::open()?;
    while let Some(line) = lines.next()? {
        match session.answer(&line) {
            // One query that cannot be searched for does not end the session.
            Err(error) if lines.is_terminal() => crate::error::print(&error, ui.json),
            answered => answered?,
        }
    }
    Ok(())
}

/// Refuses a word that an option with several values has taken.
fn check_no_words(args: &SearchArgs) -> Result<(), Remedied> {
    let is_word = |path: &&InputPath| {
        let is_missing = path.input().path().is_some_and(|path| !path.exists());
        is_missing && path.extension().is_none() && path.components().count() == 1
    };
    for (flag, values) in [("--corpus", &args.corpus), ("--dense", &args.sources.dense.dense)] {
        if let Some(word) = values.iter().skip(1).find(is_word) {
            return Err(Remedied::new(
                format!("there is no file {} for {flag}", word.display()),
                "write the words to search for before the options, or after --",
            ));
        }
    }
    Ok(())
}

/// What queries are answered with.
struct Session<'a> {
    sources: Sources,
    texts: Option<Texts>,
    k: usize,
    explain: bool,
    ui: &'a Ui,
}

impl Session<'_> {
    /// Searches for a text, and prints its hits.
    fn answer(&self, text: &str) -> crate::Result<()> {
        let began = Instant::now();
        let query = Query { id: "1".to_owned(), text: text.to_owned(), ..Query::default() };
        let response = self.sources.search_one(&query, self.k)?;
        let hits = response.rankings.into_iter().next().unwrap_or_default().hits;
        let milliseconds = began.elapsed().as_secs_f64() * 1e3;

        let searcher = &self.sources.searcher;
        let ids: Vec<String> = hits.iter().map(|hit| searcher.doc_id(hit.doc).into_owned()).collect();
        let passages = self.passages(&ids)?;
        self.warn_of_missing(&ids, &passages);
        let docs: Vec<_> = hits.iter().map(|hit| hit.doc).collect();
        let explained = if self.explain { self.sources.explain(&query, self.k, &docs)? } else { None };
        let explanations = match explained {
            Some(explained) => explained.into_iter().map(Some).collect(),
            None => vec![None::<Explanation>; hits.len()],
        };
        let analyzer = self.sources.sparse.as_ref().map(|sparse| sparse.analyzer());
        let terms = analyzer.map(|analyzer| analyzer.analyze(text)).unwrap_or_default();
        let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
        let shown = (1_usize..).zip(hits).zip(ids).zip(passages).zip(explanations).map(
            |((((rank, hit), doc_id), passage), explanation)| {
                ShownHit::new(rank, hit.score, doc_id, passage, explanation, analyzer, &terms)
            },
        );
        let shown: Vec<ShownHit> = shown.collect();
        if self.ui.json {
            return self
                .ui
                .json(|| serde_json::json!({ "query": text, "milliseconds": milliseconds, "hits": shown }));
        }
        let mut out = self.ui.out();
        for hit in &shown {
            hit.print(&mut out)?;
        }
        out.flush()?;
        let documents = searcher.doc_count();
        let none = match analyzer {
            _ if !shown.is_empty() => "",
            Some(_) if terms.is_empty() => "no hits: no term of the query is left after analysis; ",
            _ => "no hits; ",
        };
        self.ui.status(format!("{none}{} searched in {milliseconds:.1} ms", counted(documents, "document")));
        Ok(())
    }

    /// Warns of hits that are not in the collection that was given.
    fn warn_of_missing(&self, ids: &[String], passages: &[Option<Passage>]) {
        let mut missing = ids.iter().zip(passages).filter(|(_, passage)| passage.is_none());
        let (Some(_), Some((example, _))) = (&self.texts, missing.next()) else { return };
        let (count, all) = (missing.count() + 1, ids.len());
        let hits = if count == all {
            format!("none of the {all} hits is")
        } else {
            format!("{count} of {all} hits are not")
        };
        self.ui.warning(format!("{hits} in --corpus, for example {example:?}"));
    }

    /// The documents' passages, where the collection was given and has them.
    fn passages(&self, ids: &[String]) -> Result<Vec<Option<Passage>>, Failure> {
        let Some(texts) = &self.texts else { return Ok(vec![None; ids.len()]) };
        Ok(texts.get_many(&ids.iter().map(String::as_str).collect::<Vec<_>>())?)
    }
}
