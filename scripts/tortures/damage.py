"""Random flips and truncations of every file format of ours, with the checksums left alone or put right."""

import json
import shutil
import struct
import time

from . import xxh3
from .bench import files_in, remove, until

PART = "damage"


def harmed(choices, data):
    """The bytes with one random change, and its name."""
    kind = choices.choice(("flip", "flip", "flip", "byte", "cut", "append", "zeros", "swap"))
    place = choices.randrange(max(len(data), 1))
    changed = bytearray(data)
    if kind == "flip" and data:
        changed[place] ^= 1 << choices.randrange(8)
    elif kind == "byte" and data:
        changed[place] = choices.randrange(256)
    elif kind == "cut":
        del changed[place:]
    elif kind == "append":
        changed += choices.randbytes(choices.randrange(1, 80))
    elif kind == "zeros":
        end = min(len(data), place + choices.randrange(1, 200))
        changed[place:end] = bytes(end - place)
    elif kind == "swap" and len(data) >= 16:
        other = choices.randrange(len(data) - 8)
        place = min(place, len(data) - 8)
        changed[place : place + 8], changed[other : other + 8] = data[other : other + 8], data[place : place + 8]
    return bytes(changed), f"{kind} at {place}"


def sealed_again(folder, name):
    """Puts the checksums right, so that the damage passes for written on purpose. False if it is not possible."""
    manifest = folder / "manifest.json"
    try:
        text = manifest.read_bytes()
        if name != "manifest.json":
            content = (folder / name).read_bytes()
            found = json.loads(text)
            entries = [entry for list_name in ("shards", "codes", "files") for entry in found.get(list_name) or []]
            entry = next(entry for entry in entries if entry["file"] == name)
            text = text.replace(entry["checksum"].encode(), xxh3.checksum(content).encode())
            size = f'"bytes": {entry["bytes"]}'.encode()
            if len(content) != entry["bytes"] and text.count(size) == 1:
                text = text.replace(size, f'"bytes": {len(content)}'.encode())
        manifest.write_bytes(xxh3.seal(text))
        return True
    except (AssertionError, StopIteration, ValueError, KeyError, TypeError, AttributeError):
        return False


STORE = [
    "search -q --dense {} --query-vectors questions --k 10 --scan f32 --output damaged.run",
    "search -q --dense {} --query-vectors questions --k 10 --scan int8 --output damaged.run",
]
INDEX = [
    "search -q --sparse {} --queries queries.jsonl --k 10 --output damaged.run",
    "search -q --sparse {} --queries queries.jsonl --k 10 --ranker ql --rm3 --output damaged.run",
]
# Only feedback reads the vectors of documents.
DOC_VECTORS = "vectors.bin"
RERANK = (
    "rerank -q --model cross-encoders/mpnet --run few.run --corpus corpus.jsonl --queries queries.jsonl --depth 4 "
    "--truncation longest_first --text-index texts --cache scores --output damaged.run"
)


def directories(bench, deadline):
    """Stores and inverted indexes."""
    wholes = {
        "store": ("store", STORE),
        "store of queries": ("questions", ["search -q --dense store --query-vectors {} --k 10 --output damaged.run"]),
        "inverted index": ("index", INDEX),
    }
    output = bench.path("damaged.run")
    expected = {}
    for name, commands in wholes.values():
        for command in commands:
            bench.must(command.format(name))
            expected[command] = output.read_bytes()
    for number in until(deadline, 30):
        choices = bench.choices(PART, number)
        format_name = choices.choice(("store", "store", "inverted index", "inverted index", "store of queries"))
        source, commands = wholes[format_name]
        copy = bench.path("damaged")
        remove(copy)
        shutil.copytree(bench.path(source), copy)
        name = choices.choice([name for name in files_in(copy)])
        before = (copy / name).read_bytes()
        after, how = harmed(choices, before)
        if after == before:
            continue
        (copy / name).write_bytes(after)
        sealed = choices.random() < 0.4 and sealed_again(copy, name)
        for command in commands:
            remove(output)
            ended = bench.run(command.format("damaged"))
            what = f"case {number}: {name}, {how}{', sealed' if sealed else ''}: {command}"
            problem = ended.harm()
            same = ended.code == 0 and output.read_bytes() == expected[command]
            # Every byte that a command reads is verified, also where the result would be the same.
            read = name != DOC_VECTORS or "--rm3" in command
            if not problem and not sealed and ended.code == 0 and (read or not same):
                problem = "undetected change"
            outcome = "refused" if ended.code else "the same" if same else "other result"
            case = f"{format_name}{', sealed again' if sealed else ''}"
            bench.table.add(PART, case, not problem, f"{problem}: {what}\n{ended.err[-300:]}", outcome)


