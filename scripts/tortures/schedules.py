"""Jobs in parts: whatever is killed, stopped, repeated or started twice, the store and the run are the same."""

import hashlib
import signal
import time

from .bench import HANG_SECONDS, files_in, remove, until

MOST_WORKERS = 7
ENCODE = "encode -q --model tiny-bert --corpus corpus.jsonl --rows-per-shard 8 --threads 1 --output {} --shard {}/{}"
SEARCH = "search -q --dense {} --query-vectors questions --k 40 --output {}"


def sha256(path):
    digest = hashlib.sha256()
    for name, data in files_in(path).items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


class Worker:
    """A process that encodes a part, and what will happen to it."""

    def __init__(self, bench, choices, part, parts, typical):
        self.part, self.signals = part, []
        self.child = bench.start(ENCODE.format("worked", part, parts))
        fate = choices.choice(("ends", "ends", "SIGKILL", "SIGTERM", "SIGSTOP"))
        moment = time.monotonic() + choices.random() * typical
        if fate == "SIGSTOP":
            self.signals = [(moment, signal.SIGSTOP), (moment + choices.random() * typical, signal.SIGCONT)]
        elif fate != "ends":
            self.signals = [(moment, getattr(signal, fate))]

    def step(self):
        """Sends the signals that are due. Whether the process has ended."""
        while self.signals and self.signals[0][0] <= time.monotonic():
            _, which = self.signals.pop(0)
            if self.child.poll() is None:
                self.child.send_signal(which)
        return self.child.poll() is not None


def work(bench, choices, workers, parts, typical):
    """Runs workers until the store is complete. Returns how many processes ran, and what went wrong."""
    running, started, done = [], 0, set()
    deadline = time.monotonic() + HANG_SECONDS
    try:
        while running or len(done) < parts:
            if time.monotonic() > deadline:
                return started, "no end"
            if len(running) < workers and len(done) < parts:
                # Two workers may have the same part.
                part = choices.choice([part for part in range(1, parts + 1) if part not in done])
                running.append(Worker(bench, choices, part, parts, typical))
                started += 1
            for worker in [worker for worker in running if worker.step()]:
                running.remove(worker)
                ended = bench.end(worker.child)
                if ended.code == 0:
                    done.add(worker.part)
                elif ended.code not in (130, -signal.SIGKILL, -signal.SIGTERM) and "another process" not in ended.err:
                    return started, f"exit status {ended.code}: {ended.err}"
            time.sleep(0.005)
        return started, None
    finally:
        for worker in running:
            worker.child.kill()
            worker.child.communicate()


def run(bench, seconds):
    deadline = time.monotonic() + seconds
    expected, typical = {}, 0.1
    bench.must(SEARCH.format("store", "expected.run"))
    for number in until(deadline, 3):
        choices = bench.choices("schedules", number)
        workers, parts = choices.randrange(1, MOST_WORKERS + 1), choices.randrange(1, MOST_WORKERS + 1)
        if parts not in expected:
            began = time.monotonic()
            for part in range(1, parts + 1):
                bench.must(ENCODE.format(f"parts-{parts}", part, parts))
            typical = (time.monotonic() - began) / parts
            expected[parts] = sha256(bench.path(f"parts-{parts}"))
        store = bench.path("worked")
        started, problem = work(bench, choices, workers, parts, typical)
        status = bench.run("store status -q worked")
        if not problem and status.code:
            problem = status.err
        if not problem and sha256(store) != expected[parts]:
            problem = "another sha256"
        shards = choices.randrange(1, MOST_WORKERS + 1)
        for index in range(1, shards + 1):
            bench.run(SEARCH.format("worked", "worked.run") + f" --shard {index}/{shards}")
        names = [f"worked.run.part-{index:05}-of-{shards:05}" for index in range(1, shards + 1)]
        choices.shuffle(names)
        merged = bench.run(["merge", "-q", *names, "--output", "worked.run"])
        if not problem and (merged.code or files_differ(bench, "worked.run", "expected.run")):
            problem = f"another run: {merged.err}"
        what = f"schedule {number}: {workers} workers, {parts} parts, {started} processes: {problem}"
        outcome = "undisturbed" if started == parts else "disturbed"
        bench.table.add("schedules", "random kills, stops and restarts", not problem, what, outcome)
        remove(*bench.folder.glob("worked*"))


def files_differ(bench, *names):
    first, second = (bench.path(name).read_bytes() for name in names)
    return first != second
