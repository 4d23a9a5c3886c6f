"""Steps with time limits, and a report that is whole after each of them.

A step runs programs. It passes, fails, hangs (it runs into its limit and is killed), crashes (a signal ends a program) or is
skipped. The report names the step that is running before the step starts, so that it is whole even if this script is killed.
"""
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import NamedTuple

from .machine import FaultMessages
from .report import markdown

# Less time than this is not enough for any step.
LEAST_SECONDS = 2
# After this many seconds a killed program that has not ended is left behind: it waits for the driver.
GRACE_SECONDS = 5
# Why a step is skipped that --only does not name.
NOT_CHOSEN = "not chosen"
# Why a step is skipped after a program that cannot be killed.
NOT_ENDED = "a killed program has not ended: the driver does not answer it"
# What the log keeps of each output of a program, in bytes: watched launches can be more than anybody takes along.
FIRST_BYTES, LAST_BYTES = 64 << 10, 256 << 10


class Problem(Exception):
    """Why a step has not passed."""

    def and_also(self, text):
        """The same problem, with what else is known."""
        return type(self)(f"{self}; {text}")


class Hung(Problem):
    """A program ran into the limit of its step."""


class Crashed(Problem):
    """A signal has ended a program."""


class Failed(Problem):
    """A program has ended with an exit status other than 0, or has not done what it was to do."""


class Ended(NamedTuple):
    """How a program has ended, and what it wrote. Of stderr, this is what the log keeps."""

    problem: Problem | None
    out: str
    err: str


class Skipped(Exception):
    """A step cannot be done here, with the reason."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def replace(path, text):
    """Writes a file as a whole or not at all."""
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(text)
    partial.replace(path)


def kept(file):
    """The part of a program's output that the log keeps."""
    left_out = file.seek(0, os.SEEK_END) - FIRST_BYTES - LAST_BYTES
    file.seek(0)
    if left_out <= 0:
        return file.read()
    first = file.read(FIRST_BYTES)
    file.seek(left_out, os.SEEK_CUR)
    return first + f"\n[{left_out:,} bytes are left out]\n".encode() + file.read(LAST_BYTES)


def last_words(*texts):
    """The end of a program's output, for a message: of the first text that is not empty."""
    text = next((text.strip() for text in texts if text.strip()), "")
    return " | ".join(text.splitlines()[-6:])[-1500:]


