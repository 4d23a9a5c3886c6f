//! Inputs that cannot be evaluated, comparisons of runs, and the forms of a report.

mod support;

use std::error::Error;

use support::{TestResult, golden, read_qrels, read_run};
use toller_eval::{
    CompareError, CompareOptions, Compared, Correction, EvalError, EvalOptions, Evaluation, Format, Measure,
    Pairs, Report, ReportOptions, RunReport, StatsError, Test, compare_pairs, evaluate, parse_measures,
};
use toller_ir::{Explain, Qrels, Run, RunEntry};

fn qrels(lines: &[(&str, &str, i32)]) -> Qrels {
    let mut qrels = Qrels::new();
    for (query, doc, grade) in lines {
        qrels.insert(query, doc, *grade);
    }
    qrels
}

fn run(lines: &[(&str, &str, f64)]) -> Run {
    let mut run = Run::default();
    for (query, doc, score) in lines {
        let entry = RunEntry { doc_id: (*doc).to_owned(), score: *score };
        run.queries.entry((*query).to_owned()).or_default().push(entry);
    }
    run
}

fn failure(qrels: &Qrels, run: &Run, measures: &str) -> Result<EvalError, Box<dyn Error>> {
    let measures = parse_measures(measures)?;
    Ok(evaluate(qrels, run, &measures, &EvalOptions::default()).err().ok_or("evaluated")?)
}

#[test]
fn what_cannot_be_evaluated() -> TestResult {
    let one = qrels(&[("q1", "d1", 1)]);
    let found = run(&[("q1", "d1", 1.0)]);
    assert_eq!(failure(&Qrels::new(), &found, "AP")?, EvalError::EmptyQrels);
    assert_eq!(failure(&one, &Run::default(), "AP")?, EvalError::EmptyRun);

    let other = failure(&one, &run(&[("1", "d1", 1.0), ("2", "d1", 1.0)]), "AP")?;
    assert!(
        other.to_string().starts_with("no query of the run is judged: the run has 2 queries, such as \"1\""),
        "{other}"
    );
    // Two Unicode forms of one letter do not look alike.
    let form = failure(&qrels(&[("\u{e9}", "d1", 1)]), &run(&[("e\u{301}", "d1", 1.0)]), "AP")?.to_string();
    assert!(form.contains("such as \"e\\u{301}\", the qrels 1, such as \"\u{e9}\""), "{form}");
    assert!(other.remedy().is_some_and(|remedy| remedy.to_string().contains("ids")));

    let duplicate = failure(&one, &run(&[("q1", "d1", 1.0), ("q1", "d2", 2.0), ("q1", "d1", 3.0)]), "AP")?;
    assert_eq!(duplicate.to_string(), "the run lists document 'd1' twice for query 'q1'");
    let nan = failure(&one, &run(&[("q1", "d1", f64::NAN)]), "AP")?;
    assert_eq!(nan.to_string(), "the score of document 'd1' for query 'q1' is not a number");

    let steep = qrels(&[("q1", "d1", 5000)]);
    let large = failure(&steep, &found, "nDCG nDCG(dcg='exp-log2')@10")?;
    assert_eq!(large.to_string(), "grade 5000 of query 'q1' is too large for nDCG(dcg='exp-log2')@10");
    let mapped = parse_measures("nDCG nDCG(dcg='exp-log2',gains={5000:1})")?;
    assert_eq!(evaluate(&steep, &found, &mapped, &EvalOptions::default())?.aggregates, [1.0, 1.0]);
    Ok(())
}

#[test]
fn scores_are_compared_in_double_precision_and_ids_break_ties() -> TestResult {
    let one = qrels(&[("q", "a", 1)]);
    let rank = |lines: &[(&str, &str, f64)]| -> Result<f64, Box<dyn Error>> {
        Ok(1.0 / evaluate(&one, &run(lines), &parse_measures("RR")?, &EvalOptions::default())?.aggregates[0])
    };
    // Equal as f32.
    assert_eq!(rank(&[("q", "a", 1.000_000_01), ("q", "b", 1.0)])?, 1.0);
    assert_eq!(rank(&[("q", "a", 1.0), ("q", "b", 1.0)])?, 2.0);
    assert_eq!(rank(&[("q", "a", 0.0), ("q", "B", -0.0)])?, 1.0);
    assert_eq!(rank(&[("q", "a", 1.0), ("q", "é", 1.0), ("q", "aa", 1.0)])?, 3.0);
    assert_eq!(rank(&[("q", "a", 1.0), ("q", "b", f64::INFINITY), ("q", "c", f64::NEG_INFINITY)])?, 2.0);
    Ok(())
}

