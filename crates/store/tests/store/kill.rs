//! A process that is really killed while it writes, again and again.
#![cfg(unix)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{TestResult, embedding, files, id, open, spec, write};
use toller_store::{StoreError, StoreSpec, StoreWriter};

/// Where the child writes; unset in the parent.
const STORE_VARIABLE: &str = "TOLLER_TEST_KILLED_STORE";

const SHARDS: usize = 24;

fn killed_spec() -> StoreSpec {
    spec(3 * SHARDS as u64 - 1)
}

/// The child: not a test of its own, but a process that [`kill_9_loses_nothing`] starts from this binary.
#[test]
fn child() -> TestResult {
    let Some(store) = env::var_os(STORE_VARIABLE).map(PathBuf::from) else { return Ok(()) };
    let mut writer = StoreWriter::create_or_resume(&store, killed_spec())?;
    for row in writer.rows_done()..killed_spec().source.passages {
        sleep(Duration::from_millis(1));
        writer.push(&id(row), &embedding(row, 4))?;
    }
    writer.finish()?;
    Ok(())
}

#[test]
fn kill_9_loses_nothing() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (straight, killed) = (directory.path().join("straight"), directory.path().join("killed"));
    write(&straight, killed_spec())?;

    let mut kills = 0;
    for round in 0_u64.. {
        let mut child = Command::new(env::current_exe()?)
            .args(["--exact", "kill::child", "--test-threads", "1"])
            .env(STORE_VARIABLE, &killed)
            .stdout(Stdio::null())
            .spawn()?;
        // Lets it come one or two shards further, then kills it at some moment of the next one.
        let target = finished_shards(&killed) + 1 + (round % 2) as usize;
        while finished_shards(&killed) < target && child.try_wait()?.is_none() {
            sleep(Duration::from_micros(100));
        }
        sleep(Duration::from_micros(round * 977 % 6000));
        if let Some(status) = child.try_wait()? {
            assert!(status.success(), "{status}");
            break;
        }
        child.kill()?;
        child.wait()?;
        kills += 1;
        match open(&killed) {
            Ok(_) | Err(StoreError::Incomplete { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    assert!(kills > 0, "the child was never killed");
    assert_eq!(files(&killed)?, files(&straight)?);
    Ok(())
}

fn finished_shards(store: &Path) -> usize {
    (0..SHARDS).take_while(|index| store.join(format!("shard-{index:05}.safetensors")).exists()).count()
}
