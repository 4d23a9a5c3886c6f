"""The encoder's steps: its tests, whole commands against the CPU, parity, and tokens per second next to torch."""
import json
import sys
import tempfile
import time
from pathlib import Path

from . import made_model
from .folder import ENCODER_PEERS
from .runner import Skipped

DTYPES = ["f16", "bf16", "f32"]
FULL = {"shape": made_model.BASE, "lengths": [50, 128, 512], "batches": [1, 10, 50, 200], "texts": 2048}
TINY = {"shape": made_model.TINY, "lengths": [8, 40], "batches": [1, 2], "texts": 4}
# All steps together, in seconds: the search of full size comes next.
SECONDS = 220
# The largest difference of a score in f32 from the CPU's, relative to the largest score.
SCORES = 1e-4
WORDS = "the of a dog search text query answer water river paper light house green music train".split()


def steps(check):
    """Adds the steps to a run."""
    Encoder(check).all()


class Encoder:
    def __init__(self, check):
        self.check, self.runner, self.report = check, check.runner, check.report
        self.models = check.folder / "models"
        self.sizes = TINY if check.is_stand_in else FULL
        self.report |= {"parity": {}, "encode": [], "latency": []}

    def all(self):
        slow = self.check.is_stand_in
        until = None if slow else time.monotonic() + SECONDS
        step = lambda name, seconds, work: self.runner.step(f"encoder: {name}", seconds, work, until)
        step("tests", 60 if not slow else 900,
             lambda: self.check.tests("encoder tests", "cuda::", "a_gpu_is_near", program="tests-encoder"))
        step("encode, search, rerank", 60 if not slow else 300, self.whole)
        for dtype in DTYPES:
            step(f"parity in {dtype}", 30 if not slow else 300, lambda: self.parity(dtype))
        with tempfile.TemporaryDirectory() as name:
            model = Path(name) / "model"
            for dtype in DTYPES:
                step(f"rates in {dtype}", 40 if not slow else 300, lambda: self.rates(model, dtype))
            for dtype in DTYPES[:2]:
                step(f"bulk copies in {dtype}", 40 if not slow else 300, lambda: self.bulk_copies(model, dtype))
            step("cuBLASLt in f16", 40 if not slow else 300, lambda: self.rates(model, "f16", " with cuBLASLt", "--cublas"))
            step("peers", 90, lambda: self.peers(model))

    def make(self, model):
        """Makes the random model if no step before has made it."""
        if not model.exists():
            made_model.make(self.models / "tiny-bert", model, self.sizes["shape"])

    def toller(self, *arguments):
        return self.runner.checked([self.check.folder / "toller", *arguments], self.check.environment)

    def whole(self):
        """The same commands on the device and on the CPU, in f32: the same documents with nearly the same scores."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = lambda number: " ".join(WORDS[number * step % len(WORDS)] for step in range(1, 6 + number % 20))
            passages = [json.dumps({"_id": f"d{number}", "text": text(number)}) for number in range(1, 41)]
            (folder / "corpus.jsonl").write_text("\n".join(passages) + "\n")
            (folder / "queries.tsv").write_text("".join(f"q{number}\t{text(number * 7)}\n" for number in range(1, 4)))
            runs = [self.commands(folder, device) for device in [self.check.device, "cpu"]]
        for stage in runs[0]:
            compare(stage, *(run[stage] for run in runs))

    def commands(self, folder, device):
        """The runs of a search and of its reranking on a device."""
        shared = ["--device", device, "--dtype", "f32", "--quiet"]
        corpus, queries = ["--corpus", folder / "corpus.jsonl"], ["--queries", folder / "queries.tsv"]
        store, found, reranked = (folder / f"{part}-{device.replace(':', '-')}" for part in ["store", "found", "reranked"])
        model = ["--model", self.models / "tiny-bert"]
        self.toller("encode", *model, *corpus, "--output", store, *shared)
        self.toller("search", "--dense", store, *model, *queries, "--k", 10, "--output", found, *shared)
        self.toller("rerank", "--model", self.models / "cross-encoder", "--run", found, *corpus, *queries, "--depth", 10,
                    "--label", 0, "--truncation", "longest_first", "--output", reranked, *shared)
        return {"search": scores(found), "rerank": scores(reranked)}

    def parity(self, dtype):
        """The relative errors of vectors and logits against float64. Toller fails if one is beyond what it promises."""
        for model in sorted(self.models.iterdir()):
            shared = ["--dtype", dtype, "--device", self.check.device, "--json", "--quiet"]
            self.report["parity"][f"{model.name} {dtype}"] = json.loads(self.toller("verify", "--model", model, *shared))

    def bulk_copies(self, model, dtype):
        """The rates by the kernels with bulk copies, which are not chosen by default."""
        self.check.needs_bulk_copies()
        self.rates(model, dtype, " with bulk copies", "--bulk-copies")

    def rates(self, model, dtype, kernels="", *choice):
        self.make(model)
        measured = json.loads(self.toller("bench", "encode", "--model", model, "--pooling", "mean", "--lengths",
                                          ",".join(map(str, self.sizes["lengths"])), "--batches", ",".join(map(str, self.sizes["batches"])),
                                          "--seconds", "0.5", "--dtype", dtype, "--device", self.check.device, "--json", "--quiet", *choice))
        peer = f"toller {dtype}{kernels}"
        for figure in measured["figures"]:
            self.report["encode"].append({"peer": peer, "texts": figure["texts"],
                                          "from_ids": figure["from_ids_tokens_per_second"],
                                          "from_text": figure["tokens_per_second"], "kernels": figure["kernels"]})
        self.report["latency"] += [{"peer": peer, **latency} for latency in measured["latencies"]]

    def peers(self, model):
        self.make(model)
        command = [sys.executable, self.check.folder / ENCODER_PEERS, "--model", model, "--lengths",
                   ",".join(map(str, self.sizes["lengths"])), "--texts", self.sizes["texts"],
                   "--device", "cpu" if self.check.is_stand_in else "cuda"]
        before = len(self.report["encode"])
        take = lambda line: (self.report["encode"].append(line["figure"]) if "figure" in line
                             else self.report["left_out"].append(line["left_out"]))
        self.runner.lines(command, take)
        if len(self.report["encode"]) == before:
            raise Skipped("no peer is installed")


def scores(run):
    """The score of each document by query."""
    found = {}
    for line in run.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        found.setdefault(query, {})[document] = float(score)
    return found


def compare(stage, ours, expected):
    """An error if scores differ too much. Documents whose scores are nearly equal may change places."""
    if not expected or ours.keys() != expected.keys():
        raise RuntimeError(f"{stage}: queries {sorted(ours)} instead of {sorted(expected)}")
    for query, of_query in expected.items():
        largest = max(abs(score) for score in of_query.values())
        shared = of_query.keys() & ours[query].keys()
        if len(shared) < len(of_query) - 1:
            raise RuntimeError(f"{stage}, {query}: {sorted(ours[query])} instead of {sorted(of_query)}")
        for document in shared:
            if abs(ours[query][document] - of_query[document]) > SCORES * largest:
                raise RuntimeError(f"{stage}, {query}, {document}: {ours[query][document]} instead of {of_query[document]}")