def reranking(bench, deadline):
    """The text index and the score cache: damage costs time, never a result."""
    lines = bench.path("sparse.run").read_text().splitlines(keepends=True)
    bench.path("few.run").write_text("".join(lines[:60]))
    output = bench.path("damaged.run")
    bench.must(RERANK)
    expected = output.read_bytes()
    for source in ("texts", "scores"):
        shutil.copytree(bench.path(source), bench.path(f"{source}-whole"))
    for number in until(deadline, 10):
        choices = bench.choices(PART, "rerank", number)
        source = choices.choice(("texts", "scores"))
        for name in ("texts", "scores"):
            remove(bench.path(name))
            shutil.copytree(bench.path(f"{name}-whole"), bench.path(name))
        if source == "texts":
            # Else no text is read.
            remove(bench.path("scores"))
        name = choices.choice(list(files_in(bench.path(source))))
        file = bench.path(source) / name
        after, how = harmed(choices, file.read_bytes())
        file.write_bytes(after)
        remove(output)
        ended = bench.run(RERANK)
        same = ended.code == 0 and output.read_bytes() == expected
        problem = ended.harm() or (None if same or ended.code else "undetected change")
        case = "text index" if source == "texts" else "score cache"
        what = f"{problem}: case {number}: {name}, {how}\n{ended.err[-300:]}"
        bench.table.add(PART, case, not problem, what, "the same" if same else "refused")


def recipe(bench, deadline):
    """A recipe's memory: damage is refused, or the outputs are right."""
    bench.must("run recipe.toml --work work -q")
    state = bench.path("work/recipe-state.json")
    whole, expected = state.read_bytes(), files_in(bench.path("work"))
    for number in until(deadline, 10):
        choices = bench.choices(PART, "recipe", number)
        after, how = harmed(choices, whole)
        if choices.random() < 0.4 and len(after) > 300:
            after, how = xxh3.seal(after), how + ", sealed"
        state.write_bytes(after)
        ended = bench.run("run recipe.toml --work work -q")
        found = files_in(bench.path("work"))
        problem = ended.harm()
        if not problem and any(found.get(name) != expected[name] for name in expected if "recipe-state" not in name):
            problem = "other outputs"
        what = f"{problem}: case {number}: {how}\n{ended.err[-300:]}"
        outcome = "refused" if ended.code else "the same"
        bench.table.add(PART, f"recipe state{', sealed again' if 'sealed' in how else ''}", not problem, what, outcome)
    state.write_bytes(whole)


def foreign(bench, deadline):
    """Files of other programs: npy, Parquet, FAISS."""
    for extension in ("npy", "parquet", "faiss"):
        bench.must(f"store export -q store --output whole.{extension}")
    for number in until(deadline, 10):
        choices = bench.choices(PART, "foreign", number)
        extension = choices.choice(("npy", "parquet", "faiss"))
        after, how = harmed(choices, bench.path(f"whole.{extension}").read_bytes())
        if choices.random() < 0.5 and len(after) > 64:
            # Counts and sizes are in the first bytes, and in the last of Parquet.
            place = choices.randrange(56) if extension != "parquet" else len(after) - 8 - choices.randrange(40)
            value = choices.choice((0, 1, 0x7F, 0xFF, 0xFFFFFFFF, 0x7FFFFFFF))
            changed = bytearray(after)
            struct.pack_into("<I", changed, max(min(place, len(after) - 4), 0), value)
            after, how = bytes(changed), f"{how}; {value:#x} at {place}"
        bench.path(f"damaged.{extension}").write_bytes(after)
        shutil.copy(bench.path("whole.ids.txt"), bench.path("damaged.ids.txt"))
        remove(bench.path("imported"))
        ended = bench.run(f"store import -q damaged.{extension} --output imported")
        problem = ended.harm()
        outcome = "refused" if ended.code else "imported"
        what = f"{problem}: case {number}: {how}\n{ended.err[-300:]}"
        bench.table.add(PART, f"import of {extension}", not problem, what, outcome)


def run(bench, seconds):
    shares = ((directories, 0.6), (reranking, 0.15), (recipe, 0.1), (foreign, 0.15))
    for part, share in shares:
        part(bench, time.monotonic() + share * seconds)
