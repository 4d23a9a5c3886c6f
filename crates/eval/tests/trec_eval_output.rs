//! `trec_eval`'s command line gives trec_eval's output, byte for byte: NIST's test commands, and a run made
//! of hard cases.

mod support;

use std::error::Error;
use std::fs;
use std::path::Path;

use support::{TestResult, golden, read_qrels, read_run};
use toller_eval::trec_eval::{
    Arguments, JudgmentFormat, JudgmentGroups, Judgments, Preferences, Request, TrecEvalError, ZScores, write,
};
use toller_ir::{Run, RunEntry};

/// What the arguments print; files are in `folder`.
fn printed(folder: &Path, line: &str) -> Result<String, Box<dyn Error>> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let arguments = Arguments::parse(&words)?;
    let request = Request::new(&arguments)?;
    let mut run = read_run(&folder.join(&arguments.run))?;
    run.tag = tag(&folder.join(&arguments.run))?;
    let file = |name: &str| fs::read_to_string(folder.join(name));
    let z_scores =
        arguments.z_scores.as_deref().map(|name| Ok::<_, Box<dyn Error>>(ZScores::parse(&file(name)?)?));
    let z_scores = z_scores.transpose()?;
    let mut out = Vec::new();
    let mut print = |judgments| write(&arguments, &request, judgments, &run, z_scores.as_ref(), &mut out);
    match arguments.format {
        JudgmentFormat::Qrels => print(Judgments::Qrels(&read_qrels(&folder.join(&arguments.qrels))?))?,
        JudgmentFormat::QrelsGroups => {
            print(Judgments::Groups(&JudgmentGroups::parse(&file(&arguments.qrels)?)?))?;
        }
        JudgmentFormat::Preferences => {
            print(Judgments::Preferences(&Preferences::parse(&file(&arguments.qrels)?)?))?;
        }
        JudgmentFormat::QrelsPreferences => {
            print(Judgments::Preferences(&Preferences::parse_qrels(&file(&arguments.qrels)?)?))?;
        }
    }
    Ok(String::from_utf8(out)?)
}

/// The sixth column of the last line.
fn tag(run: &Path) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(run)?;
    let last = text.lines().rfind(|line| !line.starts_with('#')).ok_or("empty")?;
    Ok(last.split_whitespace().nth(5).ok_or("no tag")?.to_owned())
}

fn assert_same(printed: &str, expected: &str, command: &str) {
    for (line, (printed, expected)) in printed.lines().zip(expected.lines()).enumerate() {
        assert_eq!(printed, expected, "line {} of {command}", line + 1);
    }
    assert_eq!(printed.len(), expected.len(), "{command}");
}

/// NIST's fifteen commands.
#[test]
fn nist_commands() -> TestResult {
    let Some(data) = toller_testing::shared("data") else { return Ok(()) };
    let folder = data.join("trec_eval-test");
    for (command, output) in [
        ("qrels.test results.test", "out.test"),
        ("qrels.test.with-comments results.test", "out.test"),
        ("qrels.comment.test results.comment.test", "out.comment.test"),
        ("-m all_trec qrels.test results.test", "out.test.a"),
        ("-m all_trec -q qrels.test results.test", "out.test.aq"),
        ("-m all_trec -q -c qrels.test results.trunc", "out.test.aqc"),
        ("-m all_trec -q -c -M100 qrels.test results.trunc", "out.test.aqcM"),
        ("-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test", "out.test.aql"),
        ("-m all_prefs -q -R prefs prefs.test prefs.results.test", "out.test.prefs"),
        ("-m all_prefs -q -R prefs prefs.comment.test prefs.results.test", "out.test.prefs"),
        ("-m all_prefs -q -R qrels_prefs qrels.test results.test", "out.test.qrels_prefs"),
        ("-m qrels_jg -q -R qrels_jg qrels.123 results.test", "out.test.qrels_jg"),
        ("-m qrels_jg -q -R qrels_jg qrels.comments.123 results.test", "out.test.qrels_jg"),
        (
            "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 \
             -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 \
             -msuccess.2,5,20 qrels.test results.test",
            "out.test.meas_params",
        ),
        ("-q -m all_trec -Z zscores_file qrels.test results.test", "out.test.aqZ"),
    ] {
        assert_same(&printed(&folder, command)?, &fs::read_to_string(folder.join(output))?, command);
    }
    Ok(())
}

