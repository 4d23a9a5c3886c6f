//! What benchmarks run on: the CPU, or devices; and the rates that it allows.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};
use toller_bench::limits::{Limits, matrix_rate, read_rate};
use toller_bench::search::Case;
use toller_bench::{BenchError, Budget};
use toller_encoder::Compute;
use toller_engine::Device;
use toller_gpu::{DeviceError, Devices, KernelTime, KernelTimes};
use toller_simd::Isa;
use toller_topk::cuda::{DevicePlan, DeviceSearch};
use toller_topk::{IpTopkError, IpTopkOptions, Scan, TopK};

use super::options::BenchOptions;
use super::output::giga;
use super::search_source::Source;
use crate::args::device;
use crate::error::Remedied;
use crate::ui::Ui;
use crate::{engine, flags};

/// A compute capability, as kernels are chosen for.
pub(super) type Capability = (u32, u32);

/// What a benchmark asks devices to do without.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceLimits {
    /// Kernels are chosen as for at most this compute capability.
    pub(super) capability: Option<Capability>,
    /// The most bytes of memory.
    pub(super) memory: Option<u64>,
}

impl DeviceLimits {
    /// Whether there is one.
    pub(super) fn is_any(self) -> bool {
        self.capability.is_some() || self.memory.is_some()
    }

    fn apply(self, devices: &Devices) {
        self.capability.iter().for_each(|&most| devices.limit_capability(most));
        self.memory.iter().for_each(|&most| devices.limit_memory(most));
    }
}

/// Reads a compute capability from a flag.
pub(super) fn capability(text: &str) -> Result<Capability, String> {
    let numbers =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| "two numbers, as in 8.0".to_owned())
}

/// That cuBLAS is missing, and where to get it.
fn no_cublas() -> String {
    let what = "the rate of matrix products";
    flags::in_one_line(&DeviceError::NoLibrary { what, library: "libcublas.so.13" })
}

/// Multiplications and additions a second of large matrix products, with which models are compared.
pub(super) struct MatrixLimit {
    /// Infinite where it is not known.
    pub(super) rate: f64,
    is_gpu: bool,
}

impl MatrixLimit {
    /// That of the GPUs, in f16, or else of the CPU's threads, in f32. `device` is the flag's value.
    pub(super) fn measure(compute: &Compute, device: Device, budget: &Budget) -> crate::Result<Self> {
        match compute {
            Compute::Gpus(devices) if !device.is_stand_in() => {
                let rates = devices.rates().map_err(IpTopkError::Device)?;
                Ok(Self { rate: rates.matrix_rate.unwrap_or(f64::INFINITY), is_gpu: true })
            }
            _ => Ok(Self { rate: matrix_rate(budget)?, is_gpu: false }),
        }
    }

    /// The limit as JSON.
    pub(super) fn json(&self) -> Value {
        json!({ "matrix_gflop_per_second": self.rate.is_finite().then_some(self.rate * 1e-9) })
    }
}

/// A line for the reader.
impl fmt::Display for MatrixLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = giga(self.rate);
        match self.is_gpu {
            false => write!(f, "limit: f32 matrix products {rate} GFLOP/s"),
            true if self.rate.is_finite() => write!(f, "limit: f16 matrix products {rate} GFLOP/s (cuBLAS)"),
            true => f.write_str(&no_cublas()),
        }
    }
}

/// What searches.
pub(super) struct Machine {
    devices: Option<Devices>,
    /// The vectors on the devices: how many, how they are scanned, and where.
    loaded: Option<(usize, Scan, DeviceSearch)>,
    threads: usize,
    /// Whether the devices are a stand-in: the CPU instead of GPUs.
    is_stand_in: bool,
}

impl Machine {
    /// Opens the device, and chooses its kernels.
    pub(super) fn open(device: Device, limits: DeviceLimits, threads: usize, ui: &Ui) -> crate::Result<Self> {
        device::check(device)?;
        let engine = engine::open_adjusting(move |devices| limits.apply(devices), ui)?;
        let devices = engine.devices(device).map_err(engine::in_flags)?;
        Ok(Self { devices, loaded: None, threads, is_stand_in: device.is_stand_in() })
    }

    /// Whether searches launch kernels.
    pub(super) fn has_kernels(&self) -> bool {
        self.devices.is_some()
    }

    /// The machine, in a few words.
    pub(super) fn describe(&self) -> String {
        match &self.devices {
            None => format!("{}, {} threads", Isa::active(), self.threads),
            Some(devices) => devices.facts().map(|facts| facts.name.clone()).collect::<Vec<_>>().join(", "),
        }
    }

    /// The rates to which searches are compared.
    pub(super) fn limits(
        &self,
        source: &Source,
        options: &BenchOptions,
        rounds: usize,
    ) -> Result<Limits, BenchError> {
        match &self.devices {
            Some(devices) if !self.is_stand_in => {
                let rates = devices.rates().map_err(IpTopkError::Device)?;
                Ok(Limits {
                    read_rate: rates.copy_rate,
                    upload_rate: rates.upload_rate,
                    matrix_rate: rates.matrix_rate.unwrap_or(f64::INFINITY),
                })
            }
            _ => {
                let budget = options.time.budget(rounds);
                Ok(Limits {
                    read_rate: read_rate(&source.bytes(), &budget),
                    upload_rate: f64::INFINITY,
                    matrix_rate: matrix_rate(&budget)?,
                })
            }
        }
    }

