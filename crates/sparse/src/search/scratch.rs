//! Buffers that one query leaves to the next, so that they are not allocated and cleared again.

use super::score_parts::Table;
use crate::postings::Block;

/// The most blocks that are kept: a single query of very many terms must not hold its memory for good.
const MOST_BLOCKS: usize = 256;

/// Tables and blocks of arbitrary content.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) tables: Vec<Box<Table>>,
    #[allow(clippy::vec_box, reason = "a block has kilobytes, which are not to be moved")]
    blocks: Vec<Box<Block>>,
}

impl Scratch {
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
