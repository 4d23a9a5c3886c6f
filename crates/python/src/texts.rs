//! The texts of a collection, by identifier.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use toller_corpus::ColumnNames;
use toller_ir::Passage;
use toller_texts::Texts;

use crate::error::Failed;
use crate::given::{Files, Kind, Reading};
use crate::work;

/// The texts of a collection, by identifier: `texts["d1"]`. `corpus` is what `toller.encode` takes.
///
/// Files of JSON lines and of columns are read in place, and others are kept in the cache, as for a reranker:
/// opening the same collection again takes no time. A collection of any size takes little memory.
#[pyclass(frozen, name = "Texts", module = "toller")]
pub(crate) struct PyTexts(Texts);

#[pymethods]
impl PyTexts {
    #[new]
    #[pyo3(signature = (corpus, *, id_column=None, title_column=None, text_column=None, skip_bad_lines=false,
                        progress=None))]
    fn new(
        py: Python<'_>,
        corpus: &Bound<'_, PyAny>,
        id_column: Option<String>,
        title_column: Option<String>,
        text_column: Option<String>,
        skip_bad_lines: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let columns =
            ColumnNames { id: id_column, title: title_column, text: text_column, ..ColumnNames::default() };
        let reading = Reading { columns, skip_bad_lines };
        let corpus = Files::read(corpus, Kind::Passages, reading, &std::env::temp_dir())?;
        work::run(py, progress, move |session| Ok(Self(corpus.texts(&session.engine()?)?)))
    }

    /// The text of a document, without its title.
    fn __getitem__(&self, py: Python<'_>, id: &str) -> PyResult<String> {
        let found = self.found(py, id)?;
        found.map(|passage| passage.text).ok_or_else(|| PyKeyError::new_err(id.to_owned()))
    }

    fn __contains__(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    /// The text of a document, without its title; `default` if there is no such document.
    #[pyo3(signature = (id, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.found(py, id)? {
            Some(passage) => Ok(Some(passage.text.into_pyobject(py)?.into_any())),
            None => Ok(default),
        }
    }

    /// Documents with their titles, in the order of `ids`; None for one that is not there.
    fn passages<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let found = py.detach(|| self.0.get_many(&ids)).map_err(|error| Failed::of(&error))?;
        let class = py.import("toller.results")?.getattr("Passage")?;
        let passage = |found: Option<Passage>| {
            found.map(|passage| class.call1((passage.id, passage.title, passage.text))).transpose()
        };
        found.into_iter().map(passage).collect()
    }
}

impl PyTexts {
    fn found(&self, py: Python<'_>, id: &str) -> PyResult<Option<Passage>> {
        Ok(py.detach(|| self.0.get(id)).map_err(|error| Failed::of(&error))?)
    }
}
