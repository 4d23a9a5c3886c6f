"""Clients of `toller serve` that are malicious, slow, or gone, and a server that is asked to end under load."""

import http.client
import json
import re
import signal
import socket
import threading
import time

from .bench import remove, until

PART = "serve"

# Bodies that are right, and the routes that take them.
RIGHT = [
    ("/embed", {"inputs": ["ducks", "dogs"], "truncate": True, "normalize": True, "dimensions": 4}),
    ("/embed_all", {"inputs": "ducks", "prompt_name": "query"}),
    ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}}),
    ("/tokenize", {"inputs": ["ducks \u00e9"], "add_special_tokens": False}),
    ("/decode", {"ids": [[1, 2, 3], [4]], "skip_special_tokens": True}),
    ("/rerank", {"query": "ducks", "texts": ["a", "b"], "raw_scores": True, "return_text": True}),
    ("/predict", {"inputs": [["a"], ["b", "c"]], "raw_scores": False}),
    ("/v1/embeddings", {"input": "ducks", "model": "tiny-bert", "encoding_format": "base64"}),
    ("/v2/rerank", {"query": "ducks", "documents": ["a", {"text": "b"}], "top_n": 1, "model": "mpnet"}),
    ("/v1/rerank", {"query": "ducks", "documents": ["a", "b"], "return_documents": True, "model": "mpnet"}),
    ("/v1/search", {"query": ["ducks"], "k": 3, "system": "hybrid", "texts": True, "filter": {"ids": ["s1"], "exclude": ["s2"]}}),
    ("/v1/explain", {"query": "ducks", "ids": ["s0"], "k": 2}),
    ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "ducks"}}}),
]
PIECES = [
    b"null", b"-1", b"1e999", b"18446744073709551616", b'"\\ud800"', b"[]", b"{}", b"[[[[[[", b'"', b"\0", b"\xef\xbb\xbf",
    b"true", '"\U0001f986"'.encode(), b"9999999999", b",", b'"k":0,', b"\xff\xfe",
]
# Requests that are sent before their answers are read.
PIPELINE = 64


