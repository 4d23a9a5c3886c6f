//! Dual encoders: queries and passages into one space (Karpukhin et al. 2020, equation 1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toller_checkpoint::{Fingerprint, KnownModel, TOWERS};
use toller_nn::Precision;
use toller_tokenizer::TokenizerError;

use crate::compute::Compute;
use crate::config::NewPrefix;
use crate::known_layout::is_splade;
use crate::layout::Layout;
use crate::pooling::TextPooling;
use crate::text_encoder::TextEncoder;
use crate::titles::TitleMode;
use crate::{EncoderError, ReferenceEncoder, Role};

/// The names under which sentence-transformers' models keep the prompt of a role. Its own is the first.
#[must_use]
pub fn prompt_names(role: Role) -> &'static [&'static str] {
    match role {
        Role::Query => &["query"],
        Role::Passage => &["document", "passage", "corpus"],
    }
}

/// How to load a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Truncate to this many tokens instead of the model's own maximum.
    pub max_length: Option<usize>,
    /// Truncate queries to this many tokens instead.
    pub query_max_length: Option<usize>,
    /// Another model for queries (a directory). The model that is loaded is then for passages.
    pub query_model: Option<PathBuf>,
    /// Pool this way instead of the model's own.
    pub pooling: Option<TextPooling>,
    /// Scale vectors to unit length, also those of a model that does not.
    pub normalize_embeddings: bool,
    /// End every text in the tokenizer's end token, also where the tokenizer does not.
    pub append_eos_token: bool,
    /// Keep this many first dimensions of every vector, scaled to unit length again if the model makes unit
    /// vectors (Matryoshka representations). `None` for the model's own number.
    pub dim: Option<usize>,
    /// Give the model, which has none, a prefix to train.
    pub new_prefix: Option<NewPrefix>,
    /// Put this before every text instead of the model's own prompts.
    pub prompt: Option<String>,
    /// The tokens of a flat batch, at most; `None` for what the backend wants.
    pub batch_tokens: Option<usize>,
    /// What the transformer's matrix products are computed in; what follows it is f32. `None` for f32 on the
    /// CPU, and on GPUs f16, or bf16 for decoders and T5.
    pub dtype: Option<Precision>,
    /// Where the model computes.
    pub compute: Compute,
    /// The model's manifest: what it says where the directory does not.
    pub known: Option<Box<KnownModel>>,
    /// The manifest of another model for queries, where that is a sparse encoder.
    pub known_query: Option<Box<KnownModel>>,
}

/// A dual encoder: one tower for both roles, or one for each.
#[derive(Clone)]
pub struct DualEncoder {
    query: TextEncoder,
    passage: TextEncoder,
    fingerprint: String,
    /// The fingerprint of the passages' encoder, if the queries have another.
    passage_fingerprint: Option<String>,
    parameters: u64,
    prompts: BTreeMap<String, String>,
    default_prompt: Option<String>,
    similarity: Option<String>,
    titles: Option<TitleMode>,
}

