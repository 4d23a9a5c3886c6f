//! Models on the backend [`Reference`]: slow, in f64, to compare with.

use toller_checkpoint::Fingerprint;
use toller_nn::{Backend, Reference};
use toller_tokenizer::Tokens;

use crate::compute::Plan;
use crate::cross_encoder::ClassifierPlan;
use crate::network::{Encode, Network, Output, Request};
use crate::{EncoderError, TextEncoder};

/// A tower of a dual encoder, for comparison.
pub struct ReferenceEncoder {
    network: Network<Reference>,
    unpooled: usize,
}

impl ReferenceEncoder {
    /// Loads the parameters of `fast` a second time.
    pub(crate) fn load(fast: &TextEncoder) -> Result<Self, EncoderError> {
        let (network, _) = fast.plan()?.load(Reference, &mut Fingerprint::new())?;
        Ok(Self { network, unpooled: fast.unpooled() })
    }

    /// The vector of a tokenized text.
    ///
    /// # Errors
    /// When a token has no embedding.
    pub fn encode(&self, tokens: &Tokens) -> Result<Vec<f32>, EncoderError> {
        let mut vector = Vec::new();
        let texts = std::slice::from_ref(tokens);
        let request = Request { texts, unpooled: self.unpooled, output: Output::Vector, threads: 1 };
        self.network.encode(request, &mut vector)?;
        Ok(vector)
    }
}

/// A cross-encoder, for comparison.
pub struct ReferenceCrossEncoder {
    network: Network<Reference>,
    /// The length of each label's weights in the last layer.
    output_norms: Vec<f64>,
}

/// The results for a pair, by label.
pub struct ReferenceLogits {
    /// The logits.
    pub logits: Vec<f32>,
    /// The length of the features before the last layer times that of the label's weights: the largest logit,
    /// without the bias, that such features can have. An error relative to the features is relative to this
    /// limit in the logit, which may be near zero.
    pub limits: Vec<f64>,
}

impl ReferenceCrossEncoder {
    pub(crate) fn load(plan: &ClassifierPlan) -> Result<Self, EncoderError> {
        let (network, found) = plan.load(Reference, &mut Fingerprint::new())?;
        Ok(Self { network, output_norms: found.output_norms })
    }

    /// The logits of a tokenized pair.
    ///
    /// # Errors
    /// When a token has no embedding.
    pub fn logits(&self, pair: &Tokens) -> Result<ReferenceLogits, EncoderError> {
        let features = |left_out| self.network.forward(&mut (), std::slice::from_ref(pair), 0, left_out);
        let (mut logits, mut last_features) = (Vec::new(), Vec::new());
        Reference.to_host(&mut (), features(1)?, &mut last_features)?;
        Reference.to_host(&mut (), features(0)?, &mut logits)?;
        let length = last_features.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        Ok(ReferenceLogits { logits, limits: self.output_norms.iter().map(|norm| length * norm).collect() })
    }
}
