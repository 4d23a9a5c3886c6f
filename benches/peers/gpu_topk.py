"""The peers of the top-k on a GPU: torch's f16 matmul and topk, chunked; FlashLib's fused exact search and
FAISS's GpuIndexFlatIP where they are installed.

Prints a JSON object a line, as soon as it is known: versions and measured rates of the device; for every
combination of the sizes the median seconds of a search ("figure"); and what a peer cannot do, with its reason
("left_out"). A search takes the queries from the host's memory and leaves the hits there, as ours does.

Arguments: --vectors N --dim D --queries Q,... --k K,... --rounds R [--device cuda|cpu]
"""

import argparse
import json
import statistics
import time

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


def tell(**facts):
    print(json.dumps(facts), flush=True)


def leave_out(peer, error):
    reason = str(error).strip().splitlines()
    tell(left_out={"what": peer, "why": reason[0] if reason else type(error).__name__})


def unit_vectors(torch, count, dim, device, seed):
    """Random unit vectors in f16, made a part at a time."""
    generator = torch.Generator(device=device).manual_seed(seed)
    made = torch.empty(count, dim, dtype=torch.float16, device=device)
    for part in made.split(1 << 20):
        values = torch.randn(part.shape, generator=generator, device=device)
        part.copy_(torch.nn.functional.normalize(values, dim=1))
    return made


def torch_search(torch, vectors, queries, k, device):
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


class Peers:
    """The peers on one set of vectors."""

    def __init__(self, torch, options):
        self.torch, self.options, self.device = torch, options, options.device
        self.vectors = unit_vectors(torch, options.vectors, options.dim, self.device, 1)
        self.queries = unit_vectors(torch, max(options.queries), options.dim, self.device, 2).cpu()

    def seconds(self, work, rounds):
        """The seconds of the rounds after one that does not count, ascending."""
        synchronize = self.torch.cuda.synchronize if self.device == "cuda" else lambda: None
        seconds = []
        for _ in range(rounds + 1):
            synchronize()
            start = time.perf_counter()
            work()
            synchronize()
            seconds.append(time.perf_counter() - start)
        return sorted(seconds[1:])

    def rates(self):
        """Bytes a second of a copy, read and written, and operations a second of an f16 product. Of ordinary
        numbers: with equal numbers or zeros, products take less power and run faster."""
        count, size = (1 << 31, 8192) if self.device == "cuda" else (1 << 24, 256)
        source = self.torch.zeros(count, dtype=self.torch.uint8, device=self.device)
        target = self.torch.empty_like(source)
        copy = 2 * count / self.seconds(lambda: target.copy_(source), 10)[0]
        a, b = (self.torch.randn(size, size, device=self.device).half() for _ in range(2))
        matrix = 2 * size**3 / self.seconds(lambda: a @ b, 10)[0]
        return {"copy_gigabytes_per_second": copy * 1e-9, "matrix_gflop_per_second": matrix * 1e-9}

    def measure(self, peer, search):
        """`search(queries, k)` for all sizes."""
        for count in self.options.queries:
            for k in self.options.k:
                batch = self.queries[:count]
                try:
                    seconds = self.seconds(lambda: search(batch, min(k, self.options.vectors)), self.options.rounds)
                except Exception as error:  # A peer may refuse a size in its own way.
                    leave_out(f"{peer}, {count} queries, k {k}", error)
                    continue
                tell(figure={"peer": peer, "queries": count, "k": k, "seconds": statistics.median(seconds)})

    def torch_peer(self):
        tell(limits=self.rates())
        self.measure("torch", lambda batch, k: torch_search(self.torch, self.vectors, batch, k, self.device))

    def flashlib_peer(self):
        """The nearest unit vectors by squared distance are those of the largest inner product."""
        import flashlib
        from flashlib.primitives.knn import flash_knn

        if self.device != "cuda":
            raise ImportError("FlashLib runs on GPUs only")
        tell(flashlib=flashlib.__version__)
        self.measure("flashlib", lambda batch, k: [
            found.cpu() for found in flash_knn(batch.to(self.device), self.vectors, k)])

    def faiss_peer(self):
        import faiss

        if self.device != "cuda" or not hasattr(faiss, "GpuIndexFlatIP"):
            raise ImportError("this FAISS has no GPU")
        tell(faiss=faiss.__version__)
        settings = faiss.GpuIndexFlatConfig()
        settings.useFloat16 = True
        index = faiss.GpuIndexFlatIP(faiss.StandardGpuResources(), self.options.dim, settings)
        for part in self.vectors.split(1 << 20):
            index.add(part.float().cpu().numpy())
        # FAISS has a copy of its own.
        del self.vectors
        wide = self.queries.float().numpy()
        self.measure("faiss", lambda batch, k: index.search(wide[: len(batch)], k))


def main():
    options = arguments()
    try:
        import torch
    except ImportError as error:
        return leave_out("torch, flashlib, faiss", error)
    tell(torch=torch.__version__)
    if options.device == "cuda":
        tell(machine=torch.cuda.get_device_name())
    peers = Peers(torch, options)
    for name, measure in [("torch", peers.torch_peer), ("flashlib", peers.flashlib_peer), ("faiss", peers.faiss_peer)]:
        try:
            measure()
        except Exception as error:  # One peer's failure is no reason to leave out the others.
            leave_out(name, error)


main()
