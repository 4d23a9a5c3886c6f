//! Documents in chunks, the unit of work of the threads that analyze.

use crate::SparseError;

/// Consecutive documents.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Its number in the order of the chunks.
    pub(super) sequence: usize,
    /// The ordinal of the first document.
    pub(super) first: u32,
    pub(super) ids: Vec<String>,
    pub(super) texts: Vec<String>,
}

/// Bytes of text of the first chunks. They are small, so that a small collection keeps all threads busy.
const FIRST_BYTES: usize = 1 << 18;

/// Chunks of one size, before the size doubles.
const CHUNKS_OF_A_SIZE: usize = 8;

/// Cuts documents into chunks.
pub(super) struct Chunks<I> {
    documents: I,
    most_bytes: usize,
    sequence: usize,
    next: u32,
    ended: bool,
}

impl<I> Chunks<I> {
    /// Chunks of about `most_bytes` of text at most, or of one document where that is longer.
    pub(super) fn new(documents: I, most_bytes: usize) -> Self {
        Self { documents, most_bytes, sequence: 0, next: 0, ended: false }
    }
}

impl<I, E> Iterator for Chunks<I>
where
    I: Iterator<Item = Result<(String, String), E>>,
    E: From<SparseError>,
{
    type Item = Result<Chunk, E>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let doublings = (self.sequence / CHUNKS_OF_A_SIZE).min(20);
        let wanted = (FIRST_BYTES << doublings).min(self.most_bytes);
        let mut chunk = Chunk { sequence: self.sequence, first: self.next, ..Chunk::default() };
        let mut bytes = 0;
        while bytes < wanted {
            let (id, text) = match self.documents.next() {
                Some(Ok(document)) => document,
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => {
                    self.ended = true;
                    break;
                }
            };
            // u32::MAX is not an ordinal: it means "after all documents".
            if self.next == u32::MAX - 1 {
                self.ended = true;
                return Some(Err(SparseError::TooManyDocuments.into()));
            }
            self.next += 1;
            bytes += text.len() + id.len() + 1;
            chunk.ids.push(id);
            chunk.texts.push(text);
        }
        self.sequence += 1;
        (!chunk.ids.is_empty()).then_some(Ok(chunk))
    }
}
