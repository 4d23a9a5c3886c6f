"""The commands that write: killed at random moments, two at once, and with a disk that is full."""

import os
import resource
import shutil
import signal
import subprocess
import time

from .bench import files_in, npy, remove, until

RERANK = (
    "rerank -q --model cross-encoders/mpnet --run dense.run --corpus corpus.jsonl --queries queries.jsonl --depth 3 "
    "--truncation longest_first --text-index ready-texts --threads 1 --output {}"
)

# A name, the command with its output, and how the same command is given again.
WRITERS = {
    "encode": ("encode -q --model tiny-bert --corpus corpus.jsonl --rows-per-shard 20 --threads 1 --output {}", ""),
    "index": ("index -q --language en --corpus corpus.jsonl --doc-vectors --output {}", ""),
    "search": ("search -q --dense store --query-vectors questions --k 200 --output {}", ""),
    "search to .gz": ("search -q --sparse index --queries queries.jsonl --k 200 --output {}.gz", ""),
    "fuse": ("fuse -q --method rrf sparse.run dense.run --output {}", ""),
    "rerank": (RERANK, ""),
    "import": ("store import -q whole.npy --output {}", ""),
    "export": ("store export -q store --output {}.parquet", " --overwrite"),
    "run": ("run recipe.toml -q --work {}", ""),
}


def prepare(bench):
    bench.must("store export -q store --output whole.npy --overwrite")
    bench.must(RERANK.format("ready.run"))


def target(bench, command, name):
    return bench.path(command.format(name).split()[-1])


def content(path):
    """What must be the same again; how a recipe's folder was made may differ."""
    return {name: data for name, data in files_in(path).items() if "recipe-state" not in name}


