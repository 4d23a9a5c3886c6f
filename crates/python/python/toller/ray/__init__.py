"""Ray: encoding and searching by the workers of a cluster. Ray is imported when it is used.

>>> import toller.ray
>>> store = toller.ray.encode("corpus.jsonl", "store", "all-MiniLM-L6-v2", shards=64)
>>> searcher = toller.ray.Searcher(store, toller.Encoder("all-MiniLM-L6-v2"), parts=8)
>>> run = searcher.batch_search("queries.tsv", k=1000)

Workers read the collection and the model and write the store by their paths, so these are on a file system that all
machines share, and this package is installed on each. Neither texts nor stored vectors pass through Ray.
"""

from toller.ray._batches import Encode, Rerank
from toller.ray._encode import encode
from toller.ray._search import Searcher, search

__all__ = ["Encode", "Rerank", "Searcher", "encode", "search"]
