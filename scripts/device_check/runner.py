"""Steps with time limits, and a report that is whole after each of them.

A step runs programs. It passes, fails, hangs (it runs into its limit and is killed), crashes (a signal ends a program) or is
skipped. The report names the step that is running before the step starts, so that it is whole even if this script is killed.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

# Less time than this is not enough for any step.
LEAST_SECONDS = 2
# After this many seconds a killed program that has not ended is left behind: it waits for the driver.
GRACE_SECONDS = 5
# Why a step is skipped that --only does not name.
NOT_CHOSEN = "not chosen"


class Hung(Exception):
    """A program ran into the limit of its step."""


class Crashed(Exception):
    """A signal has ended a program."""


class Skipped(Exception):
    """A step cannot be done here, with the reason."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def replace(path, text):
    """Writes a file as a whole or not at all."""
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(text)
    partial.replace(path)


class Runner:
    """Runs steps one after another, up to a deadline."""

    def __init__(self, output, deadline, step_limit=None, only=""):
        """Writes report.json and log.txt into the folder `output`. `step_limit` lowers the limit of every step. Steps whose
        names do not contain `only` are skipped, unless they are needed."""
        output.mkdir(parents=True, exist_ok=True)
        self.output, self.step_limit, self.only = output, step_limit, only
        self.log = open(output / "log.txt", "ab", buffering=0)
        self.began = time.monotonic()
        self.deadline = self.began + deadline
        self.ends = self.deadline
        self.report = {"running": None, "finished": False, "steps": [], "left_out": []}
        self.write()

    def write(self):
        replace(self.output / "report.json", json.dumps(self.report, indent=1) + "\n")

    def step(self, name, seconds, work, until=None, needed=False):
        """Does `work` within `seconds`, and before `until` if that is earlier. Returns whether it passed."""
        now = time.monotonic()
        if self.only not in name and not needed:
            return self.end(name, "skipped", NOT_CHOSEN, 0)
        limit = min(seconds, self.step_limit or seconds, self.deadline - now, (until or self.deadline) - now)
        if limit < LEAST_SECONDS:
            return self.end(name, "skipped", "no time is left", 0)
        self.ends = now + limit
        say(f"== {name} (at most {limit:.0f} s)")
        self.log.write(f"\n== {name}\n".encode())
        self.report["running"] = name
        self.write()
        outcome, why = "passed", None
        try:
            work()
        except Skipped as reason:
            outcome, why = "skipped", str(reason)
        except (Hung, Crashed) as error:
            outcome, why = type(error).__name__.lower(), str(error)
        except Exception as error:  # The other steps still run.
            outcome, why = "failed", str(error) or type(error).__name__
        return self.end(name, outcome, why, time.monotonic() - now)

    def end(self, name, outcome, why, seconds):
        say(f"{outcome}: {name}" + (f": {why}" if why else "") + f" ({seconds:.1f} s)")
        self.report["steps"].append({"name": name, "outcome": outcome, "why": why, "seconds": round(seconds, 2)})
        self.report["running"] = None
        self.write()
        return outcome == "passed"

    def finish(self):
        self.report["finished"] = True
        self.report["seconds"] = round(time.monotonic() - self.began, 1)
        self.write()

    def failures(self):
        return [step for step in self.report["steps"] if step["outcome"] not in ["passed", "skipped"]]

    def leave_out(self, what, why):
        self.report["left_out"].append({"what": what, "why": why})

    def call(self, command, environment=None):
        """(status, stdout) of a program. Its output goes to the log, even if it hangs."""
        command = list(map(str, command))
        self.log.write(f"$ {' '.join(command)}\n".encode())
        limit = max(self.ends - time.monotonic(), 0.1)
        with tempfile.TemporaryFile() as out:
            # A process group of its own, so that what the program has started ends with it.
            running = subprocess.Popen(command, stdout=out, stderr=self.log, stdin=subprocess.DEVNULL, env=environment,
                                       process_group=0)
            problem = None
            try:
                status = running.wait(limit)
            except subprocess.TimeoutExpired:
                status, problem = None, Hung(f"{' '.join(command[:1])} was killed after {limit:.0f} s{self.kill(running)}")
            out.seek(0)
            text = out.read()
            self.log.write(text)
        text = text.decode(errors="replace")
        if status is not None and status < 0:
            problem = Crashed(f"{command[0]} was ended by {signal.Signals(-status).name}: {self.last_words(text)}")
        if problem:
            problem.stdout = text
            raise problem
        return status, text

    def kill(self, running):
        os.killpg(running.pid, signal.SIGKILL)
        try:
            running.wait(GRACE_SECONDS)
            return ""
        except subprocess.TimeoutExpired:
            return ", and does not end"

    def last_words(self, text=""):
        """The end of a program's output, for a message."""
        if not text.strip():
            text = (self.output / "log.txt").read_text(errors="replace")[-4000:]
        return " | ".join(text.strip().splitlines()[-6:])[-1500:]

    def checked(self, command, environment=None):
        """The stdout of a program that must succeed."""
        status, text = self.call(command, environment)
        if status:
            raise RuntimeError(f"exit status {status}: {self.last_words(text)}")
        return text

    def lines(self, command, take, environment=None):
        """Passes each line of JSON that a program prints to `take`, also if it fails later."""
        try:
            status, text = self.call(command, environment)
        except (Hung, Crashed) as problem:
            take_lines(problem.stdout, take)
            raise
        take_lines(text, take)
        if status:
            raise RuntimeError(f"exit status {status}: {self.last_words(text)}")


def take_lines(text, take):
    """Passes whole lines of JSON to `take`. The last line of a killed program may not be whole."""
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            take(value)
