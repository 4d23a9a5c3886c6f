//! Events: places in streams, which hosts and other streams wait for.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUevent_flags as Flag, CUevent_wait_flags as WaitFlag, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};

/// An event. (cudarc's own cannot have two flags.)
#[derive(Debug)]
pub(super) struct Event {
    event: sys::CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's functions for events can be called by any thread, also at the same time.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event whose time is not known. A thread that waits for it sleeps.
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        Self::with_flags(context, Flag::CU_EVENT_BLOCKING_SYNC as u32 | Flag::CU_EVENT_DISABLE_TIMING as u32)
    }

    /// An event whose time is known.
    pub(super) fn timed(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        Self::with_flags(context, Flag::CU_EVENT_DEFAULT as u32)
    }

    fn with_flags(context: &Arc<CudaContext>, flags: u32) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the library is present, since it made the context, and `event` can be written.
        unsafe { sys::cuEventCreate(&raw mut event, flags).result()? };
        Ok(Self { event, context: context.clone() })
    }

    /// Lets the event happen when what `stream` has so far is done. What it was recorded for before does not
    /// count any more, except for streams that wait for that already.
    pub(super) fn record(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the event and the stream live.
        unsafe { result::event::record(self.event, stream.cu_stream()) }
    }

    /// Lets what `stream` gets from now on wait for the event.
    pub(super) fn precede(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        let flags = WaitFlag::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event and the stream live.
        unsafe { result::stream::wait_event(stream.cu_stream(), self.event, flags) }
    }

    /// Whether the event has happened, or was never recorded.
    pub(super) fn has_happened(&self) -> Result<bool, DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the event lives.
        match unsafe { result::event::query(self.event) } {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until the event has happened.
    pub(super) fn wait(&self) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.event) }
    }

    /// The time from `start` to this event. Both are timed and have happened. This calls the function of CUDA
    /// 12: drivers before 12.8 do not have the newer one, which cudarc calls, and all drivers after have
    /// both.
    pub(super) fn milliseconds_since(&self, start: &Self) -> Result<f32, DriverError> {
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> CUresult;
        let mut milliseconds = 0.0;
        // SAFETY: the library is present, since it made the events; its function has this type, and
        // `milliseconds` can be written.
        unsafe {
            let missing = DriverError(CUresult::CUDA_ERROR_NOT_FOUND);
            let elapsed = sys::culib().get::<Elapsed>(b"cuEventElapsedTime").map_err(|_| missing)?;
            elapsed(&raw mut milliseconds, start.event, self.event).result()?;
        }
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: this is its last use. The driver gives its memory back when it has happened.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}
