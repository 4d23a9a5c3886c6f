//! Rotary position embeddings as configurations describe them.

use std::f64::consts::TAU;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Refusal;

/// A rotary position embedding (Su et al. 2021, section 3.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rope {
    /// Of a head of d values, the pair i is rotated by the position times theta^(-2i / d), before scaling.
    theta: f64,
    scaling: Scaling,
}

/// How the rotations of a model are slowed down for longer inputs than it was first trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scaling {
    /// Not at all. This is also what "dynamic" does with inputs that are not longer than the model's.
    None,
    /// All by one factor (Chen et al. 2023, section 2.3).
    Linear(f64),
    /// GTE's: a larger base, and all by the factor's power 2 / d (Su 2023, kexue.fm/archives/9706).
    Ntk(f64),
    /// LLaMA 3.1's: slow rotations by the factor, fast ones not, and those between in part.
    Llama3 { factor: f64, low: f64, high: f64, original: f64 },
    /// YaRN (Peng et al. 2023, section 3): the same with a ramp over the pairs, and larger cosines and sines.
    Yarn { factor: f64, ramp: [f64; 2], magnitude: f64 },
}

/// What a configuration says about rotary positions.
#[derive(Clone, Copy)]
pub(super) struct RopeFields<'a> {
    /// The tables: `rope_parameters`, and `rope_scaling` of transformers before 5. The fields of the first
    /// count before those of the second.
    pub(super) tables: [Option<&'a Value>; 2],
    /// The base, if no table has one.
    pub(super) theta: f64,
    pub(super) head_size: usize,
    /// The longest input.
    pub(super) positions: usize,
    /// The longest input of the first training, if it is outside the tables.
    pub(super) original: Option<&'a Value>,
    /// Whether GTE's "ntk" is known.
    pub(super) knows_ntk: bool,
}

/// The tables of a configuration that has one for all layers: `rope_scaling` where it is there and not empty.
pub(super) fn one_table<'a>(
    scaling: Option<&'a Value>,
    parameters: Option<&'a Value>,
) -> [Option<&'a Value>; 2] {
    let is_empty = |table: &&Value| table.is_null() || table.as_object().is_some_and(Map::is_empty);
    [scaling.filter(|table| !is_empty(table)).or(parameters), None]
}

/// `rope_parameters` of a model with two kinds of layers.
#[derive(Default, Deserialize)]
pub(super) struct TablesOfKinds {
    full_attention: Option<Value>,
    sliding_attention: Option<Value>,
}

impl TablesOfKinds {
    /// The rotations of global and of local layers. `scaling` has a table for each whose fields count first,
    /// and `thetas` the bases.
    pub(super) fn read(
        &self,
        scaling: [Option<&Value>; 2],
        thetas: [f64; 2],
        head_size: usize,
        positions: usize,
    ) -> Result<[Rope; 2], Refusal> {
        let read = |scaling, own: &Option<Value>, theta| {
            let tables = [scaling, own.as_ref()];
            RopeFields { tables, theta, head_size, positions, original: None, knows_ntk: false }.read()
        };
        let global = read(scaling[0], &self.full_attention, thetas[0])?;
        Ok([global, read(scaling[1], &self.sliding_attention, thetas[1])?])
    }
}

impl RopeFields<'_> {
    fn field(&self, name: &str) -> Option<&Value> {
        self.tables.iter().flatten().filter_map(|table| table.get(name)).find(|value| !value.is_null())
    }

    /// A positive number.
    fn number(&self, name: &str) -> Result<Option<f64>, Refusal> {
        self.field(name).map(|value| positive(name, value)).transpose()
    }

    /// The same where zero means that there is none.
    fn number_but_zero(&self, name: &str) -> Result<Option<f64>, Refusal> {
        if self.field(name).and_then(Value::as_f64) == Some(0.0) { Ok(None) } else { self.number(name) }
    }

    fn required(&self, name: &str) -> Result<f64, Refusal> {
        self.number(name)?.ok_or_else(|| Refusal::Invalid(format!("rotary positions without {name:?}")))
    }

    /// Reads a rotary embedding.
    pub(super) fn read(self) -> Result<Rope, Refusal> {
        for table in self.tables.into_iter().flatten().filter(|table| !table.is_null()) {
            let fields = table.as_object().map(|fields| fields.values().all(|field| !field.is_object()));
            if fields != Some(true) {
                let what = format!("a table of rotary positions (rope_parameters, rope_scaling) is {table}");
                return Err(Refusal::Invalid(what));
            }
        }
        let theta = self.number("rope_theta")?.unwrap_or(self.theta);
        if let Some(share) = self.field("partial_rotary_factor").filter(|share| share.as_f64() != Some(1.0)) {
            return Err(Refusal::Rotations(format!("partial_rotary_factor {share}")));
        }
        let kind = self.field("rope_type").or_else(|| self.field("type"));
        let scaling = match kind.map_or(Some("default"), Value::as_str) {
            Some("default" | "dynamic") => Scaling::None,
            Some("linear") => Scaling::Linear(self.required("factor")?),
            Some("ntk") if self.knows_ntk && self.field("mixed_b").is_none() => {
                Scaling::Ntk(self.required("factor")?)
            }
            Some("llama3") => self.llama3()?,
            Some("yarn") => self.yarn(theta)?,
            _ => {
                let table = self.tables.into_iter().flatten().next().unwrap_or(&Value::Null);
                return Err(Refusal::Rotations(format!("a rotary embedding of {table}")));
            }
        };
        Ok(Rope { theta, scaling })
    }

    /// The longest input of the first training.
    fn original(&self) -> Result<f64, Refusal> {
        const NAME: &str = "original_max_position_embeddings";
        let outside = self.original.filter(|value| !value.is_null());
        let outside = outside.map(|value| positive(NAME, value)).transpose()?;
        Ok(outside.or(self.number(NAME)?).unwrap_or(self.positions as f64))
    }

    fn llama3(&self) -> Result<Scaling, Refusal> {
        let (low, high) = (self.required("low_freq_factor")?, self.required("high_freq_factor")?);
        if low >= high {
            let problem = format!("low_freq_factor is {low}, and not below high_freq_factor, {high}");
            return Err(Refusal::Invalid(problem));
        }
        Ok(Scaling::Llama3 { factor: self.required("factor")?, low, high, original: self.original()? })
    }

    fn yarn(&self, theta: f64) -> Result<Scaling, Refusal> {
        let original = self.original()?;
        let factor = self.number("factor")?.unwrap_or(self.positions as f64 / original);
        // Peng et al. 2023, section 3.4, with DeepSeek's two scales.
        let magnitude_of = |scale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 };
        let magnitude = match (self.number_but_zero("mscale")?, self.number_but_zero("mscale_all_dim")?) {
            (Some(scale), Some(of_all)) => magnitude_of(scale) / magnitude_of(of_all),
            _ => magnitude_of(1.0),
        };
        let magnitude = self.number("attention_factor")?.unwrap_or(magnitude);
        // The pair that turns this many times in the original length.
        let pair = |turns: f64| self.head_size as f64 * (original / (turns * TAU)).ln() / (2.0 * theta.ln());
        let fast = self.number_but_zero("beta_fast")?.unwrap_or(32.0);
        let slow = self.number_but_zero("beta_slow")?.unwrap_or(1.0);
        // In transformers null is false here.
        let truncate = self.tables.iter().flatten().find_map(|table| table.get("truncate"));
        let (start, end) = match truncate.is_none_or(|truncate| *truncate == Value::Bool(true)) {
            true => (pair(fast).floor(), pair(slow).ceil()),
            false => (pair(fast), pair(slow)),
        };
        let (start, end) = (start.max(0.0), end.min(self.head_size as f64 - 1.0));
        let ramp = [start, if start == end { end + 0.001 } else { end }];
        Ok(Scaling::Yarn { factor, ramp, magnitude })
    }
}

