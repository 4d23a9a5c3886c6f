//! How queries are expanded, as arguments: `True`, or parameters by the names that Pyserini has for them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use toller_pipeline::feedback::{Feedback, Rm3, Rocchio, VectorFeedback};

use crate::error::Failed;
use crate::models::at_least_one;
use crate::whole::whole;

/// The largest weight.
const MOST_WEIGHT: f32 = 1e9;

/// `rm3` or `rocchio`.
#[derive(FromPyObject)]
pub(crate) enum Asked<'py> {
    /// Whether queries are expanded, with the usual parameters.
    Switch(bool),
    /// They are, with some parameters of the caller.
    Parameters(Bound<'py, PyDict>),
}

/// Calls `set` with each parameter and its value; false is the answer to an unknown one.
fn each(
    parameters: &Bound<'_, PyDict>,
    method: &str,
    known: &str,
    mut set: impl FnMut(&str, &Bound<'_, PyAny>) -> PyResult<bool>,
) -> PyResult<()> {
    for (name, value) in parameters {
        let name: String = name.extract()?;
        if !set(&name, &value)? {
            let failed = Failed::invalid(format!("{method} has no parameter {name:?}"));
            return Err(failed.hint(format!("there are {known}")).into());
        }
    }
    Ok(())
}

/// The expansion that is asked for, if one is.
pub(crate) fn feedback(rm3: Option<Asked<'_>>, rocchio: Option<Asked<'_>>) -> PyResult<Option<Feedback>> {
    let is_wanted = |asked: &Asked<'_>| !matches!(asked, Asked::Switch(false));
    match (rm3.filter(is_wanted), rocchio.filter(is_wanted)) {
        (Some(_), Some(_)) => {
            Err(Failed::invalid("rm3 and rocchio").hint("expand queries by one of them").into())
        }
        (Some(rm3), None) => Ok(Some(Feedback::Rm3(rm3_of(&rm3)?))),
        (None, Some(rocchio)) => Ok(Some(Feedback::Rocchio(rocchio_of(&rocchio)?))),
        (None, None) => Ok(None),
    }
}

fn rm3_of(asked: &Asked<'_>) -> PyResult<Rm3> {
    let mut rm3 = Rm3::default();
    let Asked::Parameters(parameters) = asked else { return Ok(rm3) };
    each(parameters, "rm3", "fb_terms, fb_docs, original_query_weight and filter_terms", |name, value| {
        match name {
            "fb_terms" => rm3.terms = count(name, value)?,
            "fb_docs" => rm3.documents = count(name, value)?,
            "original_query_weight" => rm3.original_weight = weight(name, value, 1.0)?,
            "filter_terms" => rm3.filter_terms = value.extract()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(rm3)
}

fn rocchio_of(asked: &Asked<'_>) -> PyResult<Rocchio> {
    let known =
        "top_fb_terms, top_fb_docs, bottom_fb_terms, bottom_fb_docs, alpha, beta, gamma and use_negative";
    let mut rocchio = Rocchio::default();
    let Asked::Parameters(parameters) = asked else { return Ok(rocchio) };
    each(parameters, "rocchio", known, |name, value| {
        match name {
            "top_fb_terms" => rocchio.top_terms = count(name, value)?,
            "top_fb_docs" => rocchio.top_documents = count(name, value)?,
            "bottom_fb_terms" => rocchio.bottom_terms = count(name, value)?,
            "bottom_fb_docs" => rocchio.bottom_documents = count(name, value)?,
            "alpha" => rocchio.alpha = weight(name, value, MOST_WEIGHT)?,
            "beta" => rocchio.beta = weight(name, value, MOST_WEIGHT)?,
            "gamma" => rocchio.gamma = weight(name, value, MOST_WEIGHT)?,
            "use_negative" => rocchio.use_negative = value.extract()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(rocchio)
}

/// `vector_prf`.
#[derive(FromPyObject)]
pub(crate) enum AskedOfVectors<'py> {
    /// The method, with the usual parameters.
    Method(String),
    /// The method and parameters of the caller.
    Parameters(Bound<'py, PyDict>),
}

/// How the vectors of queries are moved.
pub(crate) fn vector_feedback(asked: &AskedOfVectors<'_>) -> PyResult<VectorFeedback> {
    let (mut method, mut documents, mut alpha, mut beta) = (None, None, None, None);
    match asked {
        AskedOfVectors::Method(name) => method = Some(name.clone()),
        AskedOfVectors::Parameters(parameters) => {
            each(parameters, "vector_prf", "method, docs, alpha and beta", |name, value| {
                match name {
                    "method" => method = Some(value.extract()?),
                    "docs" => documents = Some(count(name, value)?),
                    "alpha" => alpha = Some(weight(name, value, MOST_WEIGHT)?),
                    "beta" => beta = Some(weight(name, value, MOST_WEIGHT)?),
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
    }
    let Some(method) = method else {
        let failed = Failed::invalid("vector_prf has no method");
        return Err(failed.hint("give \"average\" or \"rocchio\"").into());
    };
    let method = method.parse().map_err(Failed::from)?;
    let feedback = VectorFeedback::new(method, documents, alpha, beta);
    Ok(feedback.map_err(|error| Failed::invalid(error.to_string()).hint(error.hint()))?)
}

fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let count = whole(value)?;
    at_least_one(name, Some(count))?;
    Ok(count)
}

fn weight(name: &str, value: &Bound<'_, PyAny>, most: f32) -> PyResult<f32> {
    let weight: f32 = value.extract()?;
    match (0.0..=most).contains(&weight) {
        true => Ok(weight),
        false => Err(Failed::invalid(format!("{name}={weight}"))
            .hint(format!("give a number from 0 to {most:e}"))
            .into()),
    }
}