def killed_after(bench, command, seconds):
    """Starts a command and kills it. Whether it had not ended by itself."""
    child = bench.start(command)
    try:
        child.communicate(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.communicate()
        return True


def kills(bench, seconds):
    deadline = time.monotonic() + seconds
    prepare(bench)
    expected, durations = {}, {}
    for name, (command, _) in WRITERS.items():
        began = time.monotonic()
        whole = f"whole-{name.split()[0]}"
        bench.must(command.format(whole))
        durations[name] = time.monotonic() - began
        expected[name] = list(content(target(bench, command, whole)).values())
    began = time.monotonic()
    shutil.copytree(bench.path("store"), bench.path("coded"))
    bench.must("store quantize coded -q --overwrite")
    coded, quantizing = files_in(bench.path("coded")), time.monotonic() - began
    pair = ExportedPair(bench)
    for number in until(deadline, len(WRITERS) + 2):
        choices = bench.choices("kills", number)
        name = (*WRITERS, "quantize", "export of a pair")[number % (len(WRITERS) + 2)]
        if name == "quantize":
            child = "store quantize coded -q --codes " + choices.choice(("int8 --overwrite", "none"))
            was_killed = killed_after(bench, child, choices.random() * quantizing)
            search = bench.run("search -q --dense coded --query-vectors questions --k 10 --output killed.run")
            ended = bench.run("store quantize coded -q --codes int8 --overwrite")
            held = search.code == 0 and ended.code == 0 and files_in(bench.path("coded")) == coded
            what = search.err + ended.err
        elif name == "export of a pair":
            was_killed, held, what = pair.kill(choices)
        else:
            command, again = WRITERS[name]
            for _ in range(choices.choice((1, 1, 2))):
                was_killed = killed_after(bench, command.format("killed"), choices.random() * durations[name])
            ended = bench.run(command.format("killed") + again)
            output = target(bench, command, "killed")
            found = content(output)
            held = ended.code == 0 and list(found.values()) == expected[name]
            what = ended.err
            remove(output)
            for left in bench.folder.glob("*killed*"):
                remove(left)
        bench.table.add("kill -9", name, held, what[-300:], "killed" if was_killed else "ended before")


STORES = ("one", "other")


class ExportedPair:
    """Vectors and ids in two files: whatever is killed, no vectors lie next to the ids of others."""

    def __init__(self, bench):
        self.bench = bench
        # As many vectors under other ids, and so many that a kill can come between the two files.
        choices = bench.choices("pair")
        rows = [[choices.random() for _ in range(64)] for _ in range(20_000)]
        for store in STORES:
            # Other vectors, too: else a mixture would look whole.
            rows.reverse()
            npy(bench.path(f"{store}.npy"), rows)
            ids = "".join(f"{store}-{number}\n" for number in range(len(rows)))
            bench.path(f"{store}.ids.txt").write_text(ids)
            bench.must(f"store import -q {store}.npy --output {store}")
        self.contents = set()
        for store in STORES:
            bench.must(f"store export -q {store} --output pair.npy --overwrite")
            self.contents.add(self.found())
        began = time.monotonic()
        bench.must("store export -q one --output pair.npy --overwrite")
        self.duration = time.monotonic() - began

    def found(self):
        pair = [self.bench.path(name) for name in ("pair.npy", "pair.ids.txt")]
        return tuple(path.read_bytes() for path in pair) if pair[0].exists() else None

    def kill(self, choices):
        export = f"store export -q {choices.choice(STORES)} --output pair.npy --overwrite"
        was_killed = killed_after(self.bench, export, choices.random() * self.duration)
        held = self.found() is None or self.found() in self.contents
        ended = self.bench.run(export)
        held = held and ended.code == 0 and self.found() in self.contents
        return was_killed, held, "vectors next to the ids of others" + ended.err


def pairs(bench, seconds):
    """Two processes with one output: each ends well or is refused, and the output is one of the two."""
    deadline = time.monotonic() + seconds
    prepare(bench)
    variants = {
        "encode": (WRITERS["encode"][0], WRITERS["encode"][0]),
        "index": (WRITERS["index"][0], WRITERS["index"][0]),
        "import": (WRITERS["import"][0], WRITERS["import"][0]),
        "rerank": (WRITERS["rerank"][0], WRITERS["rerank"][0]),
        "search": (WRITERS["search"][0], WRITERS["search"][0].replace("--k 200", "--k 90 --tag other")),
        "fuse": (WRITERS["fuse"][0], WRITERS["fuse"][0].replace("--method rrf", "--method mean --k 5")),
        "export": ("store export -q store --overwrite --output {}.npy", "store export -q store --overwrite --output {}.npy"),
    }
    expected = {}
    for name, commands in variants.items():
        expected[name] = []
        for which, command in enumerate(commands):
            alone = f"alone-{name}-{which}"
            bench.must(command.format(alone))
            expected[name].append(list(content(target(bench, command, alone)).values()))
    for number in until(deadline, len(variants)):
        choices = bench.choices("pairs", number)
        name = list(variants)[number % len(variants)]
        children = []
        for command in variants[name]:
            children.append(bench.start(command.format("both")))
            time.sleep(choices.random() * choices.choice((0, 0.01, 0.1)))
        ends = [bench.end(child) for child in children]
        output = target(bench, variants[name][0], "both")
        problem = next((end.harm() for end in ends if end.harm()), None)
        if not problem and all(end.code for end in ends):
            problem = "both failed"
        if not problem and any(end.code and "another process" not in end.err for end in ends):
            problem = "an unclear refusal"
        if not problem and list(content(output).values()) not in expected[name]:
            problem = "a mix"
        outcome = "both written" if not any(end.code for end in ends) else "one refused"
        bench.table.add("two at once", name, not problem, f"{problem}: {[end.err[-200:] for end in ends]}", outcome)
        for left in bench.folder.glob("*both*"):
            remove(left)


def disks(bench, seconds):
    """No room at a random moment: an error that says so, and what was there is kept."""
    deadline = time.monotonic() + seconds
    prepare(bench)
    expected, sizes = {}, {}
    for name, (command, _) in WRITERS.items():
        fit = f"fit-{name.split()[0]}"
        output = target(bench, command, fit)
        bench.must(command.format(fit))
        expected[name] = list(content(output).values())
        sizes[name] = sum(map(len, expected[name]))
    disk = bench.path("disk")
    disk.mkdir()
    mounted = can_mount(disk)
    if not mounted:
        bench.table.skip("full disk", "a small file system cannot be mounted here")
    ways = ("RLIMIT_FSIZE", "tmpfs") if mounted else ("RLIMIT_FSIZE",)
    for number in until(deadline, len(WRITERS) * len(ways)):
        choices = bench.choices("disks", number)
        way = ways[number % len(ways)]
        name = list(WRITERS)[number // len(ways) % len(WRITERS)]
        command, again = WRITERS[name]
        where = "disk/full" if way == "tmpfs" else "full"
        output = target(bench, command, where)
        room = choices.randrange(1, max(2, int(1.1 * sizes[name])))
        if way == "tmpfs":
            pages = max(2, room // 4096)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", disk], check=True)
            ended = bench.run(command.format(where))
        else:
            ended = bench.run(command.format(where), limits=[(resource.RLIMIT_FSIZE, room)])
        problem = ended.harm()
        found = list(content(output).values()) if output.exists() else []
        if not problem and ended.code == 0 and found != expected[name]:
            problem = "success, and other bytes"
        reasons = ("No space left", "File too large", "cannot write")
        if not problem and ended.code and not any(reason in ended.err for reason in reasons):
            problem = "the message does not say why"
        if not problem and ended.code and output.is_file():
            problem = "a file is left of a command that failed"
        if not problem and ended.code:
            # With room, the same command goes on.
            if way == "tmpfs":
                subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            after = bench.run(command.format(where) + again)
            if after.code or list(content(output).values()) != expected[name]:
                problem = f"it does not go on: {after.err[-200:]}"
        if way == "tmpfs":
            subprocess.run(["umount", disk], check=True)
        outcome = "refused" if ended.code else "enough room"
        bench.table.add("full disk", f"{name}, {way}", not problem, f"{problem}: {ended.err[-300:]}", outcome)
        for left in bench.folder.glob("*full*"):
            remove(left)


def can_mount(point):
    if os.geteuid():
        return False
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", point], capture_output=True)
    if mounted.returncode:
        return False
    return subprocess.run(["umount", point], capture_output=True).returncode == 0
