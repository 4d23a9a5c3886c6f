"""Toller: exact dense, sparse and hybrid retrieval, reranking and evaluation.

>>> import toller
>>> encoder = toller.Encoder("all-MiniLM-L6-v2")
>>> store = toller.encode(encoder, "store", corpus="corpus.jsonl")
>>> searcher = toller.Searcher.dense(store, encoder)
>>> for hit in searcher.search("what do tollers do?", k=10):
...     print(hit.id, hit.score)

Vectors are NumPy arrays of float32, [texts, numbers]. Everything that computes, reads or writes runs without Python's
lock, is interrupted by Ctrl-C, and can be used from threads and after a fork. Models, stores, runs, qrels and results
can be pickled for spawned processes; searchers and indexes are opened there.
"""

from toller._toller import (
    Evaluation,
    FlatIndex,
    Qrels,
    Run,
    Searcher,
    SparseIndex,
    Store,
    Texts,
    __version__,
    compare,
    evaluate,
    fuse,
    get_num_threads,
    read_queries,
    set_num_threads,
)
from toller.cross_encoder import CrossEncoder
from toller.encoder import Encoder
from toller.errors import Error, InternalError, InvalidArgument, NotFound
from toller.jobs import encode, index
from toller.results import Comparison, Hit, Passage
from toller.training import (
    DevSet,
    MarkedDevSet,
    Mined,
    RunOptions,
    Trained,
    TrainOptions,
    mine,
    train_cross,
    train_dual,
    train_token,
)

__all__ = [
    "Comparison",
    "CrossEncoder",
    "DevSet",
    "Encoder",
    "Error",
    "Evaluation",
    "FlatIndex",
    "Hit",
    "InternalError",
    "InvalidArgument",
    "MarkedDevSet",
    "Mined",
    "NotFound",
    "Passage",
    "Qrels",
    "Run",
    "RunOptions",
    "Searcher",
    "SparseIndex",
    "Store",
    "Texts",
    "TrainOptions",
    "Trained",
    "__version__",
    "compare",
    "encode",
    "evaluate",
    "fuse",
    "get_num_threads",
    "index",
    "mine",
    "read_queries",
    "set_num_threads",
    "train_cross",
    "train_dual",
    "train_token",
]
