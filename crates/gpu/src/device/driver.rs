//! A GPU, through CUDA's driver. It is loaded when first needed: a machine without it runs the same binary.
//!
//! The context is the device's primary context, as candle's is, so that each can use the other's memory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUfunction_attribute_enum as FunctionAttribute;
use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result};
use toller_ir::locked;

use super::blas_lt::BlasLt;
use super::copy_queues::COPY_QUEUES;
use super::event::Event;
use super::{
    Address, COMMON_SHARED_BYTES, Device, DeviceFacts, DeviceState, Launch, LibraryProduct, Mark, Matrix,
    Queue, TensorMap, Waiting,
};
use crate::error::{DeviceError, is_sticky};

mod embedded {
    //! The kernels, as the build script writes them.
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

/// The least compute capability that there is code for.
const LEAST_CAPABILITY: (u32, u32) = (8, 0);

/// Bytes of a row of a box that bulk tensor copies bring: what the swizzle permutes.
const BOX_BYTES: u32 = 128;

/// An opened GPU.
#[derive(Debug)]
pub(crate) struct CudaDevice {
    state: DeviceState,
    context: Arc<CudaContext>,
    compute: Arc<CudaStream>,
    copies: Vec<Arc<CudaStream>>,
    loaded: Mutex<Loaded>,
    /// NVIDIA's library of products, once it is used.
    blas_lt: Mutex<Option<BlasLt>>,
    /// Memory that is set before work is timed; 0 if there is no room for it.
    delay: OnceLock<u64>,
}

/// The kernels that are in use, by name, and the modules that they are in.
#[derive(Debug, Default)]
struct Loaded {
    modules: HashMap<&'static str, Arc<CudaModule>>,
    functions: HashMap<&'static str, CudaFunction>,
}

/// The modules that may have a kernel. First come those whose names share the most words with the kernel's.
fn modules_of(kernel: &str) -> Vec<&'static (&'static str, &'static [u8])> {
    let words = kernel.strip_prefix("toller_").unwrap_or(kernel);
    let shared = |module: &str| {
        module.split('_').zip(words.split('_')).take_while(|(ours, theirs)| ours == theirs).count()
    };
    let mut modules: Vec<_> = embedded::MODULES.iter().filter(|(name, _)| shared(name) > 0).collect();
    modules.sort_by_key(|(name, _)| Reverse(shared(name)));
    modules
}

/// Bytes that take about as long to set as a kernel takes to be launched.
const DELAY_BYTES: usize = 32 << 20;

/// How long a thread asks whether work is done before it sleeps: longer than a single query takes. It is
/// woken 10 to 20 microseconds late, which matters then; other threads need the processor while a batch is
/// computed.
const ASKING: Duration = Duration::from_millis(1);

/// See [`super::count`].
pub(crate) fn count() -> Result<usize, DeviceError> {
    // SAFETY: loading the library runs the initialization of NVIDIA's driver, or of the library in its place.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoDriver);
    }
    let failed = |call: &str, code: CUresult| DeviceError::Failed {
        name: "the driver".to_owned(),
        call: call.to_owned(),
        message: format!("{code:?}"),
        code: code as u32,
    };
    let mut version = 0;
    // SAFETY: the library is present, this call needs no initialization, and `version` can be written.
    match unsafe { sys::cuDriverGetVersion(&raw mut version) } {
        CUresult::CUDA_SUCCESS => {}
        CUresult::CUDA_ERROR_STUB_LIBRARY => return Err(DeviceError::StubDriver),
        code => return Err(failed("cuDriverGetVersion", code)),
    }
    let version = version.unsigned_abs();
    let found = (version / 1000, version % 1000 / 10);
    // Machine code runs with any driver of its major release; PTX needs one as new as its compiler.
    if found.0 < embedded::TOOLKIT.0 {
        return Err(DeviceError::DriverTooOld { found, needed: embedded::TOOLKIT });
    }
    // SAFETY: the library is present.
    match unsafe { sys::cuInit(0) } {
        CUresult::CUDA_SUCCESS => {}
        CUresult::CUDA_ERROR_NO_DEVICE => return Ok(0),
        CUresult::CUDA_ERROR_STUB_LIBRARY => return Err(DeviceError::StubDriver),
        code => return Err(failed("cuInit", code)),
    }
    let count = result::device::get_count().map_err(|DriverError(code)| failed("cuDeviceGetCount", code))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

