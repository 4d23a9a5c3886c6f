//! Rotary position embeddings as configurations describe them.

use std::f64::consts::TAU;
use std::fmt;

use serde_json::Value;

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
#[derive(Clone, Copy, Default)]
pub(super) struct RopeFields<'a> {
    /// `rope_parameters`, or `rope_scaling` before transformers 5.
    pub(super) table: Option<&'a Value>,
    /// The base, if the table has none.
    pub(super) theta: f64,
    pub(super) head_size: usize,
    /// The longest input.
    pub(super) positions: usize,
    /// The longest input of the first training, if it is outside the table.
    pub(super) original: Option<usize>,
}

impl RopeFields<'_> {
    fn field(&self, name: &str) -> Option<&Value> {
        self.table.and_then(|table| table.get(name)).filter(|value| !value.is_null())
    }

    /// A positive number of the table.
    fn number(&self, name: &str) -> Result<Option<f64>, Refusal> {
        let Some(value) = self.field(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0);
        number.map(Some).ok_or_else(|| Refusal::Invalid(format!("{name} is {value}, not a positive number")))
    }

    fn required(&self, name: &str) -> Result<f64, Refusal> {
        self.number(name)?.ok_or_else(|| Refusal::Invalid(format!("rotary positions without {name:?}")))
    }

    /// Reads a rotary embedding.
    pub(super) fn read(self) -> Result<Rope, Refusal> {
        let theta = self.number("rope_theta")?.unwrap_or(self.theta);
        if let Some(share) = self.field("partial_rotary_factor").filter(|share| share.as_f64() != Some(1.0)) {
            return Err(Refusal::Unsupported(format!("partial_rotary_factor {share}")));
        }
        let original = || {
            let default = self.positions as f64;
            let outside = self.original.map(|original| original as f64);
            Ok(outside.or(self.number("original_max_position_embeddings")?).unwrap_or(default))
        };
        let scaling = match self.field("rope_type").or_else(|| self.field("type")).map(Value::as_str) {
            None | Some(Some("default" | "dynamic")) => Scaling::None,
            Some(Some("linear")) => Scaling::Linear(self.required("factor")?),
            Some(Some("ntk")) if self.field("mixed_b").is_none() => Scaling::Ntk(self.required("factor")?),
            Some(Some("llama3")) => Scaling::Llama3 {
                factor: self.required("factor")?,
                low: self.required("low_freq_factor")?,
                high: self.required("high_freq_factor")?,
                original: original()?,
            },
            Some(Some("yarn")) => self.yarn(theta, original()?)?,
            Some(_) => {
                let table = self.table.unwrap_or(&Value::Null);
                return Err(Refusal::Unsupported(format!("rotary positions {table}")));
            }
        };
        Ok(Rope { theta, scaling })
    }

    fn yarn(&self, theta: f64, original: f64) -> Result<Scaling, Refusal> {
        let factor = self.number("factor")?.unwrap_or(self.positions as f64 / original);
        // Peng et al. 2023, section 3.4, with DeepSeek's two scales.
        let magnitude_of = |scale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 };
        let magnitude = match (self.number("mscale")?, self.number("mscale_all_dim")?) {
            (Some(scale), Some(of_all)) => magnitude_of(scale) / magnitude_of(of_all),
            _ => magnitude_of(1.0),
        };
        let magnitude = self.number("attention_factor")?.unwrap_or(magnitude);
        // The pair that turns this many times in the original length.
        let pair = |turns: f64| self.head_size as f64 * (original / (turns * TAU)).ln() / (2.0 * theta.ln());
        let (fast, slow) =
            (self.number("beta_fast")?.unwrap_or(32.0), self.number("beta_slow")?.unwrap_or(1.0));
        let is_whole = self.field("truncate").is_none_or(|truncate| *truncate != Value::Bool(false));
        let (start, end) = match is_whole {
            true => (pair(fast).floor(), pair(slow).ceil()),
            false => (pair(fast), pair(slow)),
        };
        let (start, end) = (start.max(0.0), end.min(self.head_size as f64 - 1.0));
        let ramp = [start, if start == end { end + 0.001 } else { end }];
        Ok(Scaling::Yarn { factor, ramp, magnitude })
    }
}

impl Rope {
    /// One without scaling.
    pub(super) fn of_base(theta: f64) -> Self {
        Self { theta, scaling: Scaling::None }
    }

    /// Checks it for heads of this size.
    pub(super) fn check(&self, head_size: usize) -> Result<(), Refusal> {
        if !(self.theta.is_finite() && self.theta > 0.0) {
            return Err(Refusal::Invalid(format!("the base of the rotary positions is {}", self.theta)));
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
