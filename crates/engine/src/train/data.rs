//! What a model that ranks passages learns from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toller_corpus::{CollectionFormat, QueryFormat, ReadOptions, read_queries};
use toller_files::Input;
use toller_ir::{Qrels, Query, Remedy, Setting, remedy};
use toller_texts::{Texts, TextsOptions};
use toller_train::{Dev, ExampleFile, Judged, Negatives, Source, TrainError, read_negatives};

use super::DevData;
use crate::event::Event;
use crate::{Engine, EngineError};

/// Texts of a run.
#[derive(Clone, Debug)]
pub struct TextFiles<F> {
    /// What the README of the trained model calls them.
    pub names: Vec<String>,
    /// Their files.
    pub inputs: Vec<Input>,
    /// How they are read.
    pub reading: ReadOptions<F>,
}

impl<F> TextFiles<F> {
    /// The files of `paths`, which give the names.
    pub fn new<P: AsRef<Path>>(paths: &[P], inputs: Vec<Input>, reading: ReadOptions<F>) -> Self {
        let names = paths.iter().filter_map(|path| file_name(path.as_ref())).collect();
        Self { names, inputs, reading }
    }
}

/// What a model that ranks passages learns from, and is evaluated on.
#[derive(Clone, Debug, Default)]
pub struct TrainingData {
    /// Files of examples.
    pub data: Vec<PathBuf>,
    /// Judged queries to learn from, too.
    pub queries: Option<TextFiles<QueryFormat>>,
    /// The collection of passages that have only identifiers.
    pub corpus: Option<TextFiles<CollectionFormat>>,
    /// The judgments of the queries.
    pub qrels: Option<Arc<Qrels>>,
    /// The file of the judgments, if they are of one.
    pub qrels_file: Option<PathBuf>,
    /// The negatives of the queries.
    pub negatives: Option<PathBuf>,
    /// The lowest grade that is relevant; `None` for 1.
    pub relevance_level: Option<i32>,
    /// Whether bad records of the files of examples are skipped, and reported.
    pub skip_bad_lines: bool,
    /// What the model is evaluated on.
    pub dev: Option<Dev<DevData>>,
}

impl TrainingData {
    /// Refuses what does not go together. [`Engine::trainer`] does, too, but after the model was loaded.
    ///
    /// # Errors
    /// [`TrainError::Options`].
    pub fn check(&self) -> Result<(), TrainError> {
        let is_level_unused = self.relevance_level.is_some() && self.dev.is_none();
        let of_queries = [
            (Setting::Qrels, self.qrels.is_some()),
            (Setting::Negatives, self.negatives.is_some()),
            (Setting::RelevanceLevel, is_level_unused),
        ];
        let given = of_queries.into_iter().find(|(_, is_given)| *is_given);
        let (problem, remedy): (Remedy, Remedy) = match (&self.queries, given) {
            (None, _) if self.data.is_empty() => (
                "there is nothing to learn from".into(),
                remedy!(
                    "give {}, or {}, {} and {}",
                    Setting::Data.to("FILE"),
                    Setting::Queries,
                    Setting::Corpus,
                    Setting::Qrels
                ),
            ),
            (None, Some((setting, _))) => (
                remedy!("{} is for {}, which is not given", setting, Setting::Queries),
                remedy!("give {}, or leave {} out", Setting::Queries, setting),
            ),
            (Some(_), _) if self.qrels.is_none() || self.corpus.is_none() => (
                remedy!("{} needs judgments and texts", Setting::Queries),
                remedy!("give {} and {}", Setting::Qrels, Setting::Corpus),
            ),
            _ => {
                let corpus = self.corpus.as_ref();
                return self.dev.as_ref().map_or(Ok(()), |dev| dev.set.collection(corpus).map(drop));
            }
        };
        Err(TrainError::Options { problem, remedy })
    }

    /// The names of the files, without their folders.
    pub(super) fn names(&self) -> Vec<String> {
        let queries = self.queries.iter().flat_map(|files| files.names.clone());
        let judged = self.qrels_file.iter().chain(&self.negatives).filter_map(|path| file_name(path));
        let corpus = self.corpus.iter().flat_map(|files| files.names.clone());
        let data = self.data.iter().filter_map(|path| file_name(path));
        data.chain(queries).chain(judged).chain(corpus).collect()
    }

