//! Models: texts to vectors, and pairs of texts to scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rayon::prelude::*;
use toller_encoder::{Compute, CrossEncoderOptions, Output, TextInput, TextPooling, TitleMode};
use toller_engine::{Backend, Encoder, EncoderOptions, Role};
use toller_ir::Passage;
use toller_nn::Precision;

use crate::arrays::{matrix, vector};
use crate::error::Failed;
use crate::flat::parse_device;
use crate::training_options::parse;
use crate::whole::whole;
use crate::work;

/// A dual encoder. `toller.Encoder` gives it its words.
#[pyclass(frozen, subclass, module = "toller._toller")]
pub(crate) struct DualEncoder {
    pub(crate) encoder: Encoder,
}

#[pymethods]
impl DualEncoder {
    #[new]
    #[pyo3(signature = (model, *, query_model=None, max_length=None, prompt=None, pooling=None,
                        normalize_embeddings=false, append_eos_token=false, truncate_dim=None,
                        dtype=None, device=Some("auto"), batch_tokens=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        py: Python<'_>,
        model: std::path::PathBuf,
        query_model: Option<std::path::PathBuf>,
        #[pyo3(from_py_with = whole)] max_length: Option<usize>,
        prompt: Option<String>,
        pooling: Option<&str>,
        normalize_embeddings: bool,
        append_eos_token: bool,
        #[pyo3(from_py_with = whole)] truncate_dim: Option<usize>,
        dtype: Option<&str>,
        device: Option<&str>,
        #[pyo3(from_py_with = whole)] batch_tokens: Option<usize>,
    ) -> PyResult<Self> {
        let options = EncoderOptions {
            query_model: query_model.map(|path| path.to_string_lossy().into_owned()),
            max_length: at_least_one("max_length", max_length)?,
            prompt,
            pooling: pooling.map(parse_pooling).transpose()?,
            normalize_embeddings,
            append_eos_token,
            dim: truncate_dim,
            device: parse_device(device.unwrap_or("auto"))?,
            backend: Backend::Native,
            dtype: parse_dtype(dtype)?,
            batch_tokens: at_least_one("batch_tokens", batch_tokens)?,
        };
        let name = model.to_string_lossy().into_owned();
        let encoder = work::run(py, None, move |session| Ok(session.engine()?.encoder(&name, &options)?))?;
        Ok(Self { encoder })
    }

    /// Vectors of texts, float32 [texts, dim]. `prompt` replaces the prompt of the role. With `unit`, vectors
    /// have length one whatever the model does; with `dim`, only the first numbers are kept. What is cut
    /// without `unit` is cut after the model's own scaling, as in sentence-transformers. Of `titles`, there
    /// is one for each text, empty for none; the model is given them in its own way, or as the mode and the
    /// separator say.
    #[pyo3(signature = (texts, role, *, titles=None, title_mode=None, title_separator=None, prompt=None,
                        dim=None, unit=false, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn vectors<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        role: &str,
        titles: Option<Vec<String>>,
        title_mode: Option<&str>,
        title_separator: Option<String>,
        prompt: Option<String>,
        #[pyo3(from_py_with = whole)] dim: Option<usize>,
        unit: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let role = parse_role(role)?;
        if self.encoder.is_sparse() {
            let failed = Failed::invalid("the model gives weights to terms, and makes no vectors");
            return Err(failed.hint("make a store of impacts on the command line: `toller encode`").into());
        }
        let own = self.encoder.dim();
        let kept = dim.unwrap_or(own);
        if !(1..=own).contains(&kept) {
            let failed = Failed::invalid(format!("vectors of {kept} dimensions, but the model makes {own}"));
            return Err(failed.hint(format!("truncate_dim is 1 to {own}")).into());
        }
        let texts: Vec<TextInput> = match titles {
            None => texts.into_iter().map(TextInput::Plain).collect(),
            Some(titles) => {
                let own = self.encoder.model().titles();
                let asked = TitleMode::of(own, parse(title_mode)?, title_separator, None);
                let mode = asked.map_err(Failed::from)?.or(own.cloned()).unwrap_or_default();
                let passage = |(title, text): (String, String)| {
                    let title = Some(title).filter(|title| !title.is_empty());
                    mode.text_of(&Passage { id: String::new(), title, text, context: None })
                };
                titles.into_iter().zip(texts).map(passage).collect()
            }
        };
        let output = if unit { Output::Shaped { dim: kept, unit } } else { Output::Uncut };
        let encoder = self.encoder.clone();
        let numbers = work::run(py, progress, move |session| {
            let encoder = prompt.map_or(Ok(encoder.clone()), |prompt| encoder.with_prompt(&prompt))?;
            let total = texts.len();
            let watch = |done| session.watch("encoding", done, total);
            let numbers = encoder.encode_watched(role, output, &texts, &watch)?;
            // More than are kept: the scaling of the model is that of the whole vector.
            let made = numbers.len() / total.max(1);
            if numbers.is_empty() || made == kept {
                return Ok(numbers);
            }
            Ok(numbers.chunks_exact(made).flat_map(|row| &row[..kept]).copied().collect())
        })?;
        matrix(py, numbers, kept)
    }

    /// Numbers of a vector.
    #[getter]
    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    /// Texts are cut after this many tokens, special tokens included.
    #[getter]
    fn max_seq_length(&self) -> usize {
        self.encoder.model().tower(Role::Passage).max_length()
    }

    /// The model's prompts: the text before each text of the role.
    #[getter]
    fn role_prompts(&self) -> [(&'static str, String); 2] {
        let prompt = |role| self.encoder.model().tower(role).prompt().to_owned();
        [("query", prompt(Role::Query)), ("document", prompt(Role::Passage))]
    }

    /// The prompts of the model's files by their names.
    #[getter]
    fn named_prompts(&self) -> BTreeMap<String, String> {
        self.encoder.model().prompts().clone()
    }

    /// The name of the prompt of texts that are neither queries nor documents, if the model's files have one.
    #[getter]
    fn default_prompt_name(&self) -> Option<&str> {
        self.encoder.model().default_prompt()
    }

    /// How vectors are compared, if the model's files say so.
    #[getter]
    fn named_similarity(&self) -> Option<&str> {
        self.encoder.model().similarity()
    }

    /// Whether queries and documents are encoded by the same weights.
    #[getter]
    fn shares_weights(&self) -> bool {
        self.encoder.model().shares_weights()
    }

    /// Whether vectors have length one.
    #[getter]
    fn normalizes(&self) -> bool {
        self.encoder.model().tower(Role::Passage).normalizes()
    }

    /// The name that the model was loaded by.
    #[getter]
    fn name(&self) -> &str {
        &self.encoder.info().name
    }

    /// Whether the model computes on the CPU.
    #[getter]
    fn on_cpu(&self) -> bool {
        matches!(self.encoder.compute(), Compute::Cpu)
    }

    /// Identifies the model by everything that determines its vectors, as stores keep it.
    #[getter]
    fn fingerprint(&self) -> &str {
        &self.encoder.info().fingerprint
    }
}

