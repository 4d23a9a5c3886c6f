"""What a run finds on the machine: CUDA's programs and libraries, the GPU's file, and what the system's log says about GPUs."""
import glob
import os
import re
import shutil
import site
import subprocess
from pathlib import Path

# The libraries of cuBLAS. The first loads the second, and both must be of the same release.
CUBLAS = ["libcublas", "libcublasLt"]
# How the names of their files may end, the newest release first.
SUFFIXES = [".so.13", ".so.12", ".so"]
# The files of the GPUs.
GPU_FILES = "/dev/nvidia[0-9]*"
# The lines of the system's log that NVIDIA's driver writes about faults.
FAULT = re.compile("NVRM|Xid")
# Reading the system's log, in seconds.
DMESG_SECONDS = 5


def tool(name):
    """The path of one of CUDA's programs, or None."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


def library_folders():
    """The folders of CUDA's libraries: those of pip's packages and the machine's."""
    packages = [*site.getsitepackages(), site.getusersitepackages()]
    found = [folder for package in packages for folder in glob.glob(f"{package}/nvidia/*/lib")]
    return [folder for folder in [*found, "/usr/local/cuda/lib64"] if os.path.isdir(folder)]


def cublas(folders):
    """The files of cuBLAS from one folder that has both; none if no folder has both."""
    for suffix in SUFFIXES:
        for folder in folders:
            files = [Path(folder) / f"{library}{suffix}" for library in CUBLAS]
            if all(file.exists() for file in files):
                return files
    return []


def link(files, folder):
    """Links libraries into a folder, by the names that programs ask for: without a release, and with that of the file."""
    for file in files:
        name = file.name.partition(".so")[0] + ".so"
        release = re.search(r"\.so(\.\d+)", f"{file.name} {file.resolve().name}")
        for alias in [name, *([name + release.group(1)] if release else [])]:
            (folder / alias).symlink_to(file.absolute())


def hold_open(pattern):
    """Opens the files of GPUs, as far as that is possible. While a file is open, the driver keeps its GPU ready. If no program has it
    open, and the driver has no persistence mode, each program that uses the GPU waits for seconds. No setting changes."""
    opened = []
    for file in sorted(glob.glob(pattern)):
        try:
            opened.append(os.open(file, os.O_RDWR))
        except OSError:
            pass
    return opened


class FaultMessages:
    """What the system's log says about faults of GPUs. Most users cannot read it: then it says nothing."""

    def __init__(self):
        self.known = set(self.read())

    def read(self):
        try:
            done = subprocess.run(["dmesg"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=DMESG_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return []
        return [line for line in done.stdout.decode(errors="replace").splitlines() if FAULT.search(line)]

    def new(self):
        """The lines since the last call."""
        lines = [line for line in self.read() if line not in self.known]
        self.known.update(lines)
        return lines