    pub(super) fn relevance_level(&self) -> i32 {
        self.relevance_level.unwrap_or(1)
    }
}

/// The name of a file without its folder.
pub(super) fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

impl Engine {
    /// Opens the examples.
    pub(super) fn examples(&self, data: &TrainingData) -> Result<Source, EngineError> {
        let files = data.data.iter().map(|path| self.example_file(path, data.skip_bad_lines));
        let files = files.collect::<Result<_, TrainError>>()?;
        let texts = data.corpus.as_ref().map(|corpus| self.passages(corpus)).transpose()?;
        let judged = match (&data.queries, &data.qrels, &texts) {
            (Some(queries), Some(qrels), Some(texts)) => {
                let queries = self.judged_queries(queries)?;
                let negatives =
                    data.negatives.as_ref().map_or(Ok(Negatives::default()), |path| read_negatives(path))?;
                let has = |id: &str| texts.contains(id);
                let judged = Judged::new(&queries, qrels, data.relevance_level(), negatives, has)?;
                self.notify(Event::LeftOut(judged.left_out()));
                Some(judged)
            }
            _ => None,
        };
        let source = Source::new(files, judged, texts);
        Ok(if data.skip_bad_lines { source.skipping() } else { source })
    }

    fn example_file(&self, path: &Path, skip_bad_lines: bool) -> Result<ExampleFile, TrainError> {
        if !skip_bad_lines {
            return ExampleFile::open(path);
        }
        let (file, skipped) = ExampleFile::open_skipping(path)?;
        if let Some(skipped) = &skipped {
            self.notify(Event::ExamplesSkipped(skipped));
        }
        Ok(file)
    }

    /// The passages of a collection by identifier.
    pub(super) fn passages(&self, files: &TextFiles<CollectionFormat>) -> Result<Texts, EngineError> {
        let options = TextsOptions { reading: files.reading.clone(), ..TextsOptions::default() };
        self.texts(&files.inputs, &options)
    }

    /// Reads queries, and reports what is skipped.
    pub(super) fn judged_queries(&self, files: &TextFiles<QueryFormat>) -> Result<Vec<Query>, EngineError> {
        let (queries, skipped) = read_queries(&files.inputs, &files.reading)?;
        self.notify(Event::Skipped { inputs: &files.inputs, skipped: &skipped });
        Ok(queries)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use toller_corpus::ReadOptions;
    use toller_ir::Explain;
    use toller_train::Dev;

    use super::{DevData, TextFiles, TrainingData};

    fn files<F>() -> TextFiles<F> {
        TextFiles::new(&["folder/a.tsv"], Vec::new(), ReadOptions::default())
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_a_remedy() {
        let dev = || DevData {
            queries: files(),
            qrels: Arc::default(),
            corpus: None,
            run: None,
            depth: None,
            measures: Vec::new(),
        };
        let dev = || Some(Dev { set: dev(), every: None, patience: None, saves_last: false });
        let (none, data) = (TrainingData::default(), vec![PathBuf::from("x")]);
        let (qrels, level) = (Some(Arc::default()), Some(2));
        let examples = TrainingData { data, ..none.clone() };
        let judged = TrainingData { queries: Some(files()), qrels: qrels.clone(), ..none.clone() };
        for (data, problem, remedy) in [
            (none, "nothing to learn from", "give data FILE, or queries, corpus and qrels"),
            (TrainingData { qrels, ..examples.clone() }, "qrels is for queries", "or leave qrels out"),
            (
                TrainingData { relevance_level: level, ..examples.clone() },
                "relevance_level is for queries",
                "give queries, or leave relevance_level out",
            ),
            (TrainingData { dev: dev(), ..examples.clone() }, "has no collection", "give dev_corpus"),
            (judged.clone(), "queries needs judgments and texts", "give qrels and corpus"),
        ] {
            let error = data.check().expect_err(problem);
            assert!(error.to_string().contains(problem), "{error}");
            assert!(error.remedy().is_some_and(|own| own.to_string().contains(remedy)), "{error}");
        }
        let judged = TrainingData { corpus: Some(files()), relevance_level: level, dev: dev(), ..judged };
        assert!(judged.check().is_ok() && examples.check().is_ok());
        assert_eq!(TrainingData { queries: Some(files()), ..judged }.names(), ["a.tsv", "a.tsv"]);
    }
}
