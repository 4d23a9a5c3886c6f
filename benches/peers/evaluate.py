"""pytrec_eval, from two files to measures: reads qrels and run, evaluates, and averages.

Asked by benches/evaluate.rs: for each line "go" it does the whole once and prints the seconds.
"""

import sys
import time

import pytrec_eval

MEASURES = {"ndcg_cut.10", "recip_rank", "map", "recall.100,1000"}


def evaluate(qrels, run):
    with open(qrels) as lines:
        judgments = pytrec_eval.parse_qrel(lines)
    with open(run) as lines:
        results = pytrec_eval.parse_run(lines)
    values = pytrec_eval.RelevanceEvaluator(judgments, MEASURES).evaluate(results)
    names = next(iter(values.values())).keys()
    return {name: sum(query[name] for query in values.values()) / len(values) for name in names}


def main():
    qrels, run = sys.argv[1:]
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        means = evaluate(qrels, run)
        print(time.perf_counter() - begun, means["map"], flush=True)


main()
