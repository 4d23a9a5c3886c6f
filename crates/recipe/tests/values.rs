//! Values that a command refuses, and those that are not known yet.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsString;
use std::fs;

use toller_ir::Explain;
use toller_recipe::{BadArguments, Catalogue, CommandSpec, OptionSpec, Plan, Recipe, RecipeError, Takes};

/// A command that refuses the number 1.
struct Make;

impl Catalogue for Make {
    fn command(&self, name: &str) -> Option<CommandSpec> {
        let option =
            |name: &str| OptionSpec { name: name.to_owned(), positional: false, takes: Takes::Value };
        let options = vec![option("how"), option("why")];
        let (resumes, adopts, makes_sheets) = (false, false, false);
        (name == "make").then_some(CommandSpec { options, resumes, adopts, makes_sheets, beside: &[] })
    }

    fn names(&self) -> Vec<String> {
        vec!["make".to_owned()]
    }

    fn check(&self, arguments: &[OsString]) -> Result<(), BadArguments> {
        let (option, message) = match arguments {
            _ if arguments.iter().any(|argument| argument == "--how=1") => {
                (Some("how".to_owned()), "bad how")
            }
            _ if arguments.iter().any(|argument| argument == "--why=1") => (None, "how and why"),
            _ => return Ok(()),
        };
        let hint = option.is_some().then(|| "give 2".to_owned());
        Err(BadArguments { option, message: message.to_owned(), hint })
    }
}

fn plan(options: &str) -> Result<Plan, RecipeError> {
    let folder = tempfile::tempdir().unwrap();
    let recipe = folder.path().join("recipe.toml");
    let text = format!("[variables.x]\nabout = \"a number\"\n[steps.a]\ncommand = \"make\"\n{options}\n");
    fs::write(&recipe, text).unwrap();
    Plan::new(&Recipe::read(&recipe, &[])?, &Make, &[])
}

#[test]
fn a_refused_value_has_its_line_and_a_hint() {
    for (options, says, hint) in [
        ("how = 1", "recipe.toml:5: step a: bad how", "give 2"),
        ("why = \"${x}\"\nhow = 1", "recipe.toml:6: step a: bad how", "give 2"),
        ("why = 1", "recipe.toml:3: step a: how and why", "the help of `toller make` lists its options"),
    ] {
        let error = plan(options).unwrap_err();
        assert!(error.to_string().ends_with(says), "{error}");
        assert_eq!(error.remedy().unwrap().to_string(), hint);
    }
}

#[test]
fn a_value_that_is_not_known_yet_is_not_refused() {
    for options in ["how = \"${x}\"", "why = \"${x}\"", "how = \"${x}\"\nwhy = 1"] {
        assert!(plan(options).is_ok(), "{options}");
    }
}
