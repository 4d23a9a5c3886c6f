//! The memory of a batch in progress: buffers that are used again and again. Also what divides work among
//! threads.

use std::ops::Range;

use crate::attention::cpu::Scratch as AttentionBuffers;
use crate::linear::Conversions;

/// A matrix of states in f32.
#[derive(Debug)]
pub struct CpuStates {
    /// The matrix row by row, and possibly unused room after it.
    buffer: Vec<f32>,
    rows: usize,
    width: usize,
}

impl CpuStates {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.buffer[..self.rows * self.width]
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.buffer[..self.rows * self.width]
    }
}

/// The memory of the steps of one batch at a time.
#[derive(Default)]
pub struct CpuScratch {
    free: Vec<Vec<f32>>,
    /// One for each thread that works on the batch.
    threads: Vec<ThreadBuffers>,
}

/// The buffers of a thread.
#[derive(Default)]
pub(crate) struct ThreadBuffers {
    pub(crate) attention: AttentionBuffers,
    pub(crate) conversions: Conversions,
}

impl CpuScratch {
    pub(crate) fn use_threads(&mut self, threads: usize) {
        self.threads.resize_with(threads.max(1), ThreadBuffers::default);
    }

    /// States `[rows, width]` of any values, in memory that was given back, if there is some.
    pub(crate) fn take(&mut self, rows: usize, width: usize) -> CpuStates {
        let len = rows * width;
        // The smallest buffer that is large enough, else the largest.
        let fit = |buffer: &Vec<f32>| (buffer.len() < len, buffer.len().abs_diff(len));
        let best = (0..self.free.len()).min_by_key(|&index| fit(&self.free[index]));
        let mut buffer = best.map(|index| self.free.swap_remove(index)).unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, 0.0);
        }
        CpuStates { buffer, rows, width }
    }

    pub(crate) fn give_back(&mut self, states: CpuStates) {
        self.free.push(states.buffer);
    }

    /// Runs `work` for every part of a step: on this thread, or on as many threads as the batch may use, at
    /// most `most`.
    pub(crate) fn divided(&mut self, most: usize, work: impl Fn(Part, &mut ThreadBuffers) + Sync) {
        self.threads.resize_with(self.threads.len().max(1), ThreadBuffers::default);
        let count = self.threads.len().min(most.max(1));
        if let [buffers] = &mut self.threads[..count] {
            return work(Part::WHOLE, buffers);
        }
        let work = &work;
        rayon::scope(|scope| {
            for (index, buffers) in self.threads[..count].iter_mut().enumerate() {
                scope.spawn(move |_| work(Part { index, count }, buffers));
            }
        });
    }
}

/// One of several equal parts of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    index: usize,
    count: usize,
}

impl Part {
    /// The only part.
    pub(crate) const WHOLE: Self = Self { index: 0, count: 1 };

    /// Part `index` of `count`.
    #[cfg(test)]
    pub(crate) fn new(index: usize, count: usize) -> Self {
        Self { index, count }
    }

    /// Whether item `index` is in this part.
    pub(crate) fn has(self, index: usize) -> bool {
        index % self.count == self.index
    }

    /// This part of `len` items, in units that are not divided.
    pub(crate) fn of(self, len: usize, unit: usize) -> Range<usize> {
        let units = len.div_ceil(unit);
        let at = |index: usize| (units * index / self.count * unit).min(len);
        at(self.index)..at(self.index + 1)
    }
}

/// Where the parts of a step write: each part to its own places.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    start: *mut f32,
    len: usize,
}

// SAFETY: this is only an address. Only unsafe code writes there, and states why no two parts write to the
// same place.
unsafe impl Send for Output {}
// SAFETY: this is only an address, which shared references can but copy.
unsafe impl Sync for Output {}

impl Output {
    /// The output that a step fills, while nothing else uses it.
    pub(crate) fn of(values: &mut [f32]) -> Self {
        Self { start: values.as_mut_ptr(), len: values.len() }
    }

    pub(crate) fn start(self) -> *mut f32 {
        self.start
    }

    pub(crate) fn len(self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuScratch, Part};

    #[test]
    fn parts_are_whole_units_and_cover_everything_once() {
        for (len, unit, count) in [(1152, 32, 2), (100, 32, 3), (31, 32, 4), (0, 32, 2), (7, 1, 2)] {
            let mut next = 0;
            for index in 0..count {
                let part = Part { index, count }.of(len, unit);
                assert!(part.start == next && (part.end == len || part.end.is_multiple_of(unit)), "{part:?}");
                next = part.end;
            }
            assert_eq!(next, len);
            assert!(
                (0..len).all(|item| (0..count).filter(|&index| Part { index, count }.has(item)).count() == 1)
            );
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut scratch = CpuScratch::default();
        let (small, large) = (scratch.take(2, 3), scratch.take(10, 10));
        let (small_at, large_at) = (small.values().as_ptr(), large.values().as_ptr());
        scratch.give_back(large);
        scratch.give_back(small);
        let again = scratch.take(3, 2);
        assert_eq!((again.values().as_ptr(), again.values().len()), (small_at, 6));
        assert_eq!(scratch.take(4, 5).values().as_ptr(), large_at);
    }
}
