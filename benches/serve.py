#!/usr/bin/env python3
"""`toller serve` next to sentence-transformers behind FastAPI, on SciFact, in turn in one run: requests a second and
latencies of POST /embed with one text each, by wrk (Debian's package) on the same machine.

    $(scripts/peers) benches/serve.py [--seconds 15] [--rounds 2]

The model is the directory TOLLER_MINILM (`scripts/get-minilm`), the binary target/release/toller or TOLLER.
"""
import argparse
import gzip
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
PORTS = {"toller": 3917, "FastAPI": 3918}
THREADS = os.cpu_count() or 1
# Each connection sends the bodies of a file in turn.
SCRIPT = """
local bodies, next = {}, 0
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
local headers = { ["Content-Type"] = "application/json" }
request = function()
  next = next % #bodies + 1
  return wrk.format("POST", "/embed", headers, bodies[next])
end
"""


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
    else:
        command = [sys.executable, ROOT / "benches" / "peers" / "serve.py", model, port, THREADS]
    process = subprocess.Popen([str(part) for part in command])
    for _ in range(600):
        try:
            embed(name, "a warm-up")
            return process
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{name} does not answer")


def embed(name, text):
    body = json.dumps({"inputs": text}).encode()
    url = f"http://127.0.0.1:{PORTS[name]}/embed"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))[0]


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
    with tempfile.TemporaryDirectory() as folder:
        scripts = {}
        for kind, lines in texts().items():
            bodies = Path(folder, f"{kind}.txt")
            bodies.write_text("".join(json.dumps({"inputs": text}) + "\n" for text in lines))
            scripts[kind] = Path(folder, f"{kind}.lua")
            scripts[kind].write_text(SCRIPT.replace("BODIES", str(bodies)))
        cases = [("abstracts", 32), ("claims", 32), ("claims", 1)]
        found = {(name, case): [] for name in PORTS for case in cases}
        for _ in range(options.rounds):
            for name in PORTS:
                server = started(name, model)
                try:
                    for case in cases:
                        found[name, case].append(load(name, scripts[case[0]], case[1], options.seconds))
                finally:
                    server.terminate()
                    server.wait()
        print(f"{THREADS} threads, the best of {options.rounds} rounds of {options.seconds} s in turn")
        print("| texts | connections | toller requests/s | p50 ms | p99 ms | FastAPI requests/s | p50 ms | p99 ms | ratio |")
        print("|--|--:|--:|--:|--:|--:|--:|--:|--:|")
        for case in cases:
            ours, theirs = (max(found[name, case]) for name in PORTS)
            cells = [f"{value:.1f}" for value in (*ours, *theirs)]
            print(f"| {case[0]} | {case[1]} | {' | '.join(cells)} | {ours[0] / theirs[0]:.2f} |")


main()
