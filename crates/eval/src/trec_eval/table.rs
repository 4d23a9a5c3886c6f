//! trec_eval's measures in its order, and its names of groups of them.

use crate::measure::Measure;

/// How a measure takes parameters, and how it prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// The name of the run.
    RunId,
    /// The number of queries: a sum that is not printed for each query.
    NumQ,
    /// The grades of the first documents as a string, only for single queries.
    RelString,
    /// A sum, printed as a whole number.
    Count,
    /// A value without parameters.
    Plain,
    /// A geometric mean, which is not printed for each query.
    Geometric,
    /// A value for each cutoff.
    Cutoffs(&'static [u32]),
    /// A value for each share or multiple, printed with two decimals.
    Shares(&'static [f64]),
    /// One value with a list of numbers.
    Numbers,
    /// One value with pairs of names and numbers: the gains of grades, or `p`.
    Pairs,
}

/// A measure of trec_eval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it is in the notation of this crate, with `@` where a cutoff or share comes.
    pub(super) notation: &'static str,
    /// The judgments that it is of.
    pub(super) of: Of,
}

/// Kinds of judgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// One grade for each query and document.
    Grades,
    /// Grades by several groups of judges.
    Groups,
    /// Preferences.
    Preferences,
}

const CUTOFFS: Kind = Kind::Cutoffs(&[5, 10, 15, 20, 30, 100, 200, 500, 1000]);
const RECALLS: Kind = Kind::Shares(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
const MULTIPLES: Kind = Kind::Shares(&[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]);

const fn entry(name: &'static str, kind: Kind, notation: &'static str) -> Entry {
    Entry { name, kind, notation, of: Of::Grades }
}

const fn of_groups(name: &'static str, kind: Kind, notation: &'static str) -> Entry {
    Entry { name, kind, notation, of: Of::Groups }
}

const fn of_preferences(name: &'static str, kind: Kind) -> Entry {
    Entry { name, kind, notation: "", of: Of::Preferences }
}

/// All measures, in the order in which they print.
pub(super) static TABLE: &[Entry] = &[
    entry("runid", Kind::RunId, ""),
    entry("num_q", Kind::NumQ, "NumQ"),
    entry("num_ret", Kind::Count, "NumRet"),
    entry("num_rel", Kind::Count, "NumRel"),
    entry("num_rel_ret", Kind::Count, "NumRelRet"),
    entry("map", Kind::Plain, "AP"),
    entry("gm_map", Kind::Geometric, "GMAP"),
    entry("Rprec", Kind::Plain, "Rprec"),
    entry("bpref", Kind::Plain, "Bpref"),
    entry("recip_rank", Kind::Plain, "RR"),
    entry("iprec_at_recall", RECALLS, "IPrec@"),
    entry("P", CUTOFFS, "P@"),
    entry("relstring", Kind::RelString, ""),
    entry("recall", CUTOFFS, "R@"),
    entry("infAP", Kind::Plain, "infAP"),
    entry("gm_bpref", Kind::Geometric, "GMBpref"),
    entry("Rprec_mult", MULTIPLES, "RprecMult@"),
    entry("utility", Kind::Numbers, ""),
    entry("11pt_avg", Kind::Numbers, "IPrecAvg"),
    entry("binG", Kind::Plain, "BinG"),
    entry("G", Kind::Pairs, "G"),
    entry("dcg", Kind::Pairs, "DCG"),
    entry("ideal_dcg", Kind::Pairs, "IDCG"),
    entry("ndcg", Kind::Pairs, "nDCG"),
    entry("ndcg_rel", Kind::Pairs, "nDCGRel"),
    entry("Rndcg", Kind::Pairs, "RnDCG"),
    entry("ndcg_cut", CUTOFFS, "nDCG@"),
    entry("map_cut", CUTOFFS, "AP@"),
    entry("relative_P", CUTOFFS, "RelP@"),
    entry("success", Kind::Cutoffs(&[1, 5, 10]), "Success@"),
    entry("set_P", Kind::Plain, "SetP"),
    entry("set_relative_P", Kind::Plain, "SetRelP"),
    entry("set_recall", Kind::Plain, "SetR"),
    entry("set_map", Kind::Plain, "SetAP"),
    entry("set_F", Kind::Numbers, "SetF"),
    entry("num_nonrel_judged_ret", Kind::Count, "NumNonrelJudgedRet"),
    of_preferences("prefs_num_prefs_poss", Kind::Count),
    of_preferences("prefs_num_prefs_ful", Kind::Count),
    of_preferences("prefs_num_prefs_ful_ret", Kind::Count),
    of_preferences("prefs_simp", Kind::Plain),
    of_preferences("prefs_pair", Kind::Plain),
    of_preferences("prefs_avgjg", Kind::Plain),
    of_preferences("prefs_avgjg_Rnonrel", Kind::Plain),
    of_preferences("prefs_simp_ret", Kind::Plain),
    of_preferences("prefs_pair_ret", Kind::Plain),
    of_preferences("prefs_avgjg_ret", Kind::Plain),
    of_preferences("prefs_avgjg_Rnonrel_ret", Kind::Plain),
    of_preferences("prefs_simp_imp", Kind::Plain),
    of_preferences("prefs_pair_imp", Kind::Plain),
    of_preferences("prefs_avgjg_imp", Kind::Plain),
    of_groups("map_avgjg", Kind::Plain, "AP"),
    of_groups("P_avgjg", CUTOFFS, "P@"),
    of_groups("Rprec_mult_avgjg", MULTIPLES, "RprecMult@"),
    entry("yaap", Kind::Plain, "YAAP"),
    entry("rbp", Kind::Pairs, "RBP(p=0.9)"),
    entry("rbp_resid", Kind::Pairs, "RBPResid(p=0.9)"),
    entry("unj", Kind::Cutoffs(&[5, 10, 20]), "Unjudged@"),
];

/// The names that a nickname stands for.
pub(super) fn nickname(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "official" => &[
            "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
            "recip_rank", "iprec_at_recall", "P",
        ],
        "set" => &[
            "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall",
            "set_relative_P", "set_map", "set_F",
        ],
        "all_trec" => &[
            "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
            "recip_rank", "iprec_at_recall", "P", "relstring", "recall", "unj", "rbp", "rbp_resid", "infAP",
            "gm_bpref", "utility", "11pt_avg", "ndcg", "relative_P", "Rprec_mult", "success", "map_cut",
            "ndcg_cut", "ndcg_rel", "Rndcg", "binG", "G", "set_P", "set_recall", "set_relative_P", "set_map",
            "set_F", "num_nonrel_judged_ret",
        ],
        "qrels_jg" => &["runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"],
        "prefs" => &[
            "runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
            "prefs_simp", "prefs_pair", "prefs_avgjg",
        ],
        "all_prefs" => &[
            "runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
            "prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel", "prefs_simp_ret",
            "prefs_pair_ret", "prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret", "prefs_simp_imp",
            "prefs_pair_imp", "prefs_avgjg_imp",
        ],
        _ => return None,
    })
}

