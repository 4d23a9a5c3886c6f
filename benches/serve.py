#!/usr/bin/env python3
"""`toller serve` next to sentence-transformers behind FastAPI and infinity, on SciFact, in turn in one run: requests a
second and latencies of one text each, by wrk (Debian's package) on the same machine. Infinity has its own route.

    $(scripts/peers) benches/serve.py [--seconds 15] [--rounds 2]

The model is the directory TOLLER_MINILM (`scripts/get-minilm`), the binary target/release/toller or TOLLER.
"""
import argparse
import gzip
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TOLLER_SHARED", ROOT.parent / "shared"))
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PORTS = {"toller": 3917, "FastAPI": 3918, "infinity": 3921}
# Next to the environment of the other peers, since infinity needs older libraries.
INFINITY = Path(sys.prefix).parent / "infinity" / "bin" / "infinity_emb"
THREADS = os.cpu_count() or 1
# Each connection sends the bodies of a file in turn.
SCRIPT = """
local bodies, next = {}, 0
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
local headers = { ["Content-Type"] = "application/json" }
request = function()
  next = next % #bodies + 1
  return wrk.format("POST", "ROUTE", headers, bodies[next])
end
"""


def asked(name, text):
    """The route of a server, and the body for a text."""
    if name == "infinity":
        return "/embeddings", json.dumps({"model": "model", "input": text})
    return "/embed", json.dumps({"inputs": text})


def texts():
    """SciFact's abstracts with their titles, and its claims."""
    folder = SHARED / "data" / "scifact"
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as corpus:
        rows = [json.loads(line) for line, _ in zip(corpus, range(1000))]
    with open(folder / "queries.jsonl", encoding="utf-8") as queries:
        claims = [json.loads(line)["text"] for line in queries]
    return {"abstracts": [f"{row['title']} {row['text']}" for row in rows], "claims": claims}


def started(name, model):
    port = PORTS[name]
    if name == "toller":
        binary = os.environ.get("TOLLER", TARGET / "release" / "toller")
        command = [binary, "serve", "--model", model, "--port", port, "--log", "none", "-q"]
    elif name == "infinity":
        command = [INFINITY, "v2", "--model-id", model, "--served-model-name", "model", "--host", "127.0.0.1", "--port", port]
        command += ["--engine", "torch", "--device", "cpu", "--no-bettertransformer", "--log-level", "error"]
    else:
        command = [sys.executable, ROOT / "benches" / "peers" / "serve.py", model, port, THREADS]
    quiet = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
    process = subprocess.Popen([str(part) for part in command], env=os.environ | quiet)
    for _ in range(600):
        try:
            embed(name, "a warm-up")
            return process
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{name} does not answer")


def embed(name, text):
    route, body = asked(name, text)
    url = f"http://127.0.0.1:{PORTS[name]}{route}"
    request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
    found = json.load(urllib.request.urlopen(request, timeout=60))
    return found["data"][0]["embedding"] if name == "infinity" else found[0]


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def load(name, script, connections, seconds):
    """Requests a second, and the p50 and p99 in milliseconds."""
    url = f"http://127.0.0.1:{PORTS[name]}"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "--latency", "-s", script, url]
    found = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in found or "Socket errors" in found:
        sys.exit(f"{name}: {found}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", found)[1])
    return rate, *(milliseconds(re.search(rf"^ +{share}% +(\S+)", found, re.M)[1]) for share in (50, 99))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    model = os.environ["TOLLER_MINILM"]
    cases = [("abstracts", 32), ("claims", 32), ("claims", 1)]
    found = {(name, case): [] for name in PORTS for case in cases}
    with tempfile.TemporaryDirectory() as folder:
        scripts = {}
        for name, (kind, lines) in itertools.product(PORTS, texts().items()):
            bodies, script = Path(folder, f"{name}-{kind}.txt"), Path(folder, f"{name}-{kind}.lua")
            bodies.write_text("".join(asked(name, text)[1] + "\n" for text in lines))
            script.write_text(SCRIPT.replace("BODIES", str(bodies)).replace("ROUTE", asked(name, "")[0]))
            scripts[name, kind] = script
        vectors = {}
        for _ in range(options.rounds):
            for name in PORTS:
                server = started(name, model)
                try:
                    vectors[name] = embed(name, "A claim that every server embeds.")
                    for case in cases:
                        found[name, case].append(load(name, scripts[name, case[0]], case[1], options.seconds))
                finally:
                    server.terminate()
                    server.wait()
    for name in PORTS:
        apart = max(abs(own - other) for own, other in zip(vectors["toller"], vectors[name], strict=True))
        if apart > 1e-5:
            sys.exit(f"{name} has another vector: {apart}")
    print(f"{THREADS} threads, the best of {options.rounds} rounds of {options.seconds} s in turn")
    print("| texts | connections | server | requests/s | p50 ms | p99 ms | toller's rate is |")
    print("|--|--:|--|--:|--:|--:|--:|")
    for case, name in itertools.product(cases, PORTS):
        best, ours = max(found[name, case]), max(found["toller", case])
        cells = " | ".join(f"{value:.1f}" for value in best)
        print(f"| {case[0]} | {case[1]} | {name} | {cells} | {ours[0] / best[0]:.2f} times |")


main()