impl DualEncoder {
    /// Loads a model directory: sentence-transformers, plain transformers, or DPR's two encoders.
    ///
    /// With [`LoadOptions::query_model`], `directory` and that one are the towers of one dual encoder, with
    /// one fingerprint; of a directory with two encoders, the encoder of the role counts.
    ///
    /// # Errors
    /// When a file is missing or broken, or the model cannot be run as it was made to be run.
    pub fn load(directory: &Path, options: &LoadOptions) -> Result<Self, EncoderError> {
        let mut fingerprint = Fingerprint::new();
        let read = |directory: &Path, role: Role, known: Option<&KnownModel>| {
            let mut layout = Layout::read(directory, role)?;
            let scores = layout.scores().map(|(folder, _)| folder.join("config.json"));
            let is_reranker = scores.is_some() || layout.logit_score.is_some();
            if is_reranker && options.pooling.is_some() {
                layout = Layout::plain(&layout.transformer);
            } else if is_reranker {
                let path = scores.unwrap_or_else(|| directory.join("modules.json"));
                return Err(EncoderError::Classifier { path });
            }
            if let Some(known) = known {
                layout.complete(known, options.pooling.is_some(), directory)?;
            }
            if options.normalize_embeddings {
                layout.normalize();
            }
            layout.appends_eos = options.append_eos_token;
            Ok::<_, EncoderError>(layout)
        };
        let known = options.known.as_deref();
        // A separate query model is another model. Of its manifest only the kind counts: dense pairs are as
        // their files say.
        let known_query = match &options.query_model {
            Some(_) => options.known_query.as_deref().filter(|known| is_splade(known)),
            None => known,
        };
        let folders = towers(directory, options.query_model.as_deref());
        let [of_queries, of_passages] = match &folders {
            Some([queries, passages]) => [queries.as_path(), passages.as_path()],
            None => [directory, directory],
        };
        let layouts = [read(of_queries, Role::Query, known_query)?, read(of_passages, Role::Passage, known)?];
        let mut passage_tower = None;
        let query = TextEncoder::load(&layouts[0], options, &mut fingerprint)?;
        let passage = if folders.is_some() || layouts[0] != layouts[1] {
            fingerprint.begin_part();
            let passage = TextEncoder::load(&layouts[1], options, &mut fingerprint)?;
            passage_tower = Some(fingerprint.end_part());
            if query.dim() != passage.dim() {
                return Err(EncoderError::Towers { query: query.dim(), passage: passage.dim() });
            }
            if query.terms() != passage.terms() {
                return Err(EncoderError::TowerTerms);
            }
            passage
        } else {
            query.clone()
        };
        let prompt =
            |layout: &Layout, role: Role| layout.prompt(prompt_names(role)).unwrap_or_default().to_owned();
        let query_prompt = prompt(&layouts[0], Role::Query);
        let passage_prompt = prompt(&layouts[1], Role::Passage);
        fingerprint.value("query prompt", query_prompt.as_bytes());
        fingerprint.value("passage prompt", passage_prompt.as_bytes());
        let passage_fingerprint = passage_tower.map(|tower| {
            let mut fingerprint = Fingerprint::new();
            fingerprint.value("passage encoder", tower.as_bytes());
            fingerprint.value("passage prompt", passage_prompt.as_bytes());
            fingerprint.finish()
        });
        let [of_queries, of_passages] = layouts;
        // A length that was asked for holds for both roles.
        let own_length = |length: Option<usize>| length.filter(|_| options.max_length.is_none());
        let query = match options.query_max_length.or(own_length(of_queries.query_length)) {
            Some(length) => query.with_max_length(length).map_err(|error| match error {
                EncoderError::Tokenizer(error @ TokenizerError::MaxLength { .. }) => {
                    EncoderError::QueryLength(error)
                }
                error => error,
            })?,
            None => query,
        };
        let passage = match own_length(of_passages.document_length) {
            Some(length) => passage.with_max_length(length)?,
            None => passage,
        };
        // DPR's own code gives titles in this way (Karpukhin et al. 2020, section 4.1).
        let titles = of_passages.titles.or(passage.is_dpr().then_some(TitleMode::Sep));
        let mut prompts = of_queries.prompts;
        prompts.extend(of_passages.prompts);
        let asked = |prompt: String| options.prompt.clone().unwrap_or(prompt);
        Ok(Self {
            query: query.with_prompt(asked(query_prompt))?,
            passage: passage.with_prompt(asked(passage_prompt))?,
            fingerprint: fingerprint.finish(),
            passage_fingerprint,
            parameters: fingerprint.parameters(),
            prompts,
            default_prompt: of_passages.default_prompt,
            similarity: of_passages.similarity,
            titles,
        })
    }

    /// The same model with this prompt before every text, of both roles.
    ///
    /// # Errors
    /// When the prompt cannot be tokenized.
    pub fn with_prompt(&self, prompt: &str) -> Result<Self, EncoderError> {
        let tower = |tower: &TextEncoder| tower.with_prompt(prompt.to_owned());
        let (query, passage) = (tower(&self.query)?, tower(&self.passage)?);
        Ok(Self { query, passage, ..self.clone() })
    }

