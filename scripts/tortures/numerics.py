"""Searches against exact sums: products of two float32 are exact in float64, and math.fsum adds without error."""

import math
import struct
import time

from .bench import npy, remove, until

PART = "numerics"


def single(number):
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def vector(choices, kind, dim, first):
    normal = lambda: choices.gauss(0, 1)
    scales = {
        "plain": lambda: normal(),
        "tiny": lambda: normal() * 1e-41,
        "huge": lambda: normal() * 1e17,
        "mixed": lambda: normal() * 10.0 ** choices.randrange(-30, 17),
        "integers": lambda: float(choices.randrange(-3, 4)),
        "one hot": lambda: 0.0,
        "cancelling": lambda: choices.choice((-1, 1)) * (1e6 + choices.random()),
        "zeros": lambda: choices.choice((0.0, -0.0)),
        "neighbours": lambda: 0.0,
    }
    numbers = [single(scales[kind]()) for _ in range(dim)]
    if kind == "one hot":
        numbers[choices.randrange(dim)] = 1.0
    if kind == "neighbours":
        # One step of float32 from the same vector.
        bits = struct.unpack(f"<{dim}I", struct.pack(f"<{dim}f", *first))
        numbers = list(struct.unpack(f"<{dim}f", struct.pack(f"<{dim}I", *(b ^ choices.randrange(2) for b in bits))))
    return numbers


KINDS = ("plain", "tiny", "huge", "mixed", "integers", "one hot", "cancelling", "zeros", "neighbours")


def run(bench, seconds):
    deadline = time.monotonic() + seconds
    for number in until(deadline, len(KINDS)):
        choices = bench.choices(PART, number)
        kind = KINDS[number % len(KINDS)]
        dim, rows, k = choices.randrange(1, 40), choices.randrange(1, 400), choices.choice((1, 3, 10, 50))
        first = [single(choices.gauss(0, 1)) for _ in range(dim)]
        passages = [vector(choices, kind, dim, first) for _ in range(rows)]
        queries = [vector(choices, choices.choice((kind, "plain")), dim, first) for _ in range(3)]
        npy(bench.path("n.npy"), passages)
        npy(bench.path("q.npy"), queries)
        remove(bench.path("n"), bench.path("q"))
        imported = bench.run("store import -q n.npy --output n")
        asked = bench.run("store import -q q.npy --role query --output q")
        problem = imported.harm() or asked.harm() or (imported.err + asked.err if imported.code or asked.code else None)
        outcome = ""
        if not problem:
            bench.run("store quantize n -q")
            runs = {}
            for scan in ("f32", "f16", "int8"):
                for threads in (1, 2):
                    search = f"search -q --dense n --query-vectors q --k {k} --scan {scan} --threads {threads} --output -"
                    ended = bench.run(search)
                    runs[ended.out if ended.code == 0 else ended.err.split("\n")[0]] = ended
            if len(runs) > 1:
                problem = f"{len(runs)} different results"
            else:
                ended = next(iter(runs.values()))
                problem = ended.harm()
                if ended.code == 0:
                    problem = problem or wrong(ended.out.decode(), passages, queries, k)
                outcome = "six scans alike" if ended.code == 0 else "refused alike"
        what = f"{problem}: case {number}: {rows} x {dim}, k {k}"
        bench.table.add(PART, kind, not problem, what, outcome)


def wrong(text, passages, queries, k):
    """What is not as the exact sums say, or None."""
    hits = {}
    for line in text.splitlines():
        query, _, document, rank, score, _ = line.split()
        hits.setdefault(int(query), []).append((int(document), float(score)))
        if int(rank) != len(hits[int(query)]):
            return "ranks do not count"
    for number, query in enumerate(queries):
        products = [[x * y for x, y in zip(query, passage)] for passage in passages]
        exact = [math.fsum(row) for row in products]
        # Sixteen lanes of float64 lose at most a few units of the sum of magnitudes, and the rounding to float32 half
        # a unit of the score.
        slack = [math.fsum(map(abs, row)) * 1e-14 + abs(sum_) * 2**-23 + 2**-149 for row, sum_ in zip(products, exact)]
        found = hits.get(number, [])
        if len(found) != min(k, len(passages)):
            return f"{len(found)} hits"
        if len({document for document, _ in found}) != len(found):
            return "a document twice"
        for document, score in found:
            if abs(score - exact[document]) > slack[document]:
                return f"score {score} of {document}, exactly {exact[document]}"
        for (one, score), (other, next_score) in zip(found, found[1:]):
            if next_score > score or (next_score == score and one > other):
                return f"{one} before {other}"
        least, document = found[-1][1], found[-1][0]
        left_out = set(range(len(passages))) - {document for document, _ in found}
        for other in left_out:
            if exact[other] - slack[other] > least + slack[document]:
                return f"{other} is left out, with {exact[other]} above {least}"
    return None
