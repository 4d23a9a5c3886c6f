//! PAQ: a sample of the questions that were generated about Wikipedia's passages (Lewis et al. 2021), as
//! EntityQuestions trains on (Sciavolino et al. 2021, appendix B).

mod sample;
mod write;

pub use write::{PaqOptions, write_paq};