    /// The limits, in words.
    pub(super) fn say(&self, limits: &Limits) -> String {
        let (read, matrix) = (giga(limits.read_rate), giga(limits.matrix_rate));
        if self.devices.is_some() && !self.is_stand_in {
            let end = if limits.matrix_rate.is_finite() {
                format!(", f16 matrix products {matrix} GFLOP/s (cuBLAS)")
            } else {
                format!("; {}", no_cublas())
            };
            let upload = giga(limits.upload_rate);
            format!("limits: copies {read} GB/s (read and written), uploads {upload} GB/s{end}")
        } else {
            format!("limits: reads {read} GB/s (of these vectors), f32 matrix products {matrix} GFLOP/s")
        }
    }

    /// Groups cases that scan the same vectors in the same way, so that devices get the vectors once.
    pub(super) fn order(&self, cases: &mut [Case]) {
        if self.devices.is_some() {
            cases.sort_by_key(|case| (case.vectors, case.scan as usize));
        }
    }

    /// Bytes that a scan reads.
    pub(super) fn scanned_bytes(&mut self, source: &Source, case: &Case) -> Result<usize, BenchError> {
        let Some(index) = self.load(source, case)? else {
            return Ok(source.scanned_bytes(case.vectors, case.scan));
        };
        // One byte per number, a scale and two norms; or the numbers as stored, and a norm. A device without
        // room for codes scans what is stored.
        let (coded, stored) = (source.dim + 12, source.dim * source.dtype.size() + 4);
        let of_device = |plan: &DevicePlan| plan.rows as usize * if plan.codes > 0 { coded } else { stored };
        Ok(index.plans().map(of_device).sum())
    }

    /// The vectors of a case on the devices; nothing on the CPU.
    fn load(&mut self, source: &Source, case: &Case) -> Result<Option<&DeviceSearch>, BenchError> {
        let Some(devices) = &self.devices else { return Ok(None) };
        let is_loaded =
            |(vectors, scan, _): &(usize, Scan, DeviceSearch)| (*vectors, *scan) == (case.vectors, case.scan);
        let loaded = match self.loaded.take().filter(is_loaded) {
            Some(loaded) => loaded,
            None => {
                let collection = source.collection(case.vectors)?;
                (case.vectors, case.scan, DeviceSearch::new(devices, &collection, case.scan, &|_| {})?)
            }
        };
        Ok(Some(&self.loaded.insert(loaded).2))
    }

    pub(super) fn search(
        &mut self,
        source: &Source,
        case: &Case,
        queries: &[f32],
    ) -> Result<TopK, BenchError> {
        let Some(index) = self.load(source, case)? else {
            return source.search(case.vectors, queries, case.k, case.scan);
        };
        let collection = source.collection(case.vectors)?;
        Ok(index.search(&collection, queries, case.k, &IpTopkOptions::default())?)
    }

    /// Bytes of the vectors that were searched last which do not fit the devices: they are copied for every
    /// search.
    pub(super) fn uploaded_bytes(&self, source: &Source) -> usize {
        let Some((_, _, index)) = &self.loaded else { return 0 };
        let streamed: u64 = index.plans().map(|plan| plan.rows - plan.resident_rows).sum();
        streamed as usize * source.dim * source.dtype.size()
    }

    /// Compares the hits of some queries of a batch (the first, the middle and the last) with those of the
    /// CPU.
    pub(super) fn check_hits(&mut self, source: &Source, case: &Case, queries: &[f32]) -> crate::Result<()> {
        let of_query = |query: usize| &queries[query * source.dim..][..source.dim];
        let checked = BTreeSet::from([0, case.queries / 2, case.queries - 1]);
        let some: Vec<f32> = checked.iter().flat_map(|&query| of_query(query)).copied().collect();
        let expected = source.search(case.vectors, &some, case.k, Scan::Auto)?;
        let found = self.search(source, case, queries)?;
        let mut pairs = checked.into_iter().zip(&expected.rankings);
        if let Some((query, _)) = pairs.find(|(query, expected)| found.rankings[*query] != **expected) {
            let Case { vectors, queries, k, scan } = case;
            let message = format!(
                "query {query} of {queries}, {vectors} vectors, k {k}, {scan}: the hits are not those of the CPU"
            );
            return Err(Remedied::new(message, "report it, with the output of toller doctor").into());
        }
        Ok(())
    }

    /// The time of each kernel in one search; nothing on the CPU, which has none.
    pub(super) fn kernel_times(
        &mut self,
        source: &Source,
        case: &Case,
        queries: &[f32],
    ) -> Result<Vec<KernelTime>, BenchError> {
        let Some(devices) = self.devices.clone() else { return Ok(Vec::new()) };
        let times = KernelTimes::default();
        devices.watched(&times.watcher(), || self.search(source, case, queries))?;
        Ok(times.all())
    }
}
