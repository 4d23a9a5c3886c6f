//! How a device's memory is divided, decided before anything is copied.

use std::fmt;
use std::ops::Range;

use toller_gpu::DeviceError;

use super::kernels::DType;
use super::layout::slabs;
use crate::collection::Collection;

/// Queries and candidates may take one part in this many of the free memory.
const WORKSPACE_SHARE: u64 = 8;
/// The bytes of queries and candidates, at most, the first with which rows fit: enough for the candidates of
/// thousands of queries, and less where rows would have to be copied again for every search.
const WORKSPACES: [u64; 4] = [8 << 30, 4 << 30, 2 << 30, 1 << 30];
/// One part in this many of the free memory is left alone, because the driver rounds sizes up.
const SLACK_SHARE: u64 = 64;
/// The most bytes of a slab that is streamed: large enough that a scan takes longer than its start.
const STREAMED_SLAB: u64 = 1 << 30;

/// The bytes of a row in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowBytes {
    /// Those of its numbers, padded.
    pub(crate) vector: u64,
    /// Those of its codes, padded, with the scale and the norm of the residual; or 0.
    pub(crate) codes: u64,
    /// Those of the upper bound of its length.
    pub(crate) norm: u64,
}

impl RowBytes {
    /// For rows of `dtype`, with codes or without.
    pub(crate) fn new(dtype: DType, coded: bool, dim: usize) -> Self {
        let floats = 2 * size_of::<f32>();
        let codes = if coded { DType::Int8.stride(dim) + floats } else { 0 };
        Self { vector: dtype.stride(dim) as u64, codes: codes as u64, norm: size_of::<f32>() as u64 }
    }

    /// For the widest of the rows `rows` of a collection; for none, the least there can be.
    pub(crate) fn widest(collection: &Collection<'_>, rows: Range<usize>, coded: bool) -> Self {
        let dtypes = slabs(collection, rows, usize::MAX).into_iter().map(|slab| slab.dtype);
        let widest = dtypes.max_by_key(|dtype| dtype.size());
        let none = Self { vector: 1, codes: 0, norm: 0 };
        widest.map_or(none, |dtype| Self::new(dtype, coded, collection.dim()))
    }

    fn all(self) -> u64 {
        self.vector + self.codes + self.norm
    }

    fn without_codes(self) -> Self {
        Self { codes: 0, ..self }
    }
}

/// Where a device's rows are kept during searches, and how many bytes that takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePlan {
    /// The device.
    pub device: String,
    /// Bytes of memory that were free.
    pub free: u64,
    /// Rows of the device's share.
    pub rows: u64,
    /// Rows that stay in its memory from search to search.
    pub resident_rows: u64,
    /// Rows of a slab, if not all rows fit. The others are streamed through two slabs: one is copied while
    /// the other is scanned.
    pub slab_rows: u64,
    /// Bytes of the resident vectors.
    pub vectors: u64,
    /// Bytes of their codes.
    pub codes: u64,
    /// Bytes of the upper bounds of their lengths.
    pub norms: u64,
    /// Bytes of the two slabs.
    pub slabs: u64,
    /// Bytes that queries and candidates may take.
    pub workspace: u64,
}

impl DevicePlan {
    /// Plans for `rows` rows with `free` bytes. If they do not fit with their codes, none has codes: to copy
    /// rows for every search takes longer than to scan them as they are.
    pub(crate) fn new(device: &str, free: u64, rows: u64, row: RowBytes) -> Result<Self, DeviceError> {
        let whole = ways(row).find(|&(row, most)| room(free, most) / row.all() >= rows);
        let (row, most) = whole.unwrap_or((row.without_codes(), WORKSPACES[0]));
        let (workspace, available) = (workspace(free, most), room(free, most));
        let (resident_rows, slab_rows) = if whole.is_some() {
            (rows, 0)
        } else {
            let slab_rows = (available / 8).min(STREAMED_SLAB) / row.all();
            if slab_rows == 0 {
                // A slab is an eighth of the memory without workspace and slack.
                let needed = 10 * row.all();
                let what = "scanning vectors of this size".to_owned();
                return Err(DeviceError::TooLittleMemory { name: device.to_owned(), free, needed, what });
            }
            ((available / row.all() - 2 * slab_rows).min(rows), slab_rows)
        };
        Ok(Self {
            device: device.to_owned(),
            free,
            rows,
            resident_rows,
            slab_rows,
            vectors: resident_rows * row.vector,
            codes: resident_rows * row.codes,
            norms: resident_rows * row.norm,
            slabs: 2 * slab_rows * row.all(),
            workspace,
        })
    }

    /// Bytes that stay free.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.free - self.vectors - self.codes - self.norms - self.slabs - self.workspace
    }
}

