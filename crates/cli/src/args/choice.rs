//! Values that a flag takes by name.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use toller_ir::UnknownName;

/// A value with its name and its help, which may be empty.
pub type Choice<T> = (&'static str, &'static str, T);

/// A value that has a name of its own, with its help, which may be empty.
pub type Described<T> = (T, &'static str);

/// For clap: a value by its name, with all names in the help.
pub fn by_name<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownName> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// For clap: one of these values.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    chosen(choices.to_vec())
}

/// For clap: one of these values, by the names that they have.
pub fn described<T: Copy + Into<&'static str> + Send + Sync + 'static>(
    choices: &'static [Described<T>],
) -> impl TypedValueParser<Value = T> {
    chosen(choices.iter().map(|(value, help)| ((*value).into(), *help, *value)).collect())
}

/// For clap: one of these values, where they are known only at run time.
pub fn chosen<T: Copy + Send + Sync + 'static>(choices: Vec<Choice<T>>) -> impl TypedValueParser<Value = T> {
    let possible = choices.iter().map(|(name, help, _)| {
        let value = PossibleValue::new(*name);
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(possible).try_map(move |given| {
        let chosen = choices.iter().find(|(name, ..)| *name == given);
        chosen.map(|(_, _, value)| *value).ok_or("no such choice")
    })
}