/// P is of k documents, and not of the retrieved ones, as in ranx.
#[test]
fn f1_has_a_cutoff() -> TestResult {
    let two = qrels(&[("q", "a", 1), ("q", "z", 1)]);
    let found = run(&[("q", "a", 2.0), ("q", "b", 1.0)]);
    let measures = parse_measures("SetF SetF@1 f1@10 SetF(beta=0.5)@10")?;
    let values = evaluate(&two, &found, &measures, &EvalOptions::default())?.aggregates;
    for (value, expected) in values.iter().zip([0.5, 2.0 / 3.0, 1.0 / 6.0, 0.075 / 0.55]) {
        assert!((value - expected).abs() < 1e-15, "{values:?}");
    }
    Ok(())
}

/// Exact decimals round half to even, as C's printf does.
#[test]
fn values_print_as_in_c() -> TestResult {
    let measure: Measure = "AP".parse()?;
    let printed = |value: f64| measure.format(value, 4);
    assert_eq!(
        [0.03125, 0.09375, 0.5, 1.0 / 3.0, 0.0].map(printed),
        ["0.0312", "0.0938", "0.5000", "0.3333", "0.0000"]
    );
    Ok(())
}

fn evaluations() -> Result<Vec<Evaluation>, Box<dyn Error>> {
    let qrels = read_qrels(&golden("synthetic.qrels"))?;
    let baseline = read_run(&golden("synthetic.run"))?;
    let mut reversed = baseline.clone();
    for entry in reversed.queries.values_mut().flatten() {
        entry.score = -entry.score;
    }
    let measures = parse_measures("nDCG@10 AP NumRelRet")?;
    [baseline.clone(), reversed, baseline]
        .iter()
        .map(|run| Ok(evaluate(&qrels, run, &measures, &EvalOptions::default())?))
        .collect()
}

#[test]
fn comparisons_with_the_baseline() -> TestResult {
    let evaluations = evaluations()?;
    let runs: Vec<&Evaluation> = evaluations.iter().collect();
    let options = CompareOptions { correction: Correction::Bonferroni, ..CompareOptions::default() };
    let pairs = compare_pairs(&runs, Pairs::With(0), &options)?;
    let names: Vec<_> = pairs.iter().map(|pair| (pair.run, pair.measure.to_string())).collect();
    let expected = [(1, "nDCG@10"), (2, "nDCG@10"), (1, "AP"), (2, "AP")]
        .map(|(run, measure)| (run, measure.to_owned()));
    assert_eq!(names, expected, "counts are not compared");
    for pair in &pairs {
        let at = if pair.measure.to_string() == "AP" { 1 } else { 0 };
        let difference = evaluations[pair.run].aggregates[at] - evaluations[0].aggregates[at];
        assert!((pair.t_test.mean_difference - difference).abs() < 1e-12);
        assert_eq!(pair.wins + pair.ties + pair.losses, evaluations[0].per_query.len());
        for tested in &pair.tests {
            assert_eq!(tested.adjusted_p, (2.0 * tested.outcome.p_value()).min(1.0));
            assert_eq!(tested.outcome.p_value() == 1.0, pair.run == 2);
        }
    }

    let with = |other: &Evaluation| compare_pairs(&[&evaluations[0], other], Pairs::All, &options);
    let mut other = evaluations[2].clone();
    other.measures.reverse();
    assert_eq!(with(&other), Err(CompareError::DifferentMeasures));
    let mut few = evaluations[2].clone();
    few.per_query.truncate(1);
    assert_eq!(with(&few), Err(CompareError::Stats(StatsError::TooFewPairs { pairs: 1 })));
    Ok(())
}

