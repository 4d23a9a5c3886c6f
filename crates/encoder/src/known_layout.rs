//! What a manifest adds to a model's own files: it fills their gaps, and may not contradict them.

use std::path::Path;
use std::str::FromStr;

use toller_checkpoint::{KnownModel, ModelError};

use crate::Role;
use crate::dual_encoder::prompt_names;
use crate::error::{Contradiction, EncoderError};
use crate::layout::Layout;
use crate::masked_lm::Saturation;
use crate::modules::Module;
use crate::pooling::TextPooling;
use crate::titles::TitleMode;

impl Layout {
    /// Takes pooling, normalisation, maximum length, title mode and prompts from the manifest if the
    /// directory does not give them. A pooling that was asked for wins over both: with `is_pooling_given`,
    /// theirs do not matter.
    ///
    /// # Errors
    /// When the two differ: it is not known which is right, so nothing is chosen silently.
    pub(crate) fn complete(
        &mut self,
        known: &KnownModel,
        is_pooling_given: bool,
        directory: &Path,
    ) -> Result<(), EncoderError> {
        let contradiction = |what: &'static str, directory_says: String, manifest_says: String| {
            let directory = directory.to_owned();
            Box::new(Contradiction { directory, name: known.name, what, directory_says, manifest_says })
                .into()
        };
        let is_splade = is_splade(known);
        if is_splade && !is_pooling_given {
            if let Some(poolings) = &self.pooling {
                let names: Vec<_> = poolings.iter().map(|pooling| pooling.name()).collect();
                let splade = TextPooling::Splade.name().to_owned();
                return Err(contradiction("the pooling", names.join("+"), splade));
            }
            self.splade.get_or_insert(Saturation::Log);
        }
        if let (Some(saturation), Some(pooling), false) =
            (self.splade, &known.pooling, is_splade || is_pooling_given)
        {
            return Err(contradiction("the pooling", saturation.to_string(), pooling.clone()));
        }
        let pooling = known.pooling.as_ref().filter(|_| !is_splade && !is_pooling_given);
        if let Some(pooling) = named(known, "pooling", pooling)? {
            let poolings = self.pooling.get_or_insert_with(|| vec![pooling]);
            if *poolings != [pooling] {
                let names: Vec<_> = poolings.iter().map(|pooling| pooling.name()).collect();
                return Err(contradiction("the pooling", names.join("+"), pooling.name().to_owned()));
            }
        }
        if let Some(wanted) = known.normalize {
            let there = self.modules.contains(&Module::Normalize);
            match (self.is_plain, wanted) {
                (true, true) => self.modules.push(Module::Normalize),
                (true, false) => {}
                (false, _) if there == wanted => {}
                (false, _) => {
                    return Err(contradiction("whether to normalize", there.to_string(), wanted.to_string()));
                }
            }
        }
        if let Some(length) = known.max_length {
            let said = *self.max_length.get_or_insert(length);
            if said != length {
                return Err(contradiction("the maximum length", said.to_string(), length.to_string()));
            }
        }
        if self.titles.is_none() {
            let name = named(known, "title_mode", known.title_mode.as_ref())?;
            self.titles = TitleMode::of(None, name, None, None).unwrap_or_default();
        }
        let roles = [
            ("query", Role::Query, "the prompt of a query"),
            ("passage", Role::Passage, "the prompt of a passage"),
        ];
        for (name, role, what) in roles {
            let Some(prompt) = known.prompts.get(name) else { continue };
            let names = prompt_names(role);
            match self.prompt(names) {
                Some(said) if said == prompt => {}
                Some(said) if !said.is_empty() => {
                    return Err(contradiction(what, format!("{said:?}"), format!("{prompt:?}")));
                }
                // Under the name that is looked for first: an empty prompt may be there.
                _ => drop(self.prompts.insert(names[0].to_owned(), prompt.clone())),
            }
        }
        Ok(())
    }
}

/// Whether a manifest is that of a sparse encoder.
pub(crate) fn is_splade(known: &KnownModel) -> bool {
    known.pooling.as_deref() == Some(TextPooling::Splade.name())
}

/// What a manifest gives by its name, if it does.
fn named<T: FromStr>(
    known: &KnownModel,
    what: &str,
    name: Option<&String>,
) -> Result<Option<T>, EncoderError> {
    let unknown = |name: &String| ModelError::Config {
        path: format!("models/{}.toml", known.name).into(),
        problem: format!("{what} {name:?} is not known"),
    };
    Ok(name.map(|name| name.parse().map_err(|_| unknown(name))).transpose()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toller_nn::Pooling;

    use crate::dual_encoder::prompt_names;
    use crate::layout::Layout;
    use crate::modules::Module;
    use crate::titles::TitleMode;
    use crate::{EncoderError, Role};
    use toller_checkpoint::KnownModel;

    fn e5() -> KnownModel {
        let text = "source = \"org/e5\"\npooling = \"mean\"\nnormalize = true\nmax_length = 512\ntitle_mode = \"pair\"\n[prompts]\nquery = \"query: \"\n";
        KnownModel::parse("e5", text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn plain() -> Result<(tempfile::TempDir, Layout), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let layout = Layout::read(folder.path(), Role::Passage)?;
        Ok((folder, layout))
    }

    #[test]
    fn a_silent_directory_is_completed() -> Result<(), Box<dyn std::error::Error>> {
        let (folder, mut layout) = plain()?;
        layout.complete(&e5(), false, folder.path())?;
        assert_eq!(layout.pooling, Some(vec![Pooling::Mean]));
        assert_eq!(layout.modules, [Module::Normalize]);
        assert_eq!(layout.max_length, Some(512));
        assert_eq!(layout.titles, Some(TitleMode::Pair));
        assert_eq!(layout.prompt(&["query"]), Some("query: "));
        assert_eq!(layout.prompt(&["passage"]), None);
        Ok(())
    }

    /// sentence-transformers writes both names for a model without prompts.
    #[test]
    fn empty_prompts_are_completed() -> Result<(), Box<dyn std::error::Error>> {
        let (folder, mut layout) = plain()?;
        layout.prompts.extend([("query".to_owned(), String::new()), ("document".to_owned(), String::new())]);
        let text = "source = \"org/e5\"\n[prompts]\nquery = \"query: \"\npassage = \"passage: \"\n";
        layout.complete(&KnownModel::parse("e5", text)?, false, folder.path())?;
        assert_eq!(layout.prompt(prompt_names(Role::Query)), Some("query: "));
        assert_eq!(layout.prompt(prompt_names(Role::Passage)), Some("passage: "));
        Ok(())
    }

    #[test]
    fn a_flag_wins_and_a_contradiction_is_an_error() -> Result<(), Box<dyn std::error::Error>> {
        type Change = fn(&mut Layout);
        let changes: [Change; 4] = [
            |layout| layout.pooling = Some(vec![Pooling::Cls]),
            |layout| layout.max_length = Some(256),
            |layout| drop(layout.prompts.insert("query".to_owned(), "ask: ".to_owned())),
            |layout| layout.is_plain = false,
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let (_folder, mut layout) = plain()?;
            change(&mut layout);
            let result = layout.complete(&e5(), false, Path::new("model"));
            assert!(matches!(result, Err(EncoderError::Contradiction(_))), "{index}");
        }
        let (_folder, mut layout) = plain()?;
        layout.pooling = Some(vec![Pooling::Cls]);
        layout.complete(&e5(), true, Path::new("model"))?;
        assert_eq!(layout.pooling, Some(vec![Pooling::Cls]));
        Ok(())
    }
}