/// An encoder as an argument.
pub(crate) struct GivenEncoder(pub(crate) Encoder);

impl<'py> FromPyObject<'_, 'py> for GivenEncoder {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<DualEncoder>() {
            Ok(encoder) => Ok(Self(encoder.get().encoder.clone())),
            Err(_) => Err(not_a_model(&given, "Encoder")),
        }
    }
}

/// Cross-encoders as an argument: one, or a list of them.
pub(crate) struct GivenScorers(pub(crate) Vec<Arc<toller_encoder::CrossEncoder>>);

impl<'py> FromPyObject<'_, 'py> for GivenScorers {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let models = match given.cast::<PairScorer>() {
            Ok(model) => Ok(vec![model.to_owned()]),
            Err(_) => given.extract::<Vec<Bound<'py, PairScorer>>>(),
        };
        let models = models.map_err(|_| not_a_model(&given, "CrossEncoder"))?;
        Ok(Self(models.iter().map(|model| model.get().model.clone()).collect()))
    }
}

/// The error of anything in place of a model, such as its name.
fn not_a_model(given: &Bound<'_, PyAny>, class: &str) -> PyErr {
    let failed = Failed::invalid(format!("an object of {} in place of a model", given.get_type()));
    let model = if given.is_instance_of::<PyString>() { format!("{given:?}") } else { "model".to_owned() };
    failed.hint(format!("give toller.{class}({model})")).into()
}

