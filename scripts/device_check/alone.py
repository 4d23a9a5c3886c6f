"""Compiles the benchmarks of kernels/bench with this machine's nvcc, in the background while other steps run."""
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .runner import Failed

# The programs: name, source, flags. A prefetch size is compiled in.
PROGRAMS = [
    ("memory", "memory.cu", []),
    ("scan", "scan.cu", []),
    ("scan-l2-128", "scan.cu", ["-DTOLLER_L2_PREFETCH=128"]),
    ("scan-l2-256", "scan.cu", ["-DTOLLER_L2_PREFETCH=256"]),
    ("products", "products.cu", []),
    ("layers", "layers.cu", []),
]
# The program whose kernels are profiled.
PROFILED = "scan"


def target(capability):
    """The flag of nvcc for a compute capability as in 9.0. wgmma and bulk copies need the architecture's own target."""
    number = capability.replace(".", "")
    return f"-gencode=arch=compute_{number}a,code=sm_{number}a" if number == "90" else f"-gencode=arch=compute_{number},code=sm_{number}"


class Compilers:
    """Running compilers."""

    def __init__(self, nvcc, kernels, capability):
        self.temporary, self.running = tempfile.TemporaryDirectory(), {}
        self.output = Path(self.temporary.name)
        for name, source, flags in PROGRAMS:
            command = [nvcc, "-O3", "-std=c++17", target(capability), "-I", kernels, *flags, "-o", self.output / name,
                       kernels / "bench" / source]
            self.running[name] = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                                  process_group=0)

    def stop(self):
        """Ends the compilers that still run, with what they have started."""
        for running in self.running.values():
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()

    def wait(self, until):
        """Waits until all compilers have ended, whether they succeeded or not."""
        for name in self.running:
            self.ended(name, until)

    def ended(self, name, until):
        """What a compiler has said, after it has ended."""
        try:
            said, _ = self.running[name].communicate(timeout=max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            raise Failed(f"nvcc is still compiling {name}") from None
        return said

    def program(self, name, until):
        """The path of a program, after its compiler has ended."""
        said = self.ended(name, until)
        if self.running[name].returncode:
            raise Failed(f"nvcc cannot compile {name}: {said.strip()[-1500:]}")
        return self.output / name

    def profiled(self, until):
        return self.program(PROFILED, until)