class Server:
    """A server of everything that it can serve."""

    def __init__(self, bench, arguments=""):
        self.child = bench.start(
            "serve --port 0 --json --log none --model tiny-bert --reranker cross-encoders/mpnet --dense store --sparse index "
            f"--corpus corpus.jsonl --runs runs --qrels data/qrels.txt {arguments}"
        )
        started = b""
        while not (found := re.search(rb"http://([\d.]+):(\d+)", started)):
            line = self.child.stdout.readline()
            if not line:
                raise RuntimeError(self.child.stderr.read().decode())
            started += line
        self.address = (found[1].decode(), int(found[2]))

    def connect(self, seconds=60):
        connection = socket.create_connection(self.address, timeout=seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def status(self, path="/health"):
        connection = http.client.HTTPConnection(*self.address, timeout=10)
        connection.request("GET", path)
        return connection.getresponse().status

    def metric(self, name):
        connection = http.client.HTTPConnection(*self.address, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else 0.0

    def end(self, bench):
        self.child.send_signal(signal.SIGTERM)
        return bench.end(self.child)


def request(path, body):
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def answer(reader):
    """The status of the next answer, or None at the end of the connection."""
    line = reader.readline()
    if not line:
        return None
    length = 0
    while (header := reader.readline()).strip():
        if header.lower().startswith(b"content-length:"):
            length = int(header.split(b":")[1])
    if len(reader.read(length)) != length:
        return None
    return int(line.split()[1])


def damaged(body, random):
    bytes_ = bytearray(body)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(bytes_) + 1)
        match random.randrange(6):
            case 0:
                del bytes_[at:]
            case 1:
                del bytes_[at : at + random.randint(1, 9)]
            case 2:
                bytes_.insert(at, random.randrange(256))
            case 3 if at < len(bytes_):
                bytes_[at] = random.randrange(256)
            case _:
                bytes_[at:at] = random.choice(PIECES)
    return bytes(bytes_)


def bodies(bench, server, seconds):
    """Damaged bodies, many on a connection: always an answer, never a failure of the server's own."""
    random = bench.choices(PART, "bodies")
    right = [(path, json.dumps(body).encode()) for path, body in RIGHT]
    connection = server.connect()
    reader = connection.makefile("rb")
    for path, body in right:
        connection.sendall(request(path, body))
        status = answer(reader)
        bench.table.add(PART, "right bodies", status == 200, f"{path}: {status}", str(status))
    for _ in until(time.monotonic() + seconds, 20):
        sent = [(path, damaged(body, random)) for path, body in (random.choice(right) for _ in range(PIPELINE))]
        connection.sendall(b"".join(request(path, body) for path, body in sent))
        for path, body in sent:
            status = answer(reader)
            held = status is not None and status < 500
            bench.table.add(PART, "damaged bodies", held, f"{path} {body!r}: {status}", str(status))
            if status is None:
                connection = server.connect()
                reader = connection.makefile("rb")
                break


def heads(bench, server, seconds):
    """Damaged requests, one on a connection."""
    random = bench.choices(PART, "heads")
    right = request("/embed", b'{"inputs": "a"}')
    for _ in until(time.monotonic() + seconds, 50):
        with server.connect(2) as connection:
            sent, status = damaged(right, random), "closed"
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                status = answer(connection.makefile("rb")) or status
            except OSError as error:
                status = type(error).__name__
            bench.table.add(PART, "damaged heads", not (isinstance(status, int) and status >= 500), f"{sent!r}: {status}", str(status))


def slow(bench, server):
    """Heads and bodies that come a byte at a time are cut off; others are answered meanwhile."""
    lines = [server.connect() for _ in range(200)]
    body = server.connect()
    body.sendall(request("/embed", b" " * 100)[:-99])
    began, ended, slowest = time.monotonic(), set(), 0.0
    while time.monotonic() - began < 40 and len(ended) < len(lines):
        for at, line in enumerate(lines):
            if at in ended:
                continue
            try:
                line.sendall(b"x")
            except OSError:
                ended.add(at)
        asked = time.monotonic()
        status = server.status()
        slowest = max(slowest, time.monotonic() - asked)
        bench.table.add(PART, "others next to slow heads", status == 200 and slowest < 2, f"{status} in {slowest:.2f} s")
        time.sleep(0.5)
    bench.table.add(PART, "slow heads", len(ended) == len(lines), f"{len(lines) - len(ended)} of {len(lines)} live on")
    status = answer(body.makefile("rb"))
    bench.table.add(PART, "slow body", status == 408, f"{status}", str(status))


def gone(bench, server):
    """Clients that hang up leave nothing behind."""
    texts = {"inputs": [f"ducks {number} " * 40 for number in range(500)]}
    for _ in range(100):
        with server.connect() as connection:
            connection.sendall(request("/embed", json.dumps(texts).encode()))
    freed = False
    for _ in range(200):
        # The request for the metrics is under way itself.
        freed = server.metric("toller_requests_in_flight") == 1 and server.metric('toller_queue_waiting{queue="embed"}') == 0
        if freed:
            break
        time.sleep(0.1)
    bench.table.add(PART, "clients that hang up", freed, "their work is not freed")


def terminate(bench):
    """SIGTERM under load: what was asked before it is answered, and the exit status is 0."""
    server = Server(bench)
    random = bench.choices(PART, "terminate", time.monotonic())
    body = request("/embed", json.dumps({"inputs": [f"ducks {number} " * 9 for number in range(20)]}).encode())
    asked_to_end, lost, counts = threading.Event(), [], {"200": 0, "503": 0}
    lock = threading.Lock()

    def ask():
        while True:
            sent = False
            try:
                with server.connect(20) as connection:
                    reader = connection.makefile("rb")
                    while True:
                        before = not asked_to_end.is_set()
                        connection.sendall(body)
                        sent = True
                        status = answer(reader)
                        with lock:
                            if status is None:
                                if before:
                                    lost.append("an answer")
                                return
                            counts[str(status)] = counts.get(str(status), 0) + 1
                        if status == 503:
                            return
                        sent = False
            except OSError:
                if sent and before:
                    lost.append("a connection")
                return

    clients = [threading.Thread(target=ask) for _ in range(16)]
    for client in clients:
        client.start()
    time.sleep(random.uniform(0.3, 1.0))
    asked_to_end.set()
    ended = server.end(bench)
    for client in clients:
        client.join()
    held = not lost and ended.code == 0 and set(counts) == {"200", "503"} and counts["200"] > 0
    bench.table.add(PART, "SIGTERM under load", held, f"status {ended.code}, {counts}, lost {len(lost)}")


def run(bench, seconds):
    began = time.monotonic()
    runs = bench.path("runs")
    runs.mkdir()
    bench.path("sparse.run").rename(runs / "sparse.run")
    server = Server(bench, "--idle-seconds 15")
    slow(bench, server)
    gone(bench, server)
    for _ in range(3):
        terminate(bench)
    left = max(5.0, seconds - (time.monotonic() - began))
    heads(bench, server, left * 0.1)
    bodies(bench, server, left * 0.9)
    bench.table.add(PART, "alive after all", server.status() == 200, "the server does not answer")
    ended = server.end(bench)
    bench.table.add(PART, "ends after all", ended.code == 0 and not ended.harm(), f"status {ended.code}, {ended.err}")
    remove(runs)