    /// The same model with this prompt before every text of a role.
    ///
    /// # Errors
    /// When the prompt cannot be tokenized.
    pub fn with_prompt_of(mut self, role: Role, prompt: &str) -> Result<Self, EncoderError> {
        let tower = match role {
            Role::Query => &mut self.query,
            Role::Passage => &mut self.passage,
        };
        *tower = tower.with_prompt(prompt.to_owned())?;
        Ok(self)
    }

    /// The prompts that the model's files give, by name.
    #[must_use]
    pub fn prompts(&self) -> &BTreeMap<String, String> {
        &self.prompts
    }

    /// The name of the prompt that sentence-transformers puts before texts without a role.
    #[must_use]
    pub fn default_prompt(&self) -> Option<&str> {
        self.default_prompt.as_deref()
    }

    /// How titles were given to the model in its training, where that is known.
    #[must_use]
    pub fn titles(&self) -> Option<&TitleMode> {
        self.titles.as_ref()
    }

    /// How the model's files say that vectors are compared, by sentence-transformers' name for it.
    #[must_use]
    pub fn similarity(&self) -> Option<&str> {
        self.similarity.as_deref()
    }

    /// The encoder of a role, which puts the role's prompt before every text.
    #[must_use]
    pub fn tower(&self, role: Role) -> &TextEncoder {
        match role {
            Role::Query => &self.query,
            Role::Passage => &self.passage,
        }
    }

    /// Whether queries and passages are encoded by the same weights.
    #[must_use]
    pub fn shares_weights(&self) -> bool {
        self.query.shares_model_with(&self.passage)
    }

    /// Whether a text has the same vector in both roles: one tower, one prompt, and one maximum length.
    #[must_use]
    pub fn is_tied(&self) -> bool {
        self.query.shares_model_with(&self.passage)
            && self.query.prompt() == self.passage.prompt()
            && self.query.max_length() == self.passage.max_length()
    }

    /// A second copy of the encoder of a role, computed slowly, to compare with.
    ///
    /// # Errors
    /// As [`DualEncoder::load`].
    pub fn reference(&self, role: Role) -> Result<ReferenceEncoder, EncoderError> {
        ReferenceEncoder::load(self.tower(role))
    }

    /// Tensors of the encoders that their architecture has no place for, so that they have no effect.
    #[must_use]
    pub fn unexpected_tensors(&self) -> BTreeSet<&str> {
        let towers = [&self.query, &self.passage];
        towers.into_iter().flat_map(TextEncoder::unexpected_tensors).map(String::as_str).collect()
    }

    /// Identifies the model by what determines its vectors: weights, tokenizer, architecture, pooling and
    /// prompts. The maximum length does not count, since it may differ between the roles.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The numbers of all weights, of both towers if there are two.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Identifies only the encoder of passages, with its prompt, if queries have another: models that share
    /// it make the same vectors of passages. `None` for one encoder of both.
    #[must_use]
    pub fn passage_fingerprint(&self) -> Option<&str> {
        self.passage_fingerprint.as_deref()
    }
}

/// The folders of the queries' and the passages' encoder, where they are two.
fn towers(directory: &Path, query_model: Option<&Path>) -> Option<[PathBuf; 2]> {
    let tower = |directory: &Path, index: usize| {
        if has_towers(directory) { directory.join(TOWERS[index]) } else { directory.to_owned() }
    };
    match query_model {
        Some(query_model) => Some([tower(query_model, 0), tower(directory, 1)]),
        None => has_towers(directory).then(|| [tower(directory, 0), tower(directory, 1)]),
    }
}

/// Whether a directory has the layout of DPR: two encoders in two folders.
fn has_towers(directory: &Path) -> bool {
    let config = |folder: &str| directory.join(folder).join("config.json").is_file();
    !directory.join("config.json").is_file() && TOWERS.iter().all(|tower| config(tower))
}
