"""Arguments of sentence-transformers that Toller does not have."""

from __future__ import annotations

from typing import Any

from toller.errors import invalid

# What sentence-transformers takes, and the values that mean nothing.
_DEVICES = (None, "cpu", "auto")


def refuse(given: dict[str, Any], unset: dict[str, Any]) -> None:
    """Refuses the arguments in `given` that are not as in `unset`, and those that nobody knows."""
    for name, value in given.items():
        if name not in unset:
            raise invalid(f"{name} is not supported", f"leave {name} out")
        if value is not unset[name] and value != unset[name]:
            raise invalid(f"{name}={value!r} is not supported", f"leave {name} out, or give {unset[name]!r}")


def check_device(device: Any) -> None:
    """Refuses another device than the model's: that is chosen when the model is loaded."""
    if isinstance(device, list) or str(device) not in map(str, _DEVICES):
        raise invalid(f"device={device!r} is not supported", "give device where the model is loaded")


def to_torch(array: Any, asked_by: str) -> Any:
    """The array as a torch tensor that shares its memory."""
    try:
        import torch
    except ImportError:
        raise invalid(f"{asked_by} needs torch, which is not installed", f"leave {asked_by} out") from None
    return torch.from_numpy(array)
