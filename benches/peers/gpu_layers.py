"""The peer of kernels/bench/layers.cu on a GPU: BERT-base's linear layers in f16 by torch, which takes cuBLASLt, warm, with
biases, but without activations and residuals.

Prints a JSON object: the milliseconds of twelve times all layers ("alone"), or why it cannot ("left_out").

Arguments: --rows N [--layers N] [--device cuda|cpu]
"""

import argparse
import json
import statistics
import time

# Outputs and inputs.
LAYERS = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
ROUNDS = 5


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--layers", type=int, default=12, help="times that all are computed in a round")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def measure(options):
    import torch

    torch.manual_seed(1)
    dtype = torch.float16 if options.device == "cuda" else torch.float32
    random = lambda *shape: torch.randn(*shape, device=options.device, dtype=dtype)
    layers = [(random(options.rows, inputs) * 0.05, random(outputs, inputs) * 0.02, random(outputs)) for outputs, inputs in LAYERS]

    def compute(times):
        for _ in range(times):
            for x, weight, bias in layers:
                torch.nn.functional.linear(x, weight, bias)

    def milliseconds():
        # As long as an encoder works: a warm GPU has a lower clock.
        compute(20 * options.layers)
        if options.device != "cuda":
            started = time.perf_counter()
            compute(options.layers)
            return (time.perf_counter() - started) * 1e3
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        compute(options.layers)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)

    time_of_all = statistics.median(milliseconds() for _ in range(ROUNDS))
    operations = options.layers * sum(2 * options.rows * outputs * inputs for outputs, inputs in LAYERS)
    return {"layer": "twelve times all", "kernel": "torch", "what": "warm, without activations and residuals", "Rows": options.rows,
            "Ms": time_of_all, "TFLOP/s": operations / time_of_all * 1e-9}


def main():
    try:
        line = {"alone": measure(arguments())}
    except Exception as error:
        reason = str(error).strip().splitlines()
        line = {"left_out": {"what": "torch's linear layers", "why": reason[0] if reason else type(error).__name__}}
    print(json.dumps(line), flush=True)


main()
