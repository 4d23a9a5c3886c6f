"""The peers of benches/ip_topk.rs: faiss-cpu's IndexFlatIP, and torch's matmul and topk.

Arguments: a file of f32 vectors, one of f32 queries, the dimension, the number of threads. Prints "ready";
then answers each line: "PEER BATCH DEPTH" with the seconds that one search took, "versions".
"""

import sys
import time

import faiss
import numpy as np
import torch

vectors_file, queries_file, dim, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
faiss.omp_set_num_threads(threads)
torch.set_num_threads(threads)
vectors = np.fromfile(vectors_file, dtype=np.float32).reshape(-1, dim)
queries = np.fromfile(queries_file, dtype=np.float32).reshape(-1, dim)
index = faiss.IndexFlatIP(dim)
index.add(vectors)
transposed = torch.from_numpy(vectors).T


def search_faiss(batch, depth):
    index.search(queries[:batch], depth)


def search_torch(batch, depth):
    torch.topk(torch.from_numpy(queries[:batch]) @ transposed, depth)


peers = {"faiss": search_faiss, "torch": search_torch}
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "versions":
        print(f"peers: faiss-cpu {faiss.__version__}, torch {torch.__version__}, {threads} threads", flush=True)
        continue
    peer, batch, depth = line.split()
    start = time.perf_counter()
    peers[peer](int(batch), int(depth))
    print(time.perf_counter() - start, flush=True)
