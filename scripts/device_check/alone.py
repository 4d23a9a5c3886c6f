"""Compiles the benchmarks of kernels/bench with this machine's nvcc, in the background while other steps run."""
import subprocess
import time

# The programs: name, source, flags. A prefetch size is compiled in.
PROGRAMS = [
    ("memory", "memory.cu", []),
    ("products", "products.cu", []),
    ("scan", "scan.cu", []),
    ("scan-l2-128", "scan.cu", ["-DTOLLER_CP_ASYNC_L2=\".L2::128B\""]),
    ("scan-l2-256", "scan.cu", ["-DTOLLER_CP_ASYNC_L2=\".L2::256B\""]),
]
# The program whose kernels are profiled.
PROFILED = "scan"


def target(capability):
    """The flag of nvcc for a compute capability as in 9.0. wgmma and bulk copies need the architecture's own target."""
    number = capability.replace(".", "")
    return f"-gencode=arch=compute_{number}a,code=sm_{number}a" if number == "90" else f"-gencode=arch=compute_{number},code=sm_{number}"


class Compilers:
    """Running compilers."""

    def __init__(self, nvcc, kernels, output, capability):
        self.output, self.running = output / "bin", {}
        self.output.mkdir(exist_ok=True)
        for name, source, flags in PROGRAMS:
            command = [nvcc, "-O3", "-std=c++17", target(capability), "-I", kernels, *flags, "-o", self.output / name,
                       kernels / "bench" / source]
            self.running[name] = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def program(self, name, until):
        """The path of a program, after its compiler has ended."""
        said, _ = self.running[name].communicate(timeout=max(until - time.monotonic(), 0.1))
        if self.running[name].returncode:
            raise RuntimeError(f"nvcc cannot compile {name}: {said.strip()[-1500:]}")
        return self.output / name

    def programs(self, until):
        """The paths of all programs, each when it is compiled."""
        return (self.program(name, until) for name, _, _ in PROGRAMS)

    def profiled(self):
        return self.output / PROFILED
