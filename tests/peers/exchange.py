"""Reads with FAISS, NumPy and pyarrow what toller exported, and searches it as toller did.

    exchange.py RUN

In the current directory: x.faiss and x.ids.txt, m.index (an ID map), pyserini/, x.npy, x.parquet, all of one store; q.npy and
q.ids.txt, the queries; RUN, what toller found. Prints `same` if every program holds the same bits and finds the same.
"""

import sys

import faiss
import numpy as np
import pyarrow.parquet as pq

TOLERANCE = 1e-5  # FAISS adds up in f32, in an order of its own


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def vectors_of(index):
    return index.reconstruct_n(0, index.ntotal)


ids = lines("x.ids.txt")
matrix = np.load("x.npy")
flat = faiss.read_index("x.faiss")
mapped = faiss.read_index("m.index")
pyserini = faiss.read_index("pyserini/index")
table = pq.read_table("x.parquet")
assert flat.metric_type == faiss.METRIC_INNER_PRODUCT and flat.is_trained
for other in [vectors_of(flat), vectors_of(faiss.downcast_index(mapped.index)), vectors_of(pyserini), np.stack(table["embedding"].to_numpy())]:
    assert other.dtype == matrix.dtype == np.float32
    assert np.array_equal(other.view(np.uint32), matrix.view(np.uint32))
assert table["id"].to_pylist() == ids == lines("pyserini/docid")
assert faiss.vector_to_array(mapped.id_map).tolist() == [int(name) for name in ids]

queries, query_ids = np.load("q.npy"), lines("q.ids.txt")
run = {}
for line in lines(sys.argv[1]):
    query, _, document, rank, score, _ = line.split()
    run.setdefault(query, []).append((document, float(score)))
depth = len(next(iter(run.values())))
for index, name in [(flat, lambda label: ids[label]), (pyserini, lambda label: ids[label]), (mapped, str)]:
    scores, labels = index.search(queries, depth)
    for query, query_id in enumerate(query_ids):
        ours = run[query_id]
        by_id = dict(ours)
        for rank in range(depth):
            document, score = name(labels[query, rank]), scores[query, rank]
            assert abs(score - ours[rank][1]) <= TOLERANCE, (query_id, rank)
            # Another document may stand in its place if the two score the same but for rounding.
            assert document == ours[rank][0] or abs(by_id.get(document, ours[-1][1]) - score) <= TOLERANCE, (query_id, rank)
print("same")