fn positive(name: &str, value: &Value) -> Result<f64, Refusal> {
    let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| Refusal::Invalid(format!("{name} is {value}, not a positive number")))
}

impl Rope {
    /// One without scaling.
    pub(super) fn of_base(theta: f64) -> Self {
        Self { theta, scaling: Scaling::None }
    }

    /// Checks it for heads of this size.
    pub(super) fn check(&self, head_size: usize) -> Result<(), Refusal> {
        if !(self.theta.is_finite() && self.theta > 0.0) {
            return Err(Refusal::Invalid(format!("the base of the rotary positions is {:?}", self.theta)));
        }
        if !head_size.is_multiple_of(2) {
            return Err(Refusal::Invalid(format!("rotary positions in heads of {head_size}")));
        }
        let is_usable = |x: &f32| x.is_finite() && *x > 0.0;
        if !self.frequencies(head_size).iter().chain([&self.magnitude()]).all(is_usable) {
            return Err(Refusal::Invalid(format!("rotary positions with useless frequencies: {self}")));
        }
        Ok(())
    }

    /// What cosines and sines are multiplied by.
    pub(crate) fn magnitude(&self) -> f32 {
        match self.scaling {
            Scaling::Yarn { magnitude, .. } => magnitude as f32,
            _ => 1.0,
        }
    }

    /// The angle of each pair of a head's values, in radians a position: `[head size / 2]`. In f32, step by
    /// step as in transformers: at position 8,000, the last bit of an angle is 2e-4.
    pub(crate) fn frequencies(&self, head_size: usize) -> Vec<f32> {
        let power = |theta: f64, pair: usize| {
            let exponent = (2 * pair) as f32 / head_size as f32;
            libm::pow(f64::from(theta as f32), f64::from(exponent)) as f32
        };
        let frequency = |pair: usize| {
            let usual = 1.0 / power(self.theta, pair);
            match self.scaling {
                Scaling::None => usual,
                Scaling::Linear(factor) => usual / factor as f32,
                Scaling::Ntk(factor) => {
                    let of_all = libm::pow(factor, 2.0 / head_size as f64) as f32;
                    1.0 / power(self.theta * factor, pair) / of_all
                }
                Scaling::Llama3 { factor, low, high, original } => {
                    let turns = original / (TAU / f64::from(usual));
                    if turns > high {
                        usual
                    } else if turns < low {
                        usual / factor as f32
                    } else {
                        let kept = ((turns - low) / (high - low)) as f32;
                        (1.0 - kept) * usual / factor as f32 + kept * usual
                    }
                }
                Scaling::Yarn { factor, ramp: [start, end], .. } => {
                    let slowed = 1.0 / (factor as f32 * power(self.theta, pair));
                    let ramp = ((pair as f64 - start) / (end - start)).clamp(0.0, 1.0) as f32;
                    slowed * ramp + usual * (1.0 - ramp)
                }
            }
        };
        (0..head_size / 2).map(frequency).collect()
    }
}

/// For fingerprints and messages: without scaling the base alone.
impl fmt::Display for Rope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.theta)?;
        match self.scaling {
            Scaling::None => Ok(()),
            Scaling::Linear(factor) => write!(f, " linear {factor}"),
            Scaling::Ntk(factor) => write!(f, " ntk {factor}"),
            Scaling::Llama3 { factor, low, high, original } => {
                write!(f, " llama3 {factor} {low} {high} {original}")
            }
            Scaling::Yarn { factor, ramp: [start, end], magnitude } => {
                write!(f, " yarn {factor} {start} {end} {magnitude}")
            }
        }
    }
}
