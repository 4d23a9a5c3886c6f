//! One device's share of the rows, and the searches of it.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use toller_gpu::{Device, DeviceError};
use toller_ir::Ranking;

use super::filters::{Allowed, Excluded};
use super::group::Group;
use super::kernels::Kernels;
use super::layout::{Slab, slabs};
use super::plan::{DevicePlan, RowBytes};
use super::rows::{Loader, Rows};
use super::sizes::Sizes;
use super::workspace::Workspace;
use crate::collection::Collection;
use crate::options::{IpTopkOptions, ReadAhead};
use crate::top_k::TopK;

/// Slabs in a device's memory for rows that are streamed: one is filled while the other is scanned.
const STREAMED: usize = 2;

/// A device's share of a collection.
#[derive(Debug)]
pub(crate) struct Shard {
    kernels: Kernels,
    plan: DevicePlan,
    dim: usize,
    rows: usize,
    /// Whether its rows are scanned as codes.
    coded: bool,
    resident: Vec<(Slab, Rows)>,
    streamed: Option<Streamed>,
    /// Held during a search: the device's memory is planned for one at a time.
    workspace: Mutex<Workspace>,
}

/// Slabs that are copied to the device for every search.
#[derive(Debug)]
struct Streamed {
    slabs: Vec<Slab>,
    /// The memory that they are copied to in turn.
    rooms: [Rows; STREAMED],
    loader: Mutex<Loader>,
}

impl Shard {
    /// Plans for the rows `rows` of a collection, with codes, if there is room for them in `free` bytes, or
    /// without, and copies the resident rows, on up to `threads` threads. Calls `progress` with the number of
    /// the host's bytes that were just read.
    pub(crate) fn new(
        device: &Arc<dyn Device>,
        free: u64,
        collection: &Collection<'_>,
        rows: Range<usize>,
        coded: bool,
        threads: usize,
        progress: &dyn Fn(u64),
    ) -> Result<Self, DeviceError> {
        let (device, dim) = (device.clone(), collection.dim());
        let kernels = Kernels::new(device.clone());
        let row = RowBytes::widest(collection, rows.clone(), coded);
        let plan = DevicePlan::new(&device.facts().name, free, rows.len() as u64, row)?;
        let (stride, coded) = (row.vector as usize, plan.codes > 0);

        let resident_end = rows.start + plan.resident_rows as usize;
        // Resident rows are searched while the others are copied, slab by slab.
        let most = if plan.slab_rows > 0 { plan.slab_rows as usize } else { usize::MAX };
        let resident_slabs = slabs(collection, rows.start..resident_end, most);
        let largest =
            resident_slabs.iter().map(|slab| slab.rows).max().unwrap_or(0).max(plan.slab_rows as usize);
        let mut loader = Loader::new(&device, largest * stride, stride, threads)?;
        let mut resident = Vec::with_capacity(resident_slabs.len());
        for slab in resident_slabs {
            let rows = Rows::new(&device, slab.rows, dim, slab.dtype.stride(dim), coded)?;
            loader.load(collection, &slab, &rows, None, progress)?;
            rows.set_norms(&kernels, &slab)?;
            resident.push((slab, rows));
        }
        let streamed = if plan.slab_rows > 0 {
            let slabs = slabs(collection, resident_end..rows.end, most);
            let room = || Rows::new(&device, most, dim, stride, false);
            Some(Streamed { slabs, rooms: [room()?, room()?], loader: Mutex::new(loader) })
        } else {
            None
        };
        Ok(Self {
            workspace: Mutex::new(Workspace::new(&device)),
            kernels,
            plan,
            dim,
            rows: rows.len(),
            coded,
            resident,
            streamed,
        })
    }

    pub(crate) fn plan(&self) -> &DevicePlan {
        &self.plan
    }

    /// The best `k` of the share, on up to `threads` threads. `collection` is the one that the shard was made
    /// from.
    pub(crate) fn search(
        &self,
        collection: &Collection<'_>,
        queries: &[f32],
        k: usize,
        options: &IpTopkOptions<'_>,
        threads: usize,
    ) -> Result<TopK, DeviceError> {
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        workspace.threads = threads;
        let found = self.search_in(&mut workspace, collection, queries, k, options);
        // After an error, too.
        workspace.shrink();
        found
    }

