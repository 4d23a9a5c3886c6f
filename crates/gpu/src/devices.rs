//! The devices that work runs on.

use std::sync::Arc;

use crate::device::{self, Device, DeviceFacts, Watcher};
use crate::error::DeviceError;

/// Opened devices, at least one.
#[derive(Clone, Debug)]
pub struct Devices(Vec<Arc<dyn Device>>);

impl Devices {
    /// How many GPUs the machine has.
    ///
    /// # Errors
    /// If this build or this machine cannot use a GPU: [`DeviceError::NotBuilt`], [`DeviceError::NoDriver`],
    /// [`DeviceError::StubDriver`], [`DeviceError::DriverTooOld`].
    pub fn count() -> Result<usize, DeviceError> {
        device::count()
    }

    /// The GPU with this number.
    ///
    /// # Errors
    /// Those of [`Devices::count`]; [`DeviceError::NoDevice`], [`DeviceError::TooOldDevice`], and
    /// [`DeviceError::Failed`].
    pub fn cuda(ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self(vec![device::open(ordinal)?]))
    }

    /// All GPUs.
    ///
    /// # Errors
    /// As for [`Devices::cuda`].
    pub fn all() -> Result<Self, DeviceError> {
        let count = Self::count()?;
        if count == 0 {
            return Err(DeviceError::NoDevice { ordinal: 0, count });
        }
        Ok(Self((0..count).map(device::open).collect::<Result<_, _>>()?))
    }

    /// A stand-in for each number of `memory`, with this many bytes. The CPU executes the kernels slowly,
    /// thread by thread, and checks what they do. For tests.
    #[cfg(any(test, feature = "shim"))]
    #[must_use]
    pub fn shim(memory: &[u64]) -> Self {
        let device = |(number, &bytes): (usize, &u64)| -> Arc<dyn Device> {
            Arc::new(device::HostDevice::new(number, bytes))
        };
        Self(memory.iter().enumerate().map(device).collect())
    }

    /// The machine's first GPU, or `None` if there is none that kernels can run on. If `prints`, every launch
    /// is printed; if `is_needed`, there must be one. For tests.
    ///
    /// # Panics
    /// If the GPU does not work, or is needed and missing: tests must not pass on a stand-in then.
    #[cfg(any(test, feature = "shim"))]
    #[must_use]
    #[expect(clippy::print_stderr, reason = "tests print their launches")]
    pub fn of_machine(prints: bool, is_needed: bool) -> Option<Self> {
        let devices = unless_broken(Self::cuda(0), is_needed)?;
        if prints {
            devices.watch(&(Arc::new(|launch: &device::Watched| eprintln!("{launch}")) as Watcher));
        }
        Some(devices)
    }

    /// The facts of each device.
    pub fn facts(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.0.iter().map(|device| device.facts())
    }

    /// Lets `watcher` see every launch until `work` has ended, or panicked. Each kernel is then waited for,
    /// which takes time.
    pub fn watched<T>(&self, watcher: &Watcher, work: impl FnOnce() -> T) -> T {
        let set = |device: &Arc<dyn Device>| device.controls().set_watcher(Some(watcher.clone()));
        let _watch = Watch { devices: self, before: self.0.iter().map(set).collect() };
        work()
    }

    /// Lets `watcher` see every launch from now on.
    pub fn watch(&self, watcher: &Watcher) {
        self.0.iter().for_each(|device| drop(device.controls().set_watcher(Some(watcher.clone()))));
    }

    /// Chooses kernels as for devices of at most this compute capability: to run an A100's kernels on an
    /// H100.
    pub fn limit_capability(&self, most: (u32, u32)) {
        self.0.iter().for_each(|device| device.controls().limit_capability(most));
    }

    /// Launches blocks as for devices of at most this many multiprocessors. For tests of small sizes, whose
    /// blocks would have a tile each.
    pub fn limit_multiprocessors(&self, most: u32) {
        self.0.iter().for_each(|device| device.controls().limit_multiprocessors(most));
    }

    /// Chooses kernels as for devices whose blocks have at most this much shared memory: 99 KB on GPUs for
    /// graphics, 163 KB on an A100, 227 KB on an H100.
    pub fn limit_shared_bytes(&self, most: u32) {
        self.0.iter().for_each(|device| device.controls().limit_shared_bytes(most));
    }

    /// Plans as for devices with at most this many bytes of memory each.
    pub fn limit_memory(&self, most: u64) {
        self.0.iter().for_each(|device| device.controls().limit_memory(most));
    }

    /// Leaves linear layers in f16 that are not gated to NVIDIA's cuBLASLt, from the next model on.
    pub fn use_library(&self) {
        self.0.iter().for_each(|device| device.controls().use_library());
    }

    /// The devices, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Device>> {
        self.0.iter()
    }
}

/// Gives devices their former watchers back when it ends.
struct Watch<'a> {
    devices: &'a Devices,
    before: Vec<Option<Watcher>>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        for (device, before) in self.devices.iter().zip(self.before.drain(..)) {
            device.controls().set_watcher(before);
        }
    }
}

/// What was opened, or `None` if there is nothing to open.
///
/// # Panics
/// On a failure, and if a device is needed and missing.
#[cfg(any(test, feature = "shim"))]
fn unless_broken(opened: Result<Devices, DeviceError>, is_needed: bool) -> Option<Devices> {
    match opened {
        Ok(devices) => Some(devices),
        Err(error) if is_needed || matches!(error, DeviceError::Failed { .. }) => panic!("{error}"),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::{Devices, unless_broken};
    use crate::device::{Watched, Watcher};
    use crate::error::DeviceError;

    #[test]
    fn a_panic_ends_the_watch() {
        let devices = Devices::shim(&[1000, 1000]);
        let watcher: Watcher = Arc::new(|_: &Watched| {});
        let work = || devices.watched(&watcher, || assert_eq!(devices.iter().len(), 0, "two devices"));
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
        assert!(devices.iter().all(|device| device.controls().watcher().is_none()));
    }

    #[test]
    fn a_machine_may_have_no_gpu() {
        assert!(unless_broken(Ok(Devices::shim(&[1000])), true).is_some());
        assert!(unless_broken(Err(DeviceError::NotBuilt), false).is_none());
        assert!(unless_broken(Err(DeviceError::NoDevice { ordinal: 0, count: 0 }), false).is_none());
    }

    #[test]
    #[should_panic(expected = "built without CUDA")]
    fn a_needed_gpu_must_be_there() {
        let _ = unless_broken(Err(DeviceError::NotBuilt), true);
    }

    #[test]
    #[should_panic(expected = "cuda:0: opening it failed: out of memory")]
    fn a_broken_gpu_is_not_replaced_by_a_stand_in() {
        let [name, call, message] = ["cuda:0", "opening it", "out of memory"].map(str::to_owned);
        let _ = unless_broken(Err(DeviceError::Failed { name, call, message, code: 2 }), false);
    }
}
