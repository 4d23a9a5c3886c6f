"""The steps of a run, the most valuable first."""
import glob
import json
import os
import shutil
import site
import sys
import time
import zipfile

from . import alone, encoder
from .folder import PEERS
from .runner import Crashed, Hung, Skipped, take_lines

# The sizes of MS MARCO's passages and of its small set of development queries.
FULL = {"dim": 768, "large": 8_841_823, "small": 1_000_000, "ends": [1, 6980], "middle": [32, 1024], "k": [10, 1000]}
TINY = {"dim": 32, "large": 600, "small": 400, "ends": [1, 70], "middle": [3], "k": [10]}
DTYPES = ["f16", "bf16", "f32", "int8"]
ENGINES = ["tile_8", "tile_64", "tile_256", "wgmma", "tma"]
SMOKE = "cuda::tests::smoke"
ENCODER_PRODUCTS = "cuda::tests::products_at"
MILLION = "cuda::tests::a_million_vectors_have_the_hits_of_the_cpu"
# All smoke tests together, in seconds: hanging tests must not take the time of everything else.
SMOKE_SECONDS = 100
# Watched repetitions of failed tests, in seconds.
AGAIN_SECONDS = 40
# Each program of kernels/bench, in seconds.
PROGRAM_SECONDS = 25


def library_folders():
    """The folders of CUDA's libraries: those of pip's packages and the machine's."""
    packages = [*site.getsitepackages(), site.getusersitepackages()]
    found = [folder for package in packages for folder in glob.glob(f"{package}/nvidia/*/lib")]
    return [folder for folder in [*found, "/usr/local/cuda/lib64"] if os.path.isdir(folder)]


