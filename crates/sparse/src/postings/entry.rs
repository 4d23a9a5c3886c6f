//! What the directory of a list says of a full block.
//!
//! ```text
//! entry := 2 * spread (varint), code of the only point (u8)                    all frequencies are 1, and so is the point's
//!        | 2 * spread + 1 (varint), kind (u8), code of the first point (u8), step of each point (u8)
//! step  := codes more than the point before, less 1 (4 bits), step of the frequency (3 bits), whether another point follows
//! ```
//!
//! The first point's step is from frequency 0, and its codes do not count. Codes are rounded down to what 4 bits can say, and
//! frequencies up to one of eight steps: so the points still dominate the block.

use super::block::Packing;
use super::skyline::{Point, SATURATED};
use super::{read_varint, write_varint};

/// How much larger the frequency of a point can be than that of the one before. The last step is to any number.
const TF_STEPS: [u8; 8] = [1, 2, 3, 4, 6, 10, 20, SATURATED];

/// The most codes that a point can be above the one before.
const MOST_CODES: u8 = 16;

/// Another point follows.
const MORE: u8 = 128;

/// Appends the entry of a block with these points, which ascend in both and of which there is one at least.
pub(super) fn write(packing: Packing, points: &[Point], out: &mut Vec<u8>) {
    let once = packing.kind == 0;
    write_varint(u64::from(packing.spread) << 1 | u64::from(!once), out);
    let first = points.first().copied().unwrap_or_default();
    if once {
        return out.push(first.code);
    }
    out.extend([packing.kind, first.code]);
    let mut at = Point { tf: 0, code: first.code };
    for (number, point) in points.iter().enumerate() {
        if point.tf <= at.tf {
            continue;
        }
        if number > 0
            && let Some(before) = out.last_mut()
        {
            *before |= MORE;
        }
        let codes = point.code.saturating_sub(at.code).clamp(1, MOST_CODES);
        let step = TF_STEPS.iter().position(|&step| at.tf.saturating_add(step) >= point.tf);
        let step = step.unwrap_or(TF_STEPS.len() - 1);
        out.push((codes - 1) | (step as u8) << 4);
        at.tf = at.tf.saturating_add(TF_STEPS[step]);
        if number > 0 {
            at.code += codes;
        }
    }
}

/// Takes an entry off the front of `bytes` and calls `each` with its points; `None` if it is damaged.
#[inline]
pub(super) fn read(bytes: &mut &[u8], mut each: impl FnMut(Point)) -> Option<Packing> {
    let head = read_varint(bytes)?;
    let spread = u32::try_from(head >> 1).ok()?;
    if head & 1 == 0 {
        each(Point { tf: 1, code: *bytes.split_off_first()? });
        return Some(Packing { spread, kind: 0 });
    }
    let (kind, code) = (*bytes.split_off_first()?, *bytes.split_off_first()?);
    let mut point = Point { tf: 0, code };
    loop {
        let step = *bytes.split_off_first()?;
        point.tf = point.tf.saturating_add(TF_STEPS[usize::from(step >> 4 & 7)]);
        each(point);
        if step & MORE == 0 {
            return Some(Packing { spread, kind });
        }
        // Of the point that follows.
        let next = *bytes.first()?;
        point.code = point.code.saturating_add((next & 15) + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Packing, SATURATED, read, write};
    use crate::postings::skyline::skyline;

    proptest! {
        #[test]
        fn what_is_read_dominates(
            postings in prop::collection::vec((prop_oneof![Just(1_u32), 1..6_u32, 1..400_u32], any::<u8>()), 1..128),
            most in prop_oneof![Just(1_u32), Just(3), Just(400)],
            spread in any::<u32>(),
        ) {
            let postings: Vec<(u32, u8)> = postings.into_iter().map(|(tf, code)| ((tf - 1) % most + 1, code)).collect();
            let packing = Packing { spread, kind: u8::from(postings.iter().any(|&(tf, _)| tf > 1)) };
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
        write(Packing { spread: 3, kind: 9 }, &points, &mut bytes);
        read(&mut bytes.as_slice(), |point| found.push(point));
        assert_eq!(found, points);
    }
}
