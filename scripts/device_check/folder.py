"""The folder that a run needs: binaries that were built elsewhere, the peers, the kernels' sources and this script."""
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

from .runner import say

SCRIPTS = Path(__file__).resolve().parent.parent
ROOT = SCRIPTS.parent
PEERS = "gpu_topk.py"
ENCODER_PEERS = "gpu_encoder.py"
LAYER_PEERS = "gpu_layers.py"
# Models whose parity is checked: the folder's names, and where they are in the repository.
MODELS = {"tiny-bert": "tests/fixtures/tiny-bert", "cross-encoder": "tests/fixtures/cross-encoders/bert",
          "reranker": "tests/fixtures/chat-models/qwen3-plain", "sparse": "tests/fixtures/sparse-models/bert"}
# The most bytes of the folder: it travels to the GPU machine with the repository, 64 MiB in all.
MOST_BYTES = 50_000_000
# What is compressed on the way.
BINARIES = ["toller", "tests", "tests-encoder"]


def built(messages, is_wanted):
    """The path of the wanted executable among those that cargo built."""
    paths = [artifact["executable"] for line in messages.splitlines() if line.startswith("{")
             for artifact in [json.loads(line)] if artifact.get("executable") and is_wanted(artifact)]
    if not paths:
        raise SystemExit("error: cargo built no such binary")
    return paths[-1]


def build(folder, features, packages=()):
    """Puts everything a run needs into a folder. Features are those of cargo; so are packages, which are compiled too."""
    folder.mkdir(parents=True, exist_ok=True)
    # One command, so that both use the same libraries. The command line's tests build its binary too.
    command = [os.environ.get("CARGO", "cargo"), "test", "--no-run", "--package", "toller-topk", "--package", "toller-nn", "--lib", "--package", "toller",
               "--test", "cli", "--features", features, "--release", "--locked",
               "--message-format=json-render-diagnostics"]
    for package in packages:
        command += ["--package", package]
    messages = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    binary = built(messages, lambda artifact: artifact["target"]["kind"] == ["bin"])
    tests = built(messages, lambda artifact: artifact["profile"]["test"] and artifact["target"]["name"] == "toller_topk")
    encoder = built(messages, lambda artifact: artifact["profile"]["test"] and artifact["target"]["name"] == "toller_nn")
    for source, name in [(binary, "toller"), (tests, "tests"), (encoder, "tests-encoder"),
                         *((ROOT / "benches/peers" / name, name) for name in [PEERS, ENCODER_PEERS, LAYER_PEERS]),
                         (SCRIPTS / "device-check", "device-check")]:
        shutil.copy(source, folder / name)
    for source, name in [(SCRIPTS / "device_check", "device_check"), (ROOT / "kernels", "kernels")]:
        shutil.copytree(source, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "shim", "driver"))
    for name, source in MODELS.items():
        shutil.copytree(ROOT / source, folder / "models" / name, dirs_exist_ok=True)
    for name in BINARIES:
        subprocess.run(["strip", "--strip-all", folder / name], check=True)
        with open(folder / name, "rb") as binary, gzip.open(folder / f"{name}.gz", "wb", 6) as packed:
            shutil.copyfileobj(binary, packed)
        (folder / name).unlink()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    say(f"built {folder}: {size / 1e6:.1f} MB")
    if size > MOST_BYTES:
        raise SystemExit(f"error: the folder is larger than {MOST_BYTES / 1e6:.0f} MB")


def unpack(folder):
    """Puts the binaries next to their compressed copies, if there are such."""
    for name in BINARIES:
        packed = folder / f"{name}.gz"
        if packed.exists() and not (folder / name).exists():
            # A killed run must not leave half a binary by the name that the next one looks for.
            partial = folder / f"{name}.tmp"
            with gzip.open(packed, "rb") as source, open(partial, "wb") as binary:
                shutil.copyfileobj(source, binary)
            partial.chmod(0o755)
            partial.replace(folder / name)
