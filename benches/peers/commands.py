"""The peers of benches/commands.rs, with everything in memory and nothing written: bm25s with numba, FAISS's
IndexFlatIP, and sentence-transformers.

Arguments: the collection (JSONL), the queries (JSONL), vectors and vectors of queries (.npy), the model's
directory, the number of passages to encode, and the number of threads. Prints "ready"; then answers each line
with the seconds that the work took: "bm25s K" from the texts of all queries to hits, "faiss K" from vectors to
hits, "sentence-transformers" from texts to vectors, and "versions".
"""

import json
import os
import sys
import time

corpus_file, queries_file, vectors_file, query_vectors_file, model_directory = sys.argv[1:6]
encoded, threads = int(sys.argv[6]), int(sys.argv[7])
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["NUMBA_NUM_THREADS"] = str(threads)
os.environ["RAYON_NUM_THREADS"] = str(threads)

import bm25s
import faiss
import numpy as np
import sentence_transformers
import Stemmer
import torch

faiss.omp_set_num_threads(threads)
torch.set_num_threads(threads)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


passages = [f"{passage['title']} {passage['text']}" for passage in lines(corpus_file)]
queries = [query["text"] for query in lines(queries_file)]
stemmer = Stemmer.Stemmer("english")


def tokens(texts):
    return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)


sparse = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
sparse.index(tokens(passages), show_progress=False)
vectors, query_vectors = np.load(vectors_file), np.load(query_vectors_file)
dense = faiss.IndexFlatIP(vectors.shape[1])
dense.add(vectors)
model = sentence_transformers.SentenceTransformer(model_directory, device="cpu")

work = {
    "bm25s": lambda k: sparse.retrieve(tokens(queries), k=int(k), show_progress=False, n_threads=threads),
    "faiss": lambda k: dense.search(query_vectors, int(k)),
    "sentence-transformers": lambda: model.encode(passages[:encoded], batch_size=32, show_progress_bar=False),
}
print("ready", flush=True)
for line in sys.stdin:
    peer, *arguments = line.split()
    if peer == "versions":
        found = [bm25s, faiss, sentence_transformers, torch]
        print(", ".join(f"{module.__name__} {module.__version__}" for module in found), flush=True)
        continue
    started = time.perf_counter()
    work[peer](*arguments)
    print(time.perf_counter() - started, flush=True)
