//! Measures parse from and print to the notation; what is not a measure is an error that helps.

use std::error::Error;

use toller_eval::{Measure, MeasureError, parse_measures};
use toller_ir::Explain;

#[test]
fn canonical_texts_print_as_they_parse() -> Result<(), MeasureError> {
    for text in [
        "nDCG", "nDCG@10", "nDCG(dcg='exp-log2')@10", "nDCG(gains={1:0,2:1,4:4.5})@10",
        "nDCG(judged_only=True)@20", "RR", "RR@10", "RR(rel=2)@10", "AP", "AP@100", "AP(rel=2)", "R@100",
        "R(rel=2)@1000", "P@5", "Success@10", "Judged@10", "Judged", "Bpref", "Bpref(rel=2)", "Rprec",
        "infAP", "IPrec@0.1", "IPrec@0.0", "IPrec(rel=2)@1.0", "SetP", "SetRelP", "SetR", "SetF",
        "SetF(beta=0.5,rel=2)", "SetAP", "NumQ", "NumRet", "NumRet(rel=3)", "NumRel", "NumRelRet",
        "AP(rel=0)", "P(rel=2,judged_only=True)@5", "ERR@20", "RBP(p=0.5,rel=2)",
        "INST(T=2.5,min_rel=1,max_rel=3)", "BPM(max_rel=4)@10", "Compat(p=0.8,normalize=False)",
        "SetF(beta=0.5,rel=2)@10", "SetP(relative=True)", "RprecMult@0.2", "GMAP",
    ] {
        let measure: Measure = text.parse()?;
        assert_eq!(measure.to_string(), text);
        assert_eq!(measure.to_string().parse::<Measure>()?, measure);
    }
    Ok(())
}

