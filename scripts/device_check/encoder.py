"""The encoder's steps: its tests, whole commands against the CPU, parity, and tokens per second next to torch."""
import array
import json
import math
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from . import made_model
from .folder import ENCODER_PEERS
from .runner import Skipped

# The type that matters most, and the others.
DTYPE, OTHERS = "f16", ["bf16", "f32"]
# `mixed`: texts of many lengths. `pairs`: queries, and passages of each, that a cross-encoder reads.
FULL = {"shape": made_model.BASE, "lengths": [50, 128, 512], "batches": [1, 10, 50, 200], "texts": 2048, "deep": (100, 60), "mixed": 4096,
        "pairs": (8, 1000)}
TINY = {"shape": made_model.TINY, "lengths": [8, 40], "batches": [1, 2], "texts": 4, "deep": (4, 10), "mixed": 4, "pairs": (1, 3)}
# All steps together, in seconds: the search of full size comes next.
SECONDS = 220
# The largest difference of a score in f32 from the CPU's, relative to the largest score.
SCORES = 1e-4
# The largest error of a vector in f16, relative to its length: what f16 may cost is 2e-3 for real models.
DEEP = 5e-3
# The tests of cuBLASLt's products.
LIBRARY = "products_of_the_library_are_near"
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
        """The most valuable steps first: f16 with its library and its peers, then what else there is."""
        slow = self.check.is_stand_in
        until = None if slow else time.monotonic() + SECONDS
        step = lambda name, seconds, work: self.runner.step(f"encoder: {name}", seconds if not slow else 300, work, until)
        step("tests", 60 if not slow else 900, lambda: self.check.tests(
            "encoder tests", "cuda::", "a_gpu_is_near", "--skip", LIBRARY, program="tests-encoder"))
        step("tests of cuBLASLt", 30 if not slow else 300, self.library)
        step("whole commands", 60, self.whole)
        with tempfile.TemporaryDirectory() as name:
            model = Path(name) / "model"
            parity = lambda dtype: step(f"parity in {dtype}", 30, lambda: self.parity(dtype))
            rates = lambda dtype: step(f"rates in {dtype}", 40, lambda: self.rates(model, dtype))
            parity(DTYPE)
            step(f"twelve layers in {DTYPE}", 40, lambda: self.deep(model))
            self.check.wait_for_compilers()
            rates(DTYPE)
            mixed = Path(name) / "mixed.jsonl"
            step("texts of many lengths", 30, lambda: self.mixed(model, mixed))
            step("reranking", 30, lambda: self.rerank(Path(name) / "cross-encoder"))
            step(f"cuBLASLt in {DTYPE}", 40, lambda: self.library_rates(model))
            step("peers", 90, lambda: self.peers(model, mixed))
            for work in [parity, rates]:
                for dtype in OTHERS:
                    work(dtype)
            step(f"kernels of sm_80 in {DTYPE}", 40, lambda: self.rates(model, DTYPE, " as sm_80", "--capability", "8.0"))

    def make(self, model):
        """Makes the random model if no step before has made it."""
        if not model.exists():
            made_model.make(self.models / "tiny-bert", model, self.sizes["shape"])

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
        toller = lambda command, *arguments: self.check.toller(command, command, *arguments, "--device", device, "--dtype", "f32")
        corpus, queries = ["--corpus", folder / "corpus.jsonl"], ["--queries", folder / "queries.tsv"]
        store, found, reranked = (folder / f"{part}-{device.replace(':', '-')}" for part in ["store", "found", "reranked"])
        model = ["--model", self.models / "tiny-bert"]
        toller("encode", *model, *corpus, "--output", store)
        toller("search", "--dense", store, *model, *queries, "--k", 10, "--output", found)
        toller("rerank", "--model", self.models / "cross-encoder", "--run", found, *corpus, *queries, "--depth", 10,
               "--label", 0, "--truncation", "longest_first", "--output", reranked)
        return {"search": scores(found), "rerank": scores(reranked)}

    def parity(self, dtype):
        """The relative errors of vectors and logits against float64. Toller fails if one is beyond what it promises."""
        for model in sorted(self.models.iterdir()):
            arguments = ["verify", "--model", model, "--dtype", dtype, "--device", self.check.device, "--json"]
            self.report["parity"][f"{model.name} {dtype}"] = json.loads(self.check.toller("verify", *arguments))

    def deep(self, model):
        """The vectors of the random model, in f16 on the device and in f32 on the CPU: layers as wide and deep as BERT's, and more rows
        than the kernels for few rows take."""
        self.make(model)
        texts, words = self.sizes["deep"]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = lambda number: " ".join(WORDS[(number * step + step // 7) % len(WORDS)] for step in range(1, words + 1))
            passages = [json.dumps({"_id": f"d{number}", "text": text(number)}) for number in range(texts)]
            (folder / "corpus.jsonl").write_text("\n".join(passages) + "\n")
            pairs = [(self.check.device, DTYPE), ("cpu", "f32")]
            ours, expected = (self.vectors(model, folder, device, dtype, texts) for device, dtype in pairs)
        error = max(math.dist(*pair) / math.hypot(*pair[1]) for pair in zip(ours, expected))
        self.report["parity"][f"twelve layers {DTYPE}"] = {"texts": texts, "largest_error": error}
        if not error <= DEEP:
            raise RuntimeError(f"a vector's relative error is {error:.2g}, above {DEEP}")

    def vectors(self, model, folder, device, dtype, count):
        """The vectors of the corpus in `folder`, as lists."""
        store, file = folder / f"store-{dtype}", folder / f"{dtype}.npy"
        self.check.toller("encode deep", "encode", "--model", model, "--pooling", "mean", "--corpus", folder / "corpus.jsonl", "--output", store,
                          "--device", device, "--dtype", dtype, "--store-dtype", "f32")
        self.check.toller("store export", "store", "export", store, "--output", file)
        content = file.read_bytes()
        header = 10 + int.from_bytes(content[8:10], "little")
        numbers = array.array("f", content[header:])
        dim = len(numbers) // count
        return [numbers[row * dim:(row + 1) * dim] for row in range(count)]

    def library(self):
        """The products of cuBLASLt, which device-check and users can do without."""
        self.check.needs_cublas()
        self.check.tests("encoder tests of cuBLASLt", f"cuda::tests::{LIBRARY}", program="tests-encoder")

    def mixed(self, model, corpus):
        """Tokens per second of texts whose lengths vary as those of passages do: half of them have fewer than 80 words."""
        self.make(model)
        source = random.Random(1)
        lengths = [min(500, max(3, round(source.lognormvariate(math.log(80), 0.7)))) for _ in range(self.sizes["mixed"])]
        lines = [json.dumps({"_id": f"d{number}", "text": " ".join(source.choices(WORDS, k=length))}) for number, length in enumerate(lengths)]
        corpus.write_text("\n".join(lines) + "\n")
        measured = self.bench(model, "--corpus", corpus, "--batches", 1)
        self.report["encode"] += [{"peer": f"toller {DTYPE}", "texts": "many lengths", "from_ids": figure["from_ids_tokens_per_second"],
                                   "from_text": figure["tokens_per_second"]} for figure in measured["figures"]]

    def rerank(self, model):
        """Tokens per second of pairs that a cross-encoder of the random model's shape reads."""
        made_model.make(self.models / "tiny-bert", model, self.sizes["shape"], is_cross_encoder=True)
        queries, depth = self.sizes["pairs"]
        measured = json.loads(self.check.toller("bench rerank", "bench", "rerank", "--model", model, "--queries", queries, "--depths", depth,
                                                "--seconds", "0.5", "--dtype", DTYPE, "--device", self.check.device, "--json"))
        self.report["encode"] += [{"peer": f"toller {DTYPE}", "texts": "pairs", "from_text": figure["tokens_per_second"]}
                                  for figure in measured["figures"]]

    def library_rates(self, model):
        self.check.needs_cublas()
        self.rates(model, DTYPE, " with cuBLASLt", "--cublas")

    def rates(self, model, dtype, kernels="", *choice):
        """Tokens per second and latencies, by `choice` with other kernels: at all sizes only in f16 with the usual kernels."""
        self.make(model)
        lengths, batches = self.sizes["lengths"], self.sizes["batches"]
        if dtype != DTYPE or choice:
            lengths, batches = [lengths[0], lengths[-1]], [1]
        measured = self.bench(model, "--lengths", ",".join(map(str, lengths)), "--batches", ",".join(map(str, batches)), *choice,
                              dtype=dtype, kernels=kernels)
        peer = f"toller {dtype}{kernels}"
        for figure in measured["figures"]:
            self.report["encode"].append({"peer": peer, "texts": figure["texts"],
                                          "from_ids": figure["from_ids_tokens_per_second"],
                                          "from_text": figure["tokens_per_second"], "kernels": figure["kernels"]})
        self.report["latency"] += [{"peer": peer, **latency} for latency in measured["latencies"]]

    def bench(self, model, *choice, dtype=DTYPE, kernels=""):
        arguments = ["bench", "encode", "--model", model, "--pooling", "mean", "--seconds", "0.5", "--dtype", dtype, "--device",
                     self.check.device, "--json", *choice]
        return json.loads(self.check.toller(f"bench encode{kernels}", *arguments))

    def peers(self, model, mixed):
        """`mixed` is a corpus, which is there if its step has run."""
        self.make(model)
        command = [sys.executable, self.check.folder / ENCODER_PEERS, "--model", model, "--lengths",
                   ",".join(map(str, self.sizes["lengths"])), "--texts", self.sizes["texts"],
                   "--device", "cpu" if self.check.is_stand_in else "cuda", *(["--corpus", mixed] if mixed.exists() else [])]
        before = len(self.report["encode"])
        take = lambda line: (self.report["encode"].append(line["figure"]) if "figure" in line
                             else self.report["left_out"].append(line["left_out"]))
        # All files are here. Without this, the peers may ask a hub for others, and wait where there is no network.
        self.runner.lines(command, take, {**os.environ, "HF_HUB_OFFLINE": "1"})
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
