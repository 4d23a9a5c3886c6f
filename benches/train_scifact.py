"""Trains all-MiniLM-L6-v2 on SciFact's training claims with toller and with sentence-transformers, and compares.

    toller run configs/scifact-train.toml --set data=DATA --set reranker=CROSS --work WORK
    $(scripts/peers) benches/train_scifact.py toller MODEL DATA WORK/triplets.jsonl RUNS --seeds 1 2 3

Both learn from the same triplets with the same settings and seeds: contrastive loss over the batch at temperature
0.05, AdamW, a linear schedule with a tenth of the steps as warm-up, clipping at 1, the model's dropout. Each draws
its own batches and masks. All models are evaluated by toller, on the test claims. Prints one line of JSON a model; a second call goes on.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import time


def train_peer(arguments: argparse.Namespace, seed: int, output: pathlib.Path) -> None:
    """Multiple negatives ranking loss in a plain loop, without the Trainer: its steps only add to this."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from transformers import get_linear_schedule_with_warmup

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(seed)
    model = SentenceTransformer(arguments.model, device="cpu")
    model.max_seq_length = arguments.max_length
    loss_of = MultipleNegativesRankingLoss(model, scale=20.0)
    with open(arguments.triplets, encoding="utf-8") as lines:
        triplets = [json.loads(line) for line in lines]
    size = arguments.batch_size
    steps = len(triplets) // size * arguments.epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr, weight_decay=0.0)
    schedule = get_linear_schedule_with_warmup(optimizer, -(-steps // 10), steps)
    model.train()
    for _ in range(arguments.epochs):
        random.Random(seed).shuffle(triplets)
        for start in range(0, len(triplets) - size + 1, size):
            batch = triplets[start : start + size]
            columns = ("query", "positive", "negative")
            loss = loss_of([model.tokenize([triplet[column] for triplet in batch]) for column in columns], None)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.save(str(output))


def train_toller(arguments: argparse.Namespace, seed: int, output: pathlib.Path) -> None:
    names = ("batch_size", "epochs", "lr", "max_length", "threads")
    options = [f"--{name.replace('_', '-')}={getattr(arguments, name)}" for name in names]
    call(arguments, "train", "dual", "--model", arguments.model, "--data", arguments.triplets, "--seed", seed,
         "--output", output, *options)


def ndcg(arguments: argparse.Namespace, model: str, work: pathlib.Path) -> float:
    data, length = pathlib.Path(arguments.data), ("--max-length", arguments.max_length)
    queries, qrels = data / "queries.jsonl", data / "qrels" / "test.tsv"
    work.mkdir(parents=True, exist_ok=True)
    store, run = work / "store", work / "test.run"
    if not run.exists():
        call(arguments, "encode", "--model", model, "--corpus", data / "corpus.jsonl.gz", "--output", store, *length)
        call(arguments, "search", "--dense", store, "--model", model, "--queries", queries, "--judged", qrels,
             "--output", run, *length)
    report = call(arguments, "eval", "--qrels", qrels, "--measures", "nDCG@10", "--json", run)
    return json.loads(report)["runs"][0]["aggregates"]["nDCG@10"]


def call(arguments: argparse.Namespace, *words: object) -> str:
    command = [arguments.toller, *map(str, words), "-q"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


TRAINERS = {"toller": train_toller, "sentence-transformers": train_peer}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("toller", "model", "data", "triplets", "runs"):
        parser.add_argument(name)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--trainers", choices=list(TRAINERS), nargs="+", default=list(TRAINERS))
    arguments = parser.parse_args()
    runs = pathlib.Path(arguments.runs)

    print(json.dumps({"model": "before", "nDCG@10": ndcg(arguments, arguments.model, runs / "before")}), flush=True)
    found: dict[str, list[float]] = {}
    for seed in arguments.seeds:
        for name in arguments.trainers:
            train = TRAINERS[name]
            output = runs / f"{name}-{seed}"
            started = time.perf_counter()
            if not (output / "README.md").exists():
                train(arguments, seed, output)
            seconds = time.perf_counter() - started
            value = ndcg(arguments, str(output), runs / f"{name}-{seed}-test")
            found.setdefault(name, []).append(value)
            line = {"model": name, "seed": seed, "nDCG@10": value, "training_seconds": round(seconds, 1)}
            print(json.dumps(line), flush=True)
    for name, values in found.items():
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        print(json.dumps({"model": name, "mean": statistics.mean(values), "deviation": spread}))


if __name__ == "__main__":
    main()
