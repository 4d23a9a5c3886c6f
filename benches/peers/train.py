"""Time and memory of a training step with sentence-transformers: MultipleNegativesRankingLoss and AdamW.

The loop is written out, without the Trainer: its steps only add to this. Prints one line of JSON.
"""

import argparse
import json
import resource
import time

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.losses import MultipleNegativesRankingLoss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data", help="JSON lines with the columns anchor and positive")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dropout", action="store_true", help="the model's own dropout, as in training")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    model = SentenceTransformer(arguments.model, device="cpu")
    loss_of = MultipleNegativesRankingLoss(model, scale=20.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)
    model.train(arguments.dropout)
    with open(arguments.data, encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines]

    seconds, losses = [], []
    for step in range(arguments.steps):
        batch = pairs[step * arguments.batch_size : (step + 1) * arguments.batch_size]
        started = time.perf_counter()
        features = [model.tokenize([pair[column] for pair in batch]) for column in ("anchor", "positive")]
        loss = loss_of(features, None)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - started)
        losses.append(loss.item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    median = sorted(seconds[1:])[len(seconds[1:]) // 2]
    print(json.dumps({"seconds_a_step": round(median, 3), "peak_mib": round(peak), "losses": losses}))


if __name__ == "__main__":
    main()
