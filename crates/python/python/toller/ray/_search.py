"""Searching a store in parts, each kept open by an actor."""

from __future__ import annotations

import os
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import toller
from toller._tables import Path
from toller._toller import FlatIndex, Run, Store, read_queries, run_of_rows, set_num_threads
from toller.encoder import Encoder, Progress
from toller.errors import invalid
from toller.ray._cluster import actor_class, connected, fail, reporter, shared_all, threads_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # Scores and rows, both [queries, hits].
    Found = tuple[NDArray[np.float32], NDArray[np.int64]]

Queries = Path | Mapping[str, str] | Sequence[tuple[str, str]]

# Queries, and hits of all of them, that are searched at a time.
_QUERIES = 1024
_HITS = 8 << 20

# Seconds until a search that waits for room in the cluster says so.
_PATIENCE = 30.0


class Searcher:
    """Searches a store in `parts`, each a range of rows that an actor of its own keeps open.

    Queries are encoded in this process: `encoder` must be the model that encoded the store, or `query_vectors` is
    the path of a store of encoded queries. An actor searches in `num_cpus` threads. One that is lost is started
    again, `retries` times at most. `verify` compares the checksums of the store, each actor those of its part. The
    actors run all at once, from when the cluster has room for them until this object is deleted. The other arguments
    are those of `toller.Searcher.dense`.
    """

    def __init__(
        self,
        store: Store | Path | Sequence[Path],
        encoder: Encoder | None = None,
        *,
        query_vectors: Path | None = None,
        parts: int,
        num_cpus: float = 1,
        num_gpus: float = 0,
        retries: int = 3,
        scan: str = "auto",
        device: str = "auto",
        verify: bool = True,
        any_role: bool = False,
        assume_model: bool = False,
    ) -> None:
        self._ray = connected()
        paths = shared_all(store.paths if isinstance(store, Store) else store)
        # For its checks: the role of the vectors, and the model of both sides.
        toller.Searcher.dense(
            paths,
            encoder,
            query_vectors=query_vectors,
            scan=scan,
            device="cpu",
            verify=False,
            any_role=any_role,
            assume_model=assume_model,
        )
        if parts < 1:
            raise invalid(f"parts={parts}", "give at least 1")
        self._store = Store(paths, verify=False)
        self._encoder = encoder
        self._vectors = None if query_vectors is None else Store(query_vectors, verify=False)
        count = len(self._store)
        parts = max(1, min(parts, count))
        self._ranges = [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]
        actor = actor_class(_Part, num_cpus, num_gpus, max_restarts=retries, max_task_retries=retries)
        options = {"scan": scan, "device": device, "verify": verify}
        self._parts = [actor.remote(threads_of(num_cpus), paths, rows, options) for rows in self._ranges]
        placed = [part.__ray_ready__.remote() for part in self._parts]
        _, missing = self._ray.wait(placed, num_returns=parts, timeout=_PATIENCE)
        if missing:
            needs = f"num_cpus={num_cpus} and num_gpus={num_gpus}"
            warnings.warn(
                f"{len(missing)} of {parts} parts wait for room in the cluster, where each needs {needs}", stacklevel=2
            )
        self._gather([part.open.remote() for part in self._parts])

    def batch_search(self, queries: Queries, k: int = 1000, *, progress: bool | Progress = False) -> Run:
        """The `k` best documents for each query, as a run: bit for bit that of `toller.Searcher.batch_search`.

        `queries` is `{query id: text}`, pairs of both, or the path of a file of queries.
        """
        import numpy as np

        if isinstance(queries, (str, os.PathLike)):
            queries = read_queries(queries)
        pairs = list(queries.items() if isinstance(queries, Mapping) else queries)
        for query, count in Counter(query for query, _ in pairs).items():
            if count > 1:
                raise invalid(f"the query id {query!r} occurs twice", "give each query an id of its own")
        if k < 1:
            raise invalid(f"k={k}", "give at least 1")
        if not pairs:
            return Run({})
        report = reporter(progress)
        scores, rows = [], []
        for best in self._search(self._vectors_of(pairs), k):
            scores.append(best[0])
            rows.append(best[1])
            report("searching", sum(map(len, scores)), len(pairs))
        ids = [query for query, _ in pairs]
        return run_of_rows(self._store, ids, np.concatenate(scores), np.concatenate(rows))

    def __len__(self) -> int:
        """The number of documents."""
        return len(self._store)

    def _vectors_of(self, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
        """The vectors of queries, [queries, numbers]."""
        import numpy as np

        if self._vectors is None:
            assert self._encoder is not None, "checked when the searcher was made"
            texts, unit = [text for _, text in pairs], self._encoder.normalizes
            encoded: NDArray[np.float32] = self._encoder.encode_query(texts, normalize_embeddings=unit)
            return encoded
        row_of = {query: row for row, query in enumerate(self._vectors.ids)}
        for query, _ in pairs:
            if query not in row_of:
                raise invalid(f"there is no vector of the query {query!r}", "encode the same queries")
        return np.stack([self._vectors[row_of[query]].astype(np.float32) for query, _ in pairs])

    def _search(self, vectors: NDArray[np.float32], k: int) -> Iterator[Found]:
        """The scores and the rows of the `k` best, for one block of queries after the other."""
        size = max(1, min(_QUERIES, _HITS // max(1, min(k, len(self)))))
        asked: deque[list[Any]] = deque()
        for first in range(0, len(vectors), size):
            block = self._ray.put(vectors[first : first + size])
            asked.append([part.search.remote(block, k) for part in self._parts])
            # One block is searched while the one before is merged.
            if len(asked) == 2:
                yield _best(self._gather(asked.popleft()), k)
        yield _best(self._gather(asked.popleft()), k)

    def _gather(self, asked: list[Any]) -> list[Any]:
        """What all parts answer."""
        answers = []
        for (first, end), answer in zip(self._ranges, asked, strict=True):
            try:
                answers.append(self._ray.get(answer))
            except self._ray.exceptions.RayError as error:
                fail(f"the search of rows {first} to {end} failed", error)
        return answers


def search(
    queries: Queries,
    store: Store | Path | Sequence[Path],
    encoder: Encoder | None = None,
    k: int = 1000,
    *,
    parts: int,
    progress: bool | Progress = False,
    **options: Any,
) -> Run:
    """The `k` best documents for each query by actors that each search one of `parts`, as a run: bit for bit that of
    `toller search` on one machine. The other arguments are those of `Searcher`, which keeps the actors.
    """
    return Searcher(store, encoder, parts=parts, **options).batch_search(queries, k, progress=progress)


def _best(of_parts: list[Found], k: int) -> Found:
    """The `k` best of what parts have found, which are in the order of their rows."""
    import numpy as np

    scores, rows = (np.concatenate(arrays, axis=1) for arrays in zip(*of_parts, strict=True))
    # The sort is stable: equal scores stay in the order of their rows.
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


class _Part:
    """An actor that searches some rows of a store."""

    def __init__(self, threads: int, paths: list[str], rows: tuple[int, int], options: dict[str, Any]) -> None:
        set_num_threads(threads)
        self._paths, self._rows, self._options = paths, rows, options

    @cached_property
    def _index(self) -> FlatIndex:
        return FlatIndex(self._paths, rows=self._rows, **self._options)

    def open(self) -> int:
        """Opens the rows, and counts them."""
        return len(self._index)

    def search(self, queries: NDArray[np.float32], k: int) -> Found:
        """The scores and the rows of the `k` best for each query."""
        return self._index.search(queries, k)
