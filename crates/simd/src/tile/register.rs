//! The register tile: some rows times one panel, over a slice of the depth.

use super::{Epilogue, PANEL, Rows, Sum, Value};
use crate::product::Product;
use crate::word::Word;
use crate::{LANES, Simd};

/// Where a tile is in the product.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The first row.
    pub(super) row: usize,
    /// The first column.
    pub(super) column: usize,
    /// The first value of the depth. Where it is not 0, the sums of those before are in memory.
    pub(super) value: usize,
    /// Whether the sums are finished after these values. Else they go to memory.
    pub(super) is_last: bool,
}

/// One tile: rows from `row` on, one panel. The last rows take the smallest tile that holds them; its surplus
/// rows repeat the last row, and the epilogue does not get them.
///
/// # Safety
/// `row < rows.count()`; `panel` holds `[depth, 32]` values. Unless the place has the first and the last
/// values of the depth, `waiting` has room for `[TILE_ROWS, 32]` sums; unless it has the first, they are
/// there.
#[expect(
    clippy::too_many_arguments,
    reason = "one tile is described by this many numbers; a struct would only be unpacked"
)]
#[inline(always)]
pub(super) unsafe fn tile_of<S: Simd, E: Epilogue>(
    simd: S,
    rows: Rows<'_, Value<E>>,
    row: usize,
    place: Place,
    panel: *const Value<E>,
    waiting: *mut Sum<E>,
    columns: usize,
    epilogue: &mut E,
) {
    let count = (rows.count() - row).min(S::TILE_ROWS);
    macro_rules! shaped {
        ($rows:literal) => {
            // SAFETY: the caller keeps the contract for the rows and the panel, and `$rows` is at least
            // `count`.
            unsafe {
                // A last panel of at most sixteen columns is half as much work.
                if const { S::TILE_VECTORS == 2 } && place.column + LANES < columns {
                    tile::<S, E, $rows, 2>(simd, rows, row, count, place, panel, waiting, columns, epilogue);
                } else {
                    tile::<S, E, $rows, 1>(simd, rows, row, count, place, panel, waiting, columns, epilogue);
                    if const { S::TILE_VECTORS == 1 } && place.column + LANES < columns {
                        let right = panel.add(LANES);
                        let place = Place { column: place.column + LANES, ..place };
                        let waiting = waiting.wrapping_add(LANES);
                        tile::<S, E, $rows, 1>(
                            simd, rows, row, count, place, right, waiting, columns, epilogue,
                        );
                    }
                }
            }
        };
    }
    // What is constant here keeps the compiler from making tiles that an instruction set never takes.
    if count == 1 {
        shaped!(1);
    } else if count == 2 {
        shaped!(2);
    } else if const { S::TILE_ROWS <= 4 } || count <= 4 {
        shaped!(4);
    } else if const { S::TILE_ROWS <= 6 } || count <= 6 {
        shaped!(6);
    } else if count <= 8 {
        shaped!(8);
    } else {
        const { assert!(S::TILE_ROWS <= 12, "no tile has more rows") };
        shaped!(12);
    }
}

/// The register tile.
///
/// # Safety
/// As for [`tile_of`]; `1 <= count <= ROWS`.
#[expect(clippy::too_many_arguments, reason = "as for tile_of")]
#[inline(always)]
unsafe fn tile<S: Simd, E: Epilogue, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    rows: Rows<'_, Value<E>>,
    row: usize,
    count: usize,
    place: Place,
    panel: *const Value<E>,
    waiting: *mut Sum<E>,
    columns: usize,
    epilogue: &mut E,
) {
    const { assert!(VECTORS == 1 || VECTORS == 2, "a panel is two vectors wide") };
    // SAFETY: row + r is at most the last row of the tile, which exists; every depth index is below
    // `depth`, within the row and within the panel. There is room for the waiting sums, as the caller says.
    unsafe {
        let depth = rows.depth();
        // Loops, not closures: each would be compiled again for every tile.
        let mut starts = [rows.start(row); ROWS];
        for (r, start) in starts.iter_mut().enumerate() {
            *start = start.add(r.min(count - 1) * rows.stride());
        }
        let zero = Sum::<E>::splat(simd, Default::default());
        let mut sums = [[zero; VECTORS]; ROWS];
        if place.value > 0 {
            for (r, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = Word::load(simd, waiting.add(r * PANEL + v * LANES));
                }
            }
        }
        for first in (0..depth).step_by(LANES) {
            // Once for the rows, not once for each panel.
            if place.column == 0 {
                epilogue.at(place.row, ROWS, place.value + first);
            }
            for i in first..(first + LANES).min(depth) {
                let line = panel.add(i * PANEL);
                let mut weights = [Word::load(simd, line); VECTORS];
                if VECTORS == 2 {
                    weights[VECTORS - 1] = Word::load(simd, line.add(LANES));
                }
                for r in 0..ROWS {
                    let value = Word::splat(simd, *starts[r].add(i));
                    for v in 0..VECTORS {
                        sums[r][v] = E::Product::multiply_add(simd, value, weights[v], sums[r][v]);
                    }
                }
            }
        }
        // Indexing `sums` by a run-time count would force it into memory for the whole loop. Copy it first,
        // so that only the copy lives there.
        let mut finished = [[zero; VECTORS]; ROWS];
        for r in 0..ROWS {
            for v in 0..VECTORS {
                finished[r][v] = sums[r][v];
            }
        }
        if !place.is_last {
            for (r, sums) in finished.iter().enumerate() {
                for (v, &sum) in sums.iter().enumerate() {
                    Word::store(simd, waiting.add(r * PANEL + v * LANES), sum);
                }
            }
            return;
        }
        for (r, sums) in finished.iter().enumerate().take(count) {
            for (v, &sum) in sums.iter().enumerate() {
                let first = place.column + v * LANES;
                if first < columns {
                    epilogue.store(simd, place.row + r, first, LANES.min(columns - first), sum);
                }
            }
        }
    }
}
