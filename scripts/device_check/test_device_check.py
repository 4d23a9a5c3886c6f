"""Runs device-check with binaries that hang, crash and fail where a test wants it. Needs no GPU and builds nothing.

    python3 -m unittest discover --start-directory scripts/device_check --top-level-directory scripts
"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from device_check import encoder, machine, made_model, report
from device_check.folder import unpack
from device_check.printed import UNFINISHED, outcomes, unfinished_launch
from device_check.runner import FIRST_BYTES, LAST_BYTES, Ended, Failed, Hung, Runner, Skipped
from device_check.steps import DTYPES, ENGINES, FULL, SMOKE, TINY, Check, check_is_let_in

SCRIPT = Path(__file__).resolve().parent.parent / "device-check"

FIXTURES = SCRIPT.parent.parent / "tests/fixtures"

# A program in the place of `toller`, `tests`, the peers, and CUDA's programs. $PLANT is `what:text`: it does `what` where its
# arguments have `text`, or in the smoke test whose name has it. Like ours, it prints launches if it is watched and not quiet.
PROGRAM = f"""#!{sys.executable}
import json, os, signal, sys, time
arguments = " ".join(sys.argv)
program = os.path.basename(sys.argv[0])

def fault():
    print("before the fault", flush=True)
    if what == "hang":
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.1)
    elif what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)

def launch(kernel, end="starts"):
    if "TOLLER_WATCH_LAUNCHES" in os.environ and "--quiet" not in sys.argv:
        print(f"toller_{{kernel}}: 32 x 1 x 1 blocks of 512 threads, 1280 bytes: {{end}}", file=sys.stderr, flush=True)

figure = {{"vectors": 1, "queries": 1, "k": 10, "scan": "f16", "seconds": {{"median": 0.002}}, "share_of_floor": 0.5, "kernels": [
    {{"kernel": "toller_ip_topk_select", "launches": 3, "seconds": 0.001}}]}}
if "--log" in sys.argv:
    open(sys.argv[sys.argv.index("--log") + 1], "a").write(json.dumps(figure) + "\\n")
if "--output" in sys.argv and ("search" in arguments or "rerank" in arguments):
    open(sys.argv[sys.argv.index("--output") + 1], "w").write("q1 Q0 d1 1 0.5 planted\\n")
if "gpu_encoder" in arguments and os.environ.get("HF_HUB_OFFLINE") == "1":
    print(json.dumps({{"figure": {{"peer": "transformers", "texts": "8 tokens", "from_ids": 1e6}}}}), flush=True)
if "gpu_layers" in arguments:
    print(json.dumps({{"alone": {{"layer": "planted", "Ms": 1.5}}}}), flush=True)
if "gpu_topk" in arguments:
    print(json.dumps({{"figure": {{"peer": "torch", "queries": 1, "k": 10, "seconds": 0.004}}}}), flush=True)
    try:
        import planted_wheel
        print(json.dumps({{"wheel": planted_wheel.__file__}}))
    except ImportError:
        pass
what, _, text = os.environ.get("PLANT", "nothing:nowhere").partition(":")
if program in ["tests", "tests-encoder"] and os.environ.get("TOLLER_NEEDS_GPU") != "1":
    sys.exit("tests may pass without a GPU")
if program == "tests" and "cuda::tests::smoke" in sys.argv[1:2]:
    failed = 0
    for test in [f"{SMOKE}::{{dtype}}::{{engine}}" for dtype in {DTYPES} for engine in {ENGINES}]:
        print(f"test {{test}} ... ", end="", flush=True)
        launch(test)
        if text in test:
            fault()
            failed += 1
        launch(test, "12.5 us")
        print("FAILED" if text in test else "ok", flush=True)
    print(f"test result: {{'FAILED' if failed else 'ok'}}. {{16 - failed}} passed; {{failed}} failed")
    sys.exit(101 if failed else 0)
launch("kernel_of_" + program)
if text in arguments:
    fault()
    if what == "fail":
        sys.exit(3)
launch("kernel_of_" + program, "12.5 us")
if "store export" in arguments:
    open(sys.argv[sys.argv.index("--output") + 1], "wb").write(bytes([0] * 8 + [2, 0, 0, 0]) + bytes([0, 0, 128, 63]) * 200)
if "doctor" in arguments:
    print(json.dumps({{"gpus": [{{"name": "planted", "compute_capability": "9.0"}}]}}))