/// A cross-encoder. `toller.CrossEncoder` gives it its words.
#[pyclass(frozen, subclass, module = "toller._toller")]
pub(crate) struct PairScorer {
    pub(crate) model: Arc<toller_encoder::CrossEncoder>,
}

#[pymethods]
impl PairScorer {
    #[new]
    #[pyo3(signature = (model, *, max_length=None, prompt=None, truncation="only_second", label=None,
                        activation=None, dtype=None, device=Some("auto"), batch_tokens=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        py: Python<'_>,
        model: std::path::PathBuf,
        #[pyo3(from_py_with = whole)] max_length: Option<usize>,
        prompt: Option<String>,
        truncation: &str,
        #[pyo3(from_py_with = whole)] label: Option<usize>,
        activation: Option<&str>,
        dtype: Option<&str>,
        device: Option<&str>,
        #[pyo3(from_py_with = whole)] batch_tokens: Option<usize>,
    ) -> PyResult<Self> {
        let options = CrossEncoderOptions {
            max_length: at_least_one("max_length", max_length)?,
            prompt,
            truncation: truncation.parse().map_err(Failed::from)?,
            label,
            activation: activation.map(str::parse).transpose().map_err(Failed::from)?,
            batch_tokens: at_least_one("batch_tokens", batch_tokens)?,
            ..CrossEncoderOptions::default()
        };
        let (device, dtype) = (parse_device(device.unwrap_or("auto"))?, parse_dtype(dtype)?);
        let name = model.to_string_lossy().into_owned();
        let load = move |session: &Arc<work::Session>| {
            let engine = session.engine()?;
            let compute = engine.compute(device, Backend::Native)?;
            Ok(engine.cross_encoder(&name, &CrossEncoderOptions { compute, dtype, ..options })?)
        };
        Ok(Self { model: Arc::new(work::run(py, None, load)?) })
    }

    /// The score of each pair of a query and a passage, float32 [pairs]; higher for a better passage.
    #[pyo3(signature = (pairs, *, progress=None))]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        pairs: Vec<(String, String)>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let model = self.model.clone();
        let scores = work::run(py, progress, move |session| {
            let tokens = pairs.par_iter().map(|(query, passage)| {
                session.check()?;
                Ok::<_, Failed>(model.tokenize_pair(query, passage)?)
            });
            let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
            let watch = |done| session.watch("scoring", done, tokens.len());
            let logits = model.logits_watched(&tokens, rayon::current_num_threads(), &watch)?;
            Ok(model.scores_of(&logits))
        })?;
        Ok(vector(py, scores))
    }

    /// Pairs are cut to this many tokens, special tokens included.
    #[getter]
    fn max_length(&self) -> usize {
        self.model.max_length()
    }

    /// The names of the model's labels.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.model.labels().to_vec()
    }

    /// Whether the model computes on the CPU.
    #[getter]
    fn on_cpu(&self) -> bool {
        matches!(self.model.compute(), Compute::Cpu)
    }

    /// Identifies the model by everything that determines its logits.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }
}

/// A pooling by its name.
pub(crate) fn parse_pooling(name: &str) -> Result<TextPooling, Failed> {
    TextPooling::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = TextPooling::all().map(TextPooling::name).collect();
        Failed::invalid(format!("no pooling is named {name:?}; there are {}", names.join(", ")))
    })
}

/// What a model computes in; `None` for what suits the device.
fn parse_dtype(name: Option<&str>) -> Result<Option<Precision>, Failed> {
    name.map(str::parse).transpose().map_err(Failed::from)
}

/// The role of that name.
pub(crate) fn parse_role(name: &str) -> Result<Role, Failed> {
    match name {
        "query" => Ok(Role::Query),
        "passage" | "document" => Ok(Role::Passage),
        _ => Err(Failed::invalid(format!("no role is named {name:?}")).hint("there are query and passage")),
    }
}

/// Refuses 0 for a parameter that counts something.
pub(crate) fn at_least_one(parameter: &str, given: Option<usize>) -> Result<Option<usize>, Failed> {
    match given {
        Some(0) => Err(Failed::invalid(format!("{parameter}=0")).hint("give at least 1")),
        given => Ok(given),
    }
}
