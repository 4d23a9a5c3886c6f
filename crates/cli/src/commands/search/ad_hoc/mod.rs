//! `toller search WORDS`, and its prompt: queries that are typed, hits in the terminal.

mod hit;
mod prompt;

use std::collections::HashSet;
use std::io::Write;
use std::time::Instant;

use toller_ir::{Passage, Query, Setting, counted};
use toller_pipeline::fusion::Fusion;
use toller_sparse::Explanation;
use toller_texts::{Texts, TextsOptions};

use self::hit::ShownHit;
use self::prompt::Lines;
use super::{KeptRuns, SearchArgs, Sources};
use crate::args::input::CORPUS_FORMAT;
use crate::engine;
use crate::error::{Context, Failure, UsageError};
use crate::ui::Ui;

/// Hits that are shown unless --k says otherwise.
const SHOWN: u32 = 10;

/// Shows the hits of the words, or of each line of the prompt.
pub(super) fn run(args: &SearchArgs, fusion: Option<Fusion>, ui: &Ui) -> crate::Result<()> {
    if let Some(flag) = args.sources.filter.by_query() {
        let message = format!("{flag} is for queries with identifiers, and typed queries have none");
        return Err(UsageError::new(message, format!("leave {flag} out, or give --queries")).into());
    }
    if args.corpus.is_empty() && args.sources.bad_lines.skip_bad_lines {
        let message = "--skip-bad-lines is for --corpus, which is not given";
        return Err(UsageError::new(message, "leave it out").into());
    }
    let engine = engine::open(ui)?;
    let none = Some(Vec::new());
    let mut kept = KeptRuns::none();
    let sources =
        Sources::open_for(&args.sources, none, fusion, args.fusion_depth as usize, &mut kept, &engine, ui)?;
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
        let docs: Vec<_> = hits.iter().map(|hit| hit.doc).collect();
        let explanations = match &self.sources.sparse {
            Some(sparse) if self.explain => {
                sparse.explain(text, self.k, &docs)?.into_iter().map(Some).collect()
            }
            _ => vec![None::<Explanation>; hits.len()],
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

    /// The documents' passages, where the collection was given and has them.
    fn passages(&self, ids: &[String]) -> Result<Vec<Option<Passage>>, Failure> {
        let Some(texts) = &self.texts else { return Ok(vec![None; ids.len()]) };
        Ok(texts.get_many(&ids.iter().map(String::as_str).collect::<Vec<_>>())?)
    }
}
