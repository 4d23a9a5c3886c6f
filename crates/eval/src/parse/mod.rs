//! From texts to measures.

mod names;
mod notation;

use crate::declarations::{At, Declaration, declarations};
use crate::error::MeasureError;
use crate::measure::Measure;
use crate::parameters::{Parameter, Parameters, Value};
use crate::trec_eval::nickname_measures;
use names::{Name, close_names, look_up};

/// The canonical name of every measure.
pub(crate) fn known_names() -> Vec<&'static str> {
    declarations().map(|declaration| declaration.name).collect()
}

/// One measure.
pub(crate) fn parse_measure(text: &str) -> Result<Measure, MeasureError> {
    let measures = parse_item(text.trim())?;
    let count = measures.len();
    match <[Measure; 1]>::try_from(measures) {
        Ok([measure]) => Ok(measure),
        Err(_) => Err(MeasureError::Several { text: text.trim().to_owned(), count }),
    }
}

/// Measures separated by blanks or commas: `nDCG@10 RR(rel=2)@10, R@100`.
///
/// trec_eval's names are understood too, families included: `recip_rank P.5,10 ndcg_cut_10`. A measure
/// that is named twice is kept once, where it first stands.
///
/// # Errors
/// If the text is empty or a part of it is not a measure.
///
/// ```
/// let measures = toller_eval::parse_measures("ndcg_cut_10 MRR@10")?;
/// let names: Vec<String> = measures.iter().map(ToString::to_string).collect();
/// assert_eq!(names, ["nDCG@10", "RR@10"]);
/// # Ok::<(), toller_eval::MeasureError>(())
/// ```
pub fn parse_measures(text: &str) -> Result<Vec<Measure>, MeasureError> {
    let mut measures: Vec<Measure> = Vec::new();
    for item in notation::split_list(text) {
        for measure in parse_item(&item)? {
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        }
    }
    if measures.is_empty() { Err(MeasureError::Empty) } else { Ok(measures) }
}

/// The measures that one item of a list stands for: one, or a family of trec_eval's.
fn parse_item(text: &str) -> Result<Vec<Measure>, MeasureError> {
    if let Some(measures) = nickname_measures(text) {
        return Ok(measures);
    }
    let parts = notation::parse(text)?;
    let (declaration, implied) = match look_up(parts.name) {
        Some(Name::Measure { declaration, implied }) => (declaration, implied),
        Some(Name::Family { declaration, parameter, values }) if parts.is_bare_name() => {
            return values
                .split(',')
                .map(|value| family_member(text, declaration, parameter, value))
                .collect();
        }
        _ => return Err(unknown(text, parts.name)),
    };

    let mut parameters = Parameters::default();
    let mut given: Vec<Parameter> = Vec::new();
    for (parameter, value) in &implied {
        set(text, &mut parameters, *parameter, value)?;
        given.push(*parameter);
    }
    let at_parameter = match declaration.at {
        At::Nothing => None,
        At::Optional(parameter) | At::Required(parameter) => Some(parameter),
    };
    for (key, value) in &parts.named {
        let mut accepted = declaration.parameters.iter().copied().chain(at_parameter);
        let parameter = accepted
            .find(|parameter| parameter.name() == *key)
            .ok_or_else(|| unknown_parameter(declaration, at_parameter, key))?;
        set(text, &mut parameters, parameter, value)?;
        given.push(parameter);
    }
    if let Some(at) = parts.at {
        let parameter = at_parameter.ok_or(MeasureError::AtNotTaken { measure: declaration.name })?;
        set(text, &mut parameters, parameter, &Value::Number(at.to_owned()))?;
        given.push(parameter);
    }
    if let Some(parameter) = repeated(&given) {
        return Err(MeasureError::RepeatedParameter { text: text.to_owned(), parameter: parameter.name() });
    }
    finish(declaration, parameters).map(|measure| vec![measure])
}

/// The measure of one value of a family, `P_10`.
fn family_member(
    text: &str,
    declaration: &'static Declaration,
    parameter: Parameter,
    value: &str,
) -> Result<Measure, MeasureError> {
    let mut parameters = Parameters::default();
    set(text, &mut parameters, parameter, &Value::Number(value.to_owned()))?;
    finish(declaration, parameters)
}

/// Checks that what must stand after `@` does, and drops parameters that were given as their default.
fn finish(declaration: &'static Declaration, mut parameters: Parameters) -> Result<Measure, MeasureError> {
    if let At::Required(parameter) = declaration.at {
        let (missing, value) = match parameter {
            Parameter::Recall => (parameters.recall.is_none(), "0.1"),
            Parameter::Multiple => (parameters.multiple.is_none(), "0.5"),
            _ => (parameters.cutoff.is_none(), "10"),
        };
        if missing {
            let example = format!("{}@{value}", declaration.name);
            return Err(needs(declaration, parameter, example));
        }
    }
    if declaration.parameters.contains(&Parameter::MaxRel) {
        let Some(max_rel) = parameters.max_rel else {
            let at = if let At::Required(_) = declaration.at { "@10" } else { "" };
            return Err(needs(
                declaration,
                Parameter::MaxRel,
                format!("{}(max_rel=3){at}", declaration.name),
            ));
        };
        if max_rel <= parameters.min_rel.unwrap_or(0) {
            return Err(MeasureError::BadValue {
                text: declaration.name.to_owned(),
                parameter: Parameter::MaxRel.name(),
                value: max_rel.to_string(),
                expected: Parameter::MaxRel.expected(),
            });
        }
    }
    // What was given as its default is not a difference.
    parameters.min_rel = parameters.min_rel.filter(|grade| *grade != 0);
    parameters.target = parameters.target.filter(|target| *target != 1.0);
    parameters.normalize = parameters.normalize.filter(|normalize| !normalize);
    parameters.persistence = parameters.persistence.filter(|p| Some(*p) != declaration.persistence);
    parameters.beta = parameters.beta.filter(|beta| *beta != 1.0);
    Ok(Measure { declaration, parameters })
}

fn needs(declaration: &'static Declaration, parameter: Parameter, example: String) -> MeasureError {
    MeasureError::AtMissing { measure: declaration.name, parameter: parameter.name(), example }
}

fn set(
    text: &str,
    parameters: &mut Parameters,
    parameter: Parameter,
    value: &Value,
) -> Result<(), MeasureError> {
    parameters.set(parameter, value).ok_or_else(|| MeasureError::BadValue {
        text: text.to_owned(),
        parameter: parameter.name(),
        value: value.to_string(),
        expected: parameter.expected(),
    })
}

fn repeated(given: &[Parameter]) -> Option<Parameter> {
    given
        .iter()
        .enumerate()
        .find(|(at, parameter)| given[..*at].contains(parameter))
        .map(|(_, parameter)| *parameter)
}

fn unknown(text: &str, name: &str) -> MeasureError {
    MeasureError::Unknown { text: text.to_owned(), name: name.to_owned(), close: close_names(name) }
}

fn unknown_parameter(declaration: &Declaration, at: Option<Parameter>, key: &str) -> MeasureError {
    let accepted = declaration.parameters.iter().copied().chain(at).map(Parameter::name).collect();
    MeasureError::UnknownParameter { measure: declaration.name, parameter: key.to_owned(), accepted }
}
