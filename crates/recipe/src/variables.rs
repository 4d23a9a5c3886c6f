//! The values of a recipe's variables.

use std::borrow::Cow;
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

    /// What stands for a variable that is not set. It names only variables before this one.
    fn default(&self, name: &str) -> Option<&str> {
        let variable = self.recipe.variables.iter().find(|variable| variable.name == name)?;
        variable.default.as_deref()
    }

    fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        let set = self.set.get(name).map(|value| Cow::Borrowed(*value));
        set.or_else(|| Some(Cow::Owned(self.in_text(self.default(name)?))))
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
                Some((value, rest)) => whole.extend([&*value, rest]),
                None => whole.extend(["${", piece]),
            }
        }
        whole
    }

    /// The path in a text, with variables replaced.
    pub(super) fn in_path(&self, text: &str) -> PathBuf {
        let path = PathBuf::from(self.in_text(text));
        // A path that is set from outside starts at the current directory.
        if self.starts_outside(text) && path.is_relative() {
            return std::path::absolute(&path).unwrap_or(path);
        }
        path
    }

    fn starts_outside(&self, text: &str) -> bool {
        let first = text.strip_prefix("${").and_then(|rest| rest.split_once('}'));
        first.is_some_and(|(name, _)| {
            let by_default = || self.default(name).is_some_and(|default| self.starts_outside(default));
            self.set.contains_key(name) || by_default()
        })
    }

    /// The variables without a value that a text names, also in the defaults of others.
    pub(super) fn unset_in<'t>(&'t self, text: &'t str) -> Vec<&'t str> {
        let names = Self::names_in(text).filter(|name| !self.set.contains_key(name));
        let unset = |name: &'t str| match self.default(name) {
            Some(default) => self.unset_in(default),
            None => vec![name],
        };
        names.flat_map(unset).collect()
    }
}
