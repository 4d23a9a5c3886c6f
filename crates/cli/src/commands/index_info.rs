//! `toller index-info`: what an inverted index has, and what it knows of a term.

use std::io::Write;

use serde_json::json;

use crate::args::analyzer::IndexAnalyzerArgs;
use crate::args::paths::InputPath;
use crate::engine;
use crate::table::{Align, table};
use crate::ui::Ui;

/// Arguments of `toller index-info`.
#[derive(Debug, clap::Args)]
pub struct IndexInfoArgs {
    /// The index
    #[arg(value_name = "INDEX")]
    index: InputPath,

    /// Text whose terms are looked up, as the index's analyzer makes them
    #[arg(long = "term", value_name = "TEXT")]
    terms: Vec<String>,

    #[command(flatten)]
    analyzer: IndexAnalyzerArgs,

    /// Do not verify checksums
    #[arg(long)]
    no_verify: bool,
}

/// A term that was looked up.
struct Asked {
    term: String,
    documents: u32,
    occurrences: u64,
    most: u32,
}

/// Prints the statistics.
pub fn run(args: &IndexInfoArgs, ui: &Ui) -> crate::Result<()> {
    let analyzer = args.analyzer.analyzer.as_deref();
    let engine = engine::open(ui)?;
    let (index, analyzer) = engine.open_sparse(&args.index, analyzer, !args.no_verify)?;
    engine.opening(!args.no_verify, |options| index.verify_doc_vectors(options))?;
    let mut asked = Vec::new();
    for text in &args.terms {
        let terms = analyzer.analyze(text);
        if terms.is_empty() {
            ui.warning(format!("no term of {text:?} is left after analysis"));
        }
        for term in terms {
            let found = index.term(&term)?;
            let of = found.as_ref().map(|found| *found.statistics());
            asked.push(Asked {
                documents: of.map_or(0, |of| of.doc_freq),
                occurrences: of.map_or(0, |of| of.collection_freq),
                most: of.map_or(0, |of| of.max_freq),
                term,
            });
        }
    }
    let (manifest, statistics) = (index.manifest(), index.statistics());
    let without = statistics.docs - statistics.docs_with_terms;
    let vectors = index.has_doc_vectors();
    if ui.json {
        let of_term = |of: &Asked| {
            json!({
                "term": of.term,
                "document_frequency": of.documents,
                "collection_frequency": of.occurrences,
                "most_in_a_document": of.most,
            })
        };
        return ui.json(|| {
            json!({
                "index": args.index.display().to_string(),
                "analyzer": manifest.analyzer.name,
                "analyzer_fingerprint": manifest.analyzer.fingerprint,
                "model": manifest.source.model.as_ref().map(|model| &model.name),
                "source_fingerprint": manifest.source.fingerprint,
                "documents": statistics.docs,
                "documents_without_terms": without,
                "terms": statistics.terms,
                "postings": statistics.postings,
                "tokens": statistics.tokens,
                "average_length": statistics.average_length(),
                "doc_vectors": vectors,
                "bytes": manifest.bytes(),
                "terms_asked": asked.iter().map(of_term).collect::<Vec<_>>(),
            })
        });
    }
    let mut facts = vec![
        ("index", args.index.display().to_string()),
        ("analyzer", manifest.analyzer.name.clone()),
        ("documents", statistics.docs.to_string()),
        ("without terms", without.to_string()),
        ("distinct terms", statistics.terms.to_string()),
        ("postings", statistics.postings.to_string()),
        ("tokens", statistics.tokens.to_string()),
        ("average length", format!("{:.2}", statistics.average_length())),
        ("document vectors", if vectors { "yes" } else { "no" }.to_owned()),
        ("size", format!("{:.1} MB", manifest.bytes() as f64 / 1e6)),
        ("source", format!("fingerprint {}", manifest.source.fingerprint)),
    ];
    if let Some(model) = &manifest.source.model {
        facts.insert(2, ("model", format!("{model} (fingerprint {})", model.fingerprint)));
    }
    let mut out = ui.out();
    for (name, value) in facts {
        writeln!(out, "{name:<20} {value}")?;
    }
    if !asked.is_empty() {
        let titles = ["term", "documents", "occurrences", "most in a document"];
        let of_term = |of: &Asked| {
            vec![of.term.clone(), of.documents.to_string(), of.occurrences.to_string(), of.most.to_string()]
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(titles.map(str::to_owned).to_vec()).chain(asked.iter().map(of_term)).collect();
        write!(out, "\n{}", table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right]))?;
    }
    out.flush()?;
    Ok(())
}
