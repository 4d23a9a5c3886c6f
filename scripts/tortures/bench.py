"""What all parts of scripts/torture share: a folder to work in, the binary to run there, and the table of results."""

import os
import random
import resource
import shutil
import struct
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests" / "fixtures"

# A healthy command ends in a second here.
HANG_SECONDS = 40
MOST_MEMORY = 2 << 30


@dataclass
class Ended:
    """A process that has ended."""

    code: int
    out: bytes
    err: str
    peak_bytes: int
    hung: bool

    @property
    def refused(self):
        return self.code in (1, 2) and "error: " in self.err

    def harm(self):
        """What no input may cause, or None."""
        if self.hung:
            return "hang"
        if self.code < 0:
            return f"crash (signal {-self.code})"
        if "panicked" in self.err:
            return "panic"
        if self.code not in (0, 1, 2):
            return f"exit status {self.code}"
        if self.code and "error: " not in self.err:
            return "no message"
        if self.peak_bytes > MOST_MEMORY:
            return f"{self.peak_bytes >> 20} MB of memory"
        return None


class Table:
    """Counts of what was tried, by part and case."""

    def __init__(self):
        self.rows = {}
        self.failures = []

    def add(self, part, case, held, what="", outcome=""):
        """Counts one try; `what` describes it if it did not hold."""
        row = self.rows.setdefault((part, case), Counter())
        row["tried"] += 1
        row["held"] += bool(held)
        if outcome:
            row[outcome] += 1
        if not held:
            self.failures.append(f"{part}, {case}: {what}")
            print(f"FAILED {self.failures[-1]}", flush=True)

    def skip(self, part, reason):
        self.rows.setdefault((part, f"skipped: {reason}"), Counter())

    def markdown(self):
        lines = ["| Part | Case | Tried | Held | Outcomes |", "|---|---|---:|---:|---|"]
        for (part, case), row in self.rows.items():
            outcomes = [f"{count} {name}" for name, count in sorted(row.items()) if name not in ("tried", "held")]
            lines.append(f"| {part} | {case} | {row['tried']:,} | {row['held']:,} | {', '.join(outcomes)} |")
        total = sum(self.rows.values(), Counter())
        lines.append(f"| all | | {total['tried']:,} | {total['held']:,} | |")
        return "\n".join(lines)


class Bench:
    """The folder, the binary, and random choices that the seed decides."""

    def __init__(self, binary, seed, table):
        self.binary, self.seed, self.table = Path(binary).resolve(), seed, table
        self.folder = Path(tempfile.mkdtemp(prefix="torture-"))
        self.environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "HF_HUB_CACHE": str(self.folder / "no-hub-cache"),
            "TOLLER_CACHE": str(self.folder / "no-cache"),
            "NO_PROXY": "127.0.0.1",
        }

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def choices(self, *names):
        """Random choices of their own for a case, whatever ran before it."""
        return random.Random(repr((self.seed, *names)))

    def path(self, name):
        return self.folder / name

    def start(self, arguments, cwd=None, env=None, limits=()):
        """Starts the binary; `limits` are pairs of a resource and its limit."""

        def limit():
            for which, most in limits:
                resource.setrlimit(which, (most, most))

        arguments = arguments.split() if isinstance(arguments, str) else arguments
        return subprocess.Popen(
            [self.binary, *arguments],
            cwd=cwd or self.folder,
            env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limit if limits else None,
        )

    def end(self, child, seconds=HANG_SECONDS):
        """Waits for a process."""
        hung = False
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            hung = True
            child.kill()
            out, err = child.communicate()
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        # The peak of all children so far: a new one is this child's.
        peak = peak * 1024 if peak > before else 0
        return Ended(child.returncode, out, err.decode(errors="replace"), peak, hung)

    def run(self, arguments, **options):
        return self.end(self.start(arguments, **options))

    def must(self, arguments, **options):
        """Runs a command that the parts depend on."""
        ended = self.run(arguments, **options)
        if ended.code:
            raise RuntimeError(f"toller {arguments}: {ended.err}")
        return ended

    def prepare(self):
        """Texts, queries, a store, an index, a first run and a recipe."""
        for name in ("tiny-bert", "cross-encoders/mpnet"):
            shutil.copytree(FIXTURES / name, self.path(name))
        self.must(["data", "reqa", "--output", "data", "-q", str(FIXTURES / "xquad-r" / "en.json.gz")])
        head(self.path("data/corpus.jsonl"), self.path("corpus.jsonl"), 300)
        head(self.path("data/queries.jsonl"), self.path("queries.jsonl"), 30)
        self.must("encode -q --model tiny-bert --corpus corpus.jsonl --output store --rows-per-shard 100 --codes int8")
        self.must("encode -q --model tiny-bert --queries queries.jsonl --output questions")
        self.must("index -q --language en --corpus corpus.jsonl --output index --doc-vectors")
        self.must("search -q --sparse index --queries queries.jsonl --k 10 --output sparse.run")
        self.must("search -q --dense store --query-vectors questions --k 10 --output dense.run")
        self.path("recipe.toml").write_text(RECIPE)


RECIPE = """\
title = "A recipe"
[steps.index]
command = "index"
corpus = "corpus.jsonl"
language = "en"
output = "index"
[steps.sparse]
command = "search"
sparse = "index"
queries = "queries.jsonl"
k = "20"
output = "sparse.run"
[steps.encode]
command = "encode"
model = "tiny-bert"
corpus = "corpus.jsonl"
rows-per-shard = 50
output = "store"
[steps.dense]
command = "search"
dense = "store"
model = "tiny-bert"
queries = "queries.jsonl"
k = "20"
output = "dense.run"
[steps.fuse]
command = "fuse"
method = "rrf"
runs = ["sparse.run", "dense.run"]
output = "fused.run"
[steps.eval]
command = "eval"
qrels = "data/qrels.txt"
runs = ["fused.run"]
measures = "nDCG@10"
format = "json"
stdout = "measures.json"
"""


def head(source, target, lines):
    with open(source, "rb") as file:
        target.write_bytes(b"".join(line for _, line in zip(range(lines), file)))


def files_in(path):
    """What an output holds: the bytes of each file, without locks and what killed processes leave."""
    path = Path(path)
    if path.is_file():
        return {path.name: path.read_bytes()}
    is_ours = lambda file: file.is_file() and file.name != ".lock" and not file.name.endswith(".tmp")
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if is_ours(file)}


def remove(*paths):
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def npy(path, rows):
    """Writes float32 vectors, and ids next to them."""
    shape = f"({len(rows)}, {len(rows[0])})"
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    numbers = [number for row in rows for number in row]
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    Path(path).write_bytes(head + struct.pack(f"<{len(numbers)}f", *numbers))
    Path(path).with_suffix(".ids.txt").write_text("".join(f"{row}\n" for row in range(len(rows))))


def until(deadline, least=1):
    """Numbers from 0 until the time is over, and `least` in any case."""
    number = 0
    while number < least or time.monotonic() < deadline:
        yield number
        number += 1
