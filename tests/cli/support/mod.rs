//! A folder to work in, and the binary to run there.

mod finished;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

pub(crate) use finished::{Finished, assert_has};

/// A temporary folder that holds the model `tiny-bert`. Commands run in it, so that they and their
/// messages name files by short relative paths.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    /// A folder with only the model.
    pub(crate) fn new() -> Self {
        let workspace = Self { folder: tempfile::tempdir().unwrap() };
        workspace.add_fixture("tiny-bert");
        workspace
    }

    /// A folder with the model and XQuAD-R: data/corpus.jsonl, data/queries.jsonl, data/qrels.txt.
    pub(crate) fn with_xquad() -> Self {
        let workspace = Self::new();
        workspace.build_xquad("--quiet");
        workspace
    }

    /// Builds XQuAD-R in data/.
    pub(crate) fn build_xquad(&self, flags: &str) -> Finished {
        let mut build = self.command(&format!("data reqa --output data --overwrite {flags}"));
        Finished::new(build.arg(fixture("xquad-r/en.json.gz")).output().unwrap()).succeeds()
    }

    /// Copies a folder of tests/fixtures.
    pub(crate) fn add_fixture(&self, name: &str) {
        copy_folder(&fixture(name), &self.path(name));
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Changes a byte of a file, which is counted from its end.
    pub(crate) fn flip_byte(&self, name: &str, from_end: usize) {
        let mut bytes = self.read(name);
        let place = bytes.len() - from_end;
        bytes[place] ^= 1;
        self.write(name, bytes);
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The lines of a text file.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        String::from_utf8(self.read(name)).unwrap().lines().map(str::to_owned).collect()
    }

    /// Documents and scores of each query of a run, in their order.
    pub(crate) fn hits<S: FromStr<Err: Debug>>(&self, run: &str) -> BTreeMap<String, Vec<(String, S)>> {
        let mut hits: BTreeMap<String, Vec<(String, S)>> = BTreeMap::new();
        for line in self.lines(run) {
            let columns: Vec<&str> = line.split(' ').collect();
            let of_query = hits.entry(columns[0].to_owned()).or_default();
            of_query.push((columns[2].to_owned(), columns[4].parse().unwrap()));
            assert_eq!(columns[3], of_query.len().to_string(), "ranks count from one");
        }
        hits
    }

    /// Writes the first `count` lines of a file to another.
    pub(crate) fn head(&self, from: &str, count: usize, to: &str) {
        let lines = self.lines(from);
        assert!(lines.len() >= count, "{from} has {} lines", lines.len());
        self.write(to, lines[..count].join("\n") + "\n");
    }

    /// The files below a directory with their content, the lock aside.
    pub(crate) fn files_in(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        collect_files(&self.path(name), "", &mut files);
        files.sort();
        assert!(!files.is_empty(), "{name} holds no files");
        files
    }

    /// Whether a file of the folder is called `name`, or is a temporary file of a writer of `name`.
    pub(crate) fn has_trace_of(&self, name: &str) -> bool {
        let mut entries = fs::read_dir(self.folder.path()).unwrap();
        entries.any(|entry| entry.unwrap().file_name().to_string_lossy().contains(name))
    }

    /// `toller` with arguments that are separated by blanks, ready to run in the folder. It uses neither
    /// the network nor the caches of this machine.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_toller")), arguments)
    }

    /// The same where no file may have more than this many times 512 bytes.
    pub(crate) fn command_with_file_limit(&self, arguments: &str, blocks: usize) -> Command {
        self.command_after(&format!("ulimit -f {blocks}"), arguments)
    }

    /// The same after a command of the shell, which changes what the process inherits.
    pub(crate) fn command_after(&self, first: &str, arguments: &str) -> Command {
        let mut shell = Command::new("sh");
        let script = format!("{first}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_toller")]);
        self.prepared(shell, arguments)
    }

    fn prepared(&self, mut command: Command, arguments: &str) -> Command {
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .env("HF_HUB_OFFLINE", "1")
            .env("HF_HUB_CACHE", self.path("no-hub-cache"))
            .env("TOLLER_CACHE", self.path("no-cache"))
            .env_remove("RAYON_NUM_THREADS")
            .stdin(Stdio::null());
        command
    }

    /// Runs `toller` to its end.
    pub(crate) fn toller(&self, arguments: &str) -> Finished {
        Finished::new(self.command(arguments).output().unwrap())
    }

    /// Runs `toller` to its end, and checks that it did what it was asked for.
    #[track_caller]
    pub(crate) fn runs(&self, arguments: &str) -> Finished {
        self.toller(arguments).succeeds()
    }

    /// Starts `toller`, with pipes for its output.
    pub(crate) fn spawn(&self, arguments: &str) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs `toller` to its end, with standard input.
    pub(crate) fn toller_reading(&self, stdin: &[u8], arguments: &str) -> Finished {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A command that refuses its arguments closes the pipe without reading it.
            scope.spawn(move || drop(pipe.write_all(stdin)));
            Finished::new(child.wait_with_output().unwrap())
        })
    }
}

/// A path in tests/fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures").join(name)
}

/// The bytes, compressed.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Copies a folder with all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn collect_files(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            collect_files(&path, &format!("{name}/"), files);
        } else if !name.ends_with(".lock") {
            files.push((name, fs::read(path).unwrap()));
        }
    }
}