/// How rows may be kept so that all fit, the best first: with codes or without, and the most bytes of the
/// workspace.
fn ways(row: RowBytes) -> impl Iterator<Item = (RowBytes, u64)> {
    [row, row.without_codes()].into_iter().flat_map(|row| WORKSPACES.map(|most| (row, most)))
}

/// The bytes of the workspace, of `free` bytes and at most `most`.
fn workspace(free: u64, most: u64) -> u64 {
    (free / WORKSPACE_SHARE).min(most)
}

/// The bytes that a workspace of at most `most` leaves for rows.
fn room(free: u64, most: u64) -> u64 {
    free - workspace(free, most) - free / SLACK_SHARE
}

/// The number of rows of each device, by the bytes that are free there. Shares of the `rows` are equal, but a
/// device with less room has only what fits. If the devices together do not have room for all rows, the rest
/// is divided equally, and streamed.
pub(crate) fn shares(free: &[u64], rows: u64, row: RowBytes) -> Vec<u64> {
    let rooms = |(row, most): (RowBytes, u64)| -> Vec<u64> {
        free.iter().map(|&free| room(free, most) / row.all()).collect()
    };
    let fits = |rooms: &Vec<u64>| rooms.iter().fold(0_u64, |sum, room| sum.saturating_add(*room)) >= rows;
    if let Some(rooms) = ways(row).map(rooms).find(fits) {
        return filled(&rooms, rows);
    }
    let rooms = rooms((row.without_codes(), WORKSPACES[0]));
    let (rest, devices) = (rows - rooms.iter().sum::<u64>(), rooms.len() as u64);
    (0..devices).zip(rooms).map(|(device, room)| room + (rest + device) / devices).collect()
}

/// `rows` among devices with room for all of them: those with little room are full, the others are equal.
fn filled(rooms: &[u64], rows: u64) -> Vec<u64> {
    let mut by_room: Vec<usize> = (0..rooms.len()).collect();
    by_room.sort_by_key(|&device| rooms[device]);
    let (mut shares, mut left) = (vec![0; rooms.len()], rows);
    for (done, &device) in by_room.iter().enumerate() {
        shares[device] = rooms[device].min(left / (rooms.len() - done) as u64);
        left -= shares[device];
    }
    shares
}

/// One line, for example `cuda:0 (NVIDIA H200): 8841823 vectors: 13.58 GB, norms 0.04 GB; up to 8.00 GB for
/// candidates; 118.38 of 140.00 GB stay free`.
impl fmt::Display for DevicePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let giga = |bytes: u64| format!("{:.2} GB", bytes as f64 * 1e-9);
        write!(f, "{}: {} vectors: {}", self.device, self.resident_rows, giga(self.vectors))?;
        if self.codes > 0 {
            write!(f, ", codes {}", giga(self.codes))?;
        }
        write!(f, ", norms {}", giga(self.norms))?;
        if self.resident_rows < self.rows {
            let streamed = self.rows - self.resident_rows;
            write!(
                f,
                "; {streamed} do not fit and are copied again for every search, through {}",
                giga(self.slabs)
            )?;
        }
        write!(f, "; up to {} for candidates", giga(self.workspace))?;
        write!(f, "; {:.2} of {} stay free", self.left() as f64 * 1e-9, giga(self.free))
    }
}

#[cfg(test)]
mod tests {
    use toller_gpu::DeviceError;

    use super::{DType, DevicePlan, RowBytes, WORKSPACES, shares};

    #[test]
    fn plans_keep_within_the_memory_and_use_it() -> Result<(), DeviceError> {
        for (dtype, coded) in [(DType::F16, false), (DType::F32, true)] {
            let row = RowBytes::new(dtype, coded, 768);
            for free in [100_000, 1 << 20, 1 << 30, 80 << 30, 140_u64 << 30] {
                for rows in [0, 1, 1000, 8_841_823, 60_000_000, 1_u64 << 31] {
                    let plan = DevicePlan::new("d", free, rows, row)?;
                    let taken = plan.vectors + plan.codes + plan.norms + plan.slabs + plan.workspace;
                    assert!(taken <= free, "{plan}");
                    assert_eq!(plan.left(), free - taken);
                    assert!(plan.resident_rows <= rows);
                    let is_whole = plan.resident_rows == rows;
                    assert!(is_whole || plan.slab_rows > 0, "{plan}");
                    // Rows that fit are not streamed.
                    assert!(is_whole || plan.left() < free / 40 + 4 * row.all(), "{plan}");
                    assert!(is_whole || plan.codes == 0, "{plan}");
                }
            }
        }
        let plan =
            DevicePlan::new("cuda:0", 140_000_000_000, 8_841_823, RowBytes::new(DType::F16, false, 768))?;
        assert!(
            plan.to_string().starts_with("cuda:0: 8841823 vectors: 13.58 GB, norms 0.04 GB; up to 8.59 GB"),
            "{plan}"
        );
        let plan =
            DevicePlan::new("cuda:0", 10_000_000_000, 8_841_823, RowBytes::new(DType::F16, false, 768))?;
        assert!(plan.to_string().contains("do not fit"), "{plan}");
        Ok(())
    }

