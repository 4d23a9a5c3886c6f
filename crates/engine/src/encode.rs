//! Encoding: texts in, a store out.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use toller_encoder::TitleMode;
use toller_pipeline::{EncodeJob, EncodeProgress, EncodeReport, encode};
use toller_store::{
    Content, DType, Encoding, Part, Role, Source, StoreError, StoreSpec, StoreWriter, default_rows_per_shard,
    inspect,
};

use crate::event::Event;
use crate::{Encoder, Engine, EngineError, TextSource};

/// How texts are encoded into a store.
#[derive(Clone, Debug)]
pub struct EncodeOptions {
    /// How the title of a passage, or its context, is given to the model; `None` for the model's own way, or
    /// else joined with the text by a space.
    pub titles: Option<TitleMode>,
    /// What dense vectors are stored in.
    pub store_dtype: DType,
    /// Which part of the source is encoded, counted from one, and of how many; `None` for the whole.
    pub part: Option<(u32, u32)>,
    /// Rows of a shard: what an interruption loses, at most. `None` for those of a store that is resumed, or
    /// else [`default_rows_per_shard`].
    pub rows_per_shard: Option<usize>,
    /// Whether a store that is there is replaced. Otherwise it is resumed.
    pub overwrite: bool,
    /// Whether a stop drops the rows of the current shard, and does not wait for its end.
    pub drops_current_shard: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            titles: None,
            store_dtype: DType::F32,
            part: None,
            rows_per_shard: None,
            overwrite: false,
            drops_current_shard: false,
        }
    }
}

impl Encoder {
    /// The spec of a store of these texts.
    ///
    /// # Errors
    /// [`StoreError::InvalidPart`].
    pub fn store_spec(&self, source: &TextSource, options: &EncodeOptions) -> Result<StoreSpec, StoreError> {
        let texts = Source { fingerprint: source.fingerprint().to_string(), passages: source.texts() };
        self.spec_of(texts, source.role(), options)
    }

    /// Checks, without writing, that the store in `directory` is one that an encode of its own texts with
    /// these options would resume. Without a store there is nothing to check.
    ///
    /// # Errors
    /// [`StoreError::SpecMismatch`], and those of a manifest that cannot be read.
    pub fn check_store(
        &self,
        directory: &Path,
        role: Role,
        options: &EncodeOptions,
    ) -> Result<(), StoreError> {
        StoreWriter::check_spec(directory, |begun| {
            let options = EncodeOptions {
                rows_per_shard: options.rows_per_shard.or(Some(begun.rows_per_shard)),
                ..options.clone()
            };
            self.spec_of(begun.source.clone(), role, &options)
        })
    }

    /// How titles are given to the model: as asked for, or else its own way. Queries have none.
    fn titles(&self, role: Role, options: &EncodeOptions) -> TitleMode {
        let own = self.model.titles().filter(|_| role == Role::Passage).cloned();
        options.titles.clone().or(own).unwrap_or_default()
    }

    fn spec_of(&self, source: Source, role: Role, options: &EncodeOptions) -> Result<StoreSpec, StoreError> {
        let tower = self.model.tower(role);
        let titles = self.titles(role, options);
        let part = options.part.map(|(index, of)| Part::new(index, of, source.passages)).transpose()?;
        Ok(StoreSpec {
            model: self.info().clone(),
            encoding: Encoding {
                role,
                prompt: tower.prompt().to_owned(),
                max_length: tower.max_length(),
                title_mode: titles.name().to_owned(),
                title_separator: titles.separator().to_owned(),
                context_field: titles.context_field().map(str::to_owned),
                compute_dtype: self.compute().name_of(self.dtype()),
                normalized: tower.normalizes(),
                pooling: tower.pooling(),
            },
            dim: tower.dim(),
            content: match tower.terms() {
                None => options.store_dtype.into(),
                Some(_) => Content::Impacts,
            },
            rows_per_shard: options.rows_per_shard.unwrap_or_else(|| default_rows_per_shard(source.passages)),
            source,
            part,
        })
    }
}

impl Engine {
    /// Encodes texts into the store `output`, or resumes what an interrupted encode of the same left. Once
    /// `stop` is set, the work ends with the current shard.
    ///
    /// # Errors
    /// An existing store of something else, a text that cannot be encoded, a file that cannot be read or
    /// written. The shards that were finished before are kept.
    pub fn encode(
        &self,
        encoder: &Encoder,
        source: &TextSource,
        output: &Path,
        options: &EncodeOptions,
        stop: &AtomicBool,
    ) -> Result<EncodeReport, EngineError> {
        self.warn_of_similarity(encoder);
        let mut spec = encoder.store_spec(source, options)?;
        let writer = if options.overwrite {
            StoreWriter::overwrite(output, spec)?
        } else {
            // What is wrong with a store that cannot be read, resuming it says.
            let begun = inspect(&spec.directory(output)).unwrap_or_default();
            if let (None, [begun]) = (options.rows_per_shard, begun.as_slice()) {
                spec.rows_per_shard = begun.manifest.spec.rows_per_shard;
            }
            self.resume(output, spec)?
        };
        if writer.is_complete() {
            return Ok(EncodeReport::nothing_to_do(writer.manifest().clone()));
        }
        let spec = &writer.manifest().spec;
        let (first, rows) = (spec.part.map_or(0, |part| part.first_row), spec.expected_rows());
        let missing = writer.missing_rows().into_iter();
        let missing = missing.map(|rows| first + rows.start..first + rows.end).collect();
        if writer.rows_done() > 0 {
            self.notify(Event::StoreResumed(&writer));
            if !encoder.compute().keeps_bits() {
                self.notify(Event::BitsOfBatches);
            }
        }
        let role = source.role();
        let titles = encoder.titles(role, options);
        let texts = source.read(missing, &titles)?;
        let on_progress = |progress| self.notify(Event::Encoding { role, progress, rows });
        on_progress(EncodeProgress { rows: writer.rows_done(), tokens: 0, stopping_in: None });
        let job = EncodeJob {
            encoder: &encoder.model,
            role,
            threads: self.threads(),
            stop,
            drops_current_shard: options.drops_current_shard,
        };
        let report = self.threads.run(|| encode(&job, texts, writer, on_progress));
        self.notify(Event::Finished);
        let split = encoder.model.tower(role).split_batches();
        if split > 0 {
            self.notify(Event::BatchesSplit(split));
        }
        Ok(report?)
    }

    /// Creates the store, or opens the one that is there; reports which of its shards are damaged and are
    /// written again.
    ///
    /// # Errors
    /// Those of [`StoreWriter::create_or_resume_with`].
    pub fn resume(&self, store: &Path, spec: StoreSpec) -> Result<StoreWriter, EngineError> {
        let writer =
            self.opening(true, |options| StoreWriter::create_or_resume_with(store, spec, options))?;
        writer.damaged().for_each(|damage| self.notify(Event::ShardDamaged(damage)));
        Ok(writer)
    }
}
