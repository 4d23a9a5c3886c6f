//! The memory of one batch after another: states, the batch's arrays, and a pinned buffer for them.

use std::ops::Range;
use std::sync::Arc;

use toller_gpu::{Address, Arena, Block, Device, DeviceError, Pinned, Queue, Turn};

use super::batch::CudaBatch;
use super::number::Number;
use crate::NnError;

/// A matrix of states in a device's memory.
#[derive(Debug)]
pub struct CudaStates {
    pub(super) block: Block,
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) number: Number,
}

impl CudaStates {
    pub(super) fn address(&self) -> Address {
        self.block.address()
    }

    /// Bytes from row to row.
    pub(super) fn stride(&self) -> usize {
        self.number.stride(self.width)
    }
}

/// The memory of the steps of one batch at a time.
#[derive(Debug)]
pub struct CudaScratch {
    device: Arc<dyn Device>,
    arena: Arena,
    /// Tokens that the arena's first slab has room for.
    tokens: usize,
    /// For the batch, and after that for its results.
    pinned: Option<Pinned>,
    uploaded: Option<Uploaded>,
    /// From the copy of a batch to that of its results: other sessions of the device queue no steps
    /// meanwhile.
    turn: Option<Turn>,
    /// Whether kernels may still read the batch on the device, and write states.
    is_busy: bool,
}

/// A batch on the device.
#[derive(Debug)]
struct Uploaded {
    id: u64,
    words: Block,
}

impl CudaScratch {
    pub(super) fn new(device: Arc<dyn Device>) -> Self {
        Self {
            arena: Arena::new(device.clone()),
            device,
            tokens: 0,
            pinned: None,
            uploaded: None,
            turn: None,
            is_busy: false,
        }
    }

    /// States of undefined values.
    pub(super) fn take(
        &mut self,
        rows: usize,
        width: usize,
        number: Number,
    ) -> Result<CudaStates, DeviceError> {
        self.is_busy = true;
        let block = self.arena.take(rows * number.stride(width))?;
        Ok(CudaStates { block, rows, width, number })
    }

    /// Copies the batch to the device, unless it is there. The arena gets room for at least the batch, and
    /// for up to `most_tokens`, of `token_bytes` a token.
    pub(super) fn upload(
        &mut self,
        batch: &CudaBatch,
        most_tokens: usize,
        token_bytes: usize,
    ) -> Result<(), NnError> {
        if self.uploaded.as_ref().is_some_and(|uploaded| uploaded.id == batch.id) {
            return Ok(());
        }
        if self.is_busy {
            // The batch before was left unfinished.
            self.device.synchronize(Queue::Compute)?;
        }
        self.uploaded = None;
        let bytes: &[u8] = bytemuck::cast_slice(&batch.words);
        if self.tokens < batch.tokens {
            self.reserve(batch, most_tokens, token_bytes)?;
        }
        let words = self.arena.take(bytes.len())?;
        let pinned = pinned(&mut self.pinned, &self.device, bytes.len())?;
        pinned.bytes_mut()?[..bytes.len()].copy_from_slice(bytes);
        // SAFETY: the block has these bytes. Whatever kernels do with it later waits for the copy, which also
        // is done before the arena's memory is given back.
        unsafe { pinned.copy_to(words.address(), bytes.len())? };
        self.turn.get_or_insert_with(|| self.device.turns().take());
        pinned.precede_kernels()?;
        self.uploaded = Some(Uploaded { id: batch.id, words });
        Ok(())
    }

    /// Room for a batch: rather more than it needs, so that the next ones find room too.
    fn reserve(&mut self, batch: &CudaBatch, most_tokens: usize, token_bytes: usize) -> Result<(), NnError> {
        let of_words = size_of_val(&batch.words[..]).div_ceil(batch.tokens.max(1));
        let bytes = |tokens: usize| tokens * (token_bytes + of_words);
        let rather = batch.tokens.next_power_of_two().min(most_tokens).max(batch.tokens);
        let reserved = self.arena.reserve(bytes(rather)).map(|()| rather);
        // Another program may have taken the memory since the budget was planned.
        let reserved = reserved.or_else(|_| self.arena.reserve(bytes(batch.tokens)).map(|()| batch.tokens));
        self.tokens = reserved.map_err(|error| out_of_memory(error, batch.tokens))?;
        Ok(())
    }

    /// Where an array of the uploaded batch is.
    pub(super) fn at(&self, array: &Range<usize>) -> Address {
        let words = self.uploaded.as_ref().map_or(Address::default(), |uploaded| uploaded.words.address());
        words.plus(array.start * size_of::<u32>())
    }

    /// Reads states, after which the batch is finished unless more steps follow.
    pub(super) fn read(&mut self, states: &CudaStates, host: &mut Vec<f32>) -> Result<(), DeviceError> {
        let bytes = states.rows * states.stride();
        let pinned = pinned(&mut self.pinned, &self.device, bytes)?;
        states.block.copy_to(pinned, bytes)?;
        // All steps are queued. While this session waits for them, another one queues its own.
        self.turn = None;
        states.number.read_rows(&pinned.bytes_mut()?[..bytes], states.width, host);
        self.is_busy = false;
        Ok(())
    }
}

/// A pinned buffer of at least `bytes` bytes: that of `kept`, if it is as large.
fn pinned<'a>(
    kept: &'a mut Option<Pinned>,
    device: &Arc<dyn Device>,
    bytes: usize,
) -> Result<&'a mut Pinned, DeviceError> {
    let pinned = match kept.take() {
        Some(pinned) if pinned.size() >= bytes => pinned,
        Some(pinned) => pinned.resized(bytes.next_power_of_two())?,
        None => Pinned::new(device, bytes.next_power_of_two())?,
    };
    Ok(kept.insert(pinned))
}

/// Names the batch in an error of memory.
fn out_of_memory(error: DeviceError, tokens: usize) -> NnError {
    match error {
        DeviceError::TooLittleMemory { name, free, needed, .. } => {
            let what = format!("a batch of {tokens} tokens");
            NnError::Device(DeviceError::TooLittleMemory { name, free, needed, what })
        }
        other => NnError::Device(other),
    }
}