elif "bench search" in arguments:
    print(json.dumps({{"limits": {{}}, "figures": []}}))
elif "bench encode" in arguments:
    print(json.dumps({{"figures": [{{"texts": "8 tokens", "from_ids_tokens_per_second": 2e6, "tokens_per_second": 1e6,
        "kernels": [{{"kernel": "toller_encoder_pool_f16", "launches": 2, "seconds": 0.001}}]}}],
        "latencies": [{{"batch": 10, "seconds": {{"p50": 0.002, "p99": 0.003}}, "seconds_per_query": 0.0002}}]}}))
elif "bench rerank" in arguments:
    print(json.dumps({{"figures": [{{"tokens_per_second": 1e6}}]}}))
elif "verify" in arguments:
    print("{{}}")
elif not program.endswith(".py"):
    count = 0 if what == "omit" and text in arguments else 1
    print(f"test result: ok. {{count}} passed; 0 failed")
"""
# The system's log: what was there before, and after each call a new fault.
DMESG = f"""#!{sys.executable}
import os, sys
calls = sys.argv[0] + ".calls"
print("[1.0] NVRM: loading")
print("[2.0] eth0: link is up")
if os.path.exists(calls):
    print("[3.0] NVRM: Xid 31: page fault")
open(calls, "w")
"""


class DeviceCheck(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name in ["toller", "tests", "tests-encoder", "gpu_topk.py", "gpu_encoder.py", "gpu_layers.py"]:
            (self.folder / name).write_text(PROGRAM)
            (self.folder / name).chmod(0o755)
        for name, source in [("tiny-bert", "tiny-bert"), ("cross-encoder", "cross-encoders/bert")]:
            shutil.copytree(FIXTURES / source, self.folder / "models" / name)

        # A cuBLAS that pip has installed.
        packages = self.folder / f"user/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
        libraries = packages / "nvidia/cublas/lib"
        libraries.mkdir(parents=True)
        for name in ["libcublas.so.13", "libcublasLt.so.13"]:
            (libraries / name).touch()

    def environment(self, plant, path="/nowhere", cublas=True):
        """Without CUDA's programs, which a machine may have."""
        return {"PATH": path, "PLANT": plant, "PYTHONUSERBASE": str(self.folder / ("user" if cublas else "nowhere"))}

    def tools(self, **programs):
        """A folder with programs, for PATH: CUDA's are planted, too."""
        folder = self.folder / "tools"
        folder.mkdir()
        for name, text in programs.items():
            path = folder / name.replace("_", "-")
            path.write_text(text)
            path.chmod(0o755)
        return str(folder)

    def runner(self, *arguments):
        runner = Runner(self.folder / "results", *arguments)
        self.addCleanup(runner.log.close)
        return runner

    def command(self, *options):
        return [sys.executable, str(SCRIPT), "run", str(self.folder), "--output", str(self.folder / "results"), *options]

    def run_with(self, plant, *options, **environment):
        """(exit status, report, outcomes by step, log)"""
        done = subprocess.run(self.command(*options), env=self.environment(plant, **environment), capture_output=True, text=True, timeout=100)
        report = self.report()
        self.assertTrue(report["finished"], done.stderr)
        self.assertIsNone(report["running"])
        return done.returncode, report, {step["name"]: step for step in report["steps"]}, (self.folder / "results/log.txt").read_text()

    def report(self):
        return json.loads((self.folder / "results/report.json").read_text())

    def test_everything_passes_without_a_fault(self):
        status, report, steps, _ = self.run_with("nothing:nowhere")
        self.assertEqual(status, 0, report["steps"])
        self.assertGreater(len(steps), 25)
        self.assertEqual({step["outcome"] for step in steps.values()}, {"passed", "skipped"})
        self.assertEqual(steps["memcheck"]["why"], "compute-sanitizer is not installed")
        results = (self.folder / "results/report.md").read_text()
        self.assertIn("Torch / toller f16", results)
        self.assertIn("| 2.00 |", results)
        self.assertIn("| 8 tokens | toller f16 | 2,000,000 | 1,000,000 |", results)
        self.assertIn("| 8 tokens | toller f16 as sm_80 | pool_f16 | 2 | 1.000 | 100.0 |", results)
        self.assertIn("| toller bf16 | 10 | 2.000 | 3.000 | 0.2000 |", results)
        self.assertIn("| 8 tokens | transformers | 1,000,000 |", results)
        self.assertIn("| planted | 1.5 |", results)
        self.assertEqual(len(report["parity"]), 7)
        self.assertEqual({path.name for path in (self.folder / "results").iterdir()}, {"log.txt", "report.json", "report.md"})

    def test_smoke_tests_that_pass_together_do_not_run_alone(self):
        status, _, steps, log = self.run_with("nothing:nowhere", "--only", "smoke")
        self.assertEqual(status, 0)
        self.assertEqual({name for name, step in steps.items() if step["outcome"] == "passed"},
                         {"machine", "smoke: all in one process", *(f"smoke: {dtype} {engine}" for dtype in DTYPES for engine in ENGINES)})
        self.assertEqual(log.count("--nocapture"), 1, "all together")
        _, _, _, log = self.run_with("nothing:nowhere", "--only", "smoke: bf16 tma")
        self.assertIn(f"{SMOKE}::bf16::tma --exact", log)

    def test_a_smoke_test_that_fails_runs_alone_and_under_memcheck(self):
        status, report, steps, log = self.run_with("fail:f16::tile_64", "--only", "smoke", path=self.tools(compute_sanitizer=PROGRAM))
        self.assertEqual(status, 1)
        failed = {name: step["why"] for name, step in steps.items() if step["outcome"] == "failed"}
        self.assertEqual(list(failed), ["smoke: all in one process", "smoke: f16 tile_64", "smoke: bf16 tile_64"])
        self.assertRegex(failed["smoke: f16 tile_64"], "exit status 3: .*this launch did not end: toller_kernel_of_tests: .*; memcheck: exit status 3")
        # It ended, with a wrong result.
        self.assertNotIn("launch", failed["smoke: all in one process"])
        # Memcheck watches one test of each engine.
        self.assertNotIn("memcheck", failed["smoke: bf16 tile_64"])
        self.assertRegex(log, "compute-sanitizer --tool memcheck .*/tests cuda::tests::smoke::f16::tile_64 --exact")
        self.assertEqual(log.count("--nocapture"), 3)

    def test_a_smoke_test_that_hangs_is_killed_and_named_and_runs_last(self):
        status, _, steps, log = self.run_with("hang:smoke::bf16::tile_256", "--step-limit", "3", "--only", "smoke,tests")
        self.assertEqual(status, 1)
        hung = [name for name, step in steps.items() if step["outcome"] == "hung"]
        self.assertEqual(hung, ["smoke: all in one process", "smoke: bf16 tile_256"])
        self.assertRegex(steps[hung[0]]["why"], "killed after 3 s; this launch did not end: toller_cuda::tests::smoke::bf16::tile_256: ")
        self.assertEqual([name for name in steps if name.startswith("smoke: ")][-1], hung[1])
        self.assertEqual(steps["smoke: bf16 tma"]["outcome"], "passed")
        self.assertEqual(steps["tests"]["outcome"], "passed")
        self.assertIn("before the fault", log)

    def test_outcomes_stand_after_what_tests_print(self):
        out = "running 4 tests\ntest a ... ok\ntest b ... skipped: no wgmma\nok\ntest c ... FAILED\ntest d ... \ntest result: FAILED"
        self.assertEqual(outcomes(out), {"a": "ok", "b": "ok", "c": "FAILED", "d": UNFINISHED})

    def test_a_step_that_crashes_is_named_and_keeps_its_figures(self):
        status, report, steps, log = self.run_with("crash:bench search")
        self.assertEqual(status, 1)
        crashed = [step for step in steps.values() if step["name"].startswith("search: ")]
        self.assertEqual({step["outcome"] for step in crashed}, {"crashed"})
        self.assertTrue(all("SIGSEGV" in step["why"] for step in crashed))
        # A repetition is watched, and its figures do not count.
        self.assertEqual(len([figure for figure in report["figures"] if figure["peer"].startswith("toller")]), len(crashed))
        launch = "this launch did not end: toller_kernel_of_toller: 32 x 1 x 1 blocks of 512 threads, 1280 bytes"
        named = [step["name"] for step in crashed if launch in step["why"]]
        # With each choice of kernels once.
        self.assertEqual(named, ["search: full size f16", "search: streamed", "search: smaller by kernels of sm_80"])

    def test_each_command_of_the_encoder_runs_again_watched(self):
        for command, step in [("encode", "whole commands"), ("rerank", "whole commands"), ("verify", "parity in f16"),
                              ("bench encode", "rates in f16"), ("--cublas", "cuBLASLt in f16")]:
            status, _, steps, _ = self.run_with(f"fail:{command}", "--only", "encoder")
            self.assertEqual(status, 1)
            self.assertRegex(steps[f"encoder: {step}"]["why"], "exit status 3: .*; watched: exit status 3: .*toller_kernel_of_toller")

    def test_a_repetition_ends_with_its_group(self):
        runner, limits = self.runner(540), []

        def fail():
            self.assertTrue(runner.more_time(30))
            limits.append(runner.ends - time.monotonic())
            raise Failed("planted")

        runner.step("alone", 3, fail)
        runner.step("in a group", 3, fail, time.monotonic() + 5)
        self.assertAlmostEqual(limits[0], 30, delta=0.5)
        self.assertAlmostEqual(limits[1], 5, delta=0.5)

    def test_a_part_of_a_step_has_its_own_limit(self):
        runner = self.runner(540)

        def work():
            with runner.within(1), self.assertRaisesRegex(Hung, "killed after 1 s"):
                runner.checked(["sleep", "30"])
            runner.checked(["sleep", "1"])

        self.assertTrue(runner.step("in parts", 30, work))

    def test_failed_tests_run_again_watched(self):
        status, report, steps, log = self.run_with("fail:a_million")
        self.assertEqual(status, 1)
        self.assertEqual(steps["a million vectors"]["outcome"], "failed")
        self.assertRegex(steps["a million vectors"]["why"], "exit status 3: .*; watched: exit status 3: .*toller_kernel_of_tests")
        self.assertRegex(log, "--ignored cuda::tests::a_million.* --nocapture")

    def test_it_is_a_failure_if_no_test_runs(self):
        status, _, steps, log = self.run_with("omit:a_million", "--only", "million")
        self.assertEqual((status, steps["a million vectors"]["outcome"]), (1, "failed"))
        self.assertEqual(steps["a million vectors"]["why"], "no test ran: before the fault | test result: ok. 0 passed; 0 failed")
        self.assertNotIn("--nocapture", log)

    def test_nothing_starts_after_the_deadline(self):
        status, report, steps, _ = self.run_with("hang:smoke::f16::tile_8", "--deadline", "4")
        outcomes = [step["outcome"] for step in report["steps"]]
        self.assertEqual((status, outcomes[1]), (1, "hung"))
        self.assertEqual(set(outcomes[2:]), {"skipped"})

    def test_only_chosen_steps_run(self):
        status, report, steps, _ = self.run_with("nothing:nowhere", "--only", "rates in bf16")
        self.assertEqual(status, 0)
        self.assertEqual([name for name, step in steps.items() if step["outcome"] == "passed"], ["machine", "encoder: rates in bf16"])
        status, _, steps, _ = self.run_with("nothing:nowhere", "--only", "no such step")
        self.assertEqual((status, steps["machine"]["outcome"]), (1, "passed"))

    def test_several_texts_choose_steps(self):
        status, _, steps, _ = self.run_with("nothing:nowhere", "--only", "rates in bf16, a million vectors by,")
        self.assertEqual(status, 0)
        self.assertEqual([name for name, step in steps.items() if step["outcome"] == "passed"],
                         ["machine", "encoder: rates in bf16", "a million vectors by kernels of sm_80"])
        self.assertEqual(self.run_with("nothing:nowhere", "--only", "rates in bf16,no such step")[0], 1)

    def test_only_a_launch_that_did_not_end_is_named(self):
        launch = lambda kernel, end: f"{kernel}: 4 x 1 x 1 blocks of 32 threads, 0 bytes: {end}"
        ended = [launch("one", "starts"), launch("one", "5.0 us")]
        self.assertIsNone(unfinished_launch("\n".join(ended)))
        # What other tests start after the fault does not count.
        begun = [*ended, launch("two", "starts"), "a message", launch("three", "starts")]
        self.assertEqual(unfinished_launch("\n".join(begun)), launch("two", "starts").removesuffix(": starts"))
        cut = [launch("two", "starts"), "[12,345 bytes are left out]", "ds, 0 bytes: 5.0 us", *ended]
        self.assertIsNone(unfinished_launch("\n".join(cut)))

    def test_the_encoder_begins_with_what_is_worth_most(self):
        _, _, steps, log = self.run_with("nothing:nowhere", "--only", "encoder")
        names = [name.removeprefix("encoder: ") for name, step in steps.items() if name.startswith("encoder: ")]
        self.assertEqual(names, ["tests", "tests of cuBLASLt", "whole commands", "parity in f16", "twelve layers in f16", "rates in f16",
                                 "texts of many lengths", "reranking", "cuBLASLt in f16", "peers", "parity in bf16", "parity in f32",
                                 "rates in bf16", "rates in f32",
                                 "kernels of sm_80 in f16"])
        sizes = re.findall("bench encode .* --lengths (\\S+) --batches (\\S+) ", log)
        self.assertEqual(sizes, [("50,128,512", "1,10,50,200"), *[("50,512", "1")] * 4])

    def test_a_machine_whose_gpu_cannot_be_described_is_used(self):
        status, report, steps, _ = self.run_with("fail:query-gpu", "--only", "machine", path=self.tools(nvidia_smi=PROGRAM))
        self.assertEqual((status, steps["machine"]["outcome"]), (0, "passed"))
        self.assertEqual(report["nvidia_smi"], "exit status 3: before the fault")

    def test_the_log_has_the_systems_new_messages_about_faults(self):
        _, _, _, log = self.run_with("fail:a_million", "--only", "million,parity", path=self.tools(dmesg=DMESG))
        self.assertEqual(log.count("Xid 31"), 1)
        self.assertLess(log.index("Xid 31"), log.index("parity in f16"))
        self.assertNotIn("loading", log)
        self.assertNotIn("eth0", log)

    def test_the_log_keeps_the_ends_of_long_outputs(self):
        runner, size = self.runner(540), 1 << 20
        write = f"import sys; [file.write('first' + {size} * 'x' + 'last') for file in [sys.stdout, sys.stderr]]"
        ended = runner.run([sys.executable, "-c", write])
        self.assertEqual(len(ended.out), size + 9)
        log = (self.folder / "results/log.txt").read_text().partition("\n")[2]
        self.assertEqual(re.sub("x+", "x", log), 2 * f"firstx\n[{size + 9 - FIRST_BYTES - LAST_BYTES:,} bytes are left out]\nxlast")
        self.assertLess(len(log), 2 * (FIRST_BYTES + LAST_BYTES + 100))

    def test_peers_get_wheels_that_leave_nothing_behind(self):
        with zipfile.ZipFile(self.folder / "planted.whl", "w") as wheel:
            wheel.writestr("planted_wheel.py", "")
        _, report, _, _ = self.run_with("nothing:nowhere", "--only", "peers: ")
        found = Path(report["peers"]["1000000"]["wheel"])
        self.assertFalse(found.is_relative_to(self.folder))
        self.assertFalse(found.exists())

    def test_a_report_whose_tables_fail_is_still_written(self):
        runner = self.runner(540)
        runner.report["figures"] = [{"peer": "toller"}]
        self.assertTrue(runner.step("planted", 10, lambda: None))
        self.assertIn("cannot be shown", (self.folder / "results/report.md").read_text())
        self.assertEqual(self.report()["steps"][0]["outcome"], "passed")

    def test_both_libraries_of_cublas_are_from_one_folder(self):
        folders = {name: self.folder / name for name in ["pip", "old", "new"]}
        for name, files in [("pip", ["libcublas.so.13", "libcudart.so.13"]), ("old", ["libcublas.so.12", "libcublasLt.so.12"]),
                            ("new", ["libcublas.so", "libcublas.so.13", "libcublasLt.so.13"])]:
            folders[name].mkdir()
            for file in files:
                (folders[name] / file).touch()
        paths = list(map(str, folders.values()))
        for given, names in [(paths, ["new", ".so.13"]), (paths[:2], ["old", ".so.12"])]:
            with mock.patch.object(machine, "library_folders", lambda: given):
                check = Check(self.runner(540), self.folder, "cuda", FULL, 1)
            self.addCleanup(check.links.cleanup)
            links, *others = check.environment["LD_LIBRARY_PATH"].split(":")
            self.assertEqual(others[:len(given)], given)
            found = {link.name: link.resolve() for link in Path(links).iterdir()}
            expected = {f"{library}{end}": folders[names[0]] / f"{library}{names[1]}"
                        for library in ["libcublas", "libcublasLt"] for end in [".so", names[1]]}
            self.assertEqual(found, expected)
            self.assertIn(f"cuBLAS: {folders[names[0]]}\n", report.markdown(check.report))
        with mock.patch.object(machine, "library_folders", lambda: paths[:1]):
            check = Check(self.runner(540), self.folder, "cuda", FULL, 1)
        self.assertEqual(check.environment["LD_LIBRARY_PATH"].split(":")[0], paths[0])

    def test_a_library_without_a_release_in_its_name_gets_that_of_its_file(self):
        (self.folder / "libcublas.so.12.9").touch()
        for name in ["libcublas", "libcublasLt"]:
            (self.folder / f"{name}.so").symlink_to("libcublas.so.12.9")
        links = self.folder / "links"
        links.mkdir()
        machine.link(machine.cublas([str(self.folder)]), links)
        self.assertEqual(sorted(path.name for path in links.iterdir()),
                         ["libcublas.so", "libcublas.so.12", "libcublasLt.so", "libcublasLt.so.12"])

    def test_the_gpus_files_are_open_during_a_run(self):
        files = [self.folder / "nvidia0", self.folder / "nvidia3"]
        for file in [*files, self.folder / "nvidiactl"]:
            file.touch()
        opened = lambda: [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink() and os.readlink(path) in map(str, files)]
        for device, count in [("shim", 0), ("cuda", 2)]:
            check = Check(self.runner(540), self.folder, device, TINY, 1)
            with mock.patch.object(machine, "GPU_FILES", str(self.folder / "nvidia[0-9]*")):
                check.machine()
            self.assertEqual(len(opened()), count)
        for file in check.gpu_files:
            os.close(file)
        self.assertEqual(machine.hold_open(str(self.folder / "missing")), [])
        # A folder cannot be opened for writing, whoever asks.
        (self.folder / "nvidia1").mkdir()
        self.assertEqual(machine.hold_open(str(self.folder / "nvidia1")), [])

    def test_tests_need_a_gpu_unless_there_is_a_stand_in(self):
        for device, driver, expected in [("cuda", None, "1"), ("cuda", self.folder, None), ("shim", None, None)]:
            check = Check(self.runner(540), self.folder, device, TINY, 1, driver)
            self.assertEqual(check.test_environment.get("TOLLER_NEEDS_GPU"), expected)
            self.assertNotIn("TOLLER_NEEDS_GPU", check.environment)

    def test_the_search_of_full_size_has_time_if_all_steps_before_it_hang(self):
        # The end that the steps of a group share, or a step's own seconds.
        most = {}

        class Recorded(Runner):
            def step(self, name, seconds, work, until=None, needed=False):
                group = "smoke" if name == "hard data" else name.split(":")[0]
                most[group if until else name] = until - time.monotonic() if until else seconds
                return True

        runner = Recorded(self.folder / "results", 540)
        self.addCleanup(runner.log.close)
        Check(runner, self.folder, "cuda", FULL, 1).all()
        names = list(most)
        search = next(place for place, name in enumerate(names) if name.startswith("search: "))
        self.assertEqual(names[:search], ["machine", "smoke", "a million vectors", "encoder"])
        # The first step ends the run if it hangs. Else it takes seconds.
        self.assertLessEqual(sum(most[name] for name in names[1:search + 1]), 540 - 30)

    def test_sanitizers_watch_the_search_and_the_encoder(self):
        _, _, steps, log = self.run_with("nothing:nowhere", "--only", "check", path=self.tools(compute_sanitizer=PROGRAM))
        chosen = {name: step["outcome"] for name, step in steps.items() if step["outcome"] != "skipped"}
        checks = ["memcheck", "memcheck: encoder", "racecheck", "racecheck: encoder"]
        self.assertEqual(chosen, {name: "passed" for name in ["machine", *checks]})
        self.assertRegex(log, "compute-sanitizer --tool racecheck .*/tests-encoder cuda::tests::products_at")

    def test_a_killed_run_leaves_its_step_and_what_its_program_wrote(self):
        running = subprocess.Popen(self.command(), env=self.environment("hang:verify"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = self.folder / "results/report.json"
        until = time.monotonic() + 60
        output = self.folder / "results/running.out"
        is_in_step = lambda: report.exists() and self.report()["running"] == "encoder: parity in f16"
        while not (is_in_step() and output.exists() and "before the fault" in output.read_text()):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        running.kill()
        running.wait()
        self.assertEqual(output.read_text(), "before the fault\n")
        report = self.report()
        self.assertEqual((report["running"], report["finished"]), ("encoder: parity in f16", False))
        results = (self.folder / "results/report.md").read_text()
        self.assertIn("| encoder: parity in f16 | running |", results)
        self.assertIn("| encoder: whole commands | passed |", results)
        self.assertTrue(all(step["outcome"] == "passed" for step in report["steps"]))

    def test_cublas_may_be_missing(self):
        status, _, steps, log = self.run_with("nothing:nowhere", "--only", "encoder", cublas=False)
        self.assertEqual(status, 0)
        for name in ["encoder: tests of cuBLASLt", "encoder: cuBLASLt in f16"]:
            self.assertEqual((steps[name]["outcome"], steps[name]["why"]), ("skipped", "cuBLASLt is not installed"))
        self.assertEqual(steps["encoder: tests"]["outcome"], "passed")
        self.assertIn("--skip products_of_the_library", log)
        self.assertEqual(self.run_with("nothing:nowhere", "--only", "encoder")[2]["encoder: cuBLASLt in f16"]["outcome"], "passed")

    def test_times_begin_after_the_compilers_have_ended(self):
        nvcc = f"#!{sys.executable}\nimport sys, time; time.sleep(3); open(sys.argv[sys.argv.index('-o') + 1], 'w')\n"
        _, report, steps, _ = self.run_with("nothing:nowhere", "--only", "rates in f16,kernels alone", path=self.tools(nvcc=nvcc))
        names = [name for name, step in steps.items() if step["outcome"] != "skipped"]
        self.assertEqual(names, ["machine", "nvcc for the kernels alone", "encoder: rates in f16", "kernels alone"])
        self.assertGreater(steps["nvcc for the kernels alone"]["seconds"], 1)
        # Without them, nothing is waited for.
        (self.folder / "results/report.json").unlink()
        _, _, steps, _ = self.run_with("nothing:nowhere", "--only", "rates in f16", path=str(self.folder / "tools"))
        self.assertNotIn("nvcc for the kernels alone", steps)

    def test_nothing_runs_beside_a_program_that_cannot_be_killed(self):
        runner = self.runner(540)
        # The system ends it, but whoever waits for it is not answered.
        unkillable = subprocess.Popen(["sleep", "60"])
        self.addCleanup(unkillable.wait)
        self.addCleanup(unkillable.kill)
        with mock.patch("device_check.runner.GRACE_SECONDS", 0.1), mock.patch("os.killpg"):
            self.assertEqual(runner.kill(unkillable), ", and does not end")
        self.assertFalse(runner.step("after it", 10, lambda: None))
        self.assertIn("has not ended", self.report()["steps"][-1]["why"])
        unkillable.kill()
        unkillable.wait()
        self.assertTrue(runner.step("after its end", 10, lambda: None))

    def test_a_killed_run_leaves_no_half_binary(self):
        packed = self.folder / "packed"
        packed.mkdir()
        (packed / "toller.gz").write_bytes(gzip.compress(b"binary" * 1000)[:-30])
        with self.assertRaises(EOFError):
            unpack(packed)
        self.assertFalse((packed / "toller").exists())
        (packed / "toller.gz").write_bytes(gzip.compress(b"binary"))
        unpack(packed)
        self.assertEqual((packed / "toller").read_bytes(), b"binary")
        self.assertEqual({path.name for path in packed.iterdir()}, {"toller", "toller.gz"})

    def test_a_made_model_takes_texts_of_all_measured_lengths(self):
        folder = made_model.make(FIXTURES / "tiny-bert", self.folder / "made", made_model.TINY)
        positions = json.loads((folder / "config.json").read_text())["max_position_embeddings"]
        self.assertEqual(json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"], positions)
        self.assertLessEqual(max(encoder.FULL["lengths"]), positions)

    def test_a_tool_that_the_sandbox_keeps_out_is_skipped(self):
        check_is_let_in(Ended(Failed("exit status 9"), "Invalid __global__ read", ""))
        for out, err in [("Error: Device not supported", ""), ("", "==ERROR== LibraryNotLoaded")]:
            with self.assertRaises(Skipped):
                check_is_let_in(Ended(Failed("exit status 1"), out, err))


if __name__ == "__main__":
    unittest.main()
