"""The peers of the top-k on a GPU: torch's f16 matmul and topk, chunked, and FAISS's GpuIndexFlatIP where its wheel is installed.

Prints one JSON object: versions, measured rates of the device, and for every combination of the sizes the median seconds of a search, which
takes the queries from the host's memory and leaves the hits there, as ours does. What a peer cannot do is named with its reason.

Arguments: --vectors N --dim D --queries Q,... --k K,... --rounds R [--device cuda|cpu]
"""

import argparse
import json
import statistics
import sys
import time

import torch

# Scores of a chunk, at most: torch writes them all, and topk reads them again.
CHUNK_SCORES = 1 << 30


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", type=int, required=True)
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--queries", type=numbers, required=True)
    parser.add_argument("--k", type=numbers, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def unit_vectors(count, dim, device, seed):
    """Random unit vectors in f16, made a part at a time."""
    generator = torch.Generator(device=device).manual_seed(seed)
    made = torch.empty(count, dim, dtype=torch.float16, device=device)
    for part in made.split(1 << 20):
        values = torch.randn(part.shape, generator=generator, device=device)
        part.copy_(torch.nn.functional.normalize(values, dim=1))
    return made


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def quickest(work, device, rounds):
    """The seconds of the rounds after one that does not count, ascending."""
    seconds = []
    for _ in range(rounds + 1):
        synchronize(device)
        start = time.perf_counter()
        work()
        synchronize(device)
        seconds.append(time.perf_counter() - start)
    return sorted(seconds[1:])


def rates(device):
    """Bytes a second of a copy, read and written, and operations a second of an f16 product."""
    count, size = (1 << 31, 8192) if device == "cuda" else (1 << 24, 256)
    source = torch.zeros(count, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = 2 * count / quickest(lambda: target.copy_(source), device, 10)[0]
    a, b = (torch.ones(size, size, dtype=torch.float16, device=device) for _ in range(2))
    matrix = 2 * size**3 / quickest(lambda: a @ b, device, 10)[0]
    return {"copy_gigabytes_per_second": copy * 1e-9, "matrix_gflop_per_second": matrix * 1e-9}


def torch_search(vectors, queries, k, device):
    """The k best of all chunks, merged as they come."""
    on_device = queries.to(device)
    rows = max(k, CHUNK_SCORES // len(queries))
    best = None
    for start in range(0, len(vectors), rows):
        scores = on_device @ vectors[start : start + rows].T
        found, places = torch.topk(scores, min(k, scores.shape[1]))
        places += start
        if best is not None:
            found, places = torch.cat([best[0], found], 1), torch.cat([best[1], places], 1)
            found, order = torch.topk(found, min(k, found.shape[1]))
            places = torch.gather(places, 1, order)
        best = found, places
    return best[0].cpu(), best[1].cpu()


def main():
    options = arguments()
    device = options.device
    report = {"torch": torch.__version__, "limits": rates(device), "figures": [], "left_out": []}
    if device == "cuda":
        report["machine"] = torch.cuda.get_device_name()
    vectors = unit_vectors(options.vectors, options.dim, device, 1)
    queries = unit_vectors(max(options.queries), options.dim, device, 2).cpu()

    def measure(peer, search):
        for count in options.queries:
            for k in options.k:
                batch = queries[:count]
                try:
                    seconds = quickest(lambda: search(batch, k), device, options.rounds)
                except RuntimeError as error:
                    report["left_out"].append({"peer": peer, "queries": count, "k": k, "why": str(error).splitlines()[0]})
                    continue
                report["figures"].append(
                    {"peer": peer, "queries": count, "k": k, "seconds": statistics.median(seconds)}
                )

    measure("torch", lambda batch, k: torch_search(vectors, batch, min(k, len(vectors)), device))
    try:
        import faiss

        if device != "cuda" or not hasattr(faiss, "GpuIndexFlatIP"):
            raise ImportError("this FAISS has no GPU")
    except ImportError as error:
        report["left_out"].append({"peer": "faiss", "why": str(error)})
    else:
        settings = faiss.GpuIndexFlatConfig()
        settings.useFloat16 = True
        index = faiss.GpuIndexFlatIP(faiss.StandardGpuResources(), options.dim, settings)
        for part in vectors.split(1 << 20):
            index.add(part.float().cpu().numpy())
        del vectors
        wide = queries.float().numpy()
        measure("faiss", lambda batch, k: index.search(wide[: len(batch)], k))
        report["faiss"] = faiss.__version__
    json.dump(report, sys.stdout, indent=1)


main()
