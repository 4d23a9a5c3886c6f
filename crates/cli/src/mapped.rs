//! A file that is mapped into memory and cut short by another program: an error that names the file, where
//! the process would die of the signal SIGBUS.
//!
//! Reading by position instead would copy every byte that a search touches. The signal costs nothing until it
//! comes.

#[cfg(target_os = "linux")]
pub use linux::guard;

/// Other systems have no list of what is mapped.
#[cfg(not(target_os = "linux"))]
pub fn guard() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{c_int, c_void};
    use std::{mem, ptr, str};

    /// What is kept of a line of /proc/self/maps: more than the longest path.
    const LINE: usize = 4352;

    /// Lets the process end with an error if a file is cut short while it is mapped.
    pub fn guard() {
        // SAFETY: a `sigaction` may be all zeros, and the handler has the signature that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = cut_short as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
        }
    }

    /// Names the file and ends the process. A handler of signals may neither allocate nor lock.
    extern "C" fn cut_short(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        let mut line = Line { bytes: [0; LINE], length: 0 };
        // SAFETY: the system gives a valid `info`, and all these calls are allowed in a handler.
        unsafe {
            let Some(path) = line.find((*info).si_addr().addr()) else {
                // Not a file, but the machine's memory: the signal comes again, and ends the process.
                libc::signal(signal, libc::SIG_DFL);
                return;
            };
            path.iter_mut().filter(|byte| byte.is_ascii_control()).for_each(|byte| *byte = b'?');
            let because = b" could not be read: it was cut short meanwhile, or its disk failed\n\
                hint: restore the file, or make it again; no program may change a file that is being read\n";
            for text in [b"error: ", &*path, because] {
                libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
            }
            libc::_exit(1);
        }
    }

    /// A line of /proc/self/maps.
    struct Line {
        bytes: [u8; LINE],
        length: usize,
    }

    impl Line {
        /// The path of the file that is mapped at `address`.
        fn find(&mut self, address: usize) -> Option<&mut [u8]> {
            // SAFETY: the name ends in a zero.
            let maps = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
            let mut piece = [0_u8; 1024];
            loop {
                // SAFETY: `piece` has as many bytes.
                let count = unsafe { libc::read(maps, piece.as_mut_ptr().cast(), piece.len()) };
                let bytes = piece.get(..usize::try_from(count).ok()?).filter(|bytes| !bytes.is_empty())?;
                for byte in bytes {
                    if let Some(start) = self.push(*byte, address) {
                        return self.bytes.get_mut(start..self.length);
                    }
                }
            }
        }

        /// Appends a byte. Where the path of a complete line begins, if its mapping has `address`.
        fn push(&mut self, byte: u8, address: usize) -> Option<usize> {
            if byte == b'\n' {
                let line = self.bytes.get(..self.length)?;
                let path = path_at(line, address);
                if path.is_none() {
                    self.length = 0;
                }
                return path;
            }
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
            None
        }
    }

    /// Where the path begins in `START-END ... PATH`, if START..END has `address`.
    fn path_at(line: &[u8], address: usize) -> Option<usize> {
        let number = |bytes: &[u8]| usize::from_str_radix(str::from_utf8(bytes).ok()?, 16).ok();
        let (dash, blank) =
            (line.iter().position(|byte| *byte == b'-')?, line.iter().position(|byte| *byte == b' ')?);
        let range = number(line.get(..dash)?)?..number(line.get(dash + 1..blank)?)?;
        let path = line.iter().position(|byte| *byte == b'/');
        path.filter(|_| range.contains(&address))
    }

    #[cfg(test)]
    mod tests {
        use super::{LINE, Line, path_at};

        #[test]
        fn the_file_at_an_address_is_found() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a mapped file");
            std::fs::write(&path, [7; 10_000]).unwrap();
            let file = std::fs::File::open(&path).unwrap();
            // SAFETY: nothing changes the file.
            let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
            for place in [0, 5_000, 9_999] {
                let mut line = Line { bytes: [0; LINE], length: 0 };
                let found = line.find(map[place..].as_ptr().addr()).unwrap();
                assert_eq!(str::from_utf8(found).unwrap(), path.to_str().unwrap());
            }
            let mut line = Line { bytes: [0; LINE], length: 0 };
            assert!(line.find(1).is_none());
        }

        #[test]
        fn lines_of_other_mappings_are_passed_over() {
            let line = b"7f00-7f10 r--p 00000000 08:01 42      /stores/a b";
            assert_eq!(path_at(line, 0x7f0f), Some(38));
            assert_eq!(path_at(line, 0x7f10), None);
            assert_eq!(path_at(b"7f00-7f10 rw-p 00000000 00:00 0      [heap]", 0x7f00), None);
            assert_eq!(path_at(b"", 0), None);
        }
    }
}
