//! Where a model computes: a plan's network on the backend of a device.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use toller_checkpoint::Fingerprint;
use toller_gpu::Devices;
#[cfg(feature = "candle")]
use toller_nn::candle_core::DeviceLocation;
use toller_nn::{Backend, Cpu, Cuda, Precision, Work};
#[cfg(feature = "candle")]
use toller_nn::{Candle, CandleDevice};
use toller_simd::Isa;

use crate::EncoderError;
use crate::network::{Encode, Network, Request};

/// Where a model computes.
#[derive(Clone, Debug, Default)]
pub enum Compute {
    /// On the threads of the CPU.
    #[default]
    Cpu,
    /// On GPUs, each with the whole model.
    Gpus(Devices),
    /// Through candle, on one of its devices.
    #[cfg(feature = "candle")]
    Candle(CandleDevice),
}

impl Compute {
    /// The precision that is used if none is asked for.
    #[must_use]
    pub fn dtype(&self) -> Precision {
        if self.is_cpu() { Precision::F32 } else { Precision::F16 }
    }

    /// Whether the CPU computes.
    #[must_use]
    pub fn is_cpu(&self) -> bool {
        match self {
            Self::Cpu => true,
            Self::Gpus(_) => false,
            #[cfg(feature = "candle")]
            Self::Candle(device) => device.device().is_cpu(),
        }
    }

    /// The names of the devices, or the CPU's instruction set.
    #[must_use]
    pub fn device(&self) -> String {
        match self {
            Self::Cpu => Isa::active().to_string(),
            Self::Gpus(devices) => names(devices),
            #[cfg(feature = "candle")]
            Self::Candle(device) => match device.device().location() {
                DeviceLocation::Cpu => "candle on the CPU".to_owned(),
                DeviceLocation::Cuda { gpu_id } => format!("candle on cuda:{gpu_id}"),
                DeviceLocation::Metal { gpu_id } => format!("candle on metal:{gpu_id}"),
            },
        }
    }

    /// Whether a vector's bits do not depend on the other texts of its batch.
    #[must_use]
    pub fn keeps_bits(&self) -> bool {
        match self {
            Self::Cpu | Self::Gpus(_) => true,
            #[cfg(feature = "candle")]
            Self::Candle(_) => false,
        }
    }

    /// The name of a precision here, for what is kept: one precision has other bits on another backend, and
    /// on GPUs of another generation.
    #[must_use]
    pub fn name_of(&self, dtype: Precision) -> String {
        match self {
            Self::Cpu => dtype.to_string(),
            Self::Gpus(devices) => {
                let first = devices.iter().next().map(|device| device.capability());
                let (major, minor) = first.unwrap_or_default();
                format!("{dtype} on CUDA {major}.{minor}")
            }
            #[cfg(feature = "candle")]
            Self::Candle(device) => format!("{dtype} by candle on {}", device.kind()),
        }
    }
}

fn names(devices: &Devices) -> String {
    devices.facts().map(|facts| facts.name.clone()).collect::<Vec<_>>().join(", ")
}

/// What a network is loaded from.
pub(crate) trait Plan {
    /// What loading finds besides the network.
    type Found;

    /// Loads the parameters for a backend, and adds everything that determines the network's results to the
    /// fingerprint.
    fn load<B: Backend>(
        &self,
        backend: B,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Network<B>, Self::Found), EncoderError>;
}

/// Loads the network of a plan to where it computes.
pub(crate) fn open<P: Plan>(
    plan: &P,
    compute: &Compute,
    dtype: Precision,
    fingerprint: &mut Fingerprint,
) -> Result<(Box<dyn Encode>, P::Found), EncoderError> {
    match compute {
        Compute::Cpu => on_one(plan, Cpu::new(dtype), fingerprint),
        Compute::Gpus(devices) => on_gpus(plan, devices, dtype, fingerprint),
        #[cfg(feature = "candle")]
        Compute::Candle(device) => on_one(plan, Candle::new(device.device().clone(), dtype)?, fingerprint),
    }
}

fn on_one<P: Plan, B: Backend>(
    plan: &P,
    backend: B,
    fingerprint: &mut Fingerprint,
) -> Result<(Box<dyn Encode>, P::Found), EncoderError> {
    let (network, found) = plan.load(backend, fingerprint)?;
    Ok((Box::new(network), found))
}

fn on_gpus<P: Plan>(
    plan: &P,
    devices: &Devices,
    dtype: Precision,
    fingerprint: &mut Fingerprint,
) -> Result<(Box<dyn Encode>, P::Found), EncoderError> {
    let generations: BTreeSet<_> = devices.iter().map(|device| device.capability()).collect();
    if generations.len() > 1 {
        return Err(EncoderError::MixedDevices { devices: names(devices) });
    }
    let mut networks = Several::default();
    let mut found = None;
    for device in devices.iter() {
        let backend = Cuda::new(device.clone(), dtype)?;
        // Every device has the same weights: those of the first count.
        let mut same = Fingerprint::new();
        let fingerprint = if found.is_none() { &mut *fingerprint } else { &mut same };
        let (network, of_network) = plan.load(backend, fingerprint)?;
        networks.0.push((network, AtomicUsize::new(0)));
        found.get_or_insert(of_network);
    }
    let found = found.ok_or(toller_gpu::DeviceError::NoDevice { ordinal: 0, count: 0 });
    Ok((Box::new(networks), found.map_err(toller_nn::NnError::from)?))
}

/// Networks on devices of one kind, with the number of batches that each computes now.
struct Several<B: Backend>(Vec<(Network<B>, AtomicUsize)>);

impl<B: Backend> Default for Several<B> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A batch that a device computes.
struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<B: Backend> Several<B> {
    fn first(&self) -> &Network<B> {
        &self.0[0].0
    }
}

impl<B: Backend> Encode for Several<B> {
    /// Batches of the smallest budget, and all sessions.
    fn work(&self) -> Work {
        let works = || self.0.iter().map(|(network, _)| network.work());
        let mut work = self.first().work();
        work.batch_tokens = works().map(|work| work.batch_tokens).min().unwrap_or(work.batch_tokens);
        work.sessions = works().map(|work| work.sessions).sum();
        work
    }

    fn dim(&self) -> usize {
        self.first().dim()
    }

    fn normalizes(&self) -> bool {
        self.first().normalizes()
    }

    fn truncates(&self) -> bool {
        self.first().truncates()
    }

    fn prefix_tokens(&self) -> usize {
        self.first().prefix_tokens()
    }

    fn split_batches(&self) -> usize {
        self.0.iter().map(|(network, _)| network.split_batches()).sum()
    }

    fn encode(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
        let least = self.0.iter().min_by_key(|(_, busy)| busy.load(Ordering::Relaxed));
        let (network, busy) = least.unwrap_or(&self.0[0]);
        busy.fetch_add(1, Ordering::Relaxed);
        let _busy = Busy(busy);
        network.encode(request, rows)
    }
}
