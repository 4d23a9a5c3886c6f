"""Arguments of sentence-transformers that Toller does not have."""

from __future__ import annotations

from typing import Any

from toller.errors import invalid


def refuse(given: dict[str, Any], unset: dict[str, Any]) -> None:
    """Refuses the arguments in `given` that have an effect: `unset` has those that sentence-transformers takes, with
    the values that have none.
    """
    for name, value in given.items():
        if name not in unset:
            raise invalid(f"{name} is not supported", f"leave {name} out")
        if value is not unset[name] and value != unset[name]:
            raise invalid(f"{name}={value!r} is not supported", f"leave {name} out, or give {unset[name]!r}")


def check_device(device: Any, loaded: str, on_cpu: bool) -> None:
    """Refuses another device than the model's, which was loaded with device=`loaded`."""
    if device is not None and str(device) != loaded and not (on_cpu and str(device) == "cpu"):
        raise invalid(f"device={device!r} is not supported", "give device where the model is loaded")


def to_torch(array: Any, asked_by: str) -> Any:
    """The array as a torch tensor that shares its memory."""
    try:
        import torch
    except ImportError:
        raise invalid(f"{asked_by} needs torch, which is not installed", f"leave {asked_by} out") from None
    return torch.from_numpy(array)
