//! Standard output, and whether the caller closed it.

use std::io::{self, Write};

/// What messages call it.
pub const NAME: &str = "standard output";

/// Standard output. If the caller closed it (`>&-`), every write is an error: Rust's runtime puts /dev/null
/// in its place, where results would be lost without a word.
pub fn stdout() -> Box<dyn Write> {
    if at_start::was_closed() { Box::new(Closed) } else { Box::new(io::stdout().lock()) }
}

/// Writes nothing.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("it is closed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering};

    static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    /// The loader calls it before Rust's runtime starts.
    #[used]
    // SAFETY: the section is a list of pointers to functions without arguments that the loader calls.
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: the call asks for the flags of a descriptor, and changes nothing.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    pub(super) fn was_closed() -> bool {
        WAS_CLOSED.load(Ordering::Relaxed)
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
mod at_start {
    pub(super) fn was_closed() -> bool {
        false
    }
}
