//! Inverted indexes whose checksums are not verified: no change makes a search panic.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use toller_analysis::Analyzer;
use toller_files::OpenOptions;
use toller_fuzz::Whole;
use toller_ir::DocOrd;
use toller_sparse::{BuildJob, Lengths, Scoring, Source, SparseError, SparseIndex, SparseQuery, build};

const WORDS: u64 = 12;

fn make(directory: &Path) {
    let analyzer = Analyzer::by_name("whitespace").expect("an analyzer");
    let job = BuildJob {
        analyzer: &analyzer,
        source: Source {
            fingerprint: "s".to_owned(),
            passages: 300,
            title_separator: Some(" ".to_owned()),
            model: None,
        },
        doc_vectors: true,
        memory_bytes: 1 << 24,
        threads: 1,
        overwrite: true,
        stop: &AtomicBool::new(false),
    };
    let text = |doc: u64| {
        let word = |place: u64| format!("w{}", (doc * 7 + place * place) % (1 + (doc + place) % WORDS));
        (0..doc % 9).map(word).collect::<Vec<_>>().join(" ")
    };
    let documents = (0..300).map(|doc| Ok::<_, SparseError>((format!("d{doc}"), text(doc))));
    build(directory, &job, documents, |_| ()).expect("an index");
}

fuzz_target!(|bytes: &[u8]| {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| Whole::new(make)).changed(bytes, |path| {
        let Ok(index) = SparseIndex::open(path, &OpenOptions { verify: false, progress: None }) else {
            return;
        };
        let query =
            SparseQuery::weighted((0..WORDS).map(|word| (format!("w{word}"), 1.0))).unwrap_or_default();
        for lengths in [Lengths::Exact, Scoring::default().lengths] {
            let _ = index.search(&query, &Scoring { lengths, ..Scoring::default() }, 20);
        }
        for doc in 0..index.doc_count().min(400) as u32 {
            let _ = (index.doc_id(DocOrd(doc)).len(), index.doc_vector(DocOrd(doc)).is_ok());
        }
    });
});
