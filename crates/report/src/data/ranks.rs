//! Where the first relevant document is: the histogram of Mr. TyDi's Figures 3 and 4 (Zhang et al. 2021).

use serde::Serialize;

/// Ranks in a bin.
const WIDTH: usize = 10;

/// How many bins there are.
const BINS: usize = 10;

/// The ranks of the first relevant documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankHistogram {
    /// Ranks in a bin.
    pub width: usize,
    /// How many queries have their first relevant document in each bin, `[runs][bins]`.
    pub found: Vec<Vec<usize>>,
    /// For how many queries there is none in any bin.
    pub not_found: Vec<usize>,
}

impl RankHistogram {
    /// Of the ranks of each run.
    pub(super) fn new<'a>(runs: impl IntoIterator<Item = &'a [Option<usize>]>) -> Self {
        let mut histogram = Self { width: WIDTH, found: Vec::new(), not_found: Vec::new() };
        for ranks in runs {
            let mut bins = vec![0; BINS];
            let bin = |rank: &Option<usize>| rank.map(|rank| (rank - 1) / WIDTH).filter(|bin| *bin < BINS);
            for bin in ranks.iter().filter_map(bin) {
                bins[bin] += 1;
            }
            histogram.not_found.push(ranks.len() - bins.iter().sum::<usize>());
            histogram.found.push(bins);
        }
        histogram
    }

    /// The last rank of the bins.
    pub(crate) fn depth(&self) -> usize {
        self.width * BINS
    }

    /// The ranks of a bin: "11-20".
    pub(crate) fn bin(&self, bin: usize) -> String {
        format!("{}\u{2013}{}", bin * self.width + 1, (bin + 1) * self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::RankHistogram;

    #[test]
    fn every_query_is_in_one_bar() {
        let ranks = [Some(1), Some(10), Some(11), Some(100), Some(101), None];
        let histogram = RankHistogram::new([&ranks[..], &[None]]);
        assert_eq!(histogram.found[0], [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(histogram.not_found, [2, 1]);
        assert_eq!((histogram.bin(1), histogram.depth()), ("11\u{2013}20".to_owned(), 100));
    }
}
