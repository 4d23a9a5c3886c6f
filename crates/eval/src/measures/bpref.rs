//! Binary preference.

use crate::parameters::Parameters;
use crate::ranking::{JudgedRanking, Judgment};

/// Binary preference (Buckley and Voorhees 2004), with the correction of trec_eval 8: the mean over the R
/// relevant documents of 1 - min(n, R) / min(N, R), where n judged non-relevant documents rank above it (0
/// counts as 1) and N are judged non-relevant in all. Documents without a grade are ignored. trec_eval's
/// `bpref`.
pub(crate) fn bpref(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let relevant = ranking.relevant(level);
    if relevant == 0 {
        return 0.0;
    }
    let most = ranking.nonrelevant(level).min(relevant) as f64;
    let mut nonrelevant_above = 0_usize;
    let mut sum = 0.0;
    for judgment in &ranking.judgments {
        match judgment {
            Judgment::Absent | Judgment::Negative => {}
            Judgment::Grade(grade) if *grade < level => nonrelevant_above += 1,
            Judgment::Grade(_) if nonrelevant_above == 0 => sum += 1.0,
            Judgment::Grade(_) => sum += 1.0 - nonrelevant_above.min(relevant) as f64 / most,
        }
    }
    sum / relevant as f64
}
