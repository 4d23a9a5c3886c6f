#!/usr/bin/env python3
"""`toller serve` under load, with SciFact's claims as requests of POST /embed, by wrk on the same machine: its capacity,
latencies at 70 % of it, ten times as many requests as it can answer, and the memory of some minutes.

    benches/serve_load.py [--seconds 30] [--rounds 3] [--soak 300]

The model is the directory TOLLER_MINILM (`scripts/get-minilm`), the binary target/release/toller or TOLLER.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TOLLER_SHARED", ROOT.parent / "shared"))
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PORT = 3919
URL = f"http://127.0.0.1:{PORT}"
# The deadline of requests in the overload.
TIMEOUT_MS = 2000
# The connections of the overload.
OVERLOAD = 2000

# Each connection sends the bodies of a file in turn; with a PAUSE, after a random time of that mean. Answers are
# counted by status, and those of 200 by the time that the server took.
SCRIPT = """
local bodies, next = {}, 0
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
local headers = { ["Content-Type"] = "application/json", ["x-timeout-ms"] = "TIMEOUT" }
request = function()
  next = next % #bodies + 1
  return wrk.format("POST", "/embed", headers, bodies[next])
end
if PAUSE > 0 then delay = function() return math.floor(-PAUSE * math.log(1 - math.random())) end end
statuses, unanswered, waits = {}, 0, {}
if COUNTING then
  response = function(status, headers)
    statuses[status] = (statuses[status] or 0) + 1
    if status == 429 and not headers["retry-after"] then unanswered = unanswered + 1 end
    if status == 200 then waits[#waits + 1] = tonumber(headers["x-total-time"]) end
  end
end
local threads = {}
setup = function(thread) threads[#threads + 1] = thread end
done = function(summary)
  if not COUNTING then return end
  local thread = threads[1]
  for status, count in pairs(thread:get("statuses")) do print("status " .. status .. " " .. count) end
  print("without Retry-After " .. thread:get("unanswered"))
  local waits = thread:get("waits")
  table.sort(waits)
  print("longest " .. waits[#waits])
  print("p99 of 200 " .. waits[math.ceil(#waits * 0.99)])
end
"""


def claims():
    with open(SHARED / "data" / "scifact" / "queries.jsonl", encoding="utf-8") as queries:
        return [json.loads(line)["text"] for line in queries]


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


class Load:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.bodies = self.folder / "bodies.txt"
        self.bodies.write_text("".join(json.dumps({"inputs": text}) + "\n" for text in claims()))

    def run(self, connections, seconds, pause=0.0, timeout=60_000, counting=False):
        """What wrk prints. `pause` is in milliseconds."""
        script = self.folder / "load.lua"
        words = {"BODIES": str(self.bodies), "TIMEOUT": str(timeout), "PAUSE": str(pause), "COUNTING": str(counting).lower()}
        text = SCRIPT
        for word, value in words.items():
            text = text.replace(word, value)
        script.write_text(text)
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "--latency", "-s", str(script), URL]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rate(found):
    return float(re.search(r"Requests/sec:\s+([\d.]+)", found)[1])


def percentiles(found):
    return [milliseconds(re.search(rf"^ +{share}% +(\S+)", found, re.M)[1]) for share in (50, 99)]


def resident(process):
    """Megabytes of memory that are the process's own; pages of mapped files come and go."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+)", status, re.M)[1]) / 1024


def started():
    binary = os.environ.get("TOLLER", TARGET / "release" / "toller")
    command = [binary, "serve", "--model", os.environ["TOLLER_MINILM"], "--port", PORT, "--log", "none", "-q"]
    process = subprocess.Popen([str(part) for part in command])
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{URL}/health", timeout=5)
            return process
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3, help="of the latencies at 70 % of the capacity")
    parser.add_argument("--soak", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load, server = Load(folder), started()
        try:
            load.run(32, 3)
            found = load.run(32, options.seconds)
            capacity = rate(found)
            print("capacity, 32 connections: {:.0f} requests/s, p50 {:.0f} ms, p99 {:.0f} ms".format(capacity, *percentiles(found)))
            alone = percentiles(load.run(1, options.seconds // 2))[0]
            # With 128 connections, hardly any waits for its answer when its next request is due.
            for _ in range(options.rounds):
                found = load.run(128, options.seconds, pause=128_000 / (0.7 * capacity))
                p50, p99 = percentiles(found)
                share = rate(found) / capacity
                print(f"at {share:.0%}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, {p99 / p50:.1f} times; alone {alone:.1f} ms")
            # As many connections wait for an answer as are answered before the deadline. The others ask.
            pause = 1000 * max(OVERLOAD - capacity * TIMEOUT_MS / 1000, OVERLOAD / 2) / (10 * capacity)
            # The first overload makes room for its connections, which stays.
            load.run(OVERLOAD, 5, pause=pause, timeout=TIMEOUT_MS)
            before = resident(server)
            found = load.run(OVERLOAD, options.seconds, pause=pause, timeout=TIMEOUT_MS, counting=True)
            after = resident(server)
            statuses = {int(status): int(count) for status, count in re.findall(r"^status (\d+) (\d+)", found, re.M)}
            answered = statuses.get(200, 0) / options.seconds
            print(f"offered {rate(found) / capacity:.1f} times the capacity: {statuses}")
            print(f"accepted {answered:.0f}/s, {answered / capacity:.0%} of the capacity; deadline {TIMEOUT_MS} ms")
            print("\n".join(line for line in found.splitlines() if line.startswith(("without", "longest", "p99"))))
            print(f"memory {before:.0f} MB before, {after:.0f} MB after")
            if options.soak:
                load.run(32, 20)
                before = resident(server)
                most = [before]
                for _ in range(options.soak // 30):
                    load.run(32, 30)
                    most.append(resident(server))
                print(f"{options.soak} s: memory {before:.0f} MB at first, {max(most):.0f} MB at most, {most[-1]:.0f} MB at last")
        finally:
            server.terminate()
            print(f"exit status {server.wait()}")


main()