class Runner:
    """Runs steps one after another, up to a deadline."""

    def __init__(self, output, deadline, step_limit=None, only=""):
        """Writes report.json, report.md and log.txt into the folder `output`. `step_limit` lowers the limit of every step. `only` has
        texts, separated by commas: steps whose names contain none of them are skipped, unless they are needed."""
        output.mkdir(parents=True, exist_ok=True)
        self.output, self.step_limit = output, step_limit
        self.only = [text.strip() for text in only.split(",") if text.strip()]
        self.log = open(output / "log.txt", "ab", buffering=0)
        self.began = time.monotonic()
        self.deadline = self.began + deadline
        # The running step ends at `ends`, and its group at `group_ends`.
        self.ends = self.group_ends = self.deadline
        self.fault_messages = FaultMessages()
        # Killed programs that have not ended.
        self.left_behind = []
        self.report = {"running": None, "finished": False, "steps": [], "left_out": []}
        self.write()

    def write(self):
        try:
            text = markdown(self.report)
        except Exception as error:  # A figure that the tables do not expect. The other steps still run.
            text = f"report.json cannot be shown as tables: {type(error).__name__}: {error}\n"
        replace(self.output / "report.md", text)
        replace(self.output / "report.json", json.dumps(self.report, indent=1) + "\n")

    def is_chosen(self, name):
        return not self.only or any(text in name for text in self.only)

    def unknown(self):
        """The texts of `only` that are in no step's name. Without a usable machine there is only one step: then nothing is known."""
        names = [step["name"] for step in self.report["steps"]]
        return [text for text in self.only if len(names) > 1 and not any(text in name for name in names)]

    def step(self, name, seconds, work, until=None, needed=False):
        """Does `work` within `seconds`, and before `until` if that is earlier: the end of a group of steps. Returns whether it passed."""
        if not needed and not self.is_chosen(name):
            return self.end(name, "skipped", NOT_CHOSEN, 0)
        if not self.all_have_ended():
            return self.end(name, "skipped", NOT_ENDED, 0)
        now = time.monotonic()
        self.group_ends = min(self.deadline, until or self.deadline)
        limit = min(seconds, self.step_limit or seconds, self.group_ends - now)
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
        except Problem as problem:
            outcome, why = type(problem).__name__.lower(), str(problem)
        except Exception as error:  # The other steps still run.
            outcome, why = "failed", str(error) or type(error).__name__
        return self.end(name, outcome, why, time.monotonic() - now)

    def end(self, name, outcome, why, seconds):
        say(f"{outcome}: {name}" + (f": {why}" if why else "") + f" ({seconds:.1f} s)")
        self.report["steps"].append({"name": name, "outcome": outcome, "why": why, "seconds": round(seconds, 2)})
        self.report["running"] = None
        self.write()
        if is_failure(outcome):
            self.log.write("".join(f"{line}\n" for line in self.fault_messages.new()).encode())
        return outcome == "passed"

    @contextmanager
    def within(self, seconds):
        """Gives what runs inside `seconds`, if the step has that much time."""
        ends = self.ends
        self.ends = min(ends, time.monotonic() + seconds)
        try:
            yield
        finally:
            self.ends = ends

    def more_time(self, seconds):
        """Gives the running step `seconds` from now on, whatever its own limit, if its group has that much time. Returns whether there is
        time for anything."""
        now = time.monotonic()
        self.ends = min(now + min(seconds, self.step_limit or seconds), self.group_ends)
        return self.ends - now >= LEAST_SECONDS

    def finish(self):
        self.report["finished"] = True
        self.report["seconds"] = round(time.monotonic() - self.began, 1)
        self.write()

    def failures(self):
        return [step for step in self.report["steps"] if is_failure(step["outcome"])]

    def run(self, command, environment=None):
        """Runs a program until it ends, or until the step ends. What it writes goes to the log, even if it hangs. While it runs, that is in
        running.out and running.err, which stay if this script is killed."""
        command = list(map(str, command))
        self.log.write(f"$ {' '.join(command)}\n".encode())
        limit = max(self.ends - time.monotonic(), 0.1)
        names = [self.output / "running.out", self.output / "running.err"]
        with open(names[0], "w+b") as out, open(names[1], "w+b") as err:
            # A process group of its own, so that what the program has started ends with it.
            running = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=environment, process_group=0)
            problem = None
            try:
                status = running.wait(limit)
            except subprocess.TimeoutExpired:
                status, problem = 0, Hung(f"{command[0]} was killed after {limit:.0f} s{self.kill(running)}")
            errors = kept(err)
            self.log.write(errors + kept(out))
            out.seek(0)
            text, errors = out.read().decode(errors="replace"), errors.decode(errors="replace")
        for name in names:
            name.unlink()
        if status < 0:
            problem = Crashed(f"{command[0]} was ended by {signal.Signals(-status).name}: {last_words(text, errors)}")
        elif status:
            problem = Failed(f"exit status {status}: {last_words(text, errors)}")
        return Ended(problem, text, errors)

    def kill(self, running):
        os.killpg(running.pid, signal.SIGKILL)
        try:
            running.wait(GRACE_SECONDS)
            return ""
        except subprocess.TimeoutExpired:
            self.left_behind.append(running)
            return ", and does not end"

    def all_have_ended(self):
        """Whether every killed program has ended. One that has not waits for a driver that would let the next program wait, too."""
        self.left_behind = [running for running in self.left_behind if running.poll() is None]
        return not self.left_behind

    def checked(self, command, environment=None):
        """The stdout of a program that must succeed."""
        ended = self.run(command, environment)
        if ended.problem:
            raise ended.problem
        return ended.out

    def lines(self, command, take, environment=None):
        """Passes each line of JSON that a program prints to `take`, also if it fails later."""
        ended = self.run(command, environment)
        take_lines(ended.out, take)
        if ended.problem:
            raise ended.problem


def is_failure(outcome):
    return outcome not in ["passed", "skipped"]


def take_lines(text, take):
    """Passes whole lines of JSON to `take`. The last line of a killed program may not be whole."""
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            take(value)
