//! What the terms of one query leave to those of the next, so that it need not be allocated and cleared again.

use super::parts::Table;
use crate::postings::Block;

/// More blocks than these are not kept: a single query of very many terms is not to hold its memory for good.
const MOST_BLOCKS: usize = 256;

/// Tables and blocks of any content.
#[derive(Default)]
pub(super) struct Spare {
    pub(super) tables: Vec<Box<Table>>,
    #[allow(clippy::vec_box, reason = "a block has kilobytes, which are not to be moved")]
    blocks: Vec<Box<Block>>,
}

impl Spare {
    /// A block.
    pub(super) fn block(&mut self) -> Box<Block> {
        self.blocks.pop().unwrap_or_else(|| Box::new(Block::new()))
    }

    /// Takes a block back.
    pub(super) fn keep(&mut self, block: Box<Block>) {
        if self.blocks.len() < MOST_BLOCKS {
            self.blocks.push(block);
        }
    }
}
