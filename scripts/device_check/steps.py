"""The steps of a run, the most valuable first."""
import itertools
import json
import os
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from . import alone, encoder, machine
from .folder import LAYER_PEERS, PEERS
from .machine import tool
from .printed import UNFINISHED, outcomes, problem_of_tests, result, with_launch
from .runner import Failed, Problem, Skipped, take_lines

# The sizes of MS MARCO's passages and of its small set of development queries. Mr. TyDi's English passages are
# streamed, through 20 GB of the GPU's memory.
FULL = {"dim": 768, "large": 8_841_823, "small": 1_000_000, "ends": [1, 6980], "middle": [32, 1024], "k": [10, 1000],
        "streamed": 32_907_100, "memory": 20, "rows": 25_344}
TINY = {"dim": 32, "large": 600, "small": 400, "ends": [1, 70], "middle": [3], "k": [10], "streamed": 600, "memory": 0.1, "rows": 2}
DTYPES = ["f16", "bf16", "f32", "int8"]
ENGINES = ["tile_8", "tile_64", "tile_256", "tma"]
SMOKE = "cuda::tests::smoke"
ENCODER_PRODUCTS = "cuda::tests::products_at"
MILLION = "cuda::tests::a_million_vectors"
HARD_DATA = "tests::hard_data"
# The steps that need the benchmarks of kernels/bench.
COMPILERS, ALONE, PROFILE = "nvcc for the kernels alone", "kernels alone", "profile"
# All smoke tests together, in seconds: hanging tests must not take the time of everything else.
SMOKE_SECONDS = 100
# The test of a million vectors, and with its repetition if it fails, in seconds.
MILLION_SECONDS, MILLION_AND_AGAIN_SECONDS = 60, 90
# A watched repetition of what has failed, and memcheck for one test, in seconds.
AGAIN_SECONDS, MEMCHECK_SECONDS = 30, 40
# The compilers of the benchmarks, from when they are waited for.
COMPILERS_SECONDS = 60
# nvidia-smi, and each program of kernels/bench, in seconds.
SMI_SECONDS, PROGRAM_SECONDS = 10, 25
# The environment in which our binaries print every launch and wait for it.
WATCHED = {"TOLLER_WATCH_LAUNCHES": "1"}
# compute-sanitizer counts refused calls of the driver as errors. We look for kernels in several modules, and ask events whether
# they are done: both are refused at times.
ERRORS_OF_KERNELS = ["--report-api-errors", "no"]
# What compute-sanitizer and ncu print where the machine's sandbox keeps them from the GPU.
KEPT_OUT = ["Device not supported", "LibraryNotLoaded"]
# Options of tests that are watched: one after another, and what they print is not held back.
ONE_BY_ONE = ["--test-threads", "1", "--nocapture"]


def join(values):
    return ",".join(map(str, values))


def check_is_let_in(ended):
    """Skips the step of a tool that the machine's sandbox keeps from the GPU."""
    if any(words in ended.out + ended.err for words in KEPT_OUT):
        raise Skipped("the machine's sandbox keeps the tool from the GPU")


def smoke_test(dtype, engine):
    return f"{SMOKE}::{dtype}::{engine}"


