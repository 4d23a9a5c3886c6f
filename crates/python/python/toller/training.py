"""Training: negatives from what was retrieved, and models that learn from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from toller import _toller
from toller._examples import as_files
from toller._tables import Path, Texts
from toller.errors import invalid

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toller._toller import Qrels, Run
    from toller.encoder import Progress

    AnyRun: TypeAlias = Run | Mapping[str, Mapping[str, float]]
    AnyQrels: TypeAlias = Qrels | Mapping[str, Mapping[str, int]]


class Mined(NamedTuple):
    """How many negatives were mined."""

    queries: int
    """Queries with a positive."""
    left_out: int
    """Queries without a positive."""
    short: int
    """Queries that have fewer negatives than wanted."""
    positives: int
    """Positives of all queries."""
    negatives: int
    """Negatives of all queries."""


def mine(
    run: AnyRun | Sequence[AnyRun],
    qrels: AnyQrels | None,
    output: Path,
    *,
    queries: Texts | None = None,
    corpus: Texts | None = None,
    depth: tuple[int, int] = (1, 200),
    negatives: int = 30,
    per_positive: int | None = None,
    positives: int | None = None,
    choose: str = "sample",
    seed: int = 42,
    relevance_level: int = 1,
    format: str = "jsonl",
    skip_bad_lines: bool = False,
    scores: AnyRun | Sequence[AnyRun] = (),
    max_score: float | None = None,
    min_score: float | None = None,
    absolute_margin: float | None = None,
    relative_margin: float | None = None,
    min_positive_score: float | None = None,
    new_positive_score: float | None = None,
) -> Mined:
    """Takes negatives for training from one or several runs, and writes them to the file `output`.

    Relevant documents are never used as negatives; with `corpus`, neither are copies of their text. `depth` is the
    first and the last rank that negatives are taken from: of several runs, a document has its best rank. There are
    `negatives` of them for each query, or `per_positive` for each of its positives: a uniform sample, which depends
    on `seed`, or the best with `choose="top"`. `positives` is the most positives of a query, the best by rank.

    `scores` are a reranker's runs, such as those of `toller rerank`. Negatives have a score from `min_score` to
    `max_score`, below that of each positive by `absolute_margin` and by the share `relative_margin`. Positives below
    `min_positive_score` are left out. With `new_positive_score`, documents with at least this score are positives,
    too, and `qrels` may be None.

    `format` is jsonl, tevatron, triplets, pairs, t2ranking, rocketqa or rocketqa-cross. `queries` and `corpus`, which
    `toller.encode` describes, give the texts; tevatron, triplets and RocketQA's need both.
    """
    options = {
        "queries": queries,
        "corpus": corpus,
        "depth": depth,
        "negatives": negatives,
        "per_positive": per_positive,
        "positives": positives,
        "choose": choose,
        "seed": seed,
        "relevance_level": relevance_level,
        "format": format,
        "skip_bad_lines": skip_bad_lines,
        "scores": _runs(scores),
        "max_score": max_score,
        "min_score": min_score,
        "absolute_margin": absolute_margin,
        "relative_margin": relative_margin,
        "min_positive_score": min_positive_score,
        "new_positive_score": new_positive_score,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return Mined(*_toller.mine(_runs(run), qrels, output, given))


def _runs(runs: AnyRun | Sequence[AnyRun]) -> list[AnyRun]:
    return [runs] if isinstance(runs, (_toller.Run, Mapping)) else list(runs)


@dataclass(frozen=True)
class DevSet:
    """Judged queries on which a model is evaluated while it is trained. The model of the best evaluation is saved.

    A dual encoder is evaluated by searching `corpus`, by default the collection that it learns from; a cross-encoder
    by ranking the first `depth` hits of `run` again, by default 100. The first of `measures` decides which evaluation
    is the best.
    """

    queries: Texts
    qrels: AnyQrels
    corpus: Texts | None = None
    run: AnyRun | None = None
    depth: int | None = None
    measures: str = "nDCG@10"
    every: int | None = None
    """Steps between evaluations; None for those of an epoch."""
    patience: int | None = None
    """Evaluations without a better one after which the run ends; None for never."""
    save_last: bool = False
    """Whether the model of the last step is saved instead."""


@dataclass(frozen=True)
class MarkedDevSet:
    """Marked texts on which a token classifier is evaluated while it is trained: precision, recall and F1.

    The model of the best F1 is saved.
    """

    data: Path | Sequence[Path]
    every: int | None = None
    """Steps between evaluations; None for those of an epoch."""
    patience: int | None = None
    """Evaluations without a better one after which the run ends; None for never."""
    save_last: bool = False
    """Whether the model of the last step is saved instead."""


class RunOptions(TypedDict, total=False):
    """The options of every run, named as the flags of `toller train` and with the same values where they are left out.

    `data` is what is learned from: files, or a table, a dataset or dicts with the fields that files have. `device` is
    auto, cpu, cuda, cuda:N or cuda:all; models are trained on GPUs through candle, in builds with the feature
    `candle-cuda`.
    """

    data: Texts
    device: str
    backend: Literal["native", "candle"]
    dtype: Literal["f32", "bf16"]
    epochs: float
    steps: int
    batch_size: int
    accumulate: int
    lr: float
    schedule: Literal["linear", "bert", "constant", "cosine"]
    warmup: float
    optimizer: Literal["adamw", "lamb"]
    weight_decay: float
    max_grad_norm: float
    dropout: float
    perturb: float
    seed: int
    chunk_size: int
    save_every: int
    keep_checkpoints: int
    max_length: int


class TrainOptions(RunOptions, total=False):
    """The options of what ranks passages, and of every run (`RunOptions`).

    A model learns from files of examples (`data`); or from `queries`, their judgments, the texts of passages in
    `corpus`, and `negatives` as `toller.mine` writes them (jsonl, pairs, t2ranking). With `skip_bad_lines`, bad records of
    examples, queries and collections are counted and skipped.
    """

    queries: Texts
    corpus: Texts
    qrels: AnyQrels
    negatives: Path
    relevance_level: int
    negatives_per_query: int
    title_separator: str
    skip_bad_lines: bool
    dev: DevSet


class Trained(NamedTuple):
    """A finished run."""

    steps: int
    """Steps of the optimizer."""
    loss: float | None
    """The loss before the last step; None if no step was left to do."""
    best_step: int | None
    """The step of the best evaluation, with a dev set."""
    best_measures: dict[str, float]
    """The measures of the best evaluation."""


def train_dual(
    model: Path,
    output: Path,
    *,
    loss: Literal["contrastive", "margin-mse", "kl"] = "contrastive",
    similarity: Literal["dot", "cosine"] | None = None,
    temperature: float | None = None,
    symmetric: bool = False,
    no_in_batch: bool = False,
    no_duplicates: bool = False,
    title_mode: Literal["join", "sep", "pair"] | None = None,
    untie: bool = False,
    only: Literal["query", "passage"] | None = None,
    query_max_length: int | None = None,
    query_prompt: str | None = None,
    passage_prompt: str | None = None,
    pooling: str | None = None,
    query_model: Path | None = None,
    prefix_tokens: int | None = None,
    progress: bool | Progress = False,
    **options: Unpack[TrainOptions],
) -> Trained:
    """Trains a dual encoder from `model`, and saves it in the directory `output` with its log and checkpoints.

    What Ctrl-C interrupts goes on by the same call, with the bits of a run that was not interrupted. The other options
    are those of `TrainOptions`; docs/training.md explains all of them. With `no_duplicates`, no query and no
    passage occurs twice in a batch, where it would be its own negative. `query_prompt` and `passage_prompt` are put
    before every query and passage instead of the model's own prompts, and are saved with the model. With
    `prefix_tokens`, a prefix of that many tokens is trained (P-tuning v2), and the model stays as it is.
    """
    own = {
        "loss": loss,
        "similarity": similarity,
        "temperature": temperature,
        "symmetric": symmetric,
        "no_in_batch": no_in_batch,
        "no_duplicates": no_duplicates,
        "title_mode": title_mode,
        "untie": untie,
        "only": only,
        "query_max_length": query_max_length,
        "query_prompt": query_prompt,
        "passage_prompt": passage_prompt,
        "pooling": pooling,
        "query_model": query_model,
        "prefix_tokens": prefix_tokens,
    }
    return _train(_toller.train_dual, output, _all(model, own, options, TrainOptions), progress)


def train_cross(
    model: Path,
    output: Path,
    *,
    loss: Literal["binary", "two-labels", "listwise", "ranknet", "lambda"] | None = None,
    truncation: Literal["only_second", "longest_first"] = "only_second",
    labels: int | None = None,
    progress: bool | Progress = False,
    **options: Unpack[TrainOptions],
) -> Trained:
    """Trains a cross-encoder from `model`, and saves it in the directory `output` with its log and checkpoints.

    A model without a classifier gets a new one, with `labels` of 1 or 2: by default 2 for the loss two-labels, else 1.
    The loss is by default that of the model's labels. `truncation` says which text of a pair is cut. Interruptions and
    options are as for `train_dual`.
    """
    own = {"loss": loss, "truncation": truncation, "labels": labels}
    return _train(_toller.train_cross, output, _all(model, own, options, TrainOptions), progress)


def train_token(
    model: Path,
    output: Path,
    *,
    dev: MarkedDevSet | None = None,
    progress: bool | Progress = False,
    **options: Unpack[RunOptions],
) -> Trained:
    """Trains a token classifier from `model`, and saves it in the directory `output` with its log and checkpoints.

    It learns from the marked texts of `data` which tokens are the last of a segment. A model without a classifier of
    tokens gets a new one. Interruptions are as for `train_dual`, options those of `RunOptions`.
    """
    return _train(_toller.train_token, output, _all(model, {"marked_dev": dev}, options, RunOptions), progress)


def _all(model: Path, own: dict[str, Any], options: RunOptions, known: type[RunOptions]) -> dict[str, Any]:
    """All options that are given."""
    unknown = [name for name in options if name not in known.__annotations__]
    if unknown:
        raise invalid(f"no option is named {unknown[0]}", f"there are {', '.join(known.__annotations__)}")
    given: dict[str, Any] = {"model": model, **own, **options}
    return {name: value for name, value in given.items() if value is not None}


def _train(run: Callable[..., Any], output: Path, given: dict[str, Any], progress: bool | Progress) -> Trained:
    with as_files(given.get("data")) as data:
        if data is not None:
            given["data"] = data
        steps, loss, best = run(output, given, progress=progress)
    best_step, best_measures = best or (None, {})
    return Trained(steps, loss, best_step, best_measures)
