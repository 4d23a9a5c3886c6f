"""Servers that answer as no hub does."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .bench import FIXTURES, files_in, remove, until

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_SECRETTOKEN"
MODEL = FIXTURES / "tiny-bert"

SCENARIOS = (
    "sound",
    "endless body",
    "longer than announced",
    "short body",
    "wrong bytes",
    "no size",
    "other port",
    "circle",
    "paths that lead out",
    "garbage for a listing",
    "endless listing",
    "status 500",
    "status 404",
    "odd names of bytes",
    "a redirection to a file",
    "control characters",
    "closed at once",
)


class Hub(ThreadingHTTPServer):
    """A server on a port of its own that acts a scenario; `seen` has the tokens that another port was sent."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, scenario, other=None):
        super().__init__(("127.0.0.1", 0), Answer)
        self.scenario, self.other, self.tokens, self.sent = scenario, other, [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # The client goes away in many scenarios.


class Answer(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def send(self, status, headers=(), body=b"", with_body=True):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def answer(self, with_body):
        scenario = self.server.scenario
        if self.headers.get("Authorization"):
            self.server.tokens.append(self.headers["Authorization"])
        if scenario == "closed at once":
            self.connection.close()
            return
        if scenario.startswith("status"):
            self.send(int(scenario.split()[1]), (), b"no", with_body)
            return
        if scenario == "circle":
            self.send(302, [("Location", self.path)], b"", with_body)
            return
        if "/revision/" in self.path:
            self.listing(scenario, with_body)
            return
        name = self.path.split(f"{COMMIT}/")[-1]
        file = MODEL / name
        if not file.is_file():
            self.send(404, (), b"", with_body)
            return
        self.file(scenario, file.read_bytes(), with_body)

    def listing(self, scenario, with_body):
        names = [str(file.relative_to(MODEL)) for file in sorted(MODEL.rglob("*")) if file.is_file()]
        commit = COMMIT
        if scenario == "paths that lead out":
            names += ["../../../escaped", "/tmp/escaped", "a/../../escaped", "C:\\escaped", ""]
        elif scenario == "control characters":
            names += ["\x1b]0;x\x07.json", "a\nb.json"]
            commit = COMMIT if len(names) % 2 else "\x1b[31m"
        elif scenario == "odd names of bytes":
            commit = "../../escaped"
        body = json.dumps({"sha": commit, "siblings": [{"rfilename": name} for name in names]}).encode()
        if scenario == "garbage for a listing":
            body = b"<html>" + body[:50]
        if scenario == "endless listing":
            self.endless(b"[" * 65536)
            return
        self.send(200, (), body, with_body)

    def file(self, scenario, data, with_body):
        etag = hashlib.sha256(data).hexdigest()
        large = len(data) > 20_000
        headers = [("ETag", f'"{etag}"'), ("X-Linked-Etag", f'"{etag}"'), ("X-Linked-Size", str(len(data)))]
        if scenario == "other port" and large and with_body:
            self.send(302, [("Location", self.server.other.address + self.path)], b"", with_body)
            return
        if scenario == "a redirection to a file" and large and with_body:
            self.send(302, [("Location", "file:///etc/passwd")], b"", with_body)
            return
        if scenario == "no size" and large:
            headers = headers[:2]
        if scenario in ("endless body", "longer than announced") and large and with_body:
            self.endless(data, len(data) + 1 if scenario == "longer than announced" else None, headers)
            return
        if scenario == "wrong bytes" and large:
            data = bytes(len(data))
        if scenario == "short body" and large and with_body:
            self.send(200, [*headers, ("Content-Length", str(len(data)))], data[: len(data) // 2])
            self.close_connection = True
            return
        self.send(200, headers, data, with_body)

    def endless(self, piece, limit=None, headers=()):
        """A body without an announced length."""
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while limit is None or self.server.sent < limit:
            self.wfile.write(piece)
            self.server.sent += len(piece)


def run(bench, seconds):
    deadline = time.monotonic() + seconds
    texts = bench.path("few.tsv")
    texts.write_text("1\tone text\n")
    outside = [bench.folder.parent / "escaped", bench.path("escaped"), Path("/tmp/escaped")]
    for number in until(deadline, len(SCENARIOS)):
        scenario = SCENARIOS[number % len(SCENARIOS)]
        cache = bench.path("hub-cache")
        other = Hub("sound")
        hub = Hub(scenario, other)
        environment = {
            "HF_HUB_OFFLINE": "0",
            "HF_ENDPOINT": hub.address,
            "HF_HUB_CACHE": str(cache),
            "HF_TOKEN": TOKEN,
            "HF_HUB_ETAG_TIMEOUT": "3",
            "HF_HUB_DOWNLOAD_TIMEOUT": "3",
        }
        ended = bench.run("encode --model org/name --corpus few.tsv --output hub-out", env=environment)
        problem = ended.harm()
        kept = sum(map(len, files_in(cache).values())) if cache.exists() else 0
        if not problem and other.tokens:
            problem = "the token was sent to another port"
        if not problem and TOKEN in ended.err:
            problem = "the token is in a message"
        if not problem and kept > 4 << 20:
            problem = f"{kept} bytes were kept"
        if not problem and any(path.exists() for path in outside):
            problem = "a file outside of the cache"
        if not problem and "\x1b" in ended.err:
            problem = "commands for the terminal"
        if not problem and scenario == "sound" and ended.code:
            problem = "a sound hub is refused"
        if not problem and scenario == "wrong bytes" and not ended.code:
            problem = "wrong bytes are taken"
        outcome = "refused" if ended.code else "downloaded"
        bench.table.add("hostile hubs", scenario, not problem, f"{problem}\n{ended.err[-300:]}", outcome)
        hub.shutdown()
        other.shutdown()
        remove(cache, bench.path("hub-out"))
