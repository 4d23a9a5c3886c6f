//! Spooling what can be read only once: named pipes, with and without compression.
#![cfg(unix)]

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use toller_files::{Compression, Input, InputReader, expand, spool};

type Outcome = Result<(), Box<dyn Error>>;
type Writer = thread::JoinHandle<std::io::Result<()>>;

/// Makes the named pipe `name`, and a thread that writes `bytes` to it once.
fn pipe(directory: &Path, name: &str, bytes: Vec<u8>) -> Result<(PathBuf, Writer), Box<dyn Error>> {
    let path = directory.join(name);
    let made = Command::new("mkfifo").arg(&path).status()?;
    assert!(made.success());
    let writer = path.clone();
    Ok((path, thread::spawn(move || fs::write(writer, bytes))))
}

fn read(input: &Input) -> Result<(Compression, Vec<u8>), Box<dyn Error>> {
    let mut reader = InputReader::open(input)?;
    let mut content = Vec::new();
    reader.read_to_end(&mut content)?;
    Ok((reader.compression(), content))
}

#[test]
fn a_named_pipe_reads_twice_under_its_name() -> Outcome {
    let (directory, copies) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let text: Vec<u8> = (0..40_000).flat_map(|i| format!("{i}\tpassage\n").into_bytes()).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&text)?;
    let stored = encoder.finish()?;
    for (name, bytes, compression) in
        [("c.tsv", text.clone(), Compression::Plain), ("c.tsv.gz", stored, Compression::Gzip)]
    {
        let length = bytes.len() as u64;
        let (path, writer) = pipe(directory.path(), name, bytes)?;
        let inputs = expand([&path])?;
        let [pipe] = inputs.as_slice() else { return Err("one argument is one input".into()) };
        assert!(pipe.reads_once());
        let (input, guard) = spool(pipe, copies.path())?;
        writer.join().map_err(|_| "the writer panicked")??;
        assert!(matches!(input, Input::Spooled { .. }) && !input.reads_once());
        assert_eq!((input.to_string(), input.plain_name()), (path.display().to_string(), Some("c.tsv")));
        assert_eq!(input.size_bytes(), Some(length));
        for _ in 0..2 {
            let (found, content) = read(&input)?;
            assert!(found == compression && content == text, "{name}: {found}");
        }
        if cfg!(target_os = "linux") {
            assert_eq!(fs::read_dir(copies.path())?.count(), 0, "it has no name");
        }
        drop(guard);
        assert_eq!(fs::read_dir(copies.path())?.count(), 0);
    }
    Ok(())
}

#[test]
fn a_truncated_pipe_is_named_in_the_error() -> Outcome {
    let directory = tempfile::tempdir()?;
    let (path, writer) = pipe(directory.path(), "c.gz", b"\x1f\x8b".to_vec())?;
    let (input, _guard) = spool(&Input::File(path.clone()), directory.path())?;
    writer.join().map_err(|_| "the writer panicked")??;
    let error = InputReader::open(&input).err().ok_or("the data end early")?;
    assert!(error.to_string().contains("incomplete") && error.path == path, "{error}");
    Ok(())
}
