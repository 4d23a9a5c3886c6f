//! The names of a model's files and folders.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::{ModelError, read_json, required_json};

/// The folders of a model with two encoders: the queries' and the passages'.
pub const TOWERS: [&str; 2] = ["question_encoder", "ctx_encoder"];

/// The files that a tokenizer can be, the best first.
pub const TOKENIZER_FILES: [&str; 5] =
    ["tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model"];

/// The file in which sentence-transformers lists the modules of a model.
const MODULES: &str = "modules.json";

/// One entry of `modules.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ModuleEntry {
    /// The module's folder; empty for the model's own.
    pub path: String,
    /// The Python class, `sentence_transformers.models.Pooling`.
    #[serde(rename = "type")]
    pub class: String,
}

/// The entries of the `modules.json` in a model's directory; `None` without the file.
///
/// # Errors
/// When the file is not as expected, or a folder lies outside of the model.
pub fn read_modules(directory: &Path) -> Result<Option<Vec<ModuleEntry>>, ModelError> {
    let path = directory.join(MODULES);
    let modules: Option<Vec<ModuleEntry>> = read_json(&path)?;
    let mut entries = modules.iter().flatten();
    match entries.find(|entry| !entry.path.is_empty() && !stays_inside(entry.path.trim_end_matches('/'))) {
        None => Ok(modules),
        Some(entry) => {
            let problem = format!("the path {:?} leads out of the model's directory", entry.path);
            Err(ModelError::Config { path, problem })
        }
    }
}

/// The configuration of sentence-transformers' Router: modules by name, and those of each route.
#[derive(Deserialize)]
struct Routes {
    types: BTreeMap<String, String>,
    structure: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    parameters: RouteParameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RouteParameters {
    route_mappings: Option<BTreeMap<String, String>>,
}

/// The file of [`Routes`].
const ROUTES: &str = "router_config.json";

impl ModuleEntry {
    /// The file that says which modules a Router has, if this is one.
    #[must_use]
    pub fn routes_file(&self) -> Option<String> {
        let is_router = self.class.rsplit('.').next() == Some("Router");
        let folder = self.path.trim_end_matches('/');
        is_router.then(|| if folder.is_empty() { ROUTES.to_owned() } else { format!("{folder}/{ROUTES}") })
    }
}

/// The entries of the `modules.json` in a model's directory, as [`read_modules`]. In the place of a Router
/// are the modules of one of its routes, that of the first of `names` that it has; without names, the modules
/// of all routes.
///
/// # Errors
/// As there; when there is no such route.
pub fn read_route(directory: &Path, names: Option<&[&str]>) -> Result<Option<Vec<ModuleEntry>>, ModelError> {
    let Some(entries) = read_modules(directory)? else { return Ok(None) };
    let mut expanded = Vec::new();
    for entry in entries {
        match entry.routes_file() {
            None => expanded.push(entry),
            Some(file) => expanded.extend(modules_of_route(&directory.join(file), &entry.path, names)?),
        }
    }
    Ok(Some(expanded))
}

/// The modules of a route, or of all, of the router in the folder `folder` of a model.
fn modules_of_route(
    path: &Path,
    folder: &str,
    names: Option<&[&str]>,
) -> Result<Vec<ModuleEntry>, ModelError> {
    let folder = folder.trim_end_matches('/');
    let Routes { types, structure, parameters } = required_json(path)?;
    let wrong = |problem: String| ModelError::Config { path: path.to_owned(), problem };
    if parameters.route_mappings.is_some_and(|mappings| !mappings.is_empty()) {
        return Err(ModelError::unsupported(
            path,
            "route_mappings",
            "a route for queries and one for documents",
        ));
    }
    let modules: Vec<&String> = match names {
        None => types.keys().collect(),
        Some(names) => match names.iter().find_map(|name| structure.get(*name)) {
            Some(route) => route.iter().collect(),
            None => {
                let there: Vec<&str> = structure.keys().map(String::as_str).collect();
                return Err(wrong(format!("there is no route {:?} among {}", names[0], there.join(", "))));
            }
        },
    };
    let entry = |name: &String| {
        // A module may be in the model's own folder.
        if !name.is_empty() && !stays_inside(name) {
            return Err(wrong(format!("the module {name:?} leads out of the model's directory")));
        }
        let class = types.get(name).ok_or_else(|| wrong(format!("the module {name:?} has no type")))?;
        let path = match (folder.is_empty(), name.is_empty()) {
            (true, _) => name.clone(),
            (false, true) => folder.to_owned(),
            (false, false) => format!("{folder}/{name}"),
        };
        Ok(ModuleEntry { path, class: class.clone() })
    };
    modules.into_iter().map(entry).collect()
}

/// Whether a path that a model's file names stays inside the model's directory.
#[must_use]
pub fn stays_inside(path: &str) -> bool {
    !path.contains(['\\', ':', '\0']) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::{read_modules, stays_inside};

    #[test]
    fn paths_stay_inside() {
        assert!(stays_inside("1_Pooling/config.json"));
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a\\b", "C:/x", "./x"] {
            assert!(!stays_inside(path), "{path}");
        }
    }

    #[test]
    fn modules_lie_in_the_model() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_modules(folder.path()).unwrap(), None);
        let write = |path: &str| {
            let entry = format!("[{{\"path\": {path:?}, \"type\": \"a.Pooling\"}}]");
            fs::write(folder.path().join("modules.json"), entry).unwrap();
            read_modules(folder.path())
        };
        for path in ["", "1_Pooling", "1_Pooling/", "deep/er"] {
            assert_eq!(write(path).unwrap().unwrap()[0].path, path);
        }
        for path in ["../outside", "/etc", "a/../..", "..", "//"] {
            let error = write(path).unwrap_err().to_string();
            assert!(error.contains("modules.json: the path") && error.contains("leads out"), "{error}");
        }
    }
}
