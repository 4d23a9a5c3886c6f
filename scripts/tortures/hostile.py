"""Collections and models that mean harm."""

import gzip
import io
import json
import shutil
import struct
import time
import zipfile

from .bench import FIXTURES, remove, until
from .damage import harmed

ODD = [
    "\x00", "\ufeff", "\u202e", "\x1b]0;x\x07", "\u0301" * 300, "\U0010ffff", "\ud7ff", "\r", "\t", "\u2028", '"', "'", "\\",
    "<DOC>", "</TEXT>", "{", "[", "=1+1", "../../x", "%s", "a" * 70_000, " ", "", "\u3000", "\x7f", "\x85",
]


def text(choices):
    return "".join(choices.choice((choices.choice(ODD), "word ", "other ")) for _ in range(choices.randrange(6)))


def collection(choices):
    """A file and its name."""
    count = choices.randrange(1, 40)
    kind = choices.choice(("jsonl", "tsv", "trec", "deep", "bytes", "blank", "bomb", "utf-16", "long id", "parquet"))
    ids = [choices.choice((str(number), "same", text(choices))) for number in range(count)]
    if kind == "jsonl":
        keys = ("_id", "id", "docid", "title", "text", "contents", "x")
        odd = (None, 3, 1e300, -1, True, [], {}, [["a"]], "\ud800")
        record = lambda id_: {"_id": id_, choices.choice(keys): choices.choice((text(choices), choices.choice(odd)))}
        return "jsonl", "\n".join(json.dumps(record(id_)) for id_ in ids).encode()
    if kind == "tsv":
        rows = ("\t".join([id_, *(text(choices) for _ in range(choices.randrange(4)))]) for id_ in ids)
        return "tsv", "\n".join(rows).encode()
    if kind == "trec":
        document = lambda id_: f"<DOC>\n<DOCNO>{id_}</DOCNO>\n<TEXT>{text(choices)}</TEXT>\n</DOC>\n"
        return "trec", "".join(map(document, ids))[: choices.randrange(1, 4000)].encode()
    if kind == "deep":
        depth = choices.choice((100, 10_000, 300_000))
        return "jsonl", b'{"_id": "1", "text": ' + choices.choice((b"[", b'{"a":')) * depth
    if kind == "bytes":
        return choices.choice(("jsonl", "tsv", "parquet", "csv")), choices.randbytes(choices.randrange(5000))
    if kind == "blank":
        return "jsonl", b"\n" * choices.choice((1, 1000, 3_000_000))
    if kind == "bomb":
        zeros = choices.choice((b"\0", b"\n", b"a")) * (1 << 20)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
            for _ in range(choices.choice((1, 64))):
                file.write(zeros)
        return "jsonl.gz", packed.getvalue()[: choices.choice((None, 1000))]
    if kind == "utf-16":
        return "tsv", "".join(f"{id_}\ttext\n" for id_ in ids).encode(choices.choice(("utf-16", "utf-32", "latin-1")), "replace")
    if kind == "long id":
        return "tsv", b"i" * choices.choice((1000, 1_000_000)) + b"\ttext\n2\tother\n"
    return "parquet", b"PAR1" + choices.randbytes(200) + struct.pack("<I", choices.choice((0, 190, 2**31))) + b"PAR1"


def corpora(bench, seconds):
    deadline = time.monotonic() + seconds
    for number in until(deadline, 20):
        choices = bench.choices("corpora", number)
        extension, data = collection(choices)
        name = f"hostile.{extension}"
        bench.path(name).write_bytes(data)
        skip = choices.choice(("", " --skip-bad-lines"))
        command = choices.choice(
            (
                f"index --language en --corpus {name} --output hostile-out",
                f"encode --model tiny-bert --corpus {name} --output hostile-out",
            )
        )
        ended = bench.run(command + skip)
        problem = ended.harm()
        if not problem and ended.code and bench.path("hostile-out/manifest.json").exists() and "index" in command:
            problem = "an index of a command that failed"
        if not problem and any(byte in ended.err for byte in "\x1b\x07"):
            problem = "commands for the terminal"
        what = f"{problem}: case {number}: {command + skip}: {data[:80]!r}\n{ended.err[-300:]}"
        outcome = "refused" if ended.code else "read"
        bench.table.add("hostile collections", command.split()[0], not problem, what, outcome)
        remove(bench.path(name), bench.path("hostile-out"))


