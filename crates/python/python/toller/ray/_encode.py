"""Encoding a collection into the parts of one store, each by whichever worker is free."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

from toller import jobs
from toller._tables import Path
from toller._toller import Store, set_num_threads
from toller.encoder import Encoder, Progress
from toller.errors import InvalidArgument, invalid
from toller.ray._cluster import actor_class, connected, fail, reporter, room, shared, shared_all, threads_of


def encode(
    corpus: Path | Sequence[Path],
    output: Path,
    model: Path,
    *,
    shards: int,
    workers: int | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    retries: int = 3,
    max_length: int | None = None,
    prompt: str | None = None,
    pooling: str | None = None,
    normalize_embeddings: bool = False,
    append_eos_token: bool = False,
    truncate_dim: int | None = None,
    dtype: str | None = None,
    device: str = "auto",
    batch_tokens: int | None = None,
    store_dtype: str = "f32",
    title_mode: str | None = None,
    title_separator: str | None = None,
    context_field: str | None = None,
    rows_per_shard: int | None = None,
    overwrite: bool = False,
    skip_bad_lines: bool = False,
    progress: bool | Progress = False,
) -> Store:
    """Encodes a collection into the store `output` by the workers of a Ray cluster, and opens it.

    The store has `shards` parts, as by `toller encode --shard I/N`. Each of `workers` actors loads the model once,
    computes in `num_cpus` threads, and encodes one part after the other; by default there are as many as the cluster
    has room for. What is finished stays: a part whose worker is lost is continued by another one, and so is the
    whole job by the same call. The store has the same bytes whichever worker made which part, after any number of
    losses, if all workers have the same kind of device. A part that fails more than `retries` times is an error.

    The other arguments are those of `toller.Encoder` and `toller.encode`. `progress` counts parts.
    """
    connected()
    job: dict[str, Any] = {
        "corpus": shared_all(corpus),
        "output": shared(output),
        "store_dtype": store_dtype,
        "title_mode": title_mode,
        "title_separator": title_separator,
        "context_field": context_field,
        "rows_per_shard": rows_per_shard,
        "overwrite": overwrite,
        "skip_bad_lines": skip_bad_lines,
    }
    encoder: dict[str, Any] = {
        "model": shared(model) if os.path.exists(model) else os.fspath(model),
        "max_length": max_length,
        "prompt": prompt,
        "pooling": pooling,
        "normalize_embeddings": normalize_embeddings,
        "append_eos_token": append_eos_token,
        "truncate_dim": truncate_dim,
        "dtype": dtype,
        "device": device,
        "batch_tokens": batch_tokens,
    }
    if shards < 1:
        raise invalid(f"shards={shards}", "give at least 1")
    workers = min(shards, room(num_cpus, num_gpus) if workers is None else workers)
    if workers < 1:
        raise invalid(f"workers={workers}", "give at least 1, or leave workers out")

    def start() -> Any:
        return actor_class(_Encoding, num_cpus, num_gpus).remote(threads_of(num_cpus), encoder, job, shards)

    _do_parts(start, shards, workers, retries, reporter(progress))
    return Store(job["output"], verify=False)


class _Encoding:
    """An actor that encodes parts of one store."""

    _encoder: Encoder

    def __init__(self, threads: int, encoder: dict[str, Any], job: dict[str, Any], shards: int) -> None:
        set_num_threads(threads)
        self._options, self._job, self._shards = encoder, job, shards

    def load(self) -> None:
        """Loads the model."""
        self._encoder = Encoder(**self._options)

    def encode(self, part: int, pause: float) -> None:
        """Encodes a part after some seconds."""
        time.sleep(pause)
        jobs.encode(self._encoder, shard=(part, self._shards), **self._job)


def _do_parts(start: Callable[[], Any], parts: int, workers: int, retries: int, report: Progress) -> None:
    """Gives parts to actors, which `start` starts, until all are done.

    An actor gets parts once it has loaded, so that no part waits for an actor that the cluster has no room for.
    """
    ray = connected()
    waiting = deque(range(1, parts + 1))
    actors: list[Any] = []
    idle: deque[Any] = deque()
    # What runs: the actor, and its part, or None while it loads.
    running: dict[Any, tuple[Any, int | None]] = {}
    # By the part, and of actors that load since the last that did.
    failures: Counter[int | None] = Counter()
    done = 0

    def hire() -> None:
        actors.append(start())
        running[actors[-1].load.remote()] = (actors[-1], None)

    try:
        for _ in range(workers):
            hire()
        while done < parts:
            while idle and waiting:
                actor, part = idle.popleft(), waiting.popleft()
                # A lost worker may hold its lock on the part for a moment longer.
                running[actor.encode.remote(part, failures[part])] = (actor, part)
            [ready], _ = ray.wait(list(running), num_returns=1)
            actor, ended = running.pop(ready)
            try:
                ray.get(ready)
            except ray.exceptions.RayError as error:
                failures[ended] += 1
                is_lost = not isinstance(error, ray.exceptions.RayTaskError)
                # An argument that cannot be used fails everywhere, and so does a model that cannot be loaded.
                is_final = not is_lost and (ended is None or isinstance(error.cause, InvalidArgument))
                if is_final or failures[ended] > retries:
                    what = "a worker" if ended is None else f"part {ended} of {parts}"
                    fail(f"{what} failed ({failures[ended]} of {retries + 1} tries)", error)
                if ended is not None:
                    waiting.appendleft(ended)
                if is_lost:
                    ray.kill(actor)
                    hire()
                else:
                    idle.append(actor)
                continue
            idle.append(actor)
            if ended is None:
                failures[None] = 0
            else:
                done += 1
                report("encoding parts", done, parts)
    finally:
        for actor in actors:
            ray.kill(actor)
