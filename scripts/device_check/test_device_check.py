"""Runs device-check with binaries that hang, crash and fail where a test wants it. Needs no GPU and builds nothing.

    python3 -m unittest discover --start-directory scripts/device_check --top-level-directory scripts
"""
import json
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from device_check import encoder, made_model
from device_check.runner import Runner
from device_check.steps import FULL, Check

SCRIPT = Path(__file__).resolve().parent.parent / "device-check"

FIXTURES = SCRIPT.parent.parent / "tests/fixtures"

# A program in the place of `toller`, `tests` and the peers. $PLANT is `what:text`: it does `what` where its
# arguments have `text`.
PROGRAM = f"""#!{sys.executable}
import json, os, signal, sys, time
arguments = " ".join(sys.argv)
figure = {{"vectors": 1, "queries": 1, "k": 10, "scan": "f16", "seconds": {{"median": 0.002}}, "share_of_floor": 0.5, "kernels": [
    {{"kernel": "toller_ip_topk_select", "launches": 3, "seconds": 0.001}}]}}
if "--log" in sys.argv:
    open(sys.argv[sys.argv.index("--log") + 1], "a").write(json.dumps(figure) + "\\n")
if "--output" in sys.argv and ("search" in arguments or "rerank" in arguments):
    open(sys.argv[sys.argv.index("--output") + 1], "w").write("q1 Q0 d1 1 0.5 planted\\n")
if "gpu_encoder" in arguments:
    print(json.dumps({{"figure": {{"peer": "transformers", "texts": "8 tokens", "from_ids": 1e6}}}}), flush=True)
if "gpu_topk" in arguments:
    print(json.dumps({{"figure": {{"peer": "torch", "queries": 1, "k": 10, "seconds": 0.004}}}}), flush=True)
what, _, text = os.environ.get("PLANT", "nothing:nowhere").partition(":")
if text in arguments:
    print("before the fault", flush=True)
    if what == "hang":
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.1)
    elif what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "fail":
        sys.exit(3)
if "doctor" in arguments:
    print(json.dumps({{"gpus": [{{"name": "planted", "compute_capability": "9.0"}}]}}))
elif "bench search" in arguments:
    print(json.dumps({{"limits": {{}}, "figures": []}}))
elif "bench encode" in arguments:
    print(json.dumps({{"figures": [{{"texts": "8 tokens", "from_ids_tokens_per_second": 2e6, "tokens_per_second": 1e6,
        "kernels": [{{"kernel": "toller_encoder_pool_f16", "launches": 2, "seconds": 0.001}}]}}],
        "latencies": [{{"batch": 10, "seconds": {{"p50": 0.002, "p99": 0.003}}, "seconds_per_query": 0.0002}}]}}))
elif "verify" in arguments:
    print("{{}}")
elif not sys.argv[0].endswith(".py"):
    print("test result: ok. 1 passed; 0 failed")
"""