NUMBERS = (0, -1, 1, 2, 7, 1 << 20, 1 << 31, 1 << 62, 1e300, -0.5, None, "x", [], {}, True)


def memo_bomb(choices):
    levels = choices.choice((12, 100, 250))
    lines = b"".join(b"(" + 4 * bytes((0x68, at)) + b"tq" + bytes((at + 1,)) for at in range(min(levels, 250)))
    return b"\x80\x02U\x04aaaaq\x00" + lines + b"."


def pickles(choices):
    system = b"cos\nsystem\n(S'touch harmed'\ntR."
    return choices.choice(
        (
            memo_bomb(choices),
            b"\x80\x02N" + b"\x85" * choices.choice((1000, 300_000)) + b".",
            b"\x80\x02" + b"(" * 100_000 + b".",
            system,
            b"\x80\x02" + b"]" * 100_000 + b".",
            b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b".",
            choices.randbytes(300),
        )
    )


OUTSIDE = "a module outside of the model"


def spoil(choices, folder):
    """Makes a model harmful; returns how."""
    kind = choices.choice(("json", "json", "flip", "weights", "pickle", "zip", "modules", "missing", "index"))
    names = [file.name for file in sorted(folder.iterdir()) if file.suffix == ".json" and "expected" not in file.name]
    if kind == "json":
        name = choices.choice(names)
        found = json.loads((folder / name).read_text())
        places = list(found) if isinstance(found, dict) else list(range(len(found)))
        place, value = choices.choice(places), choices.choice(NUMBERS)
        found[place] = value
        (folder / name).write_text(json.dumps(found))
        return f"{name}: {place} = {value!r}"
    if kind in ("flip", "weights"):
        name = choices.choice(names) if kind == "flip" else "model.safetensors"
        data, how = harmed(choices, (folder / name).read_bytes())
        (folder / name).write_bytes(data)
        return f"{name}: {how}"
    if kind in ("pickle", "zip"):
        (folder / "model.safetensors").unlink()
        data = pickles(choices)
        if kind == "zip":
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", choices.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
                archive.writestr("model/data.pkl", data)
            data = packed.getvalue()
        (folder / "pytorch_model.bin").write_bytes(data)
        return f"{kind}: {data[:40]!r}"
    if kind == "modules":
        outside = folder.parent / "outside"
        shutil.copytree(folder / "1_Pooling", outside, dirs_exist_ok=True)
        path = choices.choice(("../outside", str(outside), "1_Pooling/../../outside", "\x1b[31m", "x" * 5000))
        modules = json.loads((folder / "modules.json").read_text())
        choices.choice(modules)["path"] = path
        (folder / "modules.json").write_text(json.dumps(modules))
        return f"{OUTSIDE if 'outside' in path else 'modules.json'}: {path[:40]!r}"
    if kind == "index":
        (folder / "model.safetensors").rename(folder.parent / "elsewhere.safetensors")
        shard = choices.choice(("../elsewhere.safetensors", str(folder.parent / "elsewhere.safetensors"), "model.safetensors"))
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
        return f"weights in {shard}"
    name = choices.choice([file.name for file in sorted(folder.iterdir()) if file.is_file() and "expected" not in file.name])
    (folder / name).unlink()
    return f"no {name}"


def models(bench, seconds):
    deadline = time.monotonic() + seconds
    texts = bench.path("few.tsv")
    texts.write_text("1\tone text\n2\tanother text of a few words\n")
    for number in until(deadline, 20):
        choices = bench.choices("models", number)
        model = bench.path("hostile-model")
        shutil.copytree(FIXTURES / choices.choice(("tiny-bert", "tiny-bert", "tiny-bert-pickle")), model)
        try:
            how = spoil(choices, model)
        except FileNotFoundError:
            remove(model)
            continue
        ended = bench.run("encode --model hostile-model --corpus few.tsv --output hostile-out")
        problem = ended.harm()
        if bench.path("harmed").exists():
            problem = "code of the model was run"
        if not problem and how.startswith(OUTSIDE) and not ended.code:
            problem = "it is loaded"
        if not problem and any(byte in ended.err for byte in "\x1b\x07"):
            problem = "commands for the terminal"
        what = f"{problem}: case {number}: {how}\n{ended.err[-300:]}"
        bench.table.add("hostile models", how.split(":")[0].split(" in ")[0], not problem, what, "refused" if ended.code else "loaded")
        remove(model, bench.path("hostile-out"), bench.path("elsewhere.safetensors"))
