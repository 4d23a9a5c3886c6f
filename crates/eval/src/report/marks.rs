//! Letters that mark which runs a run is significantly better than.

use super::Report;

/// The letter of the run at `index`: a to z, then aa, ab and so on.
pub(super) fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        higher => letter(higher - 1) + &last.to_string(),
    }
}

/// The letters of the runs that `run` is significantly better than by the measure at `at`.
pub(super) fn marks(report: &Report, run: usize, at: usize) -> String {
    let Some(compared) = &report.comparisons else { return String::new() };
    let measure = &report.runs[run].evaluation.measures[at];
    let alpha = compared.options.alpha();
    let mut worse: Vec<usize> = compared
        .pairs
        .iter()
        .filter(|pair| pair.measure == *measure && pair.is_significant(alpha))
        .filter_map(|pair| match pair.t_test.mean_difference > 0.0 {
            true => (pair.run == run).then_some(pair.baseline),
            false => (pair.baseline == run).then_some(pair.run),
        })
        .collect();
    worse.sort_unstable();
    // Letters of two characters need something between them.
    let between = if report.runs.len() > 26 { "," } else { "" };
    worse.into_iter().map(letter).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 702].map(letter), ["a", "z", "aa", "ab", "aaa"]);
    }
}
