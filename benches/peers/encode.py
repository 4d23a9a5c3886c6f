"""sentence-transformers or ONNX Runtime encoding a file of texts, a round for every line on stdin.

usage: encode.py sentence-transformers|onnxruntime MODEL TEXTS.jsonl THREADS
"""
import json
import os
import sys
import time

peer, model_directory, texts_file, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "true"
os.environ["RAYON_NUM_THREADS"] = str(threads)
texts = [json.loads(line) for line in open(texts_file, encoding="utf-8")]

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(threads)


def sentence_transformers():
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(model_directory, device="cpu")
    return lambda: model.encode(texts, batch_size=32, show_progress_bar=False)


def onnxruntime():
    import tempfile

    import onnxruntime as ort
    from tokenizers import Tokenizer
    from transformers import AutoModel

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(model_directory, attn_implementation="eager").eval()

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]

    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    example = {name: torch.ones(2, 8, dtype=torch.long) for name in ("input_ids", "attention_mask", "token_type_ids")}
    axes = {name: {0: "batch", 1: "tokens"} for name in [*example, "last_hidden_state"]}
    torch.onnx.export(States(), tuple(example.values()), path,
                      input_names=list(example), output_names=["last_hidden_state"], dynamic_axes=axes, dynamo=False,
                      opset_version=17)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(os.path.join(model_directory, "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()

    def encode(batch_size=16):
        encoded = tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: -len(encoded[i].ids))
        vectors = np.zeros((len(texts), 384), np.float32)
        for start in range(0, len(order), batch_size):
            batch = order[start:start + batch_size]
            width = len(encoded[batch[0]].ids)
            ids = np.zeros((len(batch), width), np.int64)
            mask = np.zeros((len(batch), width), np.int64)
            for row, i in enumerate(batch):
                ids[row, :len(encoded[i].ids)] = encoded[i].ids
                mask[row, :len(encoded[i].ids)] = 1
            states = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
            pooled = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
            vectors[batch] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors

    return encode


encode = {"sentence-transformers": sentence_transformers, "onnxruntime": onnxruntime}[peer]()
encode()
print("ready", flush=True)
for _ in sys.stdin:
    started = time.perf_counter()
    encode()
    print(time.perf_counter() - started, flush=True)
