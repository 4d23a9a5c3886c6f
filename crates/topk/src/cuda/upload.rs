//! Copies of the host's rows to a device, by several threads: one alone fills pinned memory more slowly than
//! a device reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use toller_gpu::{Address, Device, DeviceError, Pinned};

use super::threads::join;
use crate::options::ReadAhead;

/// The most threads that copy.
const MOST_THREADS: usize = 8;
/// Bytes of a pinned buffer: enough that a copy takes longer than starting it, and so few that both buffers
/// of a thread stay in its processor's cache, which is filled faster than memory.
const PINNED_BYTES: usize = 512 << 10;
/// Parts of up to a buffer that are announced before they are read: as many bytes as the CPU's scan
/// announces.
const READ_AHEAD_PARTS: usize = 64;

/// Rows of the host, and the place on a device that they are copied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer<'a> {
    pub(crate) to: Address,
    pub(crate) rows: &'a [u8],
    /// Bytes of a row.
    pub(crate) row_bytes: usize,
    /// Bytes from row to row on the device. Rows are padded with zeros.
    pub(crate) stride: usize,
}

impl Transfer<'_> {
    /// The same rows in parts that fit a buffer of `bytes`, at least one row.
    fn parts(self, bytes: usize) -> impl Iterator<Item = Self> {
        let at_once = bytes / self.stride;
        let part =
            move |(number, rows)| Self { to: self.to.plus(number * at_once * self.stride), rows, ..self };
        self.rows.chunks(at_once * self.row_bytes).enumerate().map(part)
    }
}

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
    /// For up to `bytes` bytes at a time, of rows of a stride of up to `stride` bytes, on up to `threads`
    /// threads.
    pub(crate) fn new(
        device: &Arc<dyn Device>,
        bytes: usize,
        stride: usize,
        threads: usize,
    ) -> Result<Self, DeviceError> {
        let of_buffer = bytes.min(PINNED_BYTES).max(stride);
        let lanes = threads.min(MOST_THREADS).min(bytes.div_ceil(of_buffer)).max(1);
        let buffer = || Pinned::for_uploads(device, of_buffer);
        let lane = |_| Ok(Lane { pinned: [buffer()?, buffer()?], next: 0 });
        Ok(Self { lanes: (0..lanes).map(lane).collect::<Result<_, DeviceError>>()? })
    }

    /// Copies rows. Announces bytes to `read_ahead` before they are read, and calls `progress` with the
    /// number of bytes that were just read.
    ///
    /// # Safety
    /// There is room for all rows where they go until [`Uploader::synchronize`] returns.
    pub(crate) unsafe fn copy(
        &mut self,
        transfers: &[Transfer<'_>],
        read_ahead: Option<ReadAhead<'_>>,
        progress: &dyn Fn(u64),
    ) -> Result<(), DeviceError> {
        let of_buffer = self.lanes[0].pinned[0].size();
        // Threads take parts of all transfers: one alone may be small.
        let parts: Vec<_> = transfers.iter().flat_map(|transfer| transfer.parts(of_buffer)).collect();
        let announce = |part: usize| {
            if let (Some(read_ahead), Some(part)) = (read_ahead, parts.get(part)) {
                read_ahead(part.rows);
            }
        };
        (0..READ_AHEAD_PARTS).for_each(announce);
        let copy = |lane: &mut Lane, part: &Transfer<'_>| {
            // SAFETY: the part has its place among its transfer's rows, for which the caller guarantees room.
            unsafe { lane.copy(part)? };
            Ok(part.rows.len() as u64)
        };
        if let [] | [_] = parts[..] {
            // To start a thread would take longer.
            return parts.iter().try_for_each(|part| copy(&mut self.lanes[0], part).map(progress));
        }
        let next = AtomicUsize::new(0);
        let (report, reports) = mpsc::channel();
        let work = |lane: &mut Lane, report: mpsc::Sender<u64>| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(number) else { return Ok(()) };
                announce(number + READ_AHEAD_PARTS);
                // After an error the others end, too.
                let copied = copy(lane, part).inspect_err(|_| next.store(parts.len(), Ordering::Relaxed))?;
                // The receiver is there until all senders are gone.
                let _ = report.send(copied);
            }
        };
        thread::scope(|scope| {
            let start = |lane| {
                let (work, report) = (&work, report.clone());
                scope.spawn(move || work(lane, report))
            };
            let running: Vec<_> = self.lanes.iter_mut().take(parts.len()).map(start).collect();
            drop(report);
            reports.iter().for_each(progress);
            join(running).collect()
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
    unsafe fn copy(&mut self, part: &Transfer<'_>) -> Result<(), DeviceError> {
        let &Transfer { to, rows, row_bytes, stride } = part;
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
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use toller_gpu::{Devices, Memory};

    use super::{DeviceError, PINNED_BYTES, READ_AHEAD_PARTS, Transfer, Uploader};

    #[test]
    fn threads_leave_no_row_out() -> Result<(), DeviceError> {
        let devices = Devices::shim(&[64 << 20]);
        let Some(device) = devices.iter().next() else { return Ok(()) };
        for (rows, row_bytes, stride) in
            [(0, 12, 16), (1, 12, 16), (5000, 1000, 1008), (6001, 1008, 1008), (2, 3 << 20, 3 << 20)]
        {
            let from: Vec<u8> = (0..rows * row_bytes).map(|i| (i * i / 7 + i / 251) as u8 | 1).collect();
            for rows_of_transfer in [1, 300, 7000] {
                let to = Memory::<u8>::filled(device, rows * stride, 0xee)?;
                let transfer = |(number, rows)| {
                    let to = to.at(number * rows_of_transfer * stride);
                    Transfer { to, rows, row_bytes, stride }
                };
                let transfers: Vec<_> =
                    from.chunks(rows_of_transfer * row_bytes).enumerate().map(transfer).collect();
                let mut uploader = Uploader::new(device, rows * stride, stride, 3)?;
                let (read, announced) = (Cell::new(0), AtomicUsize::new(0));
                let read_ahead = |bytes: &[u8]| {
                    announced.fetch_add(bytes.len(), Ordering::Relaxed);
                };
                // SAFETY: `to` has room for all rows, and lives until the copies are done.
                unsafe {
                    uploader.copy(&transfers, Some(&read_ahead), &|bytes| {
                        read.set(read.get() + bytes as usize);
                    })?;
                }
                uploader.synchronize()?;
                assert_eq!((read.get(), announced.into_inner()), (from.len(), from.len()));
                assert!(from.len() <= PINNED_BYTES || uploader.lanes.len() > 1);
                let copied = to.to_vec()?;
                for row in 0..rows {
                    let (content, padding) = copied[row * stride..][..stride].split_at(row_bytes);
                    assert!(content == &from[row * row_bytes..][..row_bytes], "row {row} of {rows}");
                    assert!(padding.iter().all(|&byte| byte == 0), "row {row} of {rows}");
                }
            }
        }
        Ok(())
    }

    /// The pieces of a slab are those of files, and may be small.
    #[test]
    fn threads_share_small_transfers() -> Result<(), DeviceError> {
        const BYTES: usize = 16 << 10;
        let devices = Devices::shim(&[64 << 20]);
        let Some(device) = devices.iter().next() else { return Ok(()) };
        let from = vec![1; (READ_AHEAD_PARTS + 2) * BYTES];
        let to = Memory::<u8>::new(device, from.len())?;
        let transfer =
            |(number, rows)| Transfer { to: to.at(number * BYTES), rows, row_bytes: 16, stride: 16 };
        let transfers: Vec<_> = from.chunks(BYTES).enumerate().map(transfer).collect();
        let mut uploader = Uploader::new(device, from.len(), 16, 2)?;
        let (calling, both) = (thread::current().id(), Barrier::new(2));
        // The threads that copy announce the last two: each waits for the other.
        let read_ahead = |_: &[u8]| {
            if thread::current().id() != calling {
                both.wait();
            }
        };
        // SAFETY: `to` has room for all rows, and lives until the copies are done.
        unsafe { uploader.copy(&transfers, Some(&read_ahead), &|_| ())? };
        uploader.synchronize()?;
        assert!(to.to_vec()? == from);
        Ok(())
    }
}