#[test]
fn other_texts_mean_the_same() -> Result<(), MeasureError> {
    for (text, canonical) in [
        ("MRR@10", "RR@10"),
        ("MAP", "AP"),
        ("map@100", "AP@100"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        ("Recall@100", "R@100"),
        ("Precision@5", "P@5"),
        ("BPref", "Bpref"),
        ("RPrec", "Rprec"),
        ("iprec@.1", "IPrec@0.1"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("ndcg", "nDCG"),
        ("recip_rank", "RR"),
        ("map", "AP"),
        ("map_cut_5", "AP@5"),
        ("recall_100", "R@100"),
        ("P_10", "P@10"),
        ("p_10", "P@10"),
        ("Recall_100", "R@100"),
        ("NDCG_CUT_10", "nDCG@10"),
        ("success_5", "Success@5"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("set_P", "SetP"),
        ("set_recall", "SetR"),
        ("set_F", "SetF"),
        ("set_F.0.5", "SetF(beta=0.5)"),
        ("set_map", "SetAP"),
        ("set_relative_P", "SetRelP"),
        ("num_q", "NumQ"),
        ("num_rel_ret", "NumRelRet"),
        ("infap", "infAP"),
        ("hit_rate@10", "Success@10"),
        ("r-precision", "Rprec"),
        ("f1", "SetF"),
        ("f1@10", "SetF@10"),
        ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("dcg_burges", "DCG(dcg='exp-log2')"),
        ("rbp.95", "RBP(p=0.95,rel=1)"),
        ("nDCG(cutoff=10)", "nDCG@10"),
        ("SetF(beta=1)", "SetF"),
        ("RBP(p=0.8)@10", "RBP@10"),
        ("RBPResid(p=.8)", "RBPResid"),
        ("NERR10(p=0.9,max_rel=3)", "NERR10(max_rel=3)"),
        ("Compat(p=0.95)", "Compat"),
        ("Compat(p=0.8)", "Compat(p=0.8)"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
        ("AP( rel = 2 , judged_only=False )@10", "AP(rel=2)@10"),
        ("nDCG(dcg=\"exp-log2\")@5", "nDCG(dcg='exp-log2')@5"),
        ("nDCG( gains={ 3:7, 1:1 } )", "nDCG(gains={1:1,3:7})"),
    ] {
        assert_eq!(text.parse::<Measure>()?.to_string(), canonical, "{text}");
    }
    Ok(())
}

#[test]
fn lists() -> Result<(), MeasureError> {
    let printed = |text: &str| -> Result<String, MeasureError> {
        Ok(parse_measures(text)?.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(printed("nDCG@10 RR@10 R@100")?, "nDCG@10 RR@10 R@100");
    assert_eq!(printed("nDCG@10,RR@10,\n R@100,")?, "nDCG@10 RR@10 R@100");
    assert_eq!(printed("P.5,10 recip_rank")?, "P@5 P@10 RR");
    assert_eq!(printed("MRR@10 RR@10 recip_rank RR")?, "RR@10 RR");
    assert_eq!(
        printed("nDCG(gains={1:1, 2:3}, judged_only=True)@5 AP")?,
        "nDCG(gains={1:1,2:3},judged_only=True)@5 AP"
    );
    Ok(())
}

#[test]
fn errors_name_what_is_wrong_and_what_to_do() -> Result<(), Box<dyn Error>> {
    for (text, message, hint) in [
        ("nDGC@10", "unknown measure 'nDGC' in 'nDGC@10'", "did you mean nDCG?"),
        ("bleu", "unknown measure 'bleu'", "nDCG, RR, AP, R, P, Success"),
        ("nDCG@0", "cutoff = 0 in 'nDCG@0' is not a whole number from 1 to 4294967295", "cutoff must be"),
        ("RR@-1", "cutoff = -1", "cutoff must be"),
        ("RR@1.5", "cutoff = 1.5", "cutoff must be"),
        ("R@99999999999", "cutoff = 99999999999", "cutoff must be"),
        ("nDCG@ten", "cutoff = ten", "cutoff must be"),
        ("P", "P needs a cutoff", "P@10"),
        ("Recall", "R needs a cutoff", "R@10"),
        ("IPrec", "IPrec needs a recall", "IPrec@0.1"),
        ("IPrec@1.1", "recall = 1.1", "from 0 to 1"),
        ("IPrec@nan", "recall = nan", "from 0 to 1"),
        ("Rprec@10", "Rprec takes no '@'", "leave out"),
        ("AP(rel=-1)", "rel = -1", "from 0 to 4294967295"),
        ("AP(rel='2')", "rel = '2'", "whole number"),
        ("AP(level=2)", "AP has no parameter 'level'", "rel, judged_only, cutoff"),
        ("NumQ(rel=1)", "NumQ has no parameter 'rel'", "none"),
        ("RR(rel=1,rel=2)", "gives rel twice", "once"),
        ("RR(cutoff=5)@10", "gives cutoff twice", "once"),
        ("SetF(beta=0)", "beta = 0", "above 0"),
        ("nDCG(dcg='log10')@10", "dcg = 'log10'", "exp-log2"),
        ("nDCG(gains={1:1,1:2})", "gains = {1:1,1:2}", "mapping"),
        ("nDCG(gains={1:inf})", "gains = {1:inf}", "mapping"),
        ("AP(rel=2", "expected ',' or ')'", "AP(rel=2)"),
        ("AP(rel)", "expected '='", "AP(rel=2)"),
        ("AP(=2)", "expected a parameter's name", "AP(rel=2)"),
        ("nDCG(dcg='log2)", "expected a closing quote", "AP(rel=2)"),
        ("nDCG@", "expected a number", "nDCG@10"),
        ("nDCG@10@5", "expected nothing after the number", "nDCG@10"),
        ("@10", "expected a name first", "nDCG@10"),
        ("P_0", "cutoff = 0", "cutoff must be"),
        ("P_x", "cutoff = x", "cutoff must be"),
        ("P.5,,10", "cutoff =  in", "cutoff must be"),
        ("P_5@10", "unknown measure 'P_5'", "P"),
    ] {
        let error = text.parse::<Measure>().err().ok_or_else(|| format!("'{text}' parsed"))?;
        assert!(error.to_string().contains(message), "'{text}': {error}");
        let advice = error.remedy().ok_or("no remedy")?.to_string();
        assert!(advice.contains(hint), "'{text}': {advice}");
    }
    assert_eq!(parse_measures(" , "), Err(MeasureError::Empty));
    let several = MeasureError::Several { text: "P.5,10".to_owned(), count: 2 };
    assert_eq!("P.5,10".parse::<Measure>(), Err(several));
    Ok(())
}

#[test]
fn no_text_panics() {
    let pieces = ["nDCG", "(", ")", "@", "10", "'", "{", "}", ":", ",", "=", "rel", " ", "é", "-", ".", "P_"];
    let mut text = String::new();
    // All texts of up to four pieces.
    for mut number in 0..pieces.len().pow(4) {
        text.clear();
        while number > 0 {
            text.push_str(pieces[number % pieces.len()]);
            number /= pieces.len();
        }
        if let Ok(measures) = parse_measures(&text) {
            let printed: Vec<String> = measures.iter().map(ToString::to_string).collect();
            assert_eq!(parse_measures(&printed.join(" ")), Ok(measures), "{text}");
        }
    }
}

#[test]
fn user_models_need_the_highest_grade() -> Result<(), MeasureError> {
    let error = "INST".parse::<Measure>().unwrap_err();
    assert!(matches!(&error, MeasureError::AtMissing { parameter: "max_rel", .. }), "{error}");
    assert_eq!(
        error.remedy().map(|remedy| remedy.to_string()).as_deref(),
        Some("write it as INST(max_rel=3)")
    );
    assert!("SDCG(min_rel=2,max_rel=2)@5".parse::<Measure>().is_err());
    assert!("RBP(p=1)".parse::<Measure>().is_err());
    Ok(())
}

#[test]
fn groups_of_measures() -> Result<(), MeasureError> {
    let measures = parse_measures("official P@7 unj.1,2")?;
    let names: Vec<String> = measures.iter().map(ToString::to_string).collect();
    assert_eq!(names[..3], ["NumQ", "NumRet", "NumRel"]);
    assert_eq!(names[names.len() - 3..], ["P@7", "Unjudged@1", "Unjudged@2"]);
    Ok(())
}
