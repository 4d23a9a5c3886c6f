//! The identifiers of the documents, by ordinal: mostly numbers that follow each other, so that each is told by its difference
//! from the one before.
//!
//! ```text
//! ids.bin := step *, places of the steps of every 64th identifier (a `Table`)
//! step    := 0..127       the next one to 128 identifiers each count one more than the one before
//!          | 128..191 b   an identifier that counts 2 + 256 * (step - 128) + b more
//!          | 192..255 n s the first step - 192 bytes of the one before, and n (varint) bytes s
//! ```
//!
//! An identifier counts what the digits at its end say, from the first that is not zero: `12#9` is followed by `12#10`. Before
//! every 64th stands an empty one.

use std::io::{self, Write};
use std::ops::RangeInclusive;

use crate::coding::packed::Table;
use crate::coding::{read_varint, write_varint};

/// Identifiers between two whose places are written.
const STRIDE: usize = 64;

/// The first step of each kind.
const AHEAD: u8 = 128;
const SPELLED: u8 = 192;

/// How much more an identifier of the second kind counts.
const AHEAD_BY: RangeInclusive<u64> = 2..=(2 + 0x3fff);

/// The most identifiers of a step of the first kind.
const MOST_NEXT: u8 = 128;

/// Digits that are read as a number: all such numbers and what is added to them fit in 64 bits.
const MOST_DIGITS: usize = 18;

/// Writes identifiers one after another. It keeps an eighth of a byte for each in memory.
pub(crate) struct IdsWriter<W> {
    out: W,
    written: u64,
    count: usize,
    places: Vec<u64>,
    previous: Vec<u8>,
    /// Identifiers that count one more each, not written yet.
    next: u8,
    buffer: Vec<u8>,
}

impl<W: Write> IdsWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        let (places, previous, buffer) = (Vec::new(), Vec::new(), Vec::new());
        Self { out, written: 0, count: 0, places, previous, next: 0, buffer }
    }

    /// The file.
    pub(crate) fn out(&self) -> &W {
        &self.out
    }

    pub(crate) fn push(&mut self, id: &str) -> io::Result<()> {
        let id = id.as_bytes();
        if self.count.is_multiple_of(STRIDE) {
            self.write_next()?;
            self.places.push(self.written);
            self.previous.clear();
        }
        self.count += 1;
        match counts_more(&self.previous, id) {
            Some(1) => {
                self.next += 1;
                if self.next == MOST_NEXT {
                    self.write_next()?;
                }
            }
            Some(more) if AHEAD_BY.contains(&more) => {
                self.write_next()?;
                let more = more - AHEAD_BY.start();
                self.write(&[AHEAD | (more >> 8) as u8, more as u8])?;
            }
            _ => {
                self.write_next()?;
                let same = self.previous.iter().zip(id).take_while(|(a, b)| a == b).count();
                let same = same.min(usize::from(u8::MAX - SPELLED));
                let mut step = std::mem::take(&mut self.buffer);
                step.clear();
                step.push(SPELLED + same as u8);
                write_varint((id.len() - same) as u64, &mut step);
                step.extend_from_slice(&id[same..]);
                self.write(&step)?;
                self.buffer = step;
            }
        }
        self.previous.clear();
        self.previous.extend_from_slice(id);
        Ok(())
    }

    fn write_next(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.next) {
            0 => Ok(()),
            next => self.write(&[next - 1]),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes what follows the last identifier.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.write_next()?;
        let mut table = Vec::new();
        Table::write(self.places.iter().copied(), &mut table);
        self.out.write_all(&table)
    }

    /// The file, once it is finished.
    pub(crate) fn into_out(self) -> W {
        self.out
    }
}