    /// The same in this memory.
    fn search_in(
        &self,
        workspace: &mut Workspace,
        collection: &Collection<'_>,
        queries: &[f32],
        k: usize,
        options: &IpTopkOptions<'_>,
    ) -> Result<TopK, DeviceError> {
        let IpTopkOptions { filter, read_ahead, .. } = options;
        let count = queries.len() / self.dim;
        let mut found = TopK { rankings: vec![Ranking::default(); count], nominated: vec![0; count] };
        if self.rows == 0 {
            return Ok(found);
        }
        let allowed = workspace.filter(|arena| Allowed::new(arena, filter))?;
        let k = k.min(self.rows);
        let mut left: Vec<usize> = (0..count).collect();
        // Rows that are streamed are copied once: copying takes longer than scanning without guesses.
        let mut guesses = self.streamed.is_none();
        let mut bytes = self.plan.workspace;
        while !left.is_empty() {
            let mut incomplete = Vec::new();
            while !left.is_empty() {
                let sizes = Sizes::within(bytes, left.len(), self.rows, self.coded, k, self.dim);
                let sizes = sizes.ok_or_else(|| self.too_little(k))?;
                let rest = left.split_off(sizes.queries);
                let numbers = std::mem::replace(&mut left, rest);
                let excluded = workspace.filter(|arena| Excluded::new(arena, filter, &numbers));
                let group = excluded.and_then(|excluded| {
                    Group::new(&self.kernels, workspace, sizes, queries, &numbers, &allowed, excluded)
                });
                let mut group = match group {
                    Ok(group) => group,
                    // Another program has taken memory that was planned for. Half of the plan may be more
                    // than the group takes already.
                    Err(error) if error.is_out_of_memory() && sizes.bytes() / 2 >= self.least(k).bytes() => {
                        bytes = sizes.bytes() / 2;
                        left = [numbers, left].concat();
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                match &self.streamed {
                    None => self.search_resident(&mut group, guesses)?,
                    Some(streamed) => {
                        streamed
                            .search(&self.kernels, collection, *read_ahead, &mut group, &self.resident)?;
                    }
                }
                for (number, (ranking, nominated)) in numbers.into_iter().zip(group.best()?) {
                    found.nominated[number] += nominated;
                    match ranking {
                        Some(ranking) => found.rankings[number] = ranking,
                        None => incomplete.push(number),
                    }
                }
            }
            left = incomplete;
            guesses = false;
        }
        Ok(found)
    }

    /// Searches all rows for a group, if they are resident.
    fn search_resident(&self, group: &mut Group<'_>, guesses: bool) -> Result<(), DeviceError> {
        self.resident.iter().try_for_each(|(slab, rows)| {
            if guesses { group.search_with_guesses(slab, rows) } else { group.search_safely(slab, rows) }
        })
    }

    /// The least sizes of a group.
    fn least(&self, k: usize) -> Sizes {
        Sizes::least(self.rows, k, self.dim)
    }

    fn too_little(&self, k: usize) -> DeviceError {
        DeviceError::TooLittleMemory {
            name: self.plan.device.clone(),
            free: self.plan.workspace,
            needed: self.least(k).bytes(),
            what: format!("the candidates of one query for {k} hits"),
        }
    }
}

impl Streamed {
    /// Searches the slabs, each while a thread copies the next, and a resident slab whenever none is ready.
    fn search(
        &self,
        kernels: &Kernels,
        collection: &Collection<'_>,
        read_ahead: Option<ReadAhead<'_>>,
        group: &mut Group<'_>,
        resident: &[(Slab, Rows)],
    ) -> Result<(), DeviceError> {
        let (free, freed): (Sender<()>, Receiver<()>) = mpsc::channel();
        let (ready, readied) = mpsc::sync_channel(STREAMED);
        for _ in 0..STREAMED {
            let _ = free.send(());
        }
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner);
                for (number, slab) in self.slabs.iter().enumerate() {
                    if freed.recv().is_err() {
                        return;
                    }
                    let room = &self.rooms[number % STREAMED];
                    let loaded = loader.load(collection, slab, room, read_ahead, &|_| {});
                    let failed = loaded.is_err();
                    if ready.send(loaded).is_err() || failed {
                        return;
                    }
                }
            });
            // Dropped when this ends, which ends the loader.
            let (free, readied) = (free, readied);
            let mut resident = resident.iter();
            for (number, slab) in self.slabs.iter().enumerate() {
                let mut loaded = readied.try_recv().ok();
                while loaded.is_none()
                    && let Some((slab, rows)) = resident.next()
                {
                    group.search_safely(slab, rows)?;
                    loaded = readied.try_recv().ok();
                }
                // A loader that ends without a message has panicked, and so will the scope.
                let Some(loaded) = loaded.or_else(|| readied.recv().ok()) else { break };
                loaded?;
                let rows = &self.rooms[number % STREAMED];
                rows.set_norms(kernels, slab)?;
                group.search_safely(slab, rows)?;
                group.wait()?;
                // After the last slab there is no loader any more.
                let _ = free.send(());
            }
            resident.try_for_each(|(slab, rows)| group.search_safely(slab, rows))
        })
    }
}
