//! Where a model computes: a plan's network on the backend of a device.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use toller_checkpoint::{Fingerprint, ModelType};
use toller_gpu::{Device, DeviceError, Devices};
#[cfg(feature = "candle")]
use toller_nn::candle_core::DeviceLocation;
use toller_nn::{Backend, Cpu, Cuda, NnError, Precision, Work};
#[cfg(feature = "candle")]
use toller_nn::{Candle, CandleDevice};
use toller_simd::Isa;

use crate::EncoderError;
use crate::network::{Encode, Network, Output, Request};

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
    /// The precision of a model if none is asked for: f32 on the CPU; on GPUs f16, or bf16 for decoders,
    /// EuroBERT, Gemma and T5, which were trained in it. Their states may leave f16's range, and the sums of
    /// their many layers are f32 only in bf16.
    pub(crate) fn dtype_of(&self, model_type: ModelType) -> Precision {
        match model_type {
            _ if self.is_cpu() => Precision::F32,
            ModelType::T5 | ModelType::Mt5 => Precision::Bf16,
            other if other.is_like_llama() => Precision::Bf16,
            _ => Precision::F16,
        }
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
pub(crate) trait Plan: Sync {
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
    let load = |device: &Arc<dyn Device>, fingerprint: &mut Fingerprint| {
        plan.load(Cuda::new(device.clone(), dtype)?, fingerprint)
    };
    let mut devices = devices.iter();
    let first = devices.next().ok_or(DeviceError::NoDevice { ordinal: 0, count: 0 });
    // What cannot be loaded is found once.
    let (network, found) = load(first.map_err(NnError::from)?, fingerprint)?;
    let mut networks = vec![network];
    // The others get the same weights, at the same time. Loading does not call rayon.
    let others: Vec<Result<Network<Cuda>, EncoderError>> = thread::scope(|scope| {
        let start =
            |device| scope.spawn(move || load(device, &mut Fingerprint::new()).map(|(network, _)| network));
        let running: Vec<_> = devices.map(start).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    for network in others {
        networks.push(network?);
    }
    Ok((Box::new(Several::new(networks)), found))
}

/// Networks on devices of one kind, with the number of batches that each computes now.
struct Several<B: Backend>(Vec<(Network<B>, AtomicUsize)>);

/// A batch that a device computes.
struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<B: Backend> Several<B> {
    fn new(networks: Vec<Network<B>>) -> Self {
        Self(networks.into_iter().map(|network| (network, AtomicUsize::new(0))).collect())
    }

    /// Takes the network that computes the fewest batches. Another thread may take one at the same time. A
    /// device that is lost comes last: it fails at once, so it would get nearly all batches.
    fn least_busy(&self) -> (&Network<B>, Busy<'_>) {
        loop {
            let ranks = self.0.iter().map(|(network, busy)| {
                (network.backend().is_lost(), busy.load(Ordering::Relaxed), network, busy)
            });
            let least = ranks.min_by_key(|&(is_lost, count, ..)| (is_lost, count));
            if let Some((_, count, network, busy)) = least
                && busy.compare_exchange(count, count + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                return (network, Busy(busy));
            }
        }
    }

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

    fn shares_beginnings(&self, unpooled: usize, output: Output) -> bool {
        self.first().shares_beginnings(unpooled, output)
    }

    fn split_batches(&self) -> usize {
        self.0.iter().map(|(network, _)| network.split_batches()).sum()
    }

    fn encode(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
        let (network, _busy) = self.least_busy();
        network.encode(request, rows)
    }
}
