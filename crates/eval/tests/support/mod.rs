//! Readers for tests: TREC runs and qrels, trec_eval's output.

#![allow(dead_code, unreachable_pub)] // Each test file uses its own part.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use toller_eval::Measure;
use toller_ir::{Qrels, Run, RunEntry};

pub type TestResult = Result<(), Box<dyn Error>>;

/// A file of this crate's tests/golden.
pub fn golden(name: &str) -> PathBuf {
    toller_testing::repository("crates/eval/tests/golden").join(name)
}

fn lines(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let gzip = path.extension().is_some_and(|extension| extension == "gz");
    let reader: Box<dyn Read> =
        if gzip { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let lines: Result<Vec<_>, _> = BufReader::new(reader).lines().collect();
    Ok(lines?.into_iter().filter(|line| !line.starts_with('#') && !line.is_empty()).collect())
}

pub fn read_qrels(path: &Path) -> Result<Qrels, Box<dyn Error>> {
    let mut qrels = Qrels::new();
    for line in lines(path)? {
        let [query_id, _, doc_id, grade] = columns(&line)?;
        if qrels.insert(query_id, doc_id, grade.parse()?).is_some() {
            return Err(format!("{query_id} {doc_id} is judged twice").into());
        }
    }
    Ok(qrels)
}

pub fn read_run(path: &Path) -> Result<Run, Box<dyn Error>> {
    let mut run = Run::default();
    for line in lines(path)? {
        let [query_id, _, doc_id, _, score, _] = columns(&line)?;
        let entry = RunEntry { doc_id: doc_id.to_owned(), score: score.parse()? };
        run.queries.entry(query_id.to_owned()).or_default().push(entry);
    }
    Ok(run)
}

/// The first `N` columns. trec_eval ignores further columns, and one of its tests needs that.
fn columns<const N: usize>(line: &str) -> Result<[&str; N], Box<dyn Error>> {
    let columns: Vec<&str> = line.split_whitespace().take(N).collect();
    columns.try_into().map_err(|columns: Vec<&str>| format!("{} columns: {line}", columns.len()).into())
}

/// A line of trec_eval's output: measure, query or `all`, value as printed.
pub type TrecLine = (String, String, String);

pub fn read_trec_eval_output(path: &Path) -> Result<Vec<TrecLine>, Box<dyn Error>> {
    let mut output = Vec::new();
    for line in lines(path)? {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [measure, query, value] = cells[..] else {
            return Err(format!("not three cells: {line}").into());
        };
        output.push((measure.to_owned(), query.to_owned(), value.to_owned()));
    }
    Ok(output)
}

/// What trec_eval measures and Toller does not.
const NOT_IMPLEMENTED: &[&str] = &[
    "runid", "gm_map", "gm_bpref", "Rprec_mult_", "utility", "11pt_avg", "binG", "G", "ndcg_rel", "Rndcg",
    "relative_P_", "num_nonrel_judged_ret", "rbp", "rbp_resid", "unj_", "relstring", "relstring_",
];

/// The measure of a name in trec_eval's output, or `None` if it is one of those not implemented.
pub fn measure_of_trec_name(name: &str) -> Result<Option<Measure>, Box<dyn Error>> {
    let is = |known: &&str| {
        name == *known || (name.starts_with(known) && name[known.len() - 1..].starts_with('_'))
    };
    if NOT_IMPLEMENTED.iter().any(is) || name.starts_with("utility_") || name.starts_with("11pt_avg_") {
        return Ok(None);
    }
    if let Some(gains) = name.strip_prefix("ndcg_").filter(|gains| gains.contains('=')) {
        return Ok(Some(format!("nDCG(gains={{{}}})", gains.replace('=', ":")).parse()?));
    }
    Ok(Some(name.parse().map_err(|error| format!("{name}: {error}"))?))
}
