//! Work on several threads, for searches: they hold a lock, and may run on a worker of rayon. A worker that
//! waits for rayon takes up other work, which may be a search that waits for the same lock. Plain threads
//! do not.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// Numbers or hits that are worth a thread. To start one takes longer than copying fewer.
const FOR_A_THREAD: usize = 1 << 17;

/// How many of up to `most` threads copy `values` numbers or hits.
pub(super) fn threads_for(values: usize, most: usize) -> usize {
    (values / FOR_A_THREAD).clamp(1, most)
}

/// What each thread returns, in order. If one has panicked, so does the caller.
pub(super) fn join<T>(threads: Vec<ScopedJoinHandle<'_, T>>) -> impl Iterator<Item = T> {
    threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Calls `work` with the number of each row and the row, on up to `threads` threads. `rows` is
/// `[rows, width]`.
pub(super) fn for_each_row<T: Send>(
    rows: &mut [T],
    width: usize,
    threads: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let share = (rows.len() / width).div_ceil(threads).max(1);
    let work = |first: usize, rows: &mut [T]| {
        rows.chunks_exact_mut(width).enumerate().for_each(|(number, row)| work(first + number, row));
    };
    thread::scope(|scope| {
        let mut shares = rows.chunks_mut(share * width).enumerate();
        let first = shares.next();
        for (number, rows) in shares {
            let work = &work;
            scope.spawn(move || work(number * share, rows));
        }
        // The caller's thread takes a share, too.
        if let Some((_, rows)) = first {
            work(0, rows);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::for_each_row;

    #[test]
    fn every_row_is_worked_on_once() {
        for (rows, threads) in [(0, 3), (1, 1), (1, 8), (5, 2), (8, 8), (1000, 7)] {
            let mut values = vec![0; 3 * rows];
            for_each_row(&mut values, 3, threads, |number, row| {
                row.iter_mut().for_each(|value| *value += number + 1)
            });
            let expected = (0..rows).flat_map(|number| [number + 1; 3]);
            assert!(values.into_iter().eq(expected), "{rows} rows on {threads} threads");
        }
    }
}
