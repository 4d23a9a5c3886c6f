//! Names of measures: canonical ones, aliases, trec_eval's and ranx's.

use strsim::osa_distance;

use crate::declarations::{Declaration, declarations};
use crate::parameters::{Parameter, Value};

/// The meaning of a name.
#[derive(Debug)]
pub(super) enum Name<'a> {
    /// A measure, with the parameters that the name implies; others are given in the notation.
    Measure { declaration: &'static Declaration, implied: Vec<(Parameter, Value)> },
    /// trec_eval's name of a family, `ndcg_cut`, and its values, `5,10`.
    Family { declaration: &'static Declaration, parameter: Parameter, values: &'a str },
}

/// Finds a name. Case does not matter: no two names differ only in it.
pub(super) fn look_up(name: &str) -> Option<Name<'_>> {
    if let Some(declaration) = declared(name) {
        return Some(Name::Measure { declaration, implied: Vec::new() });
    }
    if let Some((declaration, implied)) = of_ranx(&name.to_ascii_lowercase()) {
        return Some(Name::Measure { declaration, implied });
    }
    declarations().find_map(|declaration| {
        let (family, parameter) = declaration.trec_eval.family?;
        let (head, rest) = name.split_at_checked(family.len())?;
        let values = rest.strip_prefix(['_', '.']).filter(|_| head.eq_ignore_ascii_case(family))?;
        Some(Name::Family { declaration, parameter, values })
    })
}

fn declared(name: &str) -> Option<&'static Declaration> {
    declarations().find(|declaration| names(declaration).any(|known| known.eq_ignore_ascii_case(name)))
}

/// ranx's names with a parameter: `ndcg_burges`, and `rbp.95`, whose gains are 0 and 1.
fn of_ranx(name: &str) -> Option<(&'static Declaration, Vec<(Parameter, Value)>)> {
    if let Some(base @ ("dcg" | "ndcg")) = name.strip_suffix("_burges") {
        return Some((declared(base)?, vec![(Parameter::Dcg, Value::Text("exp-log2".to_owned()))]));
    }
    let persistence = Value::Number(format!("0.{}", name.strip_prefix("rbp.")?));
    let relevant = Value::Number("1".to_owned());
    Some((declared("rbp")?, vec![(Parameter::Persistence, persistence), (Parameter::Rel, relevant)]))
}

/// All names of a measure except those of families.
fn names(declaration: &Declaration) -> impl Iterator<Item = &'static str> {
    [declaration.name]
        .into_iter()
        .chain(declaration.aliases.iter().copied())
        .chain(declaration.trec_eval.plain)
}

/// The measures with a name that is few edits (swapped neighbours are one) from `name`, closest first.
pub(super) fn close_names(name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let mut close: Vec<(usize, &'static str)> = declarations()
        .filter_map(|declaration| {
            let distance =
                names(declaration).map(|known| osa_distance(&name, &known.to_ascii_lowercase())).min()?;
            (distance <= allowed).then_some((distance, declaration.name))
        })
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::close_names;

    #[test]
    fn close_ones_come_first() {
        assert_eq!(close_names("nDGC"), ["nDCG"]);
        assert_eq!(close_names("nDCGG").first(), Some(&"nDCG"));
        assert_eq!(close_names("succes"), ["Success"]);
        assert!(close_names("bleu-rouge-meteor").is_empty());
    }
}