class Check:
    """The steps of a run, which add to the runner's report."""

    def __init__(self, runner, folder, device, sizes, rounds, driver=None):
        """`driver` is the folder of a stand-in for the driver."""
        self.runner, self.folder, self.device, self.sizes, self.rounds = runner, folder, device, sizes, rounds
        self.is_stand_in = device == "shim" or driver is not None
        self.report = runner.report
        self.report |= {"tests": {}, "figures": [], "limits": {}, "alone": [], "peers": {}}
        folders = [str(driver)] if driver else self.libraries()
        path = ":".join([*folders, os.environ.get("LD_LIBRARY_PATH", "")]).strip(":")
        # For our binaries alone: other programs find their libraries themselves.
        self.environment = {**os.environ, "LD_LIBRARY_PATH": path}
        # On a machine with a GPU, tests must not pass on a stand-in.
        self.test_environment = {**self.environment, **({} if self.is_stand_in else {"TOLLER_NEEDS_GPU": "1"})}
        self.compilers, self.gpu_files = None, []
        # The outcomes of tests, and the kinds of failures that were looked into.
        self.outcomes, self.repeated = {}, set()

    def all(self):
        sizes, step = self.sizes, self.runner.step
        # Without it nothing runs, and the first call on a cold GPU takes long.
        if not step("machine", 90, self.machine, needed=True):
            return
        until = None if self.is_stand_in else time.monotonic() + SMOKE_SECONDS
        step("smoke: all in one process", SMOKE_SECONDS / 2 if not self.is_stand_in else 400, self.smoke_together, until)
        for dtype, engine in self.smoke_order():
            step(f"smoke: {dtype} {engine}", 20, lambda: self.smoke(dtype, engine), until)
        step("hard data", 30, self.hard_data, until)
        step("a million vectors", MILLION_SECONDS, lambda: self.million("usual_kernels"), time.monotonic() + MILLION_AND_AGAIN_SECONDS)
        encoder.steps(self)
        large, small, ends, middle = sizes["large"], sizes["small"], sizes["ends"], sizes["middle"]
        for scan, seconds in [("f16", 100), ("int8", 80)]:
            step(f"search: full size {scan}", seconds, lambda: self.ours(large, ends, scan))
        # More vectors than fit: most are copied for every search.
        step("search: streamed", 80, lambda: self.ours(sizes["streamed"], ends[-1:], "f16", "streamed", "--memory", sizes["memory"]))
        step("peers: full size", 90, lambda: self.peers(large, ends))
        step(ALONE, 90, self.alone)
        step("peers: layers", 40, self.layer_peers)
        step(PROFILE, 60, self.profile)
        step("a million vectors by kernels of sm_80", MILLION_SECONDS, lambda: self.million("kernels_of_sm_80"))
        step("search: smaller by kernels of sm_80", 40, lambda: self.ours(small, ends, "f16", "as sm_80", "--capability", "8.0"))
        step("search: smaller", 60, lambda: self.ours(small, [*ends, *middle], "f16,int8"))
        step("peers: smaller", 40, lambda: self.peers(small, [*ends, *middle]))
        step("search: full size in other batches", 60, lambda: self.ours(large, middle, "f16,int8"))
        # A stand-in is too slow for every case of the property tests.
        suite = ["cuda::", "scans_batches_depths", "--skip", SMOKE] if self.is_stand_in else []
        step("tests", 120 if not self.is_stand_in else 1200, lambda: self.tests("tests", *suite))
        for check in ["memcheck", "racecheck"]:
            step(check, 60, lambda: self.sanitizer(check, SMOKE, "tests"))
            step(f"{check}: encoder", 60, lambda: self.sanitizer(check, ENCODER_PRODUCTS, "tests-encoder"))
        if self.compilers:
            self.compilers.stop()

    def needs_cublas(self):
        """Skips a step that needs cuBLASLt if it is not there."""
        if not self.is_stand_in and "cublas" not in self.report:
            raise Skipped("cuBLASLt is not installed")

    def libraries(self):
        """The folders of CUDA's libraries. The first has links to a cuBLAS whose two libraries are of the same release: from different
        folders, they may not fit together."""
        folders = machine.library_folders()
        files = machine.cublas(folders)
        if not files:
            return folders
        self.report["cublas"] = str(files[0].parent)
        self.links = tempfile.TemporaryDirectory()
        machine.link(files, Path(self.links.name))
        return [self.links.name, *folders]

    def machine(self):
        if not self.is_stand_in:
            self.gpu_files = machine.hold_open(machine.GPU_FILES)
        doctor = json.loads(self.runner.checked([self.folder / "toller", "doctor", "--json"], self.environment))
        self.report["doctor"] = doctor
        if self.device == "shim":
            return
        if not doctor["gpus"]:
            raise RuntimeError(doctor["gpu_problem"] or "the driver sees no GPU")
        if self.is_stand_in:
            return
        if tool("nvcc") and any(map(self.runner.is_chosen, [ALONE, PROFILE])):
            capability = doctor["gpus"][0]["compute_capability"]
            self.compilers = alone.Compilers(tool("nvcc"), self.folder / "kernels", capability)
        if tool("nvidia-smi"):
            self.report["nvidia_smi"] = self.nvidia_smi()

    def nvidia_smi(self):
        """What nvidia-smi says of the GPU, or why it says nothing: the run does not need it."""
        fields = ("name,driver_version,compute_cap,persistence_mode,memory.total,memory.used,clocks.sm,clocks.max.sm,clocks.mem,"
                  "power.limit")
        try:
            with self.runner.within(SMI_SECONDS):
                return self.runner.checked([tool("nvidia-smi"), f"--query-gpu={fields}", "--format=csv"])
        except Problem as problem:
            return str(problem)

    def toller(self, kind, *arguments, once=()):
        """The stdout of our program. If it fails, it runs again, watched and without the options `once`."""
        command = [self.folder / "toller", *arguments]
        # A quiet program does not print its launches.
        ended = self.runner.run([*command, "--quiet", *once], self.environment)
        if ended.problem:
            raise self.again(kind, command, self.environment, ended.problem)
        return ended.out

    def tests(self, name, *arguments, tool=(), watched=False, program="tests"):
        """Runs tests; it is an error if none ran. If tests fail that are not watched, they run again, watched."""
        command = [*tool, self.folder / program, *arguments, *(ONE_BY_ONE if watched else [])]
        ended = self.runner.run(command, {**self.test_environment, **(WATCHED if watched else {})})
        if tool:
            check_is_let_in(ended)
        self.outcomes |= outcomes(ended.out)
        problem = problem_of_tests(ended)
        if not problem:
            self.report["tests"][name] = result(ended.out)
            return
        self.report["tests"][name] = f"{type(problem).__name__}: {problem}"
        if watched:
            raise with_launch(problem, ended)
        # If no test ran, or with a tool around the program, a repetition names no kernel.
        repeats = ended.problem and not tool
        raise self.again(name, [*command, *ONE_BY_ONE], self.test_environment, problem) if repeats else problem

    def again(self, kind, command, environment, problem):
        """Runs a failed command again, watched, so that log and report name the kernel. Returns its problem with what was found."""
        if not self.may_repeat(kind, AGAIN_SECONDS):
            return problem
        ended = self.runner.run(command, {**environment, **WATCHED})
        found = ended.problem and with_launch(ended.problem, ended)
        return problem.and_also(f"watched: {found or 'it passes'}")

    def may_repeat(self, kind, seconds):
        """Whether something that failed may run again: it is the first of its kind, and there is time."""
        if kind in self.repeated or not self.runner.more_time(seconds):
            return False
        self.repeated.add(kind)
        return True

    def smoke_together(self):
        """All smoke tests in one process, since each process takes seconds to open the GPU."""
        self.tests("smoke", SMOKE, watched=True)

    def smoke_order(self):
        """Types and engines. First come those whose tests have passed in one process, and last what that process could not finish: if it
        hangs again, the others have run."""
        place = lambda pair: {"ok": 0, UNFINISHED: 2}.get(self.outcomes.get(smoke_test(*pair)), 1)
        return sorted(itertools.product(DTYPES, ENGINES), key=place)

    def smoke(self, dtype, engine):
        """A test in a process of its own, unless it has passed with all others."""
        test = smoke_test(dtype, engine)
        if self.outcomes.get(test) == "ok":
            return
        try:
            self.tests(f"smoke {dtype} {engine}", test, "--exact", watched=True)
            self.outcomes[test] = "ok"
        except Problem as problem:
            self.outcomes[test] = UNFINISHED
            raise self.memcheck(engine, test, problem)

    def memcheck(self, kind, test, problem):
        """Runs a failed test again, with every access to memory checked. Returns its problem with what was found."""
        if self.is_stand_in or not tool("compute-sanitizer") or not self.may_repeat(f"memcheck: {kind}", MEMCHECK_SECONDS):
            return problem
        try:
            self.sanitized("memcheck", "tests", test, "--exact")
            return problem.and_also("memcheck finds nothing")
        except Problem as found:
            return problem.and_also(f"memcheck: {found}")

    def hard_data(self):
        """Hits that bounds which are too narrow would lose, with every engine."""
        if self.is_stand_in:
            raise Skipped("CI does the same")
        self.tests("hard data", HARD_DATA)

    def million(self, kernels):
        if self.is_stand_in:
            raise Skipped("a stand-in takes hours")
        self.tests(f"a million vectors, {kernels}", "--ignored", f"{MILLION}::{kernels}", "--exact")

    def sanitizer(self, check, tests, program):
        """A check with every type and every engine, at sizes for a tool that watches every access."""
        if self.is_stand_in:
            raise Skipped("no GPU")
        if not tool("compute-sanitizer"):
            raise Skipped("compute-sanitizer is not installed")
        self.sanitized(check, program, tests)

    def sanitized(self, check, program, *tests):
        self.tests(f"{check}: {program} {tests[0]}", *tests, "--test-threads", "1", program=program,
                   tool=[tool("compute-sanitizer"), "--tool", check, *ERRORS_OF_KERNELS, "--error-exitcode", "9"])

    def ours(self, vectors, queries, scans, kernels="", *choice):
        """Measures our search, by `choice` with other kernels, and compares hits with those of the CPU. The figures count even if a later
        figure fails."""
        log = self.runner.output / "figures.jsonl"
        log.unlink(missing_ok=True)
        suffix = f" {kernels}" if kernels else ""
        arguments = ["bench", "search", "--json", "--device", self.device, "--vectors", vectors, "--dim", self.sizes["dim"],
                     "--store-dtype", "f16", "--queries", join(queries), "--k", join(self.sizes["k"]), "--scan", scans,
                     "--seconds", "0.5", "--kernel-times", "--check-hits", *choice]
        try:
            # Without the log, a watched repetition adds no figures.
            measured = json.loads(self.toller(f"bench search{suffix}", *arguments, once=["--log", log]))
            self.report["limits"][str(vectors)] = measured["limits"]
        finally:
            take_lines(log.read_text() if log.exists() else "", lambda figure: self.report["figures"].append(
                {"peer": f"toller {figure['scan']}{suffix}", **figure, "seconds": figure["seconds"]["median"]}))
            log.unlink(missing_ok=True)

    def peers(self, vectors, queries):
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

        with tempfile.TemporaryDirectory() as packages:
            for wheel in self.folder.glob("*.whl"):
                zipfile.ZipFile(wheel).extractall(packages)
            environment = {**os.environ, "PYTHONPATH": f"{packages}:{os.environ.get('PYTHONPATH', '')}".strip(":")}
            self.runner.lines(command, take, environment)
        if len(self.report["figures"]) == figures_before:
            raise Skipped("no peer is installed")

    def wait_for_compilers(self):
        """A step before the first times: compilers would take the time of the CPU from what is measured."""
        if self.compilers:
            self.runner.step(COMPILERS, COMPILERS_SECONDS, lambda: self.compilers.wait(self.runner.ends), needed=True)

    def alone(self):
        """The kernels without the search, from programs that this machine's nvcc compiles."""
        if self.is_stand_in:
            raise Skipped("no GPU")
        if not self.compilers:
            raise Skipped("nvcc is not installed")
        problems = []
        for name in self.compilers.running:
            try:
                with self.runner.within(PROGRAM_SECONDS):
                    self.runner.lines([self.compilers.program(name, self.runner.ends)], self.report["alone"].append)
            except Problem as problem:  # The other programs still run.
                problems.append(f"{name}: {problem}")
        if problems:
            raise Failed("; ".join(problems))

    def layer_peers(self):
        """torch's linear layers, next to those of kernels/bench/layers.cu."""
        command = [sys.executable, self.folder / LAYER_PEERS, "--rows", self.sizes["rows"], "--layers", 1 if self.is_stand_in else 12,
                   "--device", "cpu" if self.is_stand_in else "cuda"]
        found = []
        self.runner.lines(command, found.append)
        self.report["alone"] += [line["alone"] for line in found if "alone" in line]
        self.report["left_out"] += [line["left_out"] for line in found if "left_out" in line]
        if not any("alone" in line for line in found):
            raise Skipped("torch is not installed")

    def profile(self):
        """What limits the scan, according to the hardware's counters."""
        if self.is_stand_in:
            raise Skipped("no GPU")
        ncu = tool("ncu")
        if not ncu or not self.compilers:
            raise Skipped("ncu or nvcc is not installed")
        sections = ["SpeedOfLight", "WarpStateStats"]
        kernels = "regex:bench_scan_(f16_8|f16_64|f16_256|f16_tma|int8_tma)$"
        out = self.runner.output / "ncu.txt"
        ended = self.runner.run([ncu, "--clock-control", "none", "--kernel-name", kernels, *(part for name in sections for part in ["--section", name]),
                             "--log-file", out, self.compilers.profiled(self.runner.ends), "--once"])
        check_is_let_in(ended)
        if ended.problem:
            raise ended.problem
