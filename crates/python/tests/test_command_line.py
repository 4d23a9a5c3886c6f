"""The command line of the wheel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toller
from conftest import REPOSITORY


def run(*words: object, program: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [*(program or [sys.executable, "-m", "toller"]), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def script() -> list[str]:
    """The script that the wheel installs."""
    path = Path(sys.executable).parent / "toller"
    if not path.is_file():
        pytest.skip("the package is not installed")
    return [str(path)]


def test_module_and_script_are_the_command_line() -> None:
    for program in (None, script()):
        done = run("--version", program=program)
        assert (done.returncode, done.stdout) == (0, f"toller {toller.__version__}\n")


def test_what_it_prints_is_what_the_binary_prints(tmp_path: Path) -> None:
    binary = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"), "release/toller")
    if not binary.is_file():
        pytest.skip("the binary is not built")
    missing = tmp_path / "missing"
    for words in (["--help"], ["eval", "--help"], ["eval", "--qrels", missing, missing], ["no-such-command"]):
        ours, theirs = run(*words), run(*words, program=[str(binary)])
        assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_a_backend_that_is_not_built_in_is_named(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "1", "text": "one"}\n')
    model, output = REPOSITORY / "tests/fixtures/tiny-bert", tmp_path / "store"
    done = run("encode", "--model", model, "--corpus", corpus, "--output", output, "--backend", "candle")
    assert done.returncode == 2 and not output.exists()
    assert "--backend candle: this toller was built without candle" in done.stderr
    assert "hint: use --backend native" in done.stderr


def test_job_scripts_call_the_script_of_the_wheel(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "1", "text": "one"}\n')
    model = REPOSITORY / "tests/fixtures/tiny-bert"
    words = ["--model", model, "--corpus", corpus, "--output", tmp_path / "store"]
    for program in (None, script()):
        done = run("slurm", "encode", "--shards", 2, "--output", "-", "--", *words, program=program)
        assert done.returncode == 0, done.stderr
        assert f"toller={script()[0]}\n" in done.stdout


def test_exit_codes() -> None:
    assert run("eval").returncode == 2
    assert run("store", "info", "/no/such/store").returncode == 1


def test_ctrl_c(minilm: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("".join(f"{number}\t{'a dog retrieves ducks ' * 20}\n" for number in range(20_000)))
    words = ["encode", "--model", minilm, "--corpus", corpus, "--output", tmp_path / "s", "--rows-per-shard", 16]
    command = [sys.executable, "-m", "toller", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "s/manifest.json").is_file():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 130 and "run the command again" in printed
