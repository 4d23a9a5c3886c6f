"""pytrec_eval and SciPy, from three files to a p-value: reads qrels and two runs, evaluates, and permutes.

Asked by benches/compare.rs: for each line "go" it does the whole once and prints the seconds and the p-value.
"""

import sys
import time

import numpy as np
import pytrec_eval
from scipy import stats


def reciprocal_ranks(evaluator, path):
    with open(path) as lines:
        values = evaluator.evaluate(pytrec_eval.parse_run(lines))
    return {query: measures["recip_rank"] for query, measures in values.items()}


def compare(qrels, a, b):
    with open(qrels) as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), {"recip_rank"})
    a, b = reciprocal_ranks(evaluator, a), reciprocal_ranks(evaluator, b)
    pairs = np.array([(a[query], b[query]) for query in sorted(a)]).T

    def mean_difference(x, y, axis):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    return stats.permutation_test(
        tuple(pairs),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=100_000,
        batch=100,
    ).pvalue


def main():
    files = sys.argv[1:]
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        p_value = compare(*files)
        print(time.perf_counter() - begun, p_value, flush=True)


main()
