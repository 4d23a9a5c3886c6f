//! The names of a model's files and folders.

/// The folders of a model with two encoders: the queries' and the passages'.
pub const TOWERS: [&str; 2] = ["question_encoder", "ctx_encoder"];

/// The files that a tokenizer can be, the best first.
pub const TOKENIZER_FILES: [&str; 5] =
    ["tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model"];