/// The golden files come from trec_eval itself; `README.md` next to them has the commands.
#[test]
fn hard_cases() -> TestResult {
    let folder = golden("");
    let measures = "-m all_trec -m set_F.0.5 -m P.1,7 -m success.1,3 -m iprec_at_recall..05,.33,.5,.95,1 synthetic.qrels synthetic.run";
    for (options, output) in [
        ("-q -c", "synthetic.c.out"),
        ("-q -c -l2", "synthetic.c-l2.out"),
        ("-qcM10", "synthetic.c-M10.out"),
        ("-q -c -J", "synthetic.c-J.out"),
    ] {
        let command = format!("{options} {measures}");
        assert_same(&printed(&folder, &command)?, &fs::read_to_string(golden(output))?, &command);
    }
    let command = "-q -c -N 1000 -m dcg -m yaap -m G.1=3,2=0,3=7 -m Rndcg.0=1 -m ndcg_rel.1=2 \
                   -m rbp.p=0.5 -m rbp_resid.p=0.5 -m unj.1,100 -m relstring.30 -m utility.2,-1,-.5,.001 \
                   -m Rprec_mult.0.1,3 -m 11pt_avg.0.2,0.5,0.8 -m num_nonrel_judged_ret synthetic.qrels synthetic.run";
    assert_same(
        &printed(&folder, command)?,
        &fs::read_to_string(golden("synthetic.parameters.out"))?,
        command,
    );

    let summary = printed(&folder, "-c -m official synthetic.qrels synthetic.run")?;
    assert_eq!(summary, printed(&folder, "-c synthetic.qrels synthetic.run")?);
    assert_eq!(printed(&folder, "-c -n synthetic.qrels synthetic.run")?, "");
    Ok(())
}

#[test]
fn judges_that_contradict_themselves() -> TestResult {
    let mut run = Run::default();
    run.queries.insert("1".into(), vec![RunEntry { doc_id: "a".into(), score: 1.0 }]);
    let arguments = Arguments::parse(&["-R", "prefs", "-m", "prefs", "prefs", "run"].map(str::to_owned))?;
    let printed = |text: &str| -> Result<String, TrecEvalError> {
        let (mut out, request) = (Vec::new(), Request::new(&arguments)?);
        let judgments = Preferences::parse(text)?;
        write(&arguments, &request, Judgments::Preferences(&judgments), &run, None, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    };
    let conflict = |text: &str| matches!(printed(text), Err(TrecEvalError::Conflict { .. }));
    // Two subgroups prefer a to b and b to c, so a to c; then c to a.
    let chain = "1 g x a 2\n1 g x b 1\n1 g y b 2\n1 g y c 1\n";
    assert!(printed(chain)?.contains("prefs_num_prefs_poss  \tall\t3\n"), "{}", printed(chain)?);
    assert!(conflict(&format!("{chain}1 g z c 2\n1 g z a 1\n")));
    assert!(!conflict(&format!("{chain}1 other z c 2\n1 other z a 1\n")));
    assert!(conflict("1 g x a 0\n1 g y a 1\n"));
    assert!(matches!(printed("1 g a 1\n"), Err(TrecEvalError::Line { line: 1, .. })));
    Ok(())
}

#[test]
fn cutoffs_are_the_digits_at_the_start_of_a_number() -> TestResult {
    let folder = golden("");
    for (given, cutoff) in [("5", 5), ("+5", 5), ("23.4", 23), ("1e1", 1)] {
        let found = printed(&folder, &format!("-c -m P.{given} synthetic.qrels synthetic.run"))?;
        let expected = printed(&folder, &format!("-c -m P.{cutoff} synthetic.qrels synthetic.run"))?;
        assert!(found == expected && found.starts_with(&format!("P_{cutoff} ")), "{given}: {found}");
    }
    Ok(())
}

#[test]
fn what_trec_eval_refuses() -> TestResult {
    let folder = golden("");
    let error = |line: &str| -> Result<TrecEvalError, Box<dyn Error>> {
        match printed(&folder, line) {
            Ok(_) => Err(format!("{line} was accepted").into()),
            Err(error) => Ok(*error.downcast::<TrecEvalError>()?),
        }
    };
    let files = "synthetic.qrels synthetic.run";
    assert!(matches!(error(files)?, TrecEvalError::MissingQuery { .. }));
    assert!(matches!(error(&format!("-m nDCG@10 {files}"))?, TrecEvalError::Measure { .. }));
    assert!(matches!(error(&format!("-m map_avgjg {files}"))?, TrecEvalError::Measure { .. }));
    assert!(matches!(error(&format!("-m prefs_simp {files}"))?, TrecEvalError::Measure { .. }));
    assert!(matches!(error(&format!("-m map -R qrels_prefs {files}"))?, TrecEvalError::Measure { .. }));
    assert!(matches!(error(&format!("-m P.0 {files}"))?, TrecEvalError::Parameter { .. }));
    assert!(matches!(error(&format!("-m P.5,5 {files}"))?, TrecEvalError::Parameter { .. }));
    for name in ["P", "relstring"] {
        assert!(matches!(error(&format!("-m {name}.5000000000 {files}"))?, TrecEvalError::Parameter { .. }));
        assert!(matches!(error(&format!("-m {name}.-1 {files}"))?, TrecEvalError::Parameter { .. }));
    }
    assert!(matches!(error(&format!("-m utility.1,2 {files}"))?, TrecEvalError::Parameter { .. }));
    Ok(())
}
