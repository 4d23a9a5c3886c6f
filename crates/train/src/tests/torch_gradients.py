"""The loss of a batch and the gradients of a model's parameters by PyTorch, in float64, for tests/torch.rs.

Takes the paths of JSON files: a model's folder and its kind, the tokens of its texts, groups of candidates, a loss.
Prints each loss, and writes model.safetensors next to its file with a gradient for each parameter, named
FOLDER|PARAMETER.
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    DPRContextEncoder,
    DPRQuestionEncoder,
)

LN_2 = 0.6931471805599453


def states(model, texts):
    """The states of each text, one text at a time: no padding."""
    for ids, types in texts:
        arguments = {"input_ids": torch.tensor([ids])}
        if model.config.type_vocab_size > 1:
            arguments["token_type_ids"] = torch.tensor([types])
        yield model(**arguments)


def modules(folder, texts):
    """sentence-transformers' layout: pooling, perhaps a dense layer with tanh, perhaps unit length."""
    model = AutoModel.from_pretrained(folder, dtype=torch.float64)
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    named = {f"|{name}": value for name, value in model.named_parameters()}
    dense = None
    if (folder / "2_Dense").is_dir():
        from safetensors.torch import load_file

        dense = {name: value.double().requires_grad_() for name, value in load_file(folder / "2_Dense" / "model.safetensors").items()}
        named |= {f"2_Dense|{name}": value for name, value in dense.items()}
    kinds = [module["type"].rsplit(".", 1)[1] for module in json.loads((folder / "modules.json").read_text())]

    def vectors(part):
        rows = []
        for output in states(model, part):
            state = output.last_hidden_state[0]
            row = state[0] if pooling.get("pooling_mode_cls_token") else state.mean(0)
            if dense is not None:
                row = torch.tanh(dense["linear.weight"] @ row + dense["linear.bias"])
            rows.append(F.normalize(row, dim=0) if "Normalize" in kinds else row)
        return torch.stack(rows)

    return [vectors(part) for part in texts], named


def dpr(folder, texts):
    named, results = {}, []
    for name, kind, part in (("question_encoder", DPRQuestionEncoder, texts[0]), ("ctx_encoder", DPRContextEncoder, texts[1])):
        model = kind.from_pretrained(folder / name, dtype=torch.float64)
        named |= {f"{name}|{parameter}": value for parameter, value in model.named_parameters()}
        results.append(torch.cat([output.pooler_output for output in states(model, part)]))
    return results, named


def classifier(folder, texts):
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float64)
    model.eval()
    named = {f"|{name}": value for name, value in model.named_parameters()}
    return [torch.cat([output.logits for output in states(model, texts[0])])], named


def tokens(folder, texts):
    model = AutoModelForTokenClassification.from_pretrained(folder, dtype=torch.float64)
    model.eval()
    named = {f"|{name}": value for name, value in model.named_parameters()}
    return [torch.cat([output.logits[0] for output in states(model, texts[0])])], named


def dual_loss(case, loss, queries, passages):
    if loss["cosine"]:
        queries, passages = F.normalize(queries, dim=1), F.normalize(passages, dim=1)
    scores = queries @ passages.T / loss.get("temperature", 1.0)
    starts, wanted = case["starts"], torch.tensor(case["scores"], dtype=torch.float64)
    positives = torch.tensor(starts[:-1])
    forward = F.cross_entropy(scores, positives)
    if loss["name"] == "contrastive":
        return forward
    if loss["name"] == "symmetric":
        return (forward + F.cross_entropy(scores[:, positives].T, torch.arange(len(queries)))) / 2
    total = 0.0
    for query, (start, end) in enumerate(zip(starts, starts[1:])):
        own, teacher = scores[query, start:end], wanted[start:end]
        if loss["name"] == "margin-mse":
            total = total + F.mse_loss(own[0] - own[1:], teacher[0] - teacher[1:])
        else:
            total = total + F.kl_div(F.log_softmax(own, 0), F.softmax(teacher, 0), reduction="sum")
    return total / len(queries)


def cross_loss(case, loss, logits):
    starts, labels = case["starts"], torch.tensor(case["labels"], dtype=torch.float64)
    name = loss["name"]
    if name == "tokens":
        return F.cross_entropy(logits, torch.tensor(loss["targets"]), ignore_index=-1)
    if name == "binary":
        return F.binary_cross_entropy_with_logits(logits[:, 0], labels)
    if name == "two-labels":
        return F.cross_entropy(logits, torch.stack([1 - labels, labels], 1))
    groups = [(logits[start:end, 0], labels[start:end]) for start, end in zip(starts, starts[1:])]
    if name == "listwise":
        return sum(F.cross_entropy(own[None], torch.tensor([0])) for own, _ in groups) / len(groups)
    terms = []
    for own, label in groups:
        rank = (own[None] > own[:, None]).sum(1) + 1
        discount = lambda at: 1 / torch.log2(1.0 + at)
        gain = 2**label - 1
        gain = gain / (gain.sort(descending=True).values * discount(torch.arange(1, len(own) + 1))).sum()
        for better in range(len(own)):
            for worse in range(len(own)):
                if label[better] > label[worse]:
                    apart = (rank[better] - rank[worse]).abs()
                    weight = 10 * (discount(apart) - discount(apart + 1))
                    weight = (weight + (discount(rank[better]) - discount(rank[worse])).abs()) * (gain[better] - gain[worse]).abs()
                    weight = weight if name == "lambda" else 1.0
                    terms.append(-weight * F.logsigmoid(own[better] - own[worse]) / LN_2)
    return sum(terms) / len(terms)


KINDS = {"modules": modules, "dpr": dpr, "classifier": classifier, "tokens": tokens}


def main():
    for path in map(pathlib.Path, sys.argv[1:]):
        case = json.loads(path.read_text())
        results, named = KINDS[case["kind"]](pathlib.Path(case["folder"]), case["texts"])
        loss = (dual_loss if len(results) == 2 else cross_loss)(case, case["loss"], *results)
        loss.backward()
        gradients = {name: value.grad.float() for name, value in named.items() if value.grad is not None}
        save_file(gradients, path.parent / "model.safetensors")
        print(loss.item())


main()
