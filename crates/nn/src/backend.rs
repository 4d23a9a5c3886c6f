//! What a transformer asks of the device it runs on.

use std::path::Path;

use crate::{
    Activation, AttentionParameters, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place,
    Pooling, Sequences,
};

/// Memory, number format and the fused steps of a transformer over flat batches.
///
/// Parameters arrive in f32 on the host and are laid out as the backend wants them; only the backend decides
/// about precision. States are matrices `[tokens, width]` or `[sequences, width]` in the backend's own memory
/// and format. The bits of a sequence's states depend only on its tokens, the parameters and the backend: not
/// on the other sequences of the batch, and not on the threads. (`Candle`'s last bits do.)
pub trait Backend: Send + Sync + 'static {
    /// The rows that tokens take from the tables, and where sequences begin. Made once a batch.
    type Batch: Send + Sync;
    /// A matrix of states.
    type States: Send;
    /// The memory that steps use again and again: one for each batch that is computed at the same time.
    type Scratch: Send;
    /// A table of embeddings.
    type Table: Send + Sync;
    /// A linear layer.
    type Linear: Send + Sync;
    /// A gated linear layer.
    type Gated: Send + Sync;
    /// A norm.
    type Norm: Send + Sync;
    /// A kind of attention.
    type Attention: Send + Sync;

    /// How much work the backend wants at a time.
    fn work(&self) -> Work;

    /// Whether batches may have sequences that begin with another one's tokens ([`Sequences::sharing`]).
    fn shares_beginnings(&self) -> bool {
        false
    }

    /// Whether the device has failed, so that all further steps fail, too.
    fn is_lost(&self) -> bool {
        false
    }

    /// New memory for steps.
    fn scratch(&self) -> Self::Scratch;

    /// Lets the steps of one batch use this many threads, on backends that compute on the host's threads.
    fn use_threads(&self, _scratch: &mut Self::Scratch, _threads: usize) {}

    /// Takes back states whose memory can be used again.
    fn release(&self, _scratch: &mut Self::Scratch, _states: Self::States) {}

    /// Names the tensor of a folder's weights that the next layout takes. A layout that joins several tensors
    /// takes them in the order of these calls. For backends that change parameters.
    fn name_tensor(&self, _folder: &Path, _tensor: &str, _shape: &[usize]) {}

    /// Lays out a table `[rows, width]`.
    ///
    /// # Errors
    /// When the shape and the values do not agree.
    fn table(&self, table: Matrix<'_>) -> Result<Self::Table, NnError>;

    /// Lays out a linear layer.
    ///
    /// # Errors
    /// When the shapes do not agree, or the layer is too wide for the backend's precision.
    fn linear(&self, layer: LinearParameters<'_>, place: Place) -> Result<Self::Linear, NnError>;

    /// Lays out a gated linear layer: the half that is activated, and the half that is not.
    ///
    /// # Errors
    /// As for [`Backend::linear`].
    fn gated(
        &self,
        activated: LinearParameters<'_>,
        linear: LinearParameters<'_>,
    ) -> Result<Self::Gated, NnError>;

    /// Lays out a norm.
    ///
    /// # Errors
    /// When the shapes do not agree.
    fn norm(&self, norm: NormParameters<'_>) -> Result<Self::Norm, NnError>;

    /// Prepares a kind of attention.
    ///
    /// # Errors
    /// When heads, rotations and biases do not fit together.
    fn attention(&self, attention: AttentionParameters<'_>) -> Result<Self::Attention, NnError>;

    /// Prepares a batch: for each table the row of every token, `[tokens]`.
    ///
    /// # Errors
    /// When the backend has no memory for it.
    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<Self::Batch, NnError>;

    /// The sum of the tokens' rows of all tables, in the order of the tables, and its norm: `[tokens,
    /// width]`. The placement is as for [`Backend::close`]: BERT's residual is the normalised sum.
    ///
    /// # Errors
    /// When a row is not in its table, or the device fails.
    fn embed(
        &self,
        scratch: &mut Self::Scratch,
        batch: &Self::Batch,
        tables: &[Self::Table],
        norm: &Self::Norm,
        placement: NormPlacement,
    ) -> Result<Stream<Self::States>, NnError>;

    /// `activation(x W^T + b)`: `x` `[rows, inputs]`, the result `[rows, outputs]`.
    ///
    /// # Errors
    /// When the shapes do not agree, or the device fails. So do the steps below.
    fn project(
        &self,
        scratch: &mut Self::Scratch,
        x: &Self::States,
        layer: &Self::Linear,
        activation: Activation,
    ) -> Result<Self::States, NnError>;

    /// `activation(x A^T + a) * (x B^T + b)`, element by element (Dauphin et al. 2017; Shazeer 2020, section
    /// 2).
    fn gate(
        &self,
        scratch: &mut Self::Scratch,
        x: &Self::States,
        layer: &Self::Gated,
        activation: Activation,
    ) -> Result<Self::States, NnError>;

    /// Gives the first tokens of every sequence other keys and values: those of a prefix, a row for each
    /// token (Liu et al. 2022, section 3: deep prompts; Li and Liang 2021: prefixes). The row holds the keys
    /// and the values of each layer of the model; those of `prefix.layer` count. The rest of `qkv` stays.
    fn put_prefix(
        &self,
        scratch: &mut Self::Scratch,
        qkv: Self::States,
        batch: &Self::Batch,
        attention: &Self::Attention,
        prefix: Prefix<'_, Self::Table>,
    ) -> Result<Self::States, NnError>;

    /// Attention of every token to its own sequence, softmax(Q K^T / sqrt(head size) + bias) V for each head
    /// (Vaswani et al. 2017, equation 1), Q and K normalised by `head_norms` (Henry et al. 2020, section 2)
    /// and rotated first, where there are such. A row of `qkv`, of (heads + 2 * key heads) * head size
    /// values, is the token's queries, keys and values. The result is `[tokens, heads * head size]`.
    fn attend(
        &self,
        scratch: &mut Self::Scratch,
        qkv: Self::States,
        batch: &Self::Batch,
        attention: &Self::Attention,
        head_norms: Option<&[Self::Norm; 2]>,
    ) -> Result<Self::States, NnError>;

    /// Ends half a transformer layer: `x W^T + b`, its inner norm if there is one, `+ residual`, and the norm
    /// that follows. With norms [`NormPlacement::After`] the normalised sum is both the next input and the
    /// next residual (which may be kept in a wider type); with norms before, the sum is the next residual and
    /// its norm the next input.
    fn close(
        &self,
        scratch: &mut Self::Scratch,
        x: Self::States,
        closing: Closing<'_, Self::Linear, Self::Norm>,
        residual: Self::States,
    ) -> Result<Stream<Self::States>, NnError>;

    /// Each row normalised.
    fn normalize(
        &self,
        scratch: &mut Self::Scratch,
        x: Self::States,
        norm: &Self::Norm,
    ) -> Result<Self::States, NnError>;

    /// The states of each sequence but the first `skipped` as one row for each pooling, concatenated:
    /// `[sequences, poolings * width]`. The weights of [`Pooling::WeightedMean`] follow from the tokens'
    /// positions in the whole sequence. A sequence of at most `skipped` tokens gives zeros.
    fn pool(
        &self,
        scratch: &mut Self::Scratch,
        x: &Self::States,
        batch: &Self::Batch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<Self::States, NnError>;

    /// The first `width` columns (Kusupati et al. 2022: Matryoshka representations).
    fn truncate(
        &self,
        scratch: &mut Self::Scratch,
        x: Self::States,
        width: usize,
    ) -> Result<Self::States, NnError>;

    /// Each row scaled to unit Euclidean length. A row shorter than 1e-12 is divided by that, as PyTorch
    /// does.
    fn unit(&self, scratch: &mut Self::Scratch, x: Self::States) -> Result<Self::States, NnError>;

    /// The states in f32 on the host, row by row, appended to `host`. The steps of other batches may wait for
    /// this.
    fn to_host(
        &self,
        scratch: &mut Self::Scratch,
        x: Self::States,
        host: &mut Vec<f32>,
    ) -> Result<(), NnError>;
}

/// How much work a backend wants at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tokens of a flat batch, at most.
    pub batch_tokens: usize,
    /// Texts of fewer tokens are one batch: to divide them among sessions would take longer.
    pub least_tokens: usize,
    /// Batches that are computed at the same time.
    pub sessions: usize,
    /// Whether sessions compute on the host's threads.
    pub uses_threads: bool,
}

/// Keys and values in front of every text, for one layer.
#[derive(Debug)]
pub struct Prefix<'a, T> {
    /// `[tokens, layers * 2 * key heads * head size]`: of each layer first the keys, then the values.
    pub table: &'a T,
    /// The number of the layer, from 0.
    pub layer: usize,
}

impl<T> Clone for Prefix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Prefix<'_, T> {}

/// What half a transformer layer ends with.
#[derive(Debug)]
pub struct Closing<'a, L, N> {
    /// From the half's inner states to the states between halves.
    pub layer: &'a L,
    /// The norm of what `layer` gives, before the residual is added (Gemma Team 2024, Gemma 2, section 2).
    pub inner_norm: Option<&'a N>,
    /// The norm of the sum.
    pub norm: Option<&'a N>,
    /// Where that norm is.
    pub placement: NormPlacement,
}

/// The states between two halves of a transformer layer.
#[derive(Debug)]
pub struct Stream<S> {
    /// What the next half adds its result to.
    pub residual: S,
    /// What the next half computes on, where that is not the residual itself.
    pub normed: Option<S>,
}

impl<S> Stream<S> {
    /// A sum and its norm, as the next half takes them.
    pub(crate) fn placed(sum: S, normed: S, placement: NormPlacement) -> Self {
        match placement {
            NormPlacement::After => normed.into(),
            NormPlacement::Before => Self { residual: sum, normed: Some(normed) },
        }
    }

    /// What the next half computes on.
    pub fn input(&self) -> &S {
        self.normed.as_ref().unwrap_or(&self.residual)
    }

    /// The input of what follows the last half, and the residual where that is something else.
    pub fn into_input(self) -> (S, Option<S>) {
        match self.normed {
            Some(normed) => (normed, Some(self.residual)),
            None => (self.residual, None),
        }
    }
}

impl<S> From<S> for Stream<S> {
    fn from(states: S) -> Self {
        Self { residual: states, normed: None }
    }
}
