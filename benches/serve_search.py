#!/usr/bin/env python3
"""Searches over HTTP next to `toller bench search`, over the same 500,000 random vectors of 384 dimensions: requests a
second of POST /v1/search from 32 connections by wrk on the same machine. The model is tiny, so that the search
takes the time, and not the model.

    $(scripts/peers) benches/serve_search.py [--vectors 500000] [--seconds 20]

The binary is target/release/toller or TOLLER.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TOLLER_SHARED", ROOT.parent / "shared"))
TOLLER = os.environ.get("TOLLER", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "toller")
PORT, DIM, CONNECTIONS = 3920, 384, 32
URL = f"http://127.0.0.1:{PORT}"
SCRIPT = """
local bodies, next = {}, 0
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
local headers = { ["Content-Type"] = "application/json" }
request = function()
  next = next % #bodies + 1
  return wrk.format("POST", "/v1/search", headers, bodies[next])
end
"""


def toller(*arguments):
    return subprocess.run([str(part) for part in (TOLLER, *arguments)], check=True, capture_output=True, text=True).stdout


def small_model(path):
    """The fixture's model, whose vectors a random matrix projects to DIM dimensions."""
    shutil.copytree(ROOT / "tests" / "fixtures" / "tiny-bert", path)
    hidden = json.loads((path / "config.json").read_text())["hidden_size"]
    dense = path / "2_Dense"
    dense.mkdir()
    settings = {"in_features": hidden, "out_features": DIM, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
    (dense / "config.json").write_text(json.dumps(settings))
    weight = numpy.random.default_rng(2).standard_normal((DIM, hidden), dtype=numpy.float32)
    save_file({"linear.weight": weight}, dense / "model.safetensors")
    modules = json.loads((path / "modules.json").read_text())
    modules.insert(2, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    numbered = [{**module, "idx": index, "name": str(index)} for index, module in enumerate(modules)]
    (path / "modules.json").write_text(json.dumps(numbered))


def random_vectors(path, count):
    """Unit vectors, with their row numbers as identifiers."""
    vectors = numpy.random.default_rng(1).standard_normal((count, DIM), dtype=numpy.float32)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    numpy.save(path, vectors)


def served(folder, seconds):
    """Requests a second, and p50 and p99 as wrk prints them."""
    with open(SHARED / "data" / "scifact" / "queries.jsonl", encoding="utf-8") as queries:
        bodies = [json.dumps({"query": json.loads(line)["text"], "k": 10}) for line in queries]
    (folder / "bodies.txt").write_text("\n".join(bodies) + "\n")
    (folder / "load.lua").write_text(SCRIPT.replace("BODIES", str(folder / "bodies.txt")))
    command = [TOLLER, "serve", "-q", "--log", "none", "--port", PORT, "--model", folder / "model", "--dense", folder / "store"]
    server = subprocess.Popen([str(part) for part in command])
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{URL}/health", timeout=5)
                break
            except OSError:
                time.sleep(0.1)
        load = ["wrk", "-t1", f"-c{CONNECTIONS}", "--timeout", "60s", "--latency", "-s", str(folder / "load.lua"), URL]
        subprocess.run([*load, "-d3s"], capture_output=True, check=True)
        found = subprocess.run([*load, f"-d{seconds}s"], capture_output=True, text=True, check=True).stdout
        if "Non-2xx" in found or "Socket errors" in found:
            raise SystemExit(found)
        shares = [re.search(rf"^ +{share}% +(\S+)", found, re.M)[1] for share in (50, 99)]
        metrics = urllib.request.urlopen(f"{URL}/metrics").read().decode()
        total, batches = (float(re.search(rf"^toller_batch_items_{what}.*search.* (\S+)$", metrics, re.M)[1]) for what in ("sum", "count"))
        print(f"{total / batches:.1f} queries a batch")
        return float(re.search(r"Requests/sec:\s+([\d.]+)", found)[1]), shares
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=500_000)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small_model(folder / "model")
        random_vectors(folder / "vectors.npy", options.vectors)
        toller("store", "import", "-q", folder / "vectors.npy", "--row-ids", "--model", folder / "model", "--output", folder / "store")
        (folder / "vectors.npy").unlink()
        print(toller("bench", "search", "-q", "--dense", folder / "store", "--queries", "16,32", "--k", "10", "--scan", "auto"))
        rate, (p50, p99) = served(folder, options.seconds)
        print(f"served: {rate:.1f} requests/s, p50 {p50}, p99 {p99}, {CONNECTIONS} connections")


main()
