"""The cluster: connecting to it, its actors, and their errors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

from toller._progress import Bar
from toller._tables import Path
from toller.encoder import Progress
from toller.errors import Error, invalid


def connected() -> Any:
    """Ray, connected to a cluster: the one that is there, or one of this machine."""
    try:
        import ray
    except ImportError:
        error = Error("toller.ray needs Ray, which is not installed")
        error.hint = 'pip install "ray[data]"'
        raise error from None
    if not ray.is_initialized():
        ray.init()
    return ray


def actor_class(kind: type, num_cpus: float, num_gpus: float, **options: Any) -> Any:
    """An actor class of Ray."""
    return connected().remote(num_cpus=num_cpus, num_gpus=num_gpus, **options)(kind)


def room(num_cpus: float, num_gpus: float) -> int:
    """The number of workers that the cluster has room for, at least one."""
    resources = connected().cluster_resources()
    needs = {"CPU": num_cpus, "GPU": num_gpus}
    return max(1, min((int(resources.get(name, 0) // need) for name, need in needs.items() if need > 0), default=1))


def threads_of(num_cpus: float) -> int:
    """The number of threads of a worker."""
    return max(1, int(num_cpus))


def shared_all(paths: Path | Sequence[Path]) -> list[str]:
    """One path or several, as workers know them."""
    return [shared(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def shared(path: Path) -> str:
    """A path as workers know it: they may be in another folder."""
    if os.fspath(path) == "-":
        raise invalid("standard input cannot be read by workers", "give a file that all of them can read")
    return os.path.abspath(path)


def reporter(progress: bool | Progress) -> Progress:
    """What is called with the progress."""
    if callable(progress):
        return progress
    return Bar() if progress else lambda *_: None


def fail(what: str, error: Any) -> NoReturn:
    """Raises an error of Ray as one of Toller: what a task raised, or that its worker is lost."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Error):
        failed: Error = type(cause)(f"{what}: {cause.args[0]}")
        failed.__dict__.update(vars(cause))
    else:
        failed = Error(f"{what}: {str(error).strip()}")
        failed.hint = "Ray's logs of the worker have more; the same call goes on with what is finished"
    raise failed from error
