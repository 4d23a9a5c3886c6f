"""The package as part of a process: Ctrl-C, threads, forks, spawned processes, and a quick import."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import toller
from toller._progress import Bar

TEXTS = [f"a dog of kind {number} retrieves ducks " * 12 for number in range(20_000)]


def seconds_until_interrupted(work: Callable[[], object], started: Callable[[], bool]) -> float:
    """Sends SIGINT to this process while it works, once it has started. Returns the seconds until KeyboardInterrupt."""
    sent = []

    def interrupt() -> None:
        # A busy machine may need longer than the timer to begin.
        while not started():
            time.sleep(0.01)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # A shell ignores SIGINT for what it starts in the background, and then Python does, too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.7, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()
    signal.signal(signal.SIGINT, before)
    return time.monotonic() - sent[0]


def is_interrupted_soon(work: Callable[[], object], started: Callable[[], bool] = lambda: True) -> bool:
    """Whether one of three interruptions takes less than half a second: other programs may delay the others."""
    return any(seconds_until_interrupted(work, started) < 0.5 for _ in range(3))


def test_ctrl_c_stops_an_encode_of_texts(encoder: toller.Encoder) -> None:
    assert is_interrupted_soon(lambda: encoder.encode(TEXTS))
    assert encoder.encode("ducks").shape == (384,)


def test_ctrl_c_stops_an_encode_into_a_store_which_goes_on_later(encoder: toller.Encoder, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("".join(f"{number}\t{text}\n" for number, text in enumerate(TEXTS[:400])))
    encode = lambda name: toller.encode(encoder, tmp_path / name, corpus=corpus, rows_per_shard=16)  # noqa: E731
    large = tmp_path / "large.tsv"
    large.write_text("".join(f"{number}\t{text}\n" for number, text in enumerate(TEXTS)))
    encode_large = lambda: toller.encode(encoder, tmp_path / "large", corpus=large, rows_per_shard=16)  # noqa: E731
    manifest = tmp_path / "large/manifest.json"
    assert is_interrupted_soon(encode_large, started=manifest.is_file)
    # Nothing works on the store any more: no lock is left.
    assert is_interrupted_soon(encode_large)
    stop_after = 100

    class Stop(Exception):
        pass

    def stop(title: str, done: int, total: int | None) -> None:
        if title == "encoding passages" and done >= stop_after:
            raise Stop

    with pytest.raises(Stop):
        toller.encode(encoder, tmp_path / "parts", corpus=corpus, rows_per_shard=16, progress=stop)
    with pytest.raises(toller.Error, match="incomplete"):
        toller.Store(tmp_path / "parts")
    parts, whole = encode("parts"), encode("whole")
    assert len(parts) == 400
    for shard in (tmp_path / "whole").glob("shard-*"):
        assert shard.read_bytes() == (tmp_path / "parts" / shard.name).read_bytes()
    assert parts[:].tobytes() == whole[:].tobytes()


def test_threads_search_and_encode_together(encoder: toller.Encoder, store: toller.Store) -> None:
    index = toller.FlatIndex(store)
    texts = [["dogs"], ["cells", "cancer"], ["ducks"], ["genes"]]
    alone = [index.search(encoder.encode(text), k=5)[1].tolist() for text in texts]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda text: index.search(encoder.encode(text), k=5)[1].tolist(), texts * 10))
    assert together == alone * 10


def test_python_runs_while_texts_are_encoded(encoder: toller.Encoder) -> None:
    def steps(seconds: float) -> int:
        count, end = 0, time.thread_time() + seconds
        while time.thread_time() < end:
            count += 1
        return count

    class Stop(Exception):
        pass

    ends = threading.Event()

    def stop(*_: object) -> None:
        if ends.is_set():
            raise Stop

    def encode() -> None:
        with pytest.raises(Stop):
            encoder.encode(TEXTS, show_progress_bar=stop)

    worker = threading.Thread(target=encode)
    worker.start()
    steps(0.2)
    # If the work held Python's lock, the steps would end after the work.
    assert worker.is_alive()
    ends.set()
    worker.join()


def search_in_child(queue: multiprocessing.Queue, encoder: toller.Encoder, store: toller.Store) -> None:
    scores, _ = toller.FlatIndex(store).search(encoder.encode(["dogs", "cells"]), k=3)
    queue.put(scores.tobytes())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_compute(method: str, encoder: toller.Encoder, store: toller.Store) -> None:
    # Threads of this process are busy and known: a forked child has none of them.
    expected = toller.FlatIndex(store).search(encoder.encode(["dogs", "cells"]), k=3)[0].tobytes()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=search_in_child, args=(queue, encoder, store))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=30)
    assert child.exitcode == 0


def test_the_number_of_threads() -> None:
    before = toller.get_num_threads()
    try:
        toller.set_num_threads(3)
        assert toller.get_num_threads() == 3
        with pytest.raises(toller.InvalidArgument, match="99999 threads are too many"):
            toller.set_num_threads(99_999)
        assert toller.get_num_threads() == 3
    finally:
        toller.set_num_threads(0)
    assert toller.get_num_threads() == before


def test_threads_are_used_again() -> None:
    index = toller.FlatIndex.of_arrays(np.eye(8, dtype=np.float32))

    def threads_after(changes: int) -> int:
        for number in range(changes):
            toller.set_num_threads(1 + number % 2)
            index.search(np.ones(8, dtype=np.float32))
        return len(os.listdir("/proc/self/task"))

    try:
        few = threads_after(2)
        # The thread of a call may still be ending.
        assert threads_after(40) <= few + 3
    finally:
        toller.set_num_threads(0)


def test_errors_in_progress_reach_the_caller(encoder: toller.Encoder) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("from progress")

    with pytest.raises(RuntimeError, match="from progress"):
        encoder.encode(TEXTS[:500], show_progress_bar=fail)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_kind_of_work_has_its_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = Bar()
    for report in [("verifying", 1, 10), ("encoding", 1, 3), ("encoding", 2, 3), ("encoding", 3, 3), ("merging", 1, 2)]:
        bar(*report)
    lines = ["verifying: 1 of 10", "encoding: 1 of 3\r\x1b[Kencoding: 2 of 3\r\x1b[Kencoding: 3 of 3", "merging: 1 of 2"]
    assert sys.stderr.getvalue().split("\n") == lines  # type: ignore[attr-defined]


def test_many_calls_leave_no_memory_behind() -> None:
    index = toller.FlatIndex.of_arrays(np.eye(64, dtype=np.float32))
    query = np.ones(64, dtype=np.float32)
    run = toller.Run({"q": {"d": 1.0}})

    def own_memory() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    def calls(count: int) -> None:
        for _ in range(count):
            index.search(query, k=5)
            run.to_dict()
            with pytest.raises(toller.InvalidArgument):
                index.search(query, k=0)

    calls(500)
    before = own_memory()
    calls(5000)
    assert own_memory() - before < 4096


def test_the_import_is_quick() -> None:
    timed = "import time; began = time.perf_counter(); import toller; print(time.perf_counter() - began)"
    command = [sys.executable, "-c", timed]
    assert min(float(subprocess.check_output(command)) for _ in range(5)) < 0.1


def test_the_package_imports_without_numpy() -> None:
    # NumPy takes longer to import than the package.
    code = "import sys, toller; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