class DeviceCheck(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name in ["toller", "tests", "tests-encoder", "gpu_topk.py", "gpu_encoder.py"]:
            (self.folder / name).write_text(PROGRAM)
            (self.folder / name).chmod(0o755)
        for name, source in [("tiny-bert", "tiny-bert"), ("cross-encoder", "cross-encoders/bert")]:
            shutil.copytree(FIXTURES / source, self.folder / "models" / name)

    def command(self, *options):
        return [sys.executable, str(SCRIPT), "run", str(self.folder), "--output", str(self.folder / "results"), *options]

    def run_with(self, plant, *options, path="/nowhere"):
        """(exit status, report, outcomes by step, log)"""
        # Without CUDA's programs, which a machine may have.
        environment = {"PATH": path, "PLANT": plant}
        done = subprocess.run(self.command(*options), env=environment, capture_output=True, text=True, timeout=100)
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
        self.assertIn("| 8 tokens | toller f16 with bulk copies | pool_f16 | 2 | 1.000 | 100.0 |", results)
        self.assertIn("| toller bf16 | 10 | 2.000 | 3.000 | 0.2000 |", results)
        self.assertEqual(len(report["parity"]), 6)

    def test_a_step_that_hangs_is_killed_and_named(self):
        status, report, steps, log = self.run_with("hang:smoke::bf16::tile_256", "--step-limit", "2")
        self.assertEqual(status, 1)
        self.assertEqual(steps["smoke: bf16 tile_256"]["outcome"], "hung")
        self.assertEqual(steps["smoke: bf16 wgmma"]["outcome"], "passed")
        self.assertEqual(steps["tests"]["outcome"], "passed")
        self.assertIn("before the fault", log)

    def test_a_step_that_crashes_is_named_and_keeps_its_figures(self):
        status, report, steps, log = self.run_with("crash:bench search")
        self.assertEqual(status, 1)
        crashed = [step for step in steps.values() if step["name"].startswith("search: ")]
        self.assertEqual({step["outcome"] for step in crashed}, {"crashed"})
        self.assertTrue(all("SIGSEGV" in step["why"] for step in crashed))
        self.assertEqual(len([figure for figure in report["figures"] if figure["peer"].startswith("toller")]), len(crashed))

    def test_failed_tests_run_again_watched(self):
        status, report, steps, log = self.run_with("fail:a_million")
        self.assertEqual(status, 1)
        self.assertEqual(steps["a million vectors"]["outcome"], "failed")
        self.assertIn("a million vectors, watched", report["tests"])
        self.assertIn("--nocapture", log)

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

    def test_the_search_of_full_size_has_time_if_all_steps_before_it_hang(self):
        # The end that the steps of a group share, or a step's own seconds.
        most = {}

        class Recorded(Runner):
            def step(self, name, seconds, work, until=None, needed=False):
                most[name.split(":")[0] if until else name] = until - time.monotonic() if until else seconds
                return True

        runner = Recorded(self.folder / "results", 540)
        self.addCleanup(runner.log.close)
        Check(runner, self.folder, "cuda", FULL, 1).all()
        names = list(most)
        search = next(place for place, name in enumerate(names) if name.startswith("search: "))
        self.assertEqual(names[:search], ["machine", "smoke", "a million vectors", "encoder"])
        self.assertLessEqual(sum(most[name] for name in names[:search + 1]), 540)

    def test_sanitizers_watch_the_search_and_the_encoder(self):
        tools = self.folder / "tools"
        tools.mkdir()
        shutil.copy(self.folder / "tests", tools / "compute-sanitizer")
        _, _, steps, log = self.run_with("nothing:nowhere", "--only", "check", path=str(tools))
        chosen = {name: step["outcome"] for name, step in steps.items() if step["outcome"] != "skipped"}
        checks = ["memcheck", "memcheck: encoder", "racecheck", "racecheck: encoder"]
        self.assertEqual(chosen, {name: "passed" for name in ["machine", *checks]})
        self.assertRegex(log, "compute-sanitizer --tool racecheck .*/tests-encoder cuda::tests::products_at")

    def test_the_report_of_a_killed_run_names_its_step(self):
        environment = {"PATH": "/nowhere", "PLANT": "hang:smoke::f32::tile_64"}
        running = subprocess.Popen(self.command(), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = self.folder / "results/report.json"
        until = time.monotonic() + 60
        while not (report.exists() and self.report()["running"] == "smoke: f32 tile_64"):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        running.kill()
        running.wait()
        report = self.report()
        self.assertEqual((report["running"], report["finished"]), ("smoke: f32 tile_64", False))
        self.assertTrue(all(step["outcome"] == "passed" for step in report["steps"]))

    def test_a_made_model_takes_texts_of_all_measured_lengths(self):
        folder = made_model.make(FIXTURES / "tiny-bert", self.folder / "made", made_model.TINY)
        positions = json.loads((folder / "config.json").read_text())["max_position_embeddings"]
        self.assertEqual(json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"], positions)
        self.assertLessEqual(max(encoder.FULL["lengths"]), positions)


if __name__ == "__main__":
    unittest.main()
