//! The directory of a list: where each full block ends, how it is packed, and which points dominate it.
//!
//! ```text
//! entry := 32 * spread + 2 * less (varint), code of the only point (u8)        where all frequencies are 1
//!        | 2 * spread + 1 (varint), kind (u8), code of the first point (u8), step (u8) * points
//! step  := codes above the point before, less 1 (4 bits), step of the frequency (3 bits), 1 if one follows
//! less  := by how many bytes the high parts are shorter than they could be, 0 to 15
//! ```
//!
//! The first step is from frequency 0 and has no codes; it has `less` instead. Codes are rounded down to what
//! 4 bits can say, frequencies up to one of eight steps, so that the points still dominate the block.

use super::BLOCK;
use super::block::Packing;
use super::documents::{MOST_LESS, most_high_bytes};
use super::skyline::{Point, SATURATED};
use crate::coding::{read_varint, write_varint};

/// The directory of a list, from its next entry on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory<'a> {
    left: usize,
    entries: &'a [u8],
    before: Option<u32>,
}

/// A full block of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its last document.
    pub(crate) last: u32,
    pub(crate) packing: Packing,
}

impl<'a> Directory<'a> {
    /// The directory of `blocks` full blocks in `entries`; `None` if it cannot be that.
    pub(super) fn new(blocks: usize, entries: &'a [u8]) -> Option<Self> {
        // An entry has two bytes at least: damage cannot make many blocks of few bytes.
        (blocks <= entries.len() / 2).then_some(Self { left: blocks, entries, before: None })
    }

    /// The blocks that are left.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    /// Goes to the next block and calls `each` with its points; `None` after the last, or if it is damaged.
    #[inline]
    pub(crate) fn next(&mut self, each: impl FnMut(Point)) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        let packing = read(&mut self.entries, each)?;
        let first = self.before.map_or(0, |before| u64::from(before) + 1);
        let last = u32::try_from(first + u64::from(packing.spread) + BLOCK as u64 - 1).ok()?;
        self.before = Some(last);
        Some(Entry { last, packing })
    }
}

/// The steps of a frequency from one point to the next. The last step is to any number.
const TF_STEPS: [u8; 8] = [1, 2, 3, 4, 6, 10, 20, SATURATED];

/// The most codes that a point can be above the point before.
const MOST_CODES: u8 = 16;

/// The bit of a step that says that another point follows.
const MORE: u8 = 128;

/// Appends the entry of a block. Its points ascend in both, and there is at least one.
pub(super) fn write(packing: Packing, points: &[Point], out: &mut Vec<u8>) {
    let less = most_high_bytes(packing.spread) - usize::from(packing.high_bytes);
    debug_assert!(less <= MOST_LESS);
    let first = points.first().copied().unwrap_or_default();
    if packing.kind == 0 {
        write_varint(u64::from(packing.spread) << 5 | (less as u64) << 1, out);
        return out.push(first.code);
    }
    write_varint(u64::from(packing.spread) << 1 | 1, out);
    out.extend([packing.kind, first.code]);
    let mut at = Point { tf: 0, code: first.code };
    for (number, point) in points.iter().enumerate() {
        if point.tf <= at.tf {
            continue;
        }
        let step = TF_STEPS.iter().position(|&step| at.tf.saturating_add(step) >= point.tf);
        let step = step.unwrap_or(TF_STEPS.len() - 1);
        let mut low = less as u8;
        if number > 0 {
            let codes = point.code.saturating_sub(at.code).clamp(1, MOST_CODES);
            at.code += codes;
            low = codes - 1;
            if let Some(before) = out.last_mut() {
                *before |= MORE;
            }
        }
        out.push(low | (step as u8) << 4);
        at.tf = at.tf.saturating_add(TF_STEPS[step]);
    }
}

/// Takes an entry off the front of `bytes` and calls `each` with its points; `None` if it is damaged.
#[inline]
fn read(bytes: &mut &[u8], mut each: impl FnMut(Point)) -> Option<Packing> {
    let head = read_varint(bytes)?;
    if head & 1 == 0 {
        let packing = packing(head >> 5, (head >> 1) as u8, 0)?;
        each(Point { tf: 1, code: *bytes.split_off_first()? });
        return Some(packing);
    }
    let (kind, code) = (*bytes.split_off_first()?, *bytes.split_off_first()?);
    let packing = packing(head >> 1, *bytes.first()?, kind)?;
    let mut point = Point { tf: 0, code };
    loop {
        let step = *bytes.split_off_first()?;
        point.tf = point.tf.saturating_add(TF_STEPS[usize::from(step >> 4 & 7)]);
        each(point);
        if step & MORE == 0 {
            return Some(packing);
        }
        // The codes are in the step of the point that follows.
        let next = *bytes.first()?;
        point.code = point.code.saturating_add((next & 15) + 1);
    }
}

/// The packing that an entry describes, with `less` in the four low bits.
#[inline]
fn packing(spread: u64, less: u8, kind: u8) -> Option<Packing> {
    let spread = u32::try_from(spread).ok()?;
    let high_bytes = most_high_bytes(spread).checked_sub(usize::from(less % 16))? as u8;
    Some(Packing { spread, high_bytes, kind })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MOST_LESS, Packing, SATURATED, most_high_bytes, read, write};
    use crate::postings::skyline::skyline;

    fn tf() -> impl Strategy<Value = u32> {
        prop_oneof![Just(1_u32), 1..6_u32, 1..400_u32]
    }

    proptest! {
        #[test]
        fn what_is_read_dominates(
            postings in prop::collection::vec((tf(), any::<u8>()), 1..128),
            most in prop_oneof![Just(1_u32), Just(3), Just(400)],
            (spread, less) in (any::<u32>(), 0..=MOST_LESS),
        ) {
            let limited = |(tf, code)| ((tf - 1) % most + 1, code);
            let postings: Vec<(u32, u8)> = postings.into_iter().map(limited).collect();
            let high_bytes = most_high_bytes(spread).saturating_sub(less) as u8;
            let kind = u8::from(postings.iter().any(|&(tf, _)| tf > 1));
            let packing = Packing { spread, high_bytes, kind };
            let mut bytes = Vec::new();
            write(packing, &skyline(postings.iter().copied()), &mut bytes);
            bytes.push(9);
            let (mut rest, mut points) = (bytes.as_slice(), Vec::new());
            prop_assert_eq!(read(&mut rest, |point| points.push(point)), Some(packing));
            prop_assert_eq!(rest, &[9]);
            for (tf, code) in postings {
                let tf = tf.min(u32::from(SATURATED)) as u8;
                prop_assert!(points.iter().any(|point| point.tf >= tf && point.code <= code));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let _ = read(&mut bytes.as_slice(), |_| ());
        }
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let postings = [(1, 30), (2, 33), (5, 44), (2, 50), (1, 20)];
        let points = skyline(postings.into_iter());
        let (mut bytes, mut found) = (Vec::new(), Vec::new());
        write(Packing { spread: 300, high_bytes: 30, kind: 9 }, &points, &mut bytes);
        read(&mut bytes.as_slice(), |point| found.push(point));
        assert_eq!(found, points);
    }
}
