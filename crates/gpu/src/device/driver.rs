//! A GPU, through CUDA's driver, which is loaded when it is first asked for: a machine without one runs the same binary.
//!
//! The context is the device's primary one, as candle's is, so that memory and streams of either can be used by the other.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cublas::result::CublasError;
use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result};

use super::blas::Blas;
use super::{Address, COPY_QUEUES, Device, DeviceFacts, Launch, Queue};
use crate::DeviceError;

mod embedded {
    //! The kernels, as the build script leaves them.
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

/// The least compute capability that there is code for.
const LEAST_CAPABILITY: (u32, u32) = (8, 0);

/// Bytes of shared memory that a block is given without asking.
const COMMON_SHARED_BYTES: u32 = 48 << 10;

/// An opened GPU.
#[derive(Debug)]
pub(crate) struct CudaDevice {
    facts: DeviceFacts,
    context: Arc<CudaContext>,
    compute: Arc<CudaStream>,
    copies: [Arc<CudaStream>; COPY_QUEUES],
    modules: Vec<Arc<CudaModule>>,
    functions: Mutex<HashMap<&'static str, CudaFunction>>,
    /// Made when it is first asked for.
    blas: Mutex<Option<Blas>>,
}

/// See [`super::count`].
pub(crate) fn count() -> Result<usize, DeviceError> {
    // SAFETY: loading the library runs the initialization of NVIDIA's driver, or of what the machine has in its place.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoDriver);
    }
    let failed = |call: &str, code: CUresult| DeviceError::Failed {
        name: "the driver".to_owned(),
        call: call.to_owned(),
        message: format!("{code:?}"),
    };
    let mut version = 0;
    // SAFETY: may be called before anything else; the number is written to.
    match unsafe { sys::cuDriverGetVersion(&raw mut version) } {
        CUresult::CUDA_SUCCESS => {}
        CUresult::CUDA_ERROR_STUB_LIBRARY => return Err(DeviceError::StubDriver),
        code => return Err(failed("cuDriverGetVersion", code)),
    }
    let version = version.unsigned_abs();
    let found = (version / 1000, version % 1000 / 10);
    // Code for the processors runs with any driver of its major release, what is compiled on the way with no older one.
    if found.0 < embedded::TOOLKIT.0 {
        return Err(DeviceError::DriverTooOld { found, needed: embedded::TOOLKIT });
    }
    // SAFETY: the driver is there.
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
        let (compute, copies) = (stream()?, [stream()?, stream()?]);
        let load = |(_, bytes): &(&str, &[u8])| {
            context
                .load_module(cudarc::nvrtc::Ptx::from_binary(bytes.to_vec()))
                .map_err(failed("loading the kernels"))
        };
        let modules = embedded::MODULES.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Self {
            facts,
            context,
            compute,
            copies,
            modules,
            functions: Mutex::default(),
            blas: Mutex::default(),
        })
    }

    fn queue(&self, queue: Queue) -> &Arc<CudaStream> {
        match queue {
            Queue::Compute => &self.compute,
            Queue::Copy(number) => &self.copies[number],
        }
    }

    /// What a call says, with its name.
    fn check<T>(&self, call: &str, said: Result<T, DriverError>) -> Result<T, DeviceError> {
        said.map_err(|error| failure(self.facts.name.clone(), call, error))
    }

    /// Makes the context that of this thread, as every call wants.
    fn bind(&self) -> Result<(), DeviceError> {
        self.check("cuCtxSetCurrent", self.context.bind_to_thread())
    }

    /// A kernel by its entry, allowed all the shared memory that the device has.
    fn function(&self, name: &'static str) -> Result<CudaFunction, DeviceError> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let found = self.modules.iter().find_map(|module| module.load_function(name).ok());
        let function = found.ok_or_else(|| DeviceError::Failed {
            name: self.facts.name.clone(),
            call: format!("looking up the kernel {name}"),
            message: "it is in none of the modules".to_owned(),
        })?;
        let most = function
            .shared_size_bytes()
            .map(|declared| self.facts.shared_bytes.saturating_sub(declared.unsigned_abs()));
        let most = self.check("cuFuncGetAttribute", most)?;
        if most > COMMON_SHARED_BYTES {
            let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            self.check("cuFuncSetAttribute", function.set_attribute(attribute, most as i32))?;
        }
        functions.insert(name, function.clone());
        Ok(function)
    }
}

