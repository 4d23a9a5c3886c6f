"""sentence-transformers' CrossEncoder scoring a file of pairs, a round for every line on stdin. After a line "scores" it
answers with the scores of the last round.

usage: rerank.py MODEL PAIRS.jsonl THREADS
"""
import json
import os
import sys
import time

model_directory, pairs_file, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "true"
os.environ["RAYON_NUM_THREADS"] = str(threads)
pairs = [tuple(json.loads(line)) for line in open(pairs_file, encoding="utf-8")]

import torch  # noqa: E402
from sentence_transformers import CrossEncoder  # noqa: E402

torch.set_num_threads(threads)
model = CrossEncoder(model_directory, device="cpu", max_length=512)


def score(some):
    return model.predict(some, batch_size=32, show_progress_bar=False, activation_fn=torch.nn.Identity())


score(pairs[:64])
print("ready", flush=True)
scores = []
for line in sys.stdin:
    if line.strip() == "scores":
        print(json.dumps([float(value) for value in scores]), flush=True)
        continue
    started = time.perf_counter()
    scores = score(pairs)
    print(time.perf_counter() - started, flush=True)
