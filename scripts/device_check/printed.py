"""What our binaries have printed: the outcomes of tests, and launches of kernels."""
import re

from .runner import Failed, last_words

# The outcome of a test that has begun and not ended.
UNFINISHED = "unfinished"
# A launch that a watched program has printed.
LAUNCH = re.compile(r"\S+: \d+ x \d+ x \d+.*: (?:starts|[\d.]+ us)$", re.MULTILINE)
# What the log has where it leaves bytes out, and the rest of the line after it.
LEFT_OUT = re.compile(r"\n\[[\d,]+ bytes are left out\]\n.*")


def outcomes(out):
    """The outcome of each test. What a test itself prints may stand between its name and its outcome."""
    found, test = {}, None
    for line in out.splitlines():
        if line.startswith("test ") and " ... " in line:
            test, _, line = line.removeprefix("test ").partition(" ... ")
            found[test] = UNFINISHED
        if test and line in ["ok", "FAILED"]:
            found[test], test = line, None
    return found


def result(out):
    """The line that counts the tests, or nothing."""
    return next((line for line in reversed(out.splitlines()) if line.startswith("test result:")), "")


def problem_of_tests(ended):
    """Why tests have not passed, or None. It is a problem, too, if none ran."""
    failed = [test for test, outcome in outcomes(ended.out).items() if outcome == "FAILED"]
    if isinstance(ended.problem, Failed) and failed:
        return Failed(", ".join(failed))
    if not ended.problem and (not result(ended.out) or " 0 passed" in result(ended.out)):
        return Failed(f"no test ran: {last_words(ended.out, ended.err)}")
    return ended.problem


def unfinished_launch(err):
    """The launch of a watched program that did not end: the one that hangs or fails. Launches end one after another."""
    # Launches between the parts that the log keeps are not known, nor is the rest of a line that was cut.
    for part in LEFT_OUT.split(err):
        started = None
        for launch in LAUNCH.findall(part):
            kernel, _, end = launch.rpartition(": ")
            if started and (end == "starts" or kernel != started):
                return started
            started = kernel if end == "starts" else None
    return started


def with_launch(problem, ended):
    """The problem of a watched program, with the launch that did not end, if there is one."""
    launch = unfinished_launch(ended.err)
    return problem.and_also(f"this launch did not end: {launch}") if launch else problem
