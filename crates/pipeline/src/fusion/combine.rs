//! Combining the numbers of a document.

use super::options::Combination;

/// Combines a document's weighted numbers, which are reordered. `retrieved` lists have the document; `weight`
/// is the sum of the weights of the lists that give it a number.
pub(crate) fn combine(numbers: &mut [f64], retrieved: usize, weight: f64, combination: Combination) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let sum = || numbers.iter().fold(0.0, |sum, number| sum + number);
    let (Some(min), Some(max)) = (numbers.first(), numbers.last()) else { return 0.0 };
    match combination {
        Combination::Sum => sum(),
        Combination::Mnz => sum() * retrieved as f64,
        Combination::Anz => sum() / retrieved as f64,
        Combination::Max => *max,
        Combination::Min => *min,
        Combination::Med => {
            let middle = numbers.len() / 2;
            if numbers.len() % 2 == 1 {
                numbers[middle]
            } else {
                numbers[middle - 1] / 2.0 + numbers[middle] / 2.0
            }
        }
        // All lists have weight 0.
        Combination::Mean if weight == 0.0 => 0.0,
        Combination::Mean => sum() / weight,
    }
}

#[cfg(test)]
mod tests {
    use super::{Combination, combine};

    #[test]
    fn each_is_what_it_is_called() {
        let of = |numbers: &[f64], combination| combine(&mut numbers.to_vec(), 2, 4.0, combination);
        let numbers = [3.0, 1.0, 8.0];
        for (combination, expected) in [
            (Combination::Sum, 12.0),
            (Combination::Mnz, 24.0),
            (Combination::Anz, 6.0),
            (Combination::Max, 8.0),
            (Combination::Min, 1.0),
            (Combination::Med, 3.0),
            (Combination::Mean, 3.0),
        ] {
            assert_eq!(of(&numbers, combination), expected, "{combination:?}");
            assert_eq!(of(&[], combination), 0.0, "{combination:?} of nothing");
        }
        assert_eq!(of(&[3.0, 1.0, 8.0, 4.0], Combination::Med), 3.5);
    }
}
