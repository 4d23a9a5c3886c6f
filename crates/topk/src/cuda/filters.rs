//! A filter in the form that the kernels look up.

use bytemuck::{AnyBitPattern, NoUninit};
use toller_gpu::{Address, Arena, DeviceError, Memory};
use toller_ir::Filter;

/// The numbers of a slice, in memory of an arena.
fn upload<T: NoUninit + AnyBitPattern>(arena: &mut Arena, values: &[T]) -> Result<Memory<T>, DeviceError> {
    let memory = Memory::within(arena, values.len())?;
    memory.write(0, values)?;
    Ok(memory)
}

/// The documents that may be hits of any query, one bit for each ordinal.
#[derive(Debug)]
pub(crate) struct Allowed(Option<Memory<u32>>);

impl Allowed {
    pub(crate) fn new(arena: &mut Arena, filter: &Filter<'_>) -> Result<Self, DeviceError> {
        let halves = |word: &u64| [*word as u32, (word >> 32) as u32];
        let words = filter.allowed.map(|allowed| allowed.words().iter().flat_map(halves).collect::<Vec<_>>());
        Ok(Self(words.map(|words| upload(arena, &words)).transpose()?))
    }

    /// The address and the number of the words.
    pub(crate) fn words(&self) -> (Address, u32) {
        self.0.as_ref().map_or((Address::default(), 0), |words| (words.address(), words.count() as u32))
    }
}

/// The documents that may not be hits, for each of some queries.
#[derive(Debug)]
pub(crate) struct Excluded(Option<(Memory<u32>, Memory<u64>)>);

impl Excluded {
    /// Those of the queries `numbers`.
    pub(crate) fn new(
        arena: &mut Arena,
        filter: &Filter<'_>,
        numbers: &[usize],
    ) -> Result<Self, DeviceError> {
        // Without exclusions there are no lists.
        let lists = || numbers.iter().filter_map(|&number| filter.excluded.get(number));
        if lists().all(Vec::is_empty) {
            return Ok(Self(None));
        }
        let mut offsets = vec![0];
        let mut ordinals: Vec<u32> = Vec::new();
        for list in lists() {
            ordinals.extend(list.iter().map(|doc| doc.0));
            offsets.push(ordinals.len() as u64);
        }
        Ok(Self(Some((upload(arena, &ordinals)?, upload(arena, &offsets)?))))
    }

    /// The addresses of ordinals and offsets.
    pub(crate) fn lists(&self) -> (Address, Address) {
        self.0
            .as_ref()
            .map_or_else(Default::default, |(ordinals, offsets)| (ordinals.address(), offsets.address()))
    }
}
