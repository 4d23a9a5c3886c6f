//! Objects as input: read in ranges, some of them ahead.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use bytes::{Buf, Bytes};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use toller_files::{Object, Stamp};
use toller_ir::AnyError;

use crate::RemoteError;
use crate::wait::wait;

/// The bytes that one request of a reader asks for.
const CHUNK_BYTES: u64 = 4 << 20;

/// The requests that a reader has under way. Each holds at most two chunks.
const REQUESTS: u64 = 4;

/// One version of an object.
#[derive(Clone, Debug)]
pub(crate) struct RemoteObject {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
}

impl RemoteObject {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, meta: ObjectMeta) -> Self {
        Self { store, meta }
    }

    /// Some of the bytes, if the object is still the version that was opened. A connection that breaks is
    /// replaced by one that goes on at its offset.
    pub(crate) fn get(&self, range: Range<u64>) -> Result<Bytes, RemoteError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.meta.e_tag.clone(),
            ..GetOptions::default()
        };
        let bytes = wait(async { self.store.get_opts(&self.meta.location, options).await?.bytes().await })?;
        match bytes.len() as u64 == range.end - range.start {
            true => Ok(bytes),
            false => Err(RemoteError::Other("the server sent fewer bytes than it has".to_owned())),
        }
    }
}

impl Object for RemoteObject {
    fn stamp(&self) -> Stamp {
        let modified = self.meta.last_modified.timestamp_nanos_opt().unwrap_or(0);
        Stamp { bytes: self.meta.size, modified: modified.try_into().unwrap_or(0) }
    }

    fn reader(&self) -> Box<dyn Read + Send> {
        Box::new(ReadAhead::new(self))
    }

    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.get(range).map(Into::into).map_err(in_io)
    }
}

/// Reads an object from its beginning to its end. Chunk number i comes from thread number i modulo their
/// number.
struct ReadAhead {
    threads: Vec<Receiver<io::Result<Bytes>>>,
    chunk: Bytes,
    next_chunk: u64,
    chunks: u64,
}

impl ReadAhead {
    fn new(object: &RemoteObject) -> Self {
        let chunks = object.meta.size.div_ceil(CHUNK_BYTES);
        let start = |first: u64| {
            let (sender, receiver) = sync_channel(1);
            let (object, unstarted) = (object.clone(), sender.clone());
            let every = chunks.min(REQUESTS) as usize;
            let work = move || fetch(&object, (first..chunks).step_by(every), &sender);
            if let Err(error) = thread::Builder::new().name("toller-objects".to_owned()).spawn(work) {
                // The channel is empty, so this does not wait.
                let _ = unstarted.send(Err(error));
            }
            receiver
        };
        let threads = (0..chunks.min(REQUESTS)).map(start).collect();
        Self { threads, chunk: Bytes::new(), next_chunk: 0, chunks }
    }
}

/// Sends these chunks, until one fails or nobody wants them.
fn fetch(object: &RemoteObject, chunks: impl Iterator<Item = u64>, sender: &SyncSender<io::Result<Bytes>>) {
    for chunk in chunks {
        let start = chunk * CHUNK_BYTES;
        let bytes = object.get(start..object.meta.size.min(start + CHUNK_BYTES)).map_err(in_io);
        let is_last = bytes.is_err();
        if sender.send(bytes).is_err() || is_last {
            return;
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() && self.next_chunk < self.chunks {
            let ended = || io::Error::other("the thread that reads this object has ended");
            let thread = self.threads.get((self.next_chunk % REQUESTS) as usize).ok_or_else(ended)?;
            self.chunk = thread.recv().map_err(|_| ended())??;
            self.next_chunk += 1;
        }
        let length = buffer.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// As an error of a reader, with its remedy.
fn in_io(error: RemoteError) -> io::Error {
    io::Error::other(AnyError::from(error))
}
