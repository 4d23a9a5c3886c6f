//! A peer in Python that runs next to us in the same process group. Asked for a round, it does its work once
//! and answers with the seconds that the work took. So the two take turns, and the machine's moods hit both.
#![allow(dead_code, reason = "a benchmark uses one of the two ways to ask")]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running peer.
pub(crate) struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// The Python of the peers' environment, which `scripts/peers` makes.
fn python() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let made = cache.unwrap_or_default().join("toller/peers/bin/python");
    std::env::var_os("TOLLER_PEERS_PYTHON").map_or(made, PathBuf::from)
}

impl Peer {
    /// Starts `benches/peers/SCRIPT ARGUMENTS...` and waits until it is ready. `None`, with the reason on
    /// stderr, where the peers are not installed.
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Option<Self> {
        let path = toller_testing::repository("benches/peers").join(script);
        let started = Command::new(python())
            .arg(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                eprintln!(
                    "peer {script} left out: {}: {error} (scripts/peers installs the peers)",
                    python().display()
                );
                return None;
            }
        };
        let (stdin, stdout) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut peer = Self { child, stdin, stdout };
        (peer.line()? == "ready").then_some(peer)
    }

    /// The seconds of one round of the peer.
    pub(crate) fn round(&mut self) -> Option<f64> {
        self.ask("go")?.parse().ok()
    }

    /// The peer's answer to a line.
    pub(crate) fn ask(&mut self, line: &str) -> Option<String> {
        writeln!(self.stdin, "{line}").ok()?;
        self.line()
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