/// What stands before the number at the end of an identifier, and that number, if it has one.
fn counted(id: &[u8]) -> Option<(&[u8], u64)> {
    let digits = id.iter().rev().take(MOST_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
    let mut digits = &id[id.len() - digits..];
    while let [b'0', rest @ ..] = digits
        && !rest.is_empty()
    {
        digits = rest;
    }
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((&id[..id.len() - digits.len()], number))
}

/// How much more `id` counts than `previous`, if nothing else sets them apart.
fn counts_more(previous: &[u8], id: &[u8]) -> Option<u64> {
    let ((before, from), (prefix, to)) = (counted(previous)?, counted(id)?);
    // That the bytes come out as they are, whatever they are, is what a reader relies on.
    (before == prefix).then(|| to.checked_sub(from)).flatten()
}

/// Makes an identifier one that counts `more`.
fn count_on(id: &mut Vec<u8>, more: u64) -> Option<()> {
    let (prefix, number) = counted(id)?;
    let (prefix, number) = (prefix.len(), number.checked_add(more)?);
    id.truncate(prefix);
    write!(id, "{number}").ok()
}

/// Whether `file` can be that of `count` identifiers.
pub(super) fn is_sound(file: &[u8], count: usize) -> bool {
    Table::split(file, count.div_ceil(STRIDE)).is_some()
}

/// The identifier `index` of `count`; `None` when the file is damaged.
pub(super) fn id(file: &[u8], count: usize, index: usize) -> Option<String> {
    let (steps, places) = Table::split(file, count.div_ceil(STRIDE))?;
    let mut steps = steps.get(usize::try_from(places.get(index / STRIDE)).ok()?..)?;
    let mut id = Vec::new();
    let mut left = index % STRIDE + 1;
    while left > 0 {
        let step = *steps.split_off_first()?;
        if step < AHEAD {
            let next = (usize::from(step) + 1).min(left);
            count_on(&mut id, next as u64)?;
            left -= next;
            continue;
        }
        if step < SPELLED {
            let low = *steps.split_off_first()?;
            count_on(&mut id, AHEAD_BY.start() + (u64::from(step - AHEAD) << 8 | u64::from(low)))?;
        } else {
            let length = usize::try_from(read_varint(&mut steps)?).ok()?;
            id.truncate(usize::from(step - SPELLED));
            id.extend_from_slice(steps.split_off(..length)?);
        }
        left -= 1;
    }
    String::from_utf8(id).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{IdsWriter, id, is_sound};

    fn written<T: AsRef<str>>(ids: &[T]) -> std::io::Result<Vec<u8>> {
        let mut writer = IdsWriter::new(Vec::new());
        ids.iter().try_for_each(|id| writer.push(id.as_ref()))?;
        writer.finish()?;
        Ok(writer.into_out())
    }

    fn check(ids: &[String]) -> Result<(), TestCaseError> {
        let file = written(ids).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(is_sound(&file, ids.len()));
        for (index, expected) in ids.iter().enumerate() {
            prop_assert_eq!(id(&file, ids.len(), index), Some(expected.clone()));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn round_trip(
            parts in prop::collection::vec(("[a-zä#0]{0,3}|[0-9]{0,20}", prop_oneof![0..3_u64, 0..20_000_u64, any::<u64>()], any::<bool>()), 1..200),
        ) {
            let mut number = 0_u64;
            let mut prefix = String::new();
            let ids: Vec<String> = parts.into_iter().map(|(other, step, keep)| {
                number = number.wrapping_add(step);
                if !keep {
                    prefix = other;
                }
                format!("{prefix}{number}")
            }).collect();
            check(&ids)?;
        }

        #[test]
        fn any_bytes_are_read_or_refused(file in prop::collection::vec(any::<u8>(), 0..400), count in 1..200_usize) {
            for index in 0..count {
                let _ = id(&file, count, index);
            }
        }
    }

    #[test]
    fn odd_identifiers() -> Result<(), TestCaseError> {
        let odd = [
            "",
            "",
            "0",
            "1",
            "01",
            "1",
            "2",
            "02",
            "999999999999999999",
            "1000000000000000000",
            "1000000000000000001",
        ];
        check(&odd.map(str::to_owned))?;
        check(&["ä9", "ä10", "12#9", "12#10", "13#0", "x", "x", "9", "8"].map(str::to_owned))?;
        check(&(0..100).map(|i| "ä".repeat(i * 3) + &i.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_that_follow_take_a_byte_for_many() -> std::io::Result<()> {
        let ids: Vec<String> = (7_000_000..7_064_000).map(|id| id.to_string()).collect();
        assert!(written(&ids)?.len() < 64_000 / 3);
        Ok(())
    }
}
