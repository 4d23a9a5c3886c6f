//! Elements by the names that a user gave.

use std::borrow::Cow;

use toller_ir::Setting;

use crate::text::field_text;

/// The names of elements that a user gave: one, or several joined by `+`.
pub(crate) struct GivenElements {
    setting: Setting,
    names: Vec<String>,
    /// Of each name, whether a record so far had it.
    seen: Vec<bool>,
}

impl GivenElements {
    /// The names in `given`; `setting` is what gave them.
    pub(crate) fn new(setting: Setting, given: &str) -> Self {
        let names: Vec<String> = given.split('+').map(|name| name.trim().to_owned()).collect();
        Self { setting, seen: vec![false; names.len()], names }
    }

    /// The names and the contents of the elements of `body`, in the order of the names.
    pub(crate) fn of<'a>(&mut self, body: &'a str) -> Vec<(&str, Cow<'a, str>)> {
        let names = self.names.iter().zip(&mut self.seen);
        names
            .filter_map(|(name, seen)| {
                let content = field_text(body, &[name])?;
                *seen = true;
                Some((name.as_str(), content))
            })
            .collect()
    }

    /// Whether a name is one of them.
    pub(crate) fn have(&self, name: &str) -> bool {
        self.names.iter().any(|given| given.eq_ignore_ascii_case(name))
    }

    /// The names that no record had.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = (Setting, &str)> {
        let names = self.names.iter().zip(&self.seen).filter(|(_, seen)| !**seen);
        names.map(|(name, _)| (self.setting, name.as_str()))
    }

    /// The tags, for errors: `<desc> or <narr>`.
    pub(crate) fn tags(&self) -> String {
        format!("<{}>", self.names.join("> or <"))
    }
}
