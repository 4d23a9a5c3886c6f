//! The configuration of a model of Paddle: RocketQA's `ernie_config.json`, PaddleNLP's `model_config.json` or
//! `config.json`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toller_files::FileError;
use toller_ir::named;

use super::ConvertError;

named! {
    /// The architectures that can be converted, by transformers' `model_type`.
    pub(super) enum Family: "an architecture that can be converted" {
        Ernie = "ernie",
        Bert = "bert",
    }
}

impl Family {
    /// How the names of transformers' classes begin.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Ernie => "Ernie",
            Self::Bert => "Bert",
        }
    }
}

/// The fields of a configuration.
pub(super) struct SourceConfig {
    pub(super) path: PathBuf,
    fields: Map<String, Value>,
}

impl SourceConfig {
    pub(super) fn read(path: &Path) -> Result<Self, ConvertError> {
        let text = std::fs::read(path).map_err(FileError::on("read", path))?;
        let format = |problem: String| ConvertError::Format { path: path.to_owned(), problem };
        let root: Map<String, Value> =
            serde_json::from_slice(&text).map_err(|error| format(error.to_string()))?;
        // PaddleNLP nests: {"init_args": [{"hidden_size": 768, ...}], "init_class": "ErnieModel"}.
        let inner = root.get("init_args").and_then(Value::as_array).into_iter().flatten();
        let mut fields: Map<String, Value> = inner
            .filter_map(Value::as_object)
            .flatten()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        fields.extend(root.into_iter().filter(|(key, _)| key != "init_args"));
        Ok(Self { path: path.to_owned(), fields })
    }

    /// The architecture that the configuration names; without one, the prefix of the variables' names
    /// decides.
    pub(super) fn family(&self, prefix: &str) -> Result<Family, ConvertError> {
        let said = self.text("model_type")?.filter(|said| !said.ends_with("_encoder"));
        let class = self
            .text("init_class")?
            .or_else(|| self.fields.get("architectures")?.as_array()?.first()?.as_str());
        // `ErnieModel` and `ErnieForSequenceClassification`, but not `ErnieGramModel`.
        let of_class = |family: Family| {
            let rest = class.and_then(|class| class.strip_prefix(family.class()));
            rest.is_some_and(|rest| rest.starts_with("Model") || rest.starts_with("For"))
        };
        let found = match (said, class) {
            (Some(said), _) => said.parse().ok(),
            (None, Some(_)) => Family::ALL.into_iter().find(|&family| of_class(family)),
            (None, None) if prefix.starts_with("bert.") => Some(Family::Bert),
            (None, None) => Some(Family::Ernie),
        };
        let named = said.or(class).unwrap_or_default();
        found.ok_or_else(|| ConvertError::Unsupported {
            path: self.path.clone(),
            what: format!("is of a {named:?}; ERNIE 1.0 to 3.0 and BERT can be converted"),
        })
    }

    /// A whole number.
    pub(super) fn size(&self, key: &str) -> Result<Option<usize>, ConvertError> {
        let Some(value) = self.field(key) else { return Ok(None) };
        let size = value.as_u64().and_then(|value| usize::try_from(value).ok());
        size.map(Some).ok_or_else(|| self.wrong(key, value))
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, ConvertError> {
        let Some(value) = self.field(key) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| self.wrong(key, value))
    }

    /// A flag, written as a boolean or as 0 and 1.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ConvertError> {
        let Some(value) = self.field(key) else { return Ok(None) };
        let flag = value.as_bool().or_else(|| value.as_u64().filter(|flag| *flag < 2).map(|flag| flag == 1));
        flag.map(Some).ok_or_else(|| self.wrong(key, value))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, ConvertError> {
        let Some(value) = self.field(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.wrong(key, value))
    }

    /// The error that a field is missing.
    pub(super) fn missing(&self, key: &str) -> ConvertError {
        self.problem(format!("has no {key:?}"))
    }

    pub(super) fn problem(&self, problem: String) -> ConvertError {
        ConvertError::Format { path: self.path.clone(), problem }
    }

    fn field(&self, key: &str) -> Option<&Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, value: &Value) -> ConvertError {
        self.problem(format!("{key:?} is {value}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::{Family, SourceConfig};
    use crate::convert::ConvertError;

    fn read(value: &Value) -> Result<SourceConfig, ConvertError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, value.to_string()).unwrap();
        SourceConfig::read(&path)
    }

    #[test]
    fn nested_fields_are_found() {
        let nested = json!({
            "init_args": [{"hidden_size": 768, "init_class": "ErnieModel", "use_task_id": 1}],
            "init_class": "ErnieForSequenceClassification", "num_classes": 2
        });
        let config = read(&nested).unwrap();
        assert_eq!(config.size("hidden_size").unwrap(), Some(768));
        assert_eq!(config.flag("use_task_id").unwrap(), Some(true));
        assert_eq!(config.size("vocab_size").unwrap(), None);
        assert_eq!(config.family("").unwrap(), Family::Ernie);
    }

    #[test]
    fn families_are_distinguished() {
        for (value, prefix, expected) in [
            (json!({"init_class": "BertModel"}), "", Some(Family::Bert)),
            (json!({"architectures": ["ErnieForMaskedLM"]}), "", Some(Family::Ernie)),
            (json!({"model_type": "dual_encoder"}), "", Some(Family::Ernie)),
            (json!({}), "bert.", Some(Family::Bert)),
            (json!({"init_class": "ErnieGramModel"}), "", None),
            (json!({"model_type": "roberta"}), "", None),
        ] {
            assert_eq!(read(&value).unwrap().family(prefix).ok(), expected, "{value}");
        }
    }

    #[test]
    fn what_is_not_as_expected_is_an_error() {
        assert!(read(&json!([])).is_err());
        let config = read(&json!({"hidden_size": "many", "use_task_id": 2, "hidden_act": 3})).unwrap();
        assert!(config.size("hidden_size").is_err());
        assert!(config.flag("use_task_id").is_err());
        assert!(config.text("hidden_act").is_err());
    }
}
