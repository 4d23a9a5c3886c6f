"""What the binary says on machines that cannot be used, and the oldest driver that can be."""
import ctypes.util
import os
import re
import subprocess
from pathlib import Path

from .runner import say

# Machines that cannot be used, in the notation of kernels/driver, and the expected message.
UNUSABLE = {
    "devices=0": "the driver sees 0",
    "capability=75": "has compute capability 7.5",
    "memory=1000": "bytes of free memory",
}


def major_release():
    """The major release of the compiler in CUDA_HOME. Any driver of the same release runs its code."""
    nvcc = Path(os.environ["CUDA_HOME"]) / "bin/nvcc"
    text = subprocess.run([nvcc, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(re.search(r"release (\d+)", text).group(1))


def refuses_unusable_machines(folder, driver):
    """Checks the messages without a driver and with unusable drivers and devices."""
    before = major_release() - 1
    unusable = {f"driver={before}080": f"the NVIDIA driver supports CUDA {before}.8", **UNUSABLE}
    command = [folder / "toller", "bench", "search", "--device", "cuda", "--vectors", "100", "--dim", "8"]
    has_driver = ctypes.util.find_library("cuda") is not None
    cases = [*([] if has_driver else [(None, "there is no NVIDIA driver")]), *unusable.items()]
    for setting, expected in cases:
        environment = {**os.environ}
        if setting:
            environment |= {"TOLLER_STAND_IN": setting, "LD_LIBRARY_PATH": str(driver)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        said = done.stderr.strip()
        if done.returncode != 1 or expected not in said or "hint: " not in said:
            raise RuntimeError(f"{setting or 'no driver'}: exit status {done.returncode}, expected 1 and {expected!r}: {said}")
        say(f"{setting or 'no driver'}: {said.splitlines()[-2]}")
