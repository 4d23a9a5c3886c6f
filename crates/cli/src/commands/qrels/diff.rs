//! `toller qrels diff`: how two sets of judgments differ.

use serde_json::json;
use toller_corpus::QrelsFormat;
use toller_eval::{QrelsDifference, diff_qrels};

use crate::args::choice::by_name;
use crate::args::input::BadLinesArgs;
use crate::args::paths::{InputPath, Inputs};
use crate::args::qrels::read_judgments;
use crate::table::{Align, table};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The first judgments, such as those before they were corrected; `-` is stdin
    #[arg(value_name = "A")]
    first: InputPath,

    /// The second judgments
    #[arg(value_name = "B")]
    second: InputPath,

    /// The lowest grade that is relevant
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    /// Format of the judgments [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<QrelsFormat>(QrelsFormat::NAMES))]
    qrels_format: Option<QrelsFormat>,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

/// Compares.
pub fn run(args: &DiffArgs, ui: &Ui) -> crate::Result<()> {
    Inputs::files([&args.first, &args.second]).check()?;
    let read = |file| read_judgments(file, args.qrels_format, args.bad_lines.skip_bad_lines, ui);
    let difference = diff_qrels(&read(&args.first)?, &read(&args.second)?, args.relevance_level);
    ui.show(|| object(&difference), |out| out.write_all(text(&difference).as_bytes()))
}

fn object(difference: &QrelsDifference) -> serde_json::Value {
    let three = |counts: [usize; 3]| json!({"only_a": counts[0], "both": counts[1], "only_b": counts[2]});
    let grades: Vec<_> = difference
        .grades
        .iter()
        .map(|((a, b), count)| json!({"grade_a": a, "grade_b": b, "pairs": count}))
        .collect();
    json!({
        "queries": three(difference.queries),
        "pairs": three(difference.pairs),
        "relevant": three(difference.relevant),
        "relevant_per_query": difference.relevant_per_query(),
        "changed_queries": difference.changed_queries,
        "agreement": difference.agreement(),
        "kappa": difference.kappa(),
        "relevant_overlap": difference.relevant_overlap(),
        "grades": grades,
    })
}

fn text(difference: &QrelsDifference) -> String {
    let row = |cells: &[String]| cells.to_vec();
    let counted = |name: &str, counts: [usize; 3]| {
        let [a, both, b] = counts.map(|count| count.to_string());
        row(&[name.to_owned(), a, both, b])
    };
    let counts = [
        row(&["", "only A", "both", "only B"].map(str::to_owned)),
        counted("queries", difference.queries),
        counted("judged pairs", difference.pairs),
        counted("relevant pairs", difference.relevant),
    ];
    let right = [Align::Left, Align::Right, Align::Right, Align::Right];
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    let [before, after] = difference.relevant_per_query();
    let mut text = table(&counts, &right);
    text += &format!("\nrelevant for each query: {before:.2} in A, {after:.2} in B\n");
    let (changed, both) = (difference.changed_queries, difference.queries[1]);
    text += &format!("queries in both whose relevant documents differ: {changed} of {both}\n");
    text += &format!("same grade, of the pairs in both: {}\n", share(difference.agreement()));
    text += &format!("Cohen's kappa of the pairs in both: {}\n", share(difference.kappa()));
    text += &format!("relevant in both, of those in either: {}\n\n", share(difference.relevant_overlap()));
    let mut grades = vec![row(&["grade in A", "grade in B", "pairs"].map(str::to_owned))];
    let grade = |grade: &Option<i32>| grade.map_or_else(|| "-".to_owned(), |grade| grade.to_string());
    grades.extend(
        difference.grades.iter().map(|((a, b), count)| row(&[grade(a), grade(b), count.to_string()])),
    );
    text + &table(&grades, &[Align::Right; 3])
}
