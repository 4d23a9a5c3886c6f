//! The input of one vector.

/// A text to encode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextInput {
    /// A text without a title.
    Plain(String),
    /// A title and a text, each tokenized by itself, with special tokens between them: `[CLS] title [SEP]
    /// text [SEP]`. If they are too long together, the longer one is cut.
    Titled {
        /// The first text; may be empty.
        title: String,
        /// The second text.
        text: String,
        /// The token types.
        types: TitleTypes,
    },
    /// A text and what surrounds it, a sentence in its paragraph, as two segments: `[CLS] text [SEP] context
    /// [SEP]` (ReQA's answers: Ahmad et al. 2019, section 2.1). If they are too long together, the context is
    /// cut; the text only if it is too long without a context.
    InContext {
        /// The first segment.
        text: String,
        /// The second; may be empty.
        context: String,
    },
}

/// The token types of a title and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleTypes {
    /// 0 throughout: one segment, as DPR encodes its passages (Karpukhin et al. 2020, section 4.1, and their
    /// code).
    OneSegment,
    /// Those that the tokenizer gives to pairs, BERT's 0 and 1: two segments, as RocketQA encodes its
    /// passages (Qu et al. 2021).
    TwoSegments,
}
