//! `toller annotate agreement`: how far annotators agree.

use std::io::Write;

use serde_json::json;
use toller_annotation::{Agreement, agreement};

use super::sheets::SheetsArgs;
use crate::args::report::{ReportArgs, ReportFormat};
use crate::error::Remedied;
use crate::table::{Align, table};
use crate::ui::Ui;

/// Measure how far the annotators of filled sheets agree.
///
/// By the share of equal grades, Fleiss' kappa, and Cohen's kappa of each two.
#[derive(Debug, clap::Args)]
pub struct AgreementArgs {
    #[command(flatten)]
    sheets: SheetsArgs,

    #[command(flatten)]
    report: ReportArgs,
}

/// Reads the sheets and writes the agreement.
pub fn run(args: &AgreementArgs, ui: &Ui) -> crate::Result<()> {
    let ratings = args.sheets.read(ui)?;
    let Some(found) = agreement(&ratings) else {
        let message = "no pair of a query and a document was judged by two annotators";
        return Err(Remedied::new(message, "give the sheets of two annotators for the same package").into());
    };
    let mut out = ui.out();
    match args.report.format(ui) {
        ReportFormat::Table => out.write_all(shown(&found, args.report.digits()).as_bytes())?,
        ReportFormat::Json => return ui.write_json(as_json(&found)),
        ReportFormat::Csv => as_csv(&found, &mut out).map_err(crate::error::of_csv)?,
    }
    Ok(out.flush()?)
}

fn shown(found: &Agreement, digits: usize) -> String {
    let number = |value: f64| {
        let shown = format!("{value:.digits$}");
        // What rounding leaves of a zero has no sign.
        if shown.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) { shown } else { shown.replace('-', "") }
    };
    let head = ["annotators", "pairs", "agreement", "kappa", "weighted kappa"];
    let all =
        ["all (Fleiss)", &found.pairs.to_string(), &number(found.observed), &number(found.fleiss_kappa), ""];
    let mut rows = [head, all].map(|row| row.map(str::to_owned).to_vec()).to_vec();
    rows.extend(found.annotators.iter().map(|two| {
        let numbers = [two.observed, two.kappa, two.weighted_kappa].map(number);
        [two.names.join(", "), two.pairs.to_string()].into_iter().chain(numbers).collect()
    }));
    table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
}

fn as_json(found: &Agreement) -> serde_json::Value {
    let two = found.annotators.iter().map(|two| {
        json!({
            "annotators": two.names,
            "pairs": two.pairs,
            "agreement": two.observed,
            "kappa": two.kappa,
            "weighted_kappa": two.weighted_kappa,
        })
    });
    json!({
        "pairs": found.pairs,
        "agreement": found.observed,
        "fleiss_kappa": found.fleiss_kappa,
        "annotators": two.collect::<Vec<_>>(),
    })
}

fn as_csv(found: &Agreement, out: impl Write) -> csv::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record(["first", "second", "pairs", "agreement", "kappa", "weighted_kappa"])?;
    let all = [found.observed, found.fleiss_kappa].map(|value| value.to_string());
    rows.write_record(["", "", &found.pairs.to_string(), &all[0], &all[1], ""])?;
    for two in &found.annotators {
        let [first, second] = &two.names;
        let numbers = [two.observed, two.kappa, two.weighted_kappa].map(|value| value.to_string());
        rows.write_record([first, second, &two.pairs.to_string(), &numbers[0], &numbers[1], &numbers[2]])?;
    }
    Ok(rows.flush()?)
}

#[cfg(test)]
mod tests {
    use toller_annotation::{Agreement, PairAgreement};

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        let names = ["ann".to_owned(), "bo".to_owned()];
        let two = PairAgreement { names, pairs: 3, observed: 0.5, kappa: -0.25, weighted_kappa: -1e-17 };
        let all = Agreement { pairs: 3, observed: 0.5, fleiss_kappa: 0.0, annotators: vec![two] };
        let shown = super::shown(&all, 4);
        assert!(shown.contains("-0.2500") && !shown.contains("-0.0000"), "{shown}");
    }
}