impl CudaDevice {
    /// See [`super::open`].
    pub(crate) fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let count = count()?;
        if ordinal >= count {
            return Err(DeviceError::NoDevice { ordinal, count });
        }
        let unnamed = format!("cuda:{ordinal}");
        let failed = |call: &'static str| {
            let name = unnamed.clone();
            move |error: DriverError| failure(name, call, error)
        };
        let context = CudaContext::new(ordinal).map_err(failed("opening it"))?;
        let name = context.name().map_err(failed("cuDeviceGetName"))?;
        let name = format!("cuda:{ordinal} ({name})");
        let attribute = |attribute| -> Result<u32, DeviceError> {
            let value = context.attribute(attribute).map_err(failed("cuDeviceGetAttribute"))?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let capability = (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        if capability < LEAST_CAPABILITY {
            return Err(DeviceError::TooOldDevice { name, capability });
        }
        let facts = DeviceFacts {
            capability,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            memory_bytes: context.total_mem().map_err(failed("cuDeviceTotalMem"))? as u64,
            name,
        };
        let stream = || context.new_stream().map_err(failed("cuStreamCreate"));
        // First, so that it has a connection to the device for itself.
        let compute = stream()?;
        let copies = (0..COPY_QUEUES).map(|_| stream()).collect::<Result<_, _>>()?;
        Ok(Self {
            state: DeviceState::new(facts),
            context,
            compute,
            copies,
            loaded: Mutex::default(),
            blas_lt: Mutex::default(),
            delay: OnceLock::new(),
        })
    }

    /// The stream of [`Queue::Compute`], with its context bound to this thread.
    pub(super) fn stream(&self) -> Result<&CudaStream, DeviceError> {
        self.bind()?;
        Ok(&self.compute)
    }

    /// Gives the device something to do while the host prepares a launch. Else the launch counts as time of a
    /// kernel that is measured alone.
    fn delay(&self) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: only `memset` below writes to this memory, and nothing reads it.
        let memory = *self.delay.get_or_init(|| unsafe { result::malloc_sync(DELAY_BYTES) }.unwrap_or(0));
        if memory == 0 {
            return Ok(());
        }
        // SAFETY: the memory has these bytes, and lives as long as the device.
        let filled = unsafe { result::memset_d8_async(memory, 0, DELAY_BYTES, self.compute.cu_stream()) };
        self.check("cuMemsetD8Async", filled)
    }

    fn queue(&self, queue: Queue) -> &Arc<CudaStream> {
        match queue {
            Queue::Compute => &self.compute,
            Queue::Copy(number) => &self.copies[number],
        }
    }

    /// An event, of those that `made` makes, that happens when what is queued so far is done.
    fn event(&self, made: Result<Event, DriverError>, queue: Queue) -> Result<Event, DeviceError> {
        let event = self.check("cuEventCreate", made)?;
        self.record(&event, queue)?;
        Ok(event)
    }

    fn record(&self, event: &Event, queue: Queue) -> Result<(), DeviceError> {
        self.check("cuEventRecord", event.record(self.queue(queue)))
    }

    fn wait_for(&self, event: &Event, waiting: Waiting) -> Result<(), DeviceError> {
        let asked = Instant::now();
        while waiting == Waiting::Awake && asked.elapsed() < ASKING {
            if self.check("cuEventQuery", event.has_happened())? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.check("cuEventSynchronize", event.wait())
    }

    /// Adds the call's and the device's names to an error.
    fn check<T>(&self, call: &str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
        result.map_err(|error| {
            if is_sticky(error.0 as u32) {
                self.state.lose();
            }
            failure(self.state.facts.name.clone(), call, error)
        })
    }

    /// Binds the context to this thread, as every call requires.
    fn bind(&self) -> Result<(), DeviceError> {
        self.check("cuCtxSetCurrent", self.context.bind_to_thread())
    }

    /// The kernel with this name. Modules are loaded as far as they are needed: the driver of a GPU that is
    /// newer than the compiler compiles each of them, which takes seconds.
    fn find(
        &self,
        modules: &mut HashMap<&'static str, Arc<CudaModule>>,
        name: &'static str,
    ) -> Result<CudaFunction, DeviceError> {
        let missing = DriverError(CUresult::CUDA_ERROR_NOT_FOUND);
        let mut found = Err(missing);
        for (module, bytes) in modules_of(name) {
            let loaded = match modules.entry(module) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let binary = cudarc::nvrtc::Ptx::from_binary(bytes.to_vec());
                    unknown.insert(self.check("loading the kernels", self.context.load_module(binary))?)
                }
            };
            found = loaded.load_function(name);
            if found.as_ref().err() != Some(&missing) {
                break;
            }
        }
        self.check(&format!("looking up the kernel {name}"), found)
    }

    /// The kernel with this name, allowed to use all shared memory of the device.
    fn function(&self, name: &'static str) -> Result<CudaFunction, DeviceError> {
        let mut loaded = locked(&self.loaded);
        let Loaded { modules, functions } = &mut *loaded;
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let function = self.find(modules, name)?;
        let most = function
            .shared_size_bytes()
            .map(|declared| self.state.facts.shared_bytes.saturating_sub(declared.unsigned_abs()));
        let most = self.check("cuFuncGetAttribute", most)?;
        let set =
            |attribute, value| self.check("cuFuncSetAttribute", function.set_attribute(attribute, value));
        if most > COMMON_SHARED_BYTES {
            set(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most as i32)?;
        }
        // In percent: as many blocks as fit may run on a multiprocessor, at the cost of its cache, which few
        // kernels use. The same for all: a multiprocessor has to be idle when the share changes.
        set(FunctionAttribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100)?;
        functions.insert(name, function.clone());
        Ok(function)
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        let memory = self.delay.take().unwrap_or(0);
        if memory != 0 && self.bind().is_ok() {
            // SAFETY: `delay` has allocated it, and this is its last use.
            let _ = unsafe { result::free_sync(memory) };
        }
    }
}