    #[test]
    fn codes_are_not_worth_copying_rows_for_every_search() -> Result<(), DeviceError> {
        let (plain, coded) = (RowBytes::new(DType::F16, false, 768), RowBytes::new(DType::F16, true, 768));
        let plan = |free, row| DevicePlan::new("d", free, 8_841_823, row);
        // Room for vectors and codes, for the vectors, and for a part of them.
        assert_eq!(plan(30_000_000_000, coded)?.codes, 8_841_823 * (768 + 8));
        assert_eq!(plan(20_000_000_000, coded)?, plan(20_000_000_000, plain)?);
        assert_eq!(plan(20_000_000_000, coded)?.slab_rows, 0);
        assert_eq!(plan(10_000_000_000, coded)?, plan(10_000_000_000, plain)?);
        Ok(())
    }

    #[test]
    fn a_smaller_workspace_comes_before_less_of_the_rows() -> Result<(), DeviceError> {
        let (plain, coded) = (RowBytes::new(DType::F16, false, 768), RowBytes::new(DType::F16, true, 768));
        let (free, bytes) = (80_u64 << 30, |plan: &DevicePlan| plan.vectors + plan.codes + plan.norms);
        let room = |workspace: u64| free - free / 64 - workspace;
        for row in [plain, coded] {
            for most in WORKSPACES {
                let rows = room(most) / row.all();
                let plan = DevicePlan::new("d", free, rows, row)?;
                assert_eq!((plan.workspace, plan.resident_rows, plan.codes > 0), (most, rows, row == coded));
                assert!(room(most) - bytes(&plan) < row.all(), "{plan}");
            }
            let plan = DevicePlan::new("d", free, room(1 << 30) / row.all() + 1, row)?;
            assert_eq!((plan.workspace, plan.codes), (8 << 30, 0), "{plan}");
        }
        Ok(())
    }

    #[test]
    fn devices_have_equal_shares_as_far_as_they_have_room() -> Result<(), DeviceError> {
        let (plain, coded) = (RowBytes::new(DType::F16, false, 768), RowBytes::new(DType::F16, true, 768));
        let giga = |sizes: &[u64]| sizes.iter().map(|size| size << 30).collect::<Vec<u64>>();
        assert_eq!(shares(&giga(&[80, 80, 80]), 10, plain), [3, 3, 4]);
        assert_eq!(shares(&giga(&[80, 40]), 1_000_001, coded), [500_001, 500_000]);
        assert_eq!(shares(&giga(&[80]), 0, plain), [0]);
        // Room for all, but not for equal shares: none is streamed, and codes stay.
        let (free, rows) = (giga(&[80, 10, 80]), 40_000_000);
        let found = shares(&free, rows, coded);
        assert_eq!(found.iter().sum::<u64>(), rows);
        assert!(found[1] < found[0] / 4 && found[2].abs_diff(found[0]) <= 1, "{found:?}");
        for (free, &rows) in free.iter().zip(&found) {
            let plan = DevicePlan::new("d", *free, rows, coded)?;
            assert!(plan.resident_rows == rows && plan.codes > 0, "{plan}");
        }
        // Without room for all, each streams as much.
        let (free, rows) = (giga(&[20, 10]), 40_000_000);
        let found = shares(&free, rows, coded);
        assert_eq!(found.iter().sum::<u64>(), rows);
        let streamed = |(free, &rows): (&u64, &u64)| {
            DevicePlan::new("d", *free, rows, coded).map(|plan| plan.rows - plan.resident_rows)
        };
        let streamed: Vec<u64> = free.iter().zip(&found).map(streamed).collect::<Result<_, _>>()?;
        assert!(streamed[0].abs_diff(streamed[1]) < streamed[0] / 8, "{streamed:?}");
        Ok(())
    }

    #[test]
    fn memory_for_less_than_a_row_is_an_error() {
        let row = RowBytes::new(DType::F32, false, 4096);
        let error = DevicePlan::new("d", 16_384, 3, row);
        assert!(matches!(error, Err(DeviceError::TooLittleMemory { .. })), "{error:?}");
        assert_eq!(DevicePlan::new("d", 16_384, 0, row).map(|plan| plan.resident_rows), Ok(0));
    }
}