/// The measures that a nickname stands for, in trec_eval's order and with its defaults. `runid`, `relstring`
/// and `utility` are not measures in this crate's notation and are left out.
pub(crate) fn nickname_measures(name: &str) -> Option<Vec<Measure>> {
    let names = nickname(name).filter(|_| ["official", "set", "all_trec"].contains(&name))?;
    let entries = TABLE.iter().filter(|entry| names.contains(&entry.name) && !entry.notation.is_empty());
    let texts = entries.flat_map(|entry| match entry.kind {
        Kind::Cutoffs(cutoffs) => cutoffs.iter().map(|at| format!("{}{at}", entry.notation)).collect(),
        Kind::Shares(shares) => shares.iter().map(|at| format!("{}{at:?}", entry.notation)).collect(),
        _ => vec![entry.notation.to_owned()],
    });
    texts.map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{TABLE, nickname, nickname_measures};

    #[test]
    fn nicknames_name_measures_of_the_table() {
        for (name, measures) in [("official", 29), ("set", 9), ("all_trec", 97)] {
            let names = nickname(name).unwrap();
            assert!(names.iter().all(|name| TABLE.iter().any(|entry| entry.name == *name)), "{name}");
            assert_eq!(nickname_measures(name).map(|measures| measures.len()), Some(measures), "{name}");
        }
        assert!(nickname("most").is_none());
    }
}
