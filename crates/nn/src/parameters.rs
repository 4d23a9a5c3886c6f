//! The parameters of a model as every backend takes them: row-major f32 on the host.

/// A matrix `[rows, columns]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Row by row.
    pub values: &'a [f32],
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
}

/// A linear layer.
#[derive(Clone, Copy, Debug)]
pub struct LinearParameters<'a> {
    /// `[outputs, inputs]`.
    pub weight: Matrix<'a>,
    /// `[outputs]`.
    pub bias: Option<&'a [f32]>,
}

/// Where a linear layer is in a model. A backend chooses the layer's precision by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a transformer layer.
    Inner,
    /// At the end of a feed-forward network.
    Down,
    /// After the transformer, over a row for each text.
    Head,
    /// The same, over a row for each token.
    TokenHead,
}

/// A layer norm (Ba et al. 2016, equation 4).
#[derive(Clone, Copy, Debug)]
pub struct NormParameters<'a> {
    /// `[width]`.
    pub weight: &'a [f32],
    /// `[width]`.
    pub bias: Option<&'a [f32]>,
    /// A number that is added to the variance.
    pub epsilon: f32,
    /// Whether the mean is subtracted first. RMSNorm (Zhang and Sennrich 2019, equation 4) does not.
    pub centers: bool,
}

/// Where the norms of a transformer layer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// After attention and after the feed-forward network, residual included: BERT's.
    After,
    /// Before each, outside the residual.
    Before,
}

/// A rotary position embedding (Su et al. 2021, equation 34).
#[derive(Clone, Copy, Debug)]
pub struct RotaryParameters<'a> {
    /// `[head size / 2]`: values i and i + head size / 2 are rotated by the position times this, in radians.
    pub frequencies: &'a [f32],
    /// What cosines and sines are multiplied by: 1, or more for YaRN (Peng et al. 2023, section 3.4).
    pub magnitude: f32,
}

/// How the tokens of a sequence attend to each other.
#[derive(Clone, Copy, Debug)]
pub struct AttentionParameters<'a> {
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values, which divides `heads`. Neighbouring query heads share one.
    pub key_heads: usize,
    /// Values of a head.
    pub head_size: usize,
    /// What the scores of queries and keys are multiplied by: 1 / sqrt(head size) in most models.
    pub scale: f32,
    /// Rotations of queries and keys by their positions.
    pub rotary: Option<RotaryParameters<'a>>,
    /// `[heads, 2 * reach + 1]`: is added to the scaled scores, by the distance of the key from the query.
    pub relative_bias: Option<Matrix<'a>>,
    /// How far before itself a token sees; `None` for the whole sequence.
    pub before: Option<usize>,
    /// How far after itself a token sees; `None` for the whole sequence, `Some(0)` for causal attention.
    pub after: Option<usize>,
}

impl AttentionParameters<'_> {
    /// What most models multiply scores by (Vaswani et al. 2017, section 3.2.1).
    #[must_use]
    pub fn usual_scale(head_size: usize) -> f32 {
        1.0 / (head_size as f32).sqrt()
    }
}

impl LinearParameters<'_> {
    /// Values of an output.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.weight.rows
    }

    /// Values of an input.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.weight.columns
    }
}