fn report() -> Result<Report, Box<dyn Error>> {
    let qrels = qrels(&[("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 2), ("q3", "c", 1)]);
    let measures = parse_measures("RR@10 NumRelRet")?;
    let good = run(&[("q1", "a", 2.0), ("q1", "b", 1.0), ("q2", "a", 1.0), ("q4", "a", 1.0)]);
    let bad = run(&[("q1", "a", 1.0), ("q1", "b", 2.0), ("q2", "a", 1.0), ("q3", "a", 1.0)]);
    let mut runs = Vec::new();
    for (name, run) in [("good.run", good), ("bad, \"worse\"", bad)] {
        let evaluation = evaluate(&qrels, &run, &measures, &EvalOptions::default())?;
        runs.push(RunReport::new(name, evaluation));
    }
    Ok(Report { runs, comparisons: None })
}

fn compare_with_first(report: &mut Report) -> TestResult {
    let evaluations: Vec<&Evaluation> = report.runs.iter().map(|run| &run.evaluation).collect();
    let (which, options) = (Pairs::With(0), CompareOptions::default());
    let pairs = compare_pairs(&evaluations, which, &options)?;
    report.comparisons = Some(Compared { which, options, pairs });
    Ok(())
}

fn written(report: &Report, format: Format, options: ReportOptions) -> Result<String, Box<dyn Error>> {
    let mut out = Vec::new();
    report.write(&mut out, format, options)?;
    Ok(String::from_utf8(out)?)
}

#[test]
fn tables() -> TestResult {
    let mut report = report()?;
    let plain = written(&report, Format::Table, ReportOptions::default())?;
    let expected = "\
run           queries   RR@10  NumRelRet
good.run            3  0.6667          2
bad, \"worse\"        3  0.5000          2
";
    assert_eq!(plain, expected);
    let detailed = written(&report, Format::Table, ReportOptions { per_query: true, digits: 2 })?;
    let expected = "\
run           query  RR@10  NumRelRet
good.run      q1      1.00          1
good.run      q2      1.00          1
good.run      q3      0.00          0
bad, \"worse\"  q1      0.50          1
bad, \"worse\"  q2      1.00          1
bad, \"worse\"  q3      0.00          0

run           queries  RR@10  NumRelRet
good.run            3   0.67          2
bad, \"worse\"        3   0.50          2
";
    assert_eq!(detailed, expected);

    compare_with_first(&mut report)?;
    let compared = written(&report, Format::Table, ReportOptions::default())?;
    let expected = "\
#  run           queries   RR@10  NumRelRet
a  good.run            3  0.6667          2
b  bad, \"worse\"        3  0.5000          2
Letters name the runs that a value is significantly above: t-test, p < 0.05, corrected by Holm's method.

comparisons:
measure  run           baseline  difference  95% low  95% high       d  wins  ties  losses  p (t-test)  adj. p  p (randomization)  adj. p  needs   shows
RR@10    bad, \"worse\"  good.run     -0.1667  -0.8838   +0.5504  -0.577     0     2       1      0.4226  0.4226             1.0000  1.0000     26  0.9422
";
    assert_eq!(compared, expected);
    Ok(())
}

#[test]
fn comma_separated() -> TestResult {
    let mut report = report()?;
    let options = ReportOptions { per_query: true, digits: 4 };
    let plain = written(&report, Format::Csv, options)?;
    let mut lines = plain.lines();
    assert_eq!(lines.next(), Some("run,query,RR@10,NumRelRet"));
    assert_eq!(lines.next(), Some("good.run,q1,1,1"));
    assert_eq!(lines.next_back(), Some("\"bad, \"\"worse\"\"\",all,0.5,2"));
    assert_eq!(lines.count(), 6);

    compare_with_first(&mut report)?;
    let compared = written(&report, Format::Csv, options)?;
    let mut rows = csv::Reader::from_reader(compared.as_bytes());
    assert_eq!(rows.headers()?.iter().next_back(), Some("RR@10 randomization p"));
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>()?;
    assert_eq!(rows.len(), 8, "all rows have as many columns as the header");
    let last: Vec<&str> = rows.iter().next_back().ok_or("no row")?.iter().collect();
    assert_eq!(last[..4], ["bad, \"worse\"", "all", "0.5", "2"]);
    assert!((last[4].parse::<f64>()? + 1.0 / 6.0).abs() < 1e-15, "{last:?}");
    assert_eq!(last[6], "1");
    Ok(())
}

#[test]
fn json() -> TestResult {
    let mut report = report()?;
    compare_with_first(&mut report)?;
    let text = written(&report, Format::Json, ReportOptions { per_query: true, digits: 4 })?;
    let value: serde_json::Value = serde_json::from_str(&text)?;
    assert_eq!(value["measures"], serde_json::json!(["RR@10", "NumRelRet"]));
    assert_eq!(value["baseline"], "good.run");
    let [good, bad] = value["runs"].as_array().ok_or("no runs")?.as_slice() else {
        return Err("not two runs".into());
    };
    assert_eq!(good["aggregates"]["RR@10"].as_f64(), Some(2.0 / 3.0));
    assert_eq!(good["aggregates"]["NumRelRet"].as_u64(), Some(2));
    assert_eq!((good["missing_queries"].as_u64(), good["unjudged_queries"].as_u64()), (Some(1), Some(1)));
    assert_eq!(good["per_query"]["q1"]["RR@10"].as_f64(), Some(1.0));
    assert_eq!(bad["aggregates"]["RR@10"].as_f64(), Some(0.5));
    let [comparison] = value["comparisons"].as_array().ok_or("no comparisons")?.as_slice() else {
        return Err("not one comparison".into());
    };
    assert_eq!((&comparison["baseline"], &comparison["measure"]), (&"good.run".into(), &"RR@10".into()));
    assert_eq!(comparison["losses"].as_u64(), Some(1));
    assert_eq!(comparison["tests"]["randomization"]["exact"].as_bool(), Some(true));
    Ok(())
}

/// Three runs, the second and third far worse than the first, over enough queries to show it.
fn three_runs() -> Result<Report, Box<dyn Error>> {
    let queries: Vec<String> = (0..40).map(|query| format!("q{query:02}")).collect();
    let lines: Vec<_> = queries.iter().map(|query| (query.as_str(), "a", 1)).collect();
    let qrels = qrels(&lines);
    let measures = parse_measures("RR NumRel")?;
    let mut runs = Vec::new();
    for (name, worse) in [("best", 0), ("worse", 16), ("worst", 34)] {
        let mut lines = Vec::new();
        for (at, query) in queries.iter().enumerate() {
            lines.extend([
                (query.as_str(), "a", 1.0),
                (query.as_str(), "b", if at < worse { 2.0 } else { 0.0 }),
            ]);
        }
        let mut report =
            RunReport::new(name, evaluate(&qrels, &run(&lines), &measures, &EvalOptions::default())?);
        for (group, first) in [("even", "q0"), ("rest", "q1")] {
            let of_group = queries.iter().map(String::as_str).filter(|query| query.starts_with(first));
            let evaluation = report.evaluation.restricted_to(of_group).ok_or("empty")?;
            report.groups.push((group.to_owned(), evaluation));
        }
        runs.push(report);
    }
    let evaluations: Vec<&Evaluation> = runs.iter().map(|run| &run.evaluation).collect();
    let tests = Test::ALL.to_vec();
    let options = CompareOptions {
        tests,
        permutations: 2_000,
        resamples: 500,
        margin: Some(0.1),
        ..CompareOptions::default()
    };
    let pairs = compare_pairs(&evaluations, Pairs::All, &options)?;
    Ok(Report { comparisons: Some(Compared { which: Pairs::All, options, pairs }), runs })
}

#[test]
fn all_pairs() -> TestResult {
    let report = three_runs()?;
    let compared = report.comparisons.as_ref().ok_or("not compared")?;
    let which: Vec<_> = compared.pairs.iter().map(|pair| (pair.baseline, pair.run)).collect();
    assert_eq!(which, [(0, 1), (0, 2), (1, 2)]);
    for pair in &compared.pairs {
        assert!(pair.is_significant(0.05), "{pair:?}");
        for test in Test::ALL {
            let tested = pair.test(test).ok_or("not tested")?;
            assert!(tested.outcome.p_value() < 0.01, "{pair:?}");
            assert!(tested.adjusted_p >= tested.outcome.p_value());
        }
        assert!(pair.equivalence.ok_or("no equivalence")?.p_value > 0.9);
        assert!(pair.queries_needed.ok_or("no effect")? <= 40);
    }
    let text = written(&report, Format::Table, ReportOptions::default())?;
    let table = "\
#  run    group  queries        RR  NumRel
a  best   even        10  1.0000        10
a  best   rest        10  1.0000        10
a  best   macro       20  1.0000        20
a  best   all         40  1.0000bc      40
b  worse  even        10  0.5000        10
";
    assert!(text.starts_with(table), "{text}");
    assert!(text.contains("a  best             +0.2000*  +0.4250*"), "{text}");
    let latex = written(&report, Format::Latex, ReportOptions::default())?;
    assert!(latex.contains("a & best & all & 40 & \\textbf{1.0000}$^{bc}$ & 40 \\\\"), "{latex}");
    let markdown = written(&report, Format::Markdown, ReportOptions::default())?;
    assert!(markdown.contains("| b | worse | all | 40 | 0.8000<sup>c</sup> | 40 |"), "{markdown}");
    let mut csv = Vec::new();
    report.write_comparisons(&mut csv)?;
    let mut rows = csv::Reader::from_reader(&*csv);
    let columns = rows.headers()?.len();
    assert_eq!((columns, rows.records().count()), (28, 3));
    Ok(())
}
