//! Sets of passages, by where they are.

use crate::Location;

/// A set of locations in a collection. It takes one bit for each record up to the last location of an input:
/// 8 MB for 60 million passages, however many of them are in the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locations {
    /// For each input, a bit for each record.
    inputs: Vec<Vec<u64>>,
    count: u64,
}

impl Locations {
    /// Adds a location.
    pub fn insert(&mut self, location: Location) {
        let (input, word, bit) = place(location);
        if self.inputs.len() <= input {
            self.inputs.resize_with(input + 1, Vec::new);
        }
        let Some(words) = self.inputs.get_mut(input) else { return };
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        if let Some(word) = words.get_mut(word) {
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Whether the location is in the set.
    #[must_use]
    pub fn contains(&self, location: Location) -> bool {
        let (input, word, bit) = place(location);
        self.inputs.get(input).and_then(|words| words.get(word)).is_some_and(|word| word & bit != 0)
    }

    /// The number of locations.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl FromIterator<Location> for Locations {
    fn from_iter<I: IntoIterator<Item = Location>>(locations: I) -> Self {
        let mut set = Self::default();
        locations.into_iter().for_each(|location| set.insert(location));
        set
    }
}

/// The input, the word of its bits, and the bit.
fn place(location: Location) -> (usize, usize, u64) {
    let number = location.number;
    (location.input as usize, (number / u64::from(u64::BITS)) as usize, 1 << (number % u64::from(u64::BITS)))
}

#[cfg(test)]
mod tests {
    use super::Locations;
    use crate::Location;

    #[test]
    fn each_location_counts_once() {
        let places =
            [(0, 1), (0, 63), (0, 64), (2, 0), (2, 1000)].map(|(input, number)| Location { input, number });
        let set: Locations = places.into_iter().chain(places).collect();
        assert_eq!((set.len(), set.is_empty()), (5, false));
        for input in 0..4 {
            for number in 0..1100 {
                let place = Location { input, number };
                assert_eq!(set.contains(place), places.contains(&place), "{place:?}");
            }
        }
        assert!(Locations::default().is_empty());
    }
}
