//! Copies of the host's rows to a device, by several threads: one alone fills pinned memory more slowly than
//! a device reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use toller_gpu::{Address, Device, DeviceError, Pinned};

/// The most threads that copy.
const MOST_THREADS: usize = 8;
/// Bytes of a pinned buffer: enough that a copy takes longer than starting it, and so few that both buffers
/// of a thread stay in its processor's cache, which is filled faster than memory.
const PINNED_BYTES: usize = 512 << 10;

/// The pinned buffers of all threads.
#[derive(Debug)]
pub(crate) struct Uploader {
    lanes: Vec<Lane>,
}

/// A thread's buffers: one is filled while the other is copied.
#[derive(Debug)]
struct Lane {
    pinned: [Pinned; 2],
    next: usize,
}

impl Uploader {
    /// For up to `bytes` bytes at a time, of rows of a stride of up to `stride` bytes.
    pub(crate) fn new(device: &Arc<dyn Device>, bytes: usize, stride: usize) -> Result<Self, DeviceError> {
        let of_buffer = bytes.min(PINNED_BYTES).max(stride);
        let threads = rayon::current_num_threads().min(MOST_THREADS).min(bytes.div_ceil(of_buffer)).max(1);
        let buffer = || Pinned::for_uploads(device, of_buffer);
        let lane = |_| Ok(Lane { pinned: [buffer()?, buffer()?], next: 0 });
        Ok(Self { lanes: (0..threads).map(lane).collect::<Result<_, DeviceError>>()? })
    }

    /// Copies rows of `row_bytes` to rows of `stride` bytes, padded with zeros. Calls `progress` with the
    /// number of bytes that were just read.
    ///
    /// # Safety
    /// There is room for the rows at `to` until [`Uploader::synchronize`] returns.
    pub(crate) unsafe fn copy(
        &mut self,
        to: Address,
        rows: &[u8],
        row_bytes: usize,
        stride: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), DeviceError> {
        let at_once = self.lanes[0].pinned[0].size() / stride;
        let part_bytes = at_once * row_bytes;
        let parts = rows.len().div_ceil(part_bytes);
        let copy = |lane: &mut Lane, part: usize| {
            let rows = &rows[part * part_bytes..rows.len().min((part + 1) * part_bytes)];
            // SAFETY: the part has its place among the rows, for which the caller guarantees room.
            unsafe { lane.copy(to.plus(part * at_once * stride), rows, row_bytes, stride)? };
            Ok(rows.len() as u64)
        };
        if parts <= 1 {
            // To start a thread would take longer.
            return if parts == 0 { Ok(()) } else { copy(&mut self.lanes[0], 0).map(progress) };
        }
        let next = AtomicUsize::new(0);
        let (report, reports) = mpsc::channel();
        let work = |lane: &mut Lane, report: mpsc::Sender<u64>| {
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    return Ok(());
                }
                // The others then end, too.
                let copied = copy(lane, part).inspect_err(|_| next.store(parts, Ordering::Relaxed))?;
                // The receiver is there until all senders are gone.
                let _ = report.send(copied);
            }
        };
        thread::scope(|scope| {
            let start = |lane| {
                let (work, report) = (&work, report.clone());
                scope.spawn(move || work(lane, report))
            };
            let running: Vec<_> = self.lanes.iter_mut().take(parts).map(start).collect();
            drop(report);
            reports.iter().for_each(progress);
            let mut done = running.into_iter().map(thread::ScopedJoinHandle::join);
            done.try_for_each(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// Waits until all copies are done.
    pub(crate) fn synchronize(&self) -> Result<(), DeviceError> {
        self.lanes.iter().flat_map(|lane| &lane.pinned).try_for_each(Pinned::synchronize)
    }
}

impl Lane {
    /// Copies rows that fit a buffer.
    ///
    /// # Safety
    /// As for [`Uploader::copy`].
    unsafe fn copy(
        &mut self,
        to: Address,
        rows: &[u8],
        row_bytes: usize,
        stride: usize,
    ) -> Result<(), DeviceError> {
        let pinned = &mut self.pinned[self.next];
        self.next ^= 1;
        let bytes = rows.len() / row_bytes * stride;
        pad(rows, row_bytes, &mut pinned.bytes_mut()?[..bytes], stride);
        // SAFETY: the caller guarantees room.
        unsafe { pinned.copy_to(to, bytes) }
    }
}

/// Copies rows to a larger stride. Rows of a memory map are read from disk here.
fn pad(from: &[u8], row_bytes: usize, to: &mut [u8], stride: usize) {
    if row_bytes == stride {
        to.copy_from_slice(from);
        return;
    }
    for (from, to) in from.chunks_exact(row_bytes).zip(to.chunks_exact_mut(stride)) {
        to[..row_bytes].copy_from_slice(from);
        to[row_bytes..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use toller_gpu::{Devices, Memory};

    use super::{DeviceError, PINNED_BYTES, Uploader};

    #[test]
    fn threads_leave_no_row_out() -> Result<(), DeviceError> {
        let devices = Devices::shim(&[64 << 20]);
        let Some(device) = devices.iter().next() else { return Ok(()) };
        for (rows, row_bytes, stride) in
            [(0, 12, 16), (1, 12, 16), (5000, 1000, 1008), (6001, 1008, 1008), (2, 3 << 20, 3 << 20)]
        {
            let from: Vec<u8> = (0..rows * row_bytes).map(|i| (i * i / 7 + i / 251) as u8 | 1).collect();
            let to = Memory::<u8>::filled(device, rows * stride, 0xee)?;
            let mut uploader = Uploader::new(device, rows * stride, stride)?;
            let read = Cell::new(0);
            // SAFETY: `to` has room for all rows, and lives until the copies are done.
            unsafe {
                uploader.copy(to.address(), &from, row_bytes, stride, &|bytes| {
                    read.set(read.get() + bytes as usize);
                })?;
            }
            uploader.synchronize()?;
            assert_eq!(read.get(), from.len());
            assert!(
                from.len() <= PINNED_BYTES || uploader.lanes.len() > 1 || rayon::current_num_threads() == 1
            );
            let copied = to.to_vec()?;
            for row in 0..rows {
                let (content, padding) = copied[row * stride..][..stride].split_at(row_bytes);
                assert!(content == &from[row * row_bytes..][..row_bytes], "row {row} of {rows}");
                assert!(padding.iter().all(|&byte| byte == 0), "row {row} of {rows}");
            }
        }
        Ok(())
    }
}