fn failure(name: String, call: &str, error: DriverError) -> DeviceError {
    let text = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let (call, message) = (call.to_owned(), format!("{text} ({:?})", error.0));
    DeviceError::Failed { name, call, message, code: error.0 as u32 }
}

impl Device for CudaDevice {
    fn state(&self) -> &DeviceState {
        &self.state
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.check("cuMemGetInfo", self.context.mem_get_info())?.0 as u64)
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        self.bind()?;
        // SAFETY: only reading the bytes before they are set would be wrong, which is up to the caller.
        let allocated = unsafe { result::malloc_sync(bytes) };
        if let Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) = allocated {
            let (name, free) = (self.state.facts.name.clone(), self.free_bytes()?);
            return Err(DeviceError::TooLittleMemory {
                name,
                free,
                needed: bytes as u64,
                what: "a buffer".to_owned(),
            });
        }
        Ok(Address(self.check("cuMemAlloc", allocated)?))
    }

    unsafe fn free(&self, address: Address) {
        // The context of a device that has failed gives all memory back. That the driver waits for queued
        // work before it frees is usual, and not promised.
        if self.bind().and_then(|()| self.check("cuCtxSynchronize", self.context.synchronize())).is_ok() {
            // SAFETY: the caller keeps the contract for the address and its last use, and all work is done.
            let _ = unsafe { result::free_sync(address.0) };
        }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.bind()?;
        // SAFETY: only reading the bytes before they are set would be wrong, which is up to the caller.
        let allocated = unsafe { result::malloc_host(bytes, 0) };
        Ok(self.check("cuMemHostAlloc", allocated)?.cast())
    }

    unsafe fn free_pinned(&self, start: *mut u8) {
        if self.bind().is_ok() {
            // SAFETY: the caller keeps the contract for the address and its last use, also by queued work.
            let _ = unsafe { result::free_host(start.cast()) };
        }
    }

    unsafe fn copy_in(
        &self,
        queue: Queue,
        to: Address,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: the caller guarantees `bytes` bytes at both places until the copy is done.
        let copied = unsafe {
            let from = std::slice::from_raw_parts(from, bytes);
            result::memcpy_htod_async(to.0, from, self.queue(queue).cu_stream())
        };
        self.check("cuMemcpyHtoDAsync", copied)
    }

    unsafe fn copy_out(
        &self,
        queue: Queue,
        to: *mut u8,
        from: Address,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: the caller guarantees `bytes` bytes at both places until the copy is done.
        let copied = unsafe {
            let to = std::slice::from_raw_parts_mut(to, bytes);
            result::memcpy_dtoh_async(to, from.0, self.queue(queue).cu_stream())
        };
        self.check("cuMemcpyDtoHAsync", copied)
    }

    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: the caller guarantees `bytes` bytes at `to` until they are set.
        let filled = unsafe { result::memset_d8_async(to.0, byte, bytes, self.compute.cu_stream()) };
        self.check("cuMemsetD8Async", filled)
    }

    unsafe fn copy_within(&self, to: Address, from: Address, bytes: usize) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: the caller guarantees `bytes` bytes at both places until the copy is done.
        let copied = unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.compute.cu_stream()) };
        self.check("cuMemcpyDtoDAsync", copied)
    }

    fn tensor_map(&self, matrix: &Matrix) -> Result<TensorMap, DeviceError> {
        self.bind()?;
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // In bytes, whatever the type of the numbers.
        let sizes = [u64::from(matrix.row_bytes), u64::from(matrix.rows)];
        let (strides, box_sizes, steps) = ([sizes[0]], [BOX_BYTES, matrix.box_rows], [1, 1]);
        // SAFETY: the driver writes the map and reads as many numbers as the rank says. It does not read the
        // matrix.
        let encoded = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut map,
                sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
                sizes.len() as u32,
                matrix.start.0 as *mut c_void,
                sizes.as_ptr(),
                strides.as_ptr(),
                box_sizes.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                // The next slice of a row is next to this one.
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        self.check("cuTensorMapEncodeTiled", encoded.result())?;
        Ok(TensorMap(map.opaque))
    }

    unsafe fn queue_kernel(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.bind()?;
        let function = self.function(launch.kernel)?;
        let mut arguments = [launch.argument.as_ptr().cast_mut().cast::<c_void>()];
        let [x, y, z] = launch.grid;
        // SAFETY: the caller keeps the contract for the structure and the memory at its addresses; the driver
        // copies the structure before it returns.
        let launched = unsafe {
            result::launch_kernel(
                function.cu_function(),
                (x, y, z),
                (launch.threads, 1, 1),
                launch.shared_bytes,
                self.compute.cu_stream(),
                &mut arguments,
            )
        };
        self.check(launch.kernel, launched)
    }

    unsafe fn queue_product(&self, product: &LibraryProduct) -> Result<(), DeviceError> {
        self.bind()?;
        let mut opened = locked(&self.blas_lt);
        let library = match &mut *opened {
            Some(library) => library,
            none => none.insert(BlasLt::open(&self.context, &self.state.facts.name)?),
        };
        // SAFETY: the caller keeps the contract for the matrices.
        unsafe { library.multiply(product, &self.compute, &self.state.facts.name) }
    }

    fn time(&self, name: &str, work: &dyn Fn() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        let timed = || self.event(Event::timed(&self.context), Queue::Compute);
        self.delay()?;
        let start = timed()?;
        work()?;
        let end = timed()?;
        // Waits for the work, so this is where its faults are reported.
        let milliseconds = end.wait().and_then(|()| end.milliseconds_since(&start));
        Ok(f64::from(self.check(name, milliseconds)?) * 1e-3)
    }

    fn follow(&self, queue: Queue, other: Queue) -> Result<(), DeviceError> {
        let done = self.event(Event::new(&self.context), other)?;
        self.check("cuStreamWaitEvent", done.precede(self.queue(queue)))
    }

    fn mark(&self) -> Result<Mark, DeviceError> {
        Ok(Mark(Box::new(self.check("cuEventCreate", Event::new(&self.context))?)))
    }

    fn set(&self, mark: &Mark, queue: Queue) -> Result<(), DeviceError> {
        match mark.0.downcast_ref::<Event>() {
            Some(event) => self.record(event, queue),
            None => self.synchronize(queue),
        }
    }

    fn wait(&self, mark: &Mark, waiting: Waiting) -> Result<(), DeviceError> {
        match mark.0.downcast_ref::<Event>() {
            Some(event) => self.wait_for(event, waiting),
            // Not a mark of this kind of device: all work is certainly after it.
            None => self.check("cuCtxSynchronize", self.context.synchronize()),
        }
    }

    fn synchronize(&self, queue: Queue) -> Result<(), DeviceError> {
        match self.event(Event::new(&self.context), queue) {
            Ok(done) => self.wait_for(&done, Waiting::Awake),
            // Without memory for an event: memory that a copy uses must not be given back before.
            Err(_) => self.check("cuStreamSynchronize", self.queue(queue).synchronize()),
        }
    }
}