fn failure(name: String, call: &str, error: DriverError) -> DeviceError {
    let said = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    DeviceError::Failed { name, call: call.to_owned(), message: format!("{said} ({:?})", error.0) }
}

impl Device for CudaDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.check("cuMemGetInfo", self.context.mem_get_info())?.0 as u64)
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        self.bind()?;
        // SAFETY: nothing is asked of the caller but to set the bytes before they are read.
        let allocated = unsafe { result::malloc_sync(bytes) };
        if let Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) = allocated {
            let (name, free) = (self.facts.name.clone(), self.free_bytes()?);
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
        // A device that has failed gives all its memory back with the context.
        if self.bind().is_ok() {
            // SAFETY: promised by the caller; the driver waits for what is queued.
            let _ = unsafe { result::free_sync(address.0) };
        }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.bind()?;
        // SAFETY: as for `allocate`.
        let allocated = unsafe { result::malloc_host(bytes, 0) };
        Ok(self.check("cuMemHostAlloc", allocated)?.cast())
    }

    unsafe fn free_pinned(&self, start: *mut u8) {
        if self.bind().is_ok() {
            // SAFETY: promised by the caller.
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
        // SAFETY: promised by the caller.
        let copied = unsafe {
            let from = std::slice::from_raw_parts(from, bytes);
            result::memcpy_htod_async(to.0, from, self.queue(queue).cu_stream())
        };
        self.check("cuMemcpyHtoDAsync", copied)
    }

    unsafe fn copy_out(&self, to: *mut u8, from: Address, bytes: usize) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: promised by the caller; waited for before the bytes are given back.
        let copied = unsafe {
            let to = std::slice::from_raw_parts_mut(to, bytes);
            result::memcpy_dtoh_async(to, from.0, self.compute.cu_stream())
        };
        self.check("cuMemcpyDtoHAsync", copied)?;
        self.synchronize(Queue::Compute)
    }

    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: promised by the caller.
        let filled = unsafe { result::memset_d8_async(to.0, byte, bytes, self.compute.cu_stream()) };
        self.check("cuMemsetD8Async", filled)
    }

    unsafe fn copy_within(&self, to: Address, from: Address, bytes: usize) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: promised by the caller.
        let copied = unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.compute.cu_stream()) };
        self.check("cuMemcpyDtoDAsync", copied)
    }

    unsafe fn multiply(&self, n: usize, a: Address, b: Address, c: Address) -> Result<(), DeviceError> {
        self.bind()?;
        let failed = |error: CublasError| DeviceError::Failed {
            name: self.facts.name.clone(),
            call: "cuBLAS".to_owned(),
            message: format!("{:?}", error.0),
        };
        let mut blas = self.blas.lock().unwrap_or_else(PoisonError::into_inner);
        if blas.is_none() {
            *blas = Some(Blas::new(&self.compute).ok_or(DeviceError::NoBlas)?.map_err(failed)?);
        }
        // SAFETY: promised by the caller.
        blas.as_ref().map_or(Ok(()), |blas| unsafe { blas.multiply(n, a, b, c) }).map_err(failed)
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), DeviceError> {
        self.bind()?;
        let function = self.function(launch.kernel)?;
        let mut arguments = [launch.argument.as_ptr().cast_mut().cast::<c_void>()];
        let [x, y, z] = launch.grid;
        // SAFETY: promised by the caller; the driver copies the argument before it returns.
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

    fn synchronize(&self, queue: Queue) -> Result<(), DeviceError> {
        self.check("cuStreamSynchronize", self.queue(queue).synchronize())
    }
}
