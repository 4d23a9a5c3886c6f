//! The values of a recipe's variables.

use std::collections::HashMap;
use std::path::PathBuf;

use super::closest::closest;
use super::error::RecipeError;
use super::read::Recipe;

/// The values of variables.
pub(super) struct Variables<'a> {
    recipe: &'a Recipe,
    set: HashMap<&'a str, &'a str>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(recipe: &'a Recipe, set: &'a [(String, String)]) -> Result<Self, RecipeError> {
        let known = || recipe.variables.iter().map(|variable| variable.name.clone());
        if let Some((name, _)) = set.iter().find(|(name, _)| !known().any(|known| known == *name)) {
            let (file, name, known) = (recipe.file.clone(), name.clone(), known().collect());
            return Err(RecipeError::UnknownVariable { file, name, known });
        }
        let set = set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Ok(Self { recipe, set })
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let default = || {
            let variable = self.recipe.variables.iter().find(|variable| variable.name == name);
            variable.and_then(|variable| variable.default.as_deref())
        };
        self.set.get(name).copied().or_else(default)
    }

    /// The names in `${name}`, in their order.
    pub(super) fn names_in(text: &str) -> impl Iterator<Item = &str> {
        text.split("${").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
    }

    /// Refuses a text that names an unknown variable.
    pub(super) fn check(&self, text: &str, line: usize) -> Result<(), RecipeError> {
        let known = || self.recipe.variables.iter().map(|variable| variable.name.as_str());
        match Self::names_in(text).find(|name| !known().any(|known| known == *name)) {
            None => Ok(()),
            Some(name) => {
                let hint = match closest(name, known()) {
                    Some(meant) => format!("did you mean ${{{meant}}}?"),
                    None => format!("add it: [variables.{name}]"),
                };
                Err(self.recipe.bad(line, format!("there is no variable {name:?}"), hint))
            }
        }
    }

    /// The text with the values of variables; variables without a value stay.
    pub(super) fn in_text(&self, text: &str) -> String {
        let mut pieces = text.split("${");
        let mut whole = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            match piece.split_once('}').and_then(|(name, rest)| Some((self.value(name)?, rest))) {
                Some((value, rest)) => whole.extend([value, rest]),
                None => whole.extend(["${", piece]),
            }
        }
        whole
    }

    /// The path in a text, with variables replaced.
    pub(super) fn in_path(&self, text: &str) -> PathBuf {
        let path = PathBuf::from(self.in_text(text));
        // A path that is set from outside starts at the current directory.
        let starts_outside = text.starts_with("${")
            && Self::names_in(text).next().is_some_and(|name| self.set.contains_key(name));
        if starts_outside && path.is_relative() {
            return std::path::absolute(&path).unwrap_or(path);
        }
        path
    }

    /// The variables without a value that a text names.
    pub(super) fn unset_in<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        Self::names_in(text).filter(|name| self.value(name).is_none())
    }
}
