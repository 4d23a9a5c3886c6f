"""What the binary says on machines that cannot be used."""
import ctypes.util
import os
import subprocess

from .runner import say

# Machines that cannot be used, in the notation of kernels/driver, and the expected message.
UNUSABLE = {
    "driver=12040": "the NVIDIA driver supports CUDA 12.4",
    "devices=0": "the driver sees 0",
    "capability=75": "has compute capability 7.5",
    "memory=1000": "bytes of free memory",
}


def refuses_unusable_machines(folder, driver):
    """Checks the messages without a driver and with unusable drivers and devices."""
    command = [folder / "toller", "bench", "search", "--device", "cuda", "--vectors", "100", "--dim", "8"]
    has_driver = ctypes.util.find_library("cuda") is not None
    cases = [*([] if has_driver else [(None, "there is no NVIDIA driver")]), *UNUSABLE.items()]
    for setting, expected in cases:
        environment = {**os.environ}
        if setting:
            environment |= {"TOLLER_STAND_IN": setting, "LD_LIBRARY_PATH": str(driver)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        said = done.stderr.strip()
        if done.returncode != 1 or expected not in said or "hint: " not in said:
            raise RuntimeError(f"{setting or 'no driver'}: exit status {done.returncode}, expected 1 and {expected!r}: {said}")
        say(f"{setting or 'no driver'}: {said.splitlines()[-2]}")
