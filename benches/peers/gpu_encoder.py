"""The peers of the encoder on a GPU: transformers' BERT in f16 with torch's fused attention, from token ids, and
sentence-transformers, from texts.

Prints a JSON object a line, as soon as it is known: tokens per second for texts of each length ("figure"), and what
a peer cannot do, with its reason ("left_out"). All texts of a length have as many tokens: no peer pads. The texts
of a corpus, {"text": ...} a line, have many lengths; sentence-transformers sorts them, and pads each batch.

Arguments: --model DIR --lengths N,... --texts N [--corpus FILE] [--device cuda|cpu]
"""

import argparse
import json
import time

# Tokens of a batch: what fills a GPU.
BATCH_TOKENS = 16_384
ROUNDS = 3
# Texts of a batch, of many lengths.
BATCHES = [32, 256]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--lengths", type=lambda text: [int(part) for part in text.split(",")], required=True)
    parser.add_argument("--texts", type=int, required=True)
    parser.add_argument("--corpus")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def tell(**facts):
    print(json.dumps(facts), flush=True)


def leave_out(peer, error):
    reason = str(error).strip().splitlines()
    tell(left_out={"what": peer, "why": reason[0] if reason else type(error).__name__})


def quickest(work):
    """The seconds of the quickest round, after one that does not count."""
    least = float("inf")
    for round in range(ROUNDS + 1):
        started = time.perf_counter()
        work()
        if round > 0:
            least = min(least, time.perf_counter() - started)
    return least


def from_ids(options):
    import torch
    from transformers import AutoModel

    dtype = torch.float16 if options.device == "cuda" else torch.float32
    model = AutoModel.from_pretrained(options.model, add_pooling_layer=False).to(options.device, dtype).eval()
    vocabulary = model.config.vocab_size
    for length in options.lengths:
        ids = torch.randint(vocabulary, (options.texts, length))
        batches = ids.split(max(1, BATCH_TOKENS // length))

        def encode():
            # Waits once, at the end: ours overlaps batches too.
            rows = [model(batch.to(options.device)).last_hidden_state.mean(dim=1).float() for batch in batches]
            torch.cat(rows).cpu()

        with torch.inference_mode():
            seconds = quickest(encode)
        tell(figure={"peer": f"transformers {dtype}", "texts": f"{length} tokens", "from_ids": ids.numel() / seconds})


def from_texts(options):
    from sentence_transformers import SentenceTransformer, models

    transformer = models.Transformer(options.model)
    model = SentenceTransformer(modules=[transformer, models.Pooling(transformer.get_word_embedding_dimension())], device=options.device)
    if options.device == "cuda":
        model.half()
    for length in options.lengths:
        # Special tokens are two; a word is at least one token.
        text = "a " * max(1, length - 2)
        if model.max_seq_length < length:
            raise RuntimeError(f"texts are cut to {model.max_seq_length} tokens, of {length}")
        tokens = len(model.tokenizer(text, truncation=True, max_length=length)["input_ids"]) * options.texts
        batch = max(1, BATCH_TOKENS // length)
        seconds = quickest(lambda: model.encode([text] * options.texts, batch_size=batch))
        tell(figure={"peer": "sentence-transformers", "texts": f"{length} tokens", "from_text": tokens / seconds})
    if options.corpus:
        with open(options.corpus) as lines:
            texts = [json.loads(line)["text"] for line in lines]
        tokens = sum(map(len, model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]))
        # The better of its usual size of a batch and a larger one.
        seconds = min(quickest(lambda: model.encode(texts, batch_size=size)) for size in BATCHES)
        tell(figure={"peer": "sentence-transformers", "texts": "many lengths", "from_text": tokens / seconds})


def main():
    options = arguments()
    for name, measure in [("transformers", from_ids), ("sentence-transformers", from_texts)]:
        try:
            measure(options)
        except Exception as error:  # The other peer still runs.
            leave_out(name, error)


main()