def tool(name):
    """The path of one of CUDA's programs, or None."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


def join(values):
    return ",".join(map(str, values))


class Check:
    """The steps of a run, which add to the runner's report."""

    def __init__(self, runner, folder, device, sizes, rounds, driver=None):
        """`driver` is the folder of a stand-in for the driver."""
        self.runner, self.folder, self.device, self.sizes, self.rounds = runner, folder, device, sizes, rounds
        self.is_stand_in = device == "shim" or driver is not None
        folders = [str(driver)] if driver else library_folders()
        path = ":".join([*folders, os.environ.get("LD_LIBRARY_PATH", "")]).strip(":")
        # For our binaries alone: other programs find their libraries themselves.
        self.environment = {**os.environ, "LD_LIBRARY_PATH": path}
        self.report = runner.report
        self.report |= {"tests": {}, "figures": [], "limits": {}, "alone": [], "peers": {}}
        self.compilers = None

    def all(self):
        sizes, step = self.sizes, self.runner.step
        if not step("machine", 30, self.machine, needed=True):
            return
        until = time.monotonic() + SMOKE_SECONDS
        for dtype in DTYPES:
            for engine in ENGINES:
                step(f"smoke: {dtype} {engine}", 20, lambda: self.smoke(dtype, engine), None if self.is_stand_in else until)
        step("a million vectors", 90, self.million)
        encoder.steps(self)
        for scan, seconds in [("f16", 100), ("int8", 80)]:
            step(f"search: {sizes['large']:,} vectors, {scan}", seconds,
                 lambda: self.ours(sizes["large"], sizes["ends"], scan))
        step(f"search: {sizes['large']:,} vectors, bulk copies", 100, self.bulk_copies)
        step(f"peers: {sizes['large']:,} vectors", 90, lambda: self.peers(sizes["large"], sizes["ends"]))
        step("kernels alone", 90, self.alone)
        step("profile", 60, self.profile)
        step(f"search: {sizes['small']:,} vectors, kernels of sm_80", 40,
             lambda: self.ours(sizes["small"], sizes["ends"], "f16", "as sm_80", "--capability", "8.0"))
        step(f"search: {sizes['small']:,} vectors", 60,
             lambda: self.ours(sizes["small"], [*sizes["ends"], *sizes["middle"]], "f16,int8"))
        step(f"peers: {sizes['small']:,} vectors", 40,
             lambda: self.peers(sizes["small"], [*sizes["ends"], *sizes["middle"]]))
        step(f"search: {sizes['large']:,} vectors, other batches", 60,
             lambda: self.ours(sizes["large"], sizes["middle"], "f16,int8"))
        # A stand-in is too slow for every case of the property tests.
        suite = ["cuda::", "scans_batches_depths", "--skip", SMOKE] if self.is_stand_in else []
        step("tests", 120 if not self.is_stand_in else 1200, lambda: self.tests("tests", *suite))
        for check in ["memcheck", "racecheck"]:
            step(check, 60, lambda: self.sanitizer(check, SMOKE, "tests"))
            step(f"{check}: encoder", 60, lambda: self.sanitizer(check, ENCODER_PRODUCTS, "tests-encoder"))

    def machine(self):
        doctor = json.loads(self.runner.checked([self.folder / "toller", "doctor", "--json"], self.environment))
        self.report["doctor"] = doctor
        if self.device == "shim":
            return
        if not doctor["gpus"]:
            raise RuntimeError(doctor["gpu_problem"] or "the driver sees no GPU")
        if self.is_stand_in:
            return
        if tool("nvidia-smi"):
            fields = "name,driver_version,compute_cap,memory.total,memory.used,clocks.sm,clocks.max.sm,clocks.mem,power.limit"
            self.report["nvidia_smi"] = self.runner.checked([tool("nvidia-smi"), f"--query-gpu={fields}", "--format=csv"])
        if tool("nvcc"):
            capability = doctor["gpus"][0]["compute_capability"]
            self.compilers = alone.Compilers(tool("nvcc"), self.folder / "kernels", capability)

    def tests(self, name, *arguments, tool=(), watched=False, program="tests"):
        """Runs tests; it is an error if none ran. Failed tests run again, watched, so that the log names the kernel."""
        environment = {**self.environment, **({"TOLLER_WATCH_LAUNCHES": "1"} if watched else {})}
        command = [*tool, self.folder / program, *arguments, *(["--test-threads", "1", "--nocapture"] if watched else [])]
        try:
            status, out = self.runner.call(command, environment)
            results = [line for line in out.splitlines() if line.startswith("test result:")]
            self.report["tests"][name] = results[-1] if results else f"exit status {status}"
            if status or not results or " 0 passed" in results[-1]:
                failed = join(line.split()[1] for line in out.splitlines() if line.startswith("test ") and line.endswith("FAILED"))
                raise RuntimeError(failed or self.runner.last_words(out))
        except (Hung, Crashed, RuntimeError) as problem:
            self.report["tests"][name] = f"{type(problem).__name__}: {problem}"
            if not watched and not tool:
                self.runner.ends = min(time.monotonic() + AGAIN_SECONDS, self.runner.deadline)
                try:
                    self.tests(f"{name}, watched", *arguments, watched=True, program=program)
                except (Hung, Crashed, RuntimeError):
                    pass  # The log and the report have it.
            raise

    def smoke(self, dtype, engine):
        self.tests(f"smoke {dtype} {engine}", f"{SMOKE}::{dtype}::{engine}", "--exact", watched=True)

    def million(self):
        if self.is_stand_in:
            raise Skipped("a stand-in takes hours")
        self.tests("a million vectors", "--ignored", MILLION)

    def sanitizer(self, check, tests, program):
        if self.is_stand_in:
            raise Skipped("no GPU")
        sanitizer = tool("compute-sanitizer")
        if not sanitizer:
            raise Skipped("compute-sanitizer is not installed")
        # Every type and every engine, at sizes for a tool that watches every access.
        self.tests(f"{check}: {program}", tests, "--test-threads", "1", program=program,
                   tool=[sanitizer, "--tool", check, "--error-exitcode", "9"])

    def ours(self, vectors, queries, scans, kernels="", *choice):
        """Measures our search, by `choice` with other kernels. The figures count even if a later figure fails."""
        log = self.runner.output / "figures.jsonl"
        log.unlink(missing_ok=True)
        command = [self.folder / "toller", "bench", "search", "--json", "--quiet", "--device", self.device,
                   "--vectors", vectors, "--dim", self.sizes["dim"], "--store-dtype", "f16", "--queries", join(queries),
                   "--k", join(self.sizes["k"]), "--scan", scans, "--seconds", "0.5", "--kernel-times", "--log", log, *choice]
        try:
            measured = json.loads(self.runner.checked(command, self.environment))
            self.report["limits"][str(vectors)] = measured["limits"]
        finally:
            suffix = f" {kernels}" if kernels else ""
            take_lines(log.read_text() if log.exists() else "", lambda figure: self.report["figures"].append(
                {"peer": f"toller {figure['scan']}{suffix}", **figure, "seconds": figure["seconds"]["median"]}))
            log.unlink(missing_ok=True)

    def needs_bulk_copies(self):
        gpus = self.report["doctor"]["gpus"]
        if gpus and gpus[0]["compute_capability"] != "9.0":
            raise Skipped("only GPUs of compute capability 9.0 have them")

    def bulk_copies(self):
        """The search of many queries by the kernels with bulk copies, which are not chosen by default."""
        self.needs_bulk_copies()
        self.ours(self.sizes["large"], self.sizes["ends"][-1:], "f16,int8", "with bulk copies", "--bulk-copies")

    def peers(self, vectors, queries):
        packages = self.runner.output / "packages"
        for wheel in self.folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(packages)
        environment = {**os.environ, "PYTHONPATH": f"{packages}:{os.environ.get('PYTHONPATH', '')}".strip(":")}
        command = [sys.executable, self.folder / PEERS, "--vectors", vectors, "--dim", self.sizes["dim"], "--queries",
                   join(queries), "--k", join(self.sizes["k"]), "--rounds", self.rounds,
                   "--device", "cpu" if self.is_stand_in else "cuda"]
        figures_before = len(self.report["figures"])

        def take(line):
            if "figure" in line:
                self.report["figures"].append({"vectors": vectors, **line["figure"]})
            elif "left_out" in line:
                self.report["left_out"].append(line["left_out"])
            else:
                self.report["peers"].setdefault(str(vectors), {}).update(line)

        try:
            self.runner.lines(command, take, environment)
        finally:
            shutil.rmtree(packages, ignore_errors=True)
        if len(self.report["figures"]) == figures_before:
            raise Skipped("no peer is installed")

    def alone(self):
        """The kernels without the search, from programs that this machine's nvcc compiles."""
        if self.is_stand_in:
            raise Skipped("no GPU")
        if not self.compilers:
            raise Skipped("nvcc is not installed")
        problems, until = [], self.runner.ends
        for name in self.compilers.running:
            self.runner.ends = min(until, time.monotonic() + PROGRAM_SECONDS)
            try:
                self.runner.lines([self.compilers.program(name, self.runner.ends)], self.report["alone"].append)
            except (Hung, Crashed, RuntimeError) as problem:  # The other programs still run.
                problems.append(f"{name}: {problem}")
        if problems:
            raise RuntimeError("; ".join(problems))

    def profile(self):
        """What limits the scan, according to the hardware's counters."""
        if self.is_stand_in:
            raise Skipped("no GPU")
        ncu = tool("ncu")
        if not ncu or not self.compilers:
            raise Skipped("ncu or nvcc is not installed")
        sections = ["SpeedOfLight", "WarpStateStats"]
        kernels = "regex:bench_scan_(f16_8|f16_64|f16_256|f16_wgmma|int8_wgmma|f16_tma|int8_tma)$"
        out = self.runner.output / "ncu.txt"
        self.runner.checked([ncu, "--clock-control", "none", "--kernel-name", kernels, *(part for name in sections for part in ["--section", name]),
                             "--log-file", out, self.compilers.profiled(self.runner.ends), "--once"])
