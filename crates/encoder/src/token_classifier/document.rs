//! A text's tokens in windows, and the logits of the text from those of its windows.

use std::ops::Range;

use toller_tokenizer::{TokenInText, Tokenizer, Tokens};

use crate::windows::windows;

/// A text's tokens, in windows that a model can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The bytes of the text that each token stands for.
    pub places: Vec<Range<usize>>,
    /// At least one.
    pub windows: Vec<Window>,
}

/// Consecutive tokens of a document as an input of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The input, special tokens included.
    pub input: Tokens,
    /// The place of the window's first token in the input.
    pub first: usize,
    /// The window's tokens among those of the document.
    pub tokens: Range<usize>,
    /// Those of them whose logits count. Windows that overlap share the overlap between them, so that a token
    /// counts where it has neighbours on both sides. Each token of the document counts once.
    pub counted: Range<usize>,
}

impl Document {
    /// Windows of `length` tokens, each `stride` tokens after the one before.
    pub(super) fn new(tokenizer: &Tokenizer, tokens: Vec<TokenInText>, length: usize, stride: usize) -> Self {
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        let ranges: Vec<Range<usize>> = windows(ids.len(), length, stride).collect();
        let mut starts: Vec<usize> =
            ranges.windows(2).map(|two| usize::midpoint(two[1].start, two[0].end)).collect();
        starts.insert(0, 0);
        starts.push(ids.len());
        let window = |(tokens, bounds): (&Range<usize>, &[usize])| {
            let (input, first) = tokenizer.wrap(&ids[tokens.clone()]);
            Window { input, first, tokens: tokens.clone(), counted: bounds[0]..bounds[1] }
        };
        Self {
            windows: ranges.iter().zip(starts.windows(2)).map(window).collect(),
            places: tokens.into_iter().map(|token| token.bytes.unwrap_or_default()).collect(),
        }
    }

    /// The rows of the document's tokens, `[tokens, width]`, from those of all tokens of its windows' inputs.
    #[must_use]
    pub fn gather(&self, rows: &[f32], width: usize) -> Vec<f32> {
        let mut gathered = Vec::with_capacity(self.places.len() * width);
        let mut start = 0;
        for Window { input, first, tokens, counted } in &self.windows {
            let at = start + first + (counted.start - tokens.start);
            gathered.extend_from_slice(&rows[at * width..][..counted.len() * width]);
            start += input.len();
        }
        gathered
    }

    /// The number of rows that the windows' inputs have.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.windows.iter().map(|window| window.input.len()).sum()
    }
}
