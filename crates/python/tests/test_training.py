"""Mining negatives and training: the bytes of the command line."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest

import toller

from conftest import FIXTURES, Cli
from toller._examples import as_files

RUN = {"q1": {"d1": 5.0, "d2": 4.0, "d3": 3.5, "d4": 3.0}, "q2": {"d5": 2.0}, "q3": {"d1": 1.0}}
QRELS = {"q1": {"d2": 1, "d4": 0}, "q2": {"d5": 2, "d6": 1}}
QUERIES = {"q1": "one?", "q2": "two?"}
TEXTS = {"d1": "first", "d2": "the second", "d3": " the  second", "d4": "4", "d5": "5", "d6": "6"}
ROWS = [{"_id": name, "title": f"T {name}", "text": text} for name, text in TEXTS.items()]


@pytest.mark.parametrize("format", ["jsonl", "tevatron", "triplets", "pairs", "t2ranking", "rocketqa", "rocketqa-cross"])
@pytest.mark.parametrize("choose", ["sample", "top"])
def test_negatives_are_those_of_the_command_line(format: str, choose: str, cli: Cli, tmp_path: Path) -> None:
    run = toller.Run(RUN)
    run.write(tmp_path / "x.run")
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, row in QRELS.items() for d, g in row.items()))
    (tmp_path / "queries.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in QUERIES.items()))
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    words = ["--run", tmp_path / "x.run", "--qrels", tmp_path / "qrels", "--queries", tmp_path / "queries.tsv"]
    words += ["--corpus", tmp_path / "corpus.jsonl", "--output", tmp_path / "cli", "--format", format]
    seed = ["--seed", 7] if choose == "sample" else []
    cli("mine", *words, "--negatives", 2, "--depth", "1:3", "--choose", choose, *seed)
    options = {"depth": (1, 3), "negatives": 2, "choose": choose, "seed": 7, "format": format}
    for queries, corpus in ((QUERIES, iter(ROWS)), (tmp_path / "queries.tsv", tmp_path / "corpus.jsonl")):
        mined = toller.mine(run, toller.Qrels(QRELS), tmp_path / "own", queries=queries, corpus=corpus, **options)
        assert (tmp_path / "own").read_bytes() == (tmp_path / "cli").read_bytes()
        # d3 is a copy of d2, which is relevant.
        assert mined == toller.Mined(queries=2, left_out=1, short=2, positives=3, negatives=1)


def test_several_runs_and_scores_decide_as_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    runs = [toller.Run(RUN), toller.Run({"q1": {"d6": 9.0, "d1": 8.0}})]
    scores = toller.Run({"q1": {"d1": 0.2, "d2": 0.8, "d3": 0.9, "d4": 0.1, "d6": 0.05}, "q2": {"d5": 0.1}})
    for name, run in {"x.run": runs[0], "y.run": runs[1], "scores.run": scores}.items():
        run.write(tmp_path / name)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, row in QRELS.items() for d, g in row.items()))
    words = ["--run", tmp_path / "x.run", tmp_path / "y.run", "--scores", tmp_path / "scores.run"]
    words += ["--output", tmp_path / "cli", "--choose", "top"]
    for options in (
        {"per_positive": 2, "max_score": 0.2},
        {"negatives": 2, "absolute_margin": 0.7, "min_score": 0.08},
        {"relative_margin": 0.5, "positives": 1, "min_positive_score": 0.5},
        {"new_positive_score": 0.85, "negatives": 9},
    ):
        flags = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
        cli("mine", *words, "--qrels", tmp_path / "qrels", *flags)
        toller.mine(runs, toller.Qrels(QRELS), tmp_path / "own", choose="top", scores=scores, **options)  # type: ignore[arg-type]
        assert (tmp_path / "own").read_bytes() == (tmp_path / "cli").read_bytes()
    cli("mine", *words, "--new-positive-score", 0.8)
    toller.mine(runs, None, tmp_path / "own", choose="top", scores=[scores], new_positive_score=0.8)
    assert (tmp_path / "own").read_bytes() == (tmp_path / "cli").read_bytes()
    for bad in (
        {"max_score": 0.5},
        {"scores": scores, "relative_margin": -1.0},
        {"scores": scores, "relative_margin": 1.5},
        {"scores": scores, "absolute_margin": -1.0},
        {"scores": scores, "max_score": float("nan")},
        {"scores": scores, "min_score": 2.0, "max_score": 1.0},
        {"positives": 0},
    ):
        with pytest.raises(toller.InvalidArgument):
            toller.mine(runs, toller.Qrels(QRELS), tmp_path / "own", **bad)  # type: ignore[arg-type]
    with pytest.raises(toller.InvalidArgument, match="nothing says which documents are relevant"):
        toller.mine(runs, None, tmp_path / "own")
    with pytest.warns(UserWarning, match='left out 1 relevant document without a score in scores, for example "d6"'):
        toller.mine(runs, toller.Qrels(QRELS), tmp_path / "own", scores=scores)
    with pytest.raises(toller.InvalidArgument, match="no negative for 2 queries"):
        toller.mine(runs, toller.Qrels(QRELS), tmp_path / "own", scores=scores, max_score=0.01)
    with pytest.raises(toller.InvalidArgument, match="no document that negatives are taken from has a score") as error:
        toller.mine(runs, toller.Qrels(QRELS), tmp_path / "own", scores=toller.Run({"q9": {"d1": 1.0}}))
    assert error.value.hint == "give scores what a reranker made of the same run"


def test_what_cannot_be_mined_is_refused(tmp_path: Path) -> None:
    run, qrels, output = toller.Run(RUN), toller.Qrels(QRELS), tmp_path / "out"
    with pytest.raises(toller.InvalidArgument, match="needs the texts"):
        toller.mine(run, qrels, output, format="triplets")
    with pytest.raises(toller.InvalidArgument, match="no query of the run"):
        toller.mine(run, toller.Qrels({"q9": {"d1": 1}}), output)
    with pytest.warns(UserWarning) as warned:
        mined = toller.mine(run, qrels, tmp_path / "few", queries=QUERIES, corpus=ROWS[:3], format="tevatron")
    assert any("2 relevant documents missing from corpus" in str(warning.message) for warning in warned)
    # d4 and the positives of q2 have no text.
    assert mined == toller.Mined(queries=1, left_out=2, short=1, positives=1, negatives=1)
    for bad in ({"depth": (0, 3)}, {"depth": (3, 2)}, {"negatives": 0}, {"choose": "best"}, {"format": "csv"}):
        with pytest.raises(toller.InvalidArgument):
            toller.mine(run, qrels, output, **bad)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="1 relevant document missing from corpus"):
        toller.mine(run, qrels, output, corpus=ROWS[:5], queries=QUERIES)
    assert output.is_file()
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("\n".join(map(json.dumps, ROWS)))
    before = corpus.read_bytes()
    with pytest.raises(toller.InvalidArgument, match="would be overwritten"):
        toller.mine(run, qrels, corpus, queries=QUERIES, corpus=corpus)
    (tmp_path / "folder").mkdir()
    inside = tmp_path / "folder/part.jsonl"
    inside.write_bytes(before)
    with pytest.raises(toller.InvalidArgument, match="would be overwritten"):
        toller.mine(run, qrels, inside, queries=QUERIES, corpus=tmp_path / "folder")
    assert corpus.read_bytes() == before == inside.read_bytes()
    toller.mine(run, qrels, tmp_path / "m.jsonl", queries=QUERIES, corpus=corpus)
    toller.mine(run, qrels, tmp_path / "m.jsonl.gz", queries=QUERIES, corpus=corpus)
    assert gzip.decompress((tmp_path / "m.jsonl.gz").read_bytes()) == (tmp_path / "m.jsonl").read_bytes()


def test_runs_of_other_documents_are_a_warning(tmp_path: Path) -> None:
    other, qrels = toller.Run({"q1": {"x1": 2.0, "x2": 1.0}}), toller.Qrels(QRELS)
    with pytest.warns(UserWarning, match="none of the 2 documents retrieved for judged queries is judged"):
        toller.mine(other, qrels, tmp_path / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        toller.mine([other, toller.Run(RUN)], qrels, tmp_path / "out")


def test_missing_values_of_rows_are_null() -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (None, float("nan"), pandas.NA):
        with as_files(pandas.DataFrame({"query": ["a", "b"], "title": ["t", missing]})) as path:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert rows == [{"query": "a", "title": "t"}, {"query": "b", "title": None}]
    for bad, message in (
        (float("inf"), "data, row 2: "),
        ([float("nan")], "data, row 2: "),
        (object(), "a value of type object"),
    ):
        with pytest.raises(toller.InvalidArgument, match=message), as_files([{"query": "a"}, {"query": bad}]):
            pass


def test_an_error_names_the_row(tmp_path: Path) -> None:
    rows = [{"anchor": "a", "positive": "b"}, {"anchor": "c", "positive": None}]
    with pytest.raises(toller.Error, match="^data, row 2: positive is null") as error:
        toller.train_dual(FIXTURES / "tiny-bert", tmp_path / "out", data=rows, batch_size=1, steps=1)
    assert (error.value.file, error.value.line) == ("data", 2)
    with pytest.raises(toller.Error, match="^data: no record"):
        toller.train_dual(FIXTURES / "tiny-bert", tmp_path / "out", data=[], batch_size=1, steps=1)


TOPICS = ["rain", "guns", "ducks", "snow", "music", "trains", "bread", "paper"]
PASSAGES = [{"id": topic, "text": f"{topic} is from the south"} for topic in TOPICS]
QUESTIONS = {f"about-{topic}": f"where is {topic} from" for topic in TOPICS}
JUDGMENTS = {f"about-{topic}": {topic: 1} for topic in TOPICS}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with examples, queries, passages and judgments."""
    lines = []
    for number, topic in enumerate(TOPICS):
        other = TOPICS[(number + 3) % len(TOPICS)]
        negative = [{"docid": other, "title": "", "text": f"{other} is from the south"}]
        positive = [{"docid": topic, "title": "", "text": f"{topic} is from the south"}]
        query = {"query_id": str(number), "query": f"where is {topic} from"}
        lines.append(json.dumps({**query, "positive_passages": positive, "negative_passages": negative}))
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    (tmp_path / "queries.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in QUESTIONS.items()))
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, PASSAGES)))
    (tmp_path / "qrels").write_text("".join(f"{name} 0 {doc} 1\n" for name, row in JUDGMENTS.items() for doc in row))
    toller.Run({name: dict.fromkeys(TOPICS, 1.0) for name in QUESTIONS}).write(tmp_path / "x.run")
    return tmp_path


def same_run(one: Path, other: Path) -> None:
    """Checks that two runs made the same model and the same README."""
    for name in ("model.safetensors", "README.md", "config.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_dual_encoder_is_that_of_the_command_line(minilm: Path, cli: Cli, work: Path) -> None:
    options = {"batch_size": 4, "lr": 1e-3, "steps": 4, "max_length": 16, "query_prompt": "query: "}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    cli("train", "dual", "--model", minilm, "--data", work / "data.jsonl", "--output", work / "cli", *words)
    trained = toller.train_dual(minilm, work / "own", data=work / "data.jsonl", **options)  # type: ignore[arg-type]
    same_run(work / "cli", work / "own")
    assert trained.steps == 4 and trained.loss is not None and trained.best_step is None
    assert toller.Encoder(work / "own").encode("ducks").shape == (384,)
    # The run is finished: there is no step left.
    again = toller.train_dual(minilm, work / "own", data=work / "data.jsonl", **options)  # type: ignore[arg-type]
    assert (again.steps, again.loss) == (4, None)


def test_rows_are_learned_from_as_files_are(minilm: Path, work: Path) -> None:
    options = {"batch_size": 4, "steps": 2, "max_length": 16}
    path, rows = work / "data.jsonl", [json.loads(line) for line in (work / "data.jsonl").open()]
    toller.train_dual(minilm, work / "files", data=path, **options)  # type: ignore[arg-type]
    for name, data in (("rows", rows), ("generator", (row for row in rows))):
        toller.train_dual(minilm, work / name, data=data, **options)  # type: ignore[arg-type]
        assert (work / name / "model.safetensors").read_bytes() == (work / "files/model.safetensors").read_bytes()
    for data, message in ((5, "data of type int"), ([1], "data, row 1: a row of type int"), ([{"query": {1}}], "type set")):
        with pytest.raises(toller.InvalidArgument, match=message):
            toller.train_dual(minilm, work / "out", data=data, **options)  # type: ignore[arg-type]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([{"anchor": f"where is {topic} from", "positive": f"{topic} is from here"} for topic in TOPICS])
    assert toller.train_dual(minilm, work / "frame", data=frame, **options).steps == 2  # type: ignore[arg-type]


def test_judged_queries_with_a_dev_set_are_those_of_the_command_line(minilm: Path, cli: Cli, work: Path) -> None:
    words = ["--queries", work / "queries.tsv", "--corpus", work / "corpus.jsonl", "--qrels", work / "qrels"]
    words += ["--batch-size", 4, "--epochs", 1, "--max-length", 16, "--untie", "--loss", "contrastive", "--symmetric"]
    words += ["--title-mode", "pair"]
    dev = ["--dev-queries", work / "queries.tsv", "--dev-qrels", work / "qrels", "--dev-measures", "RR"]
    cli("train", "dual", "--model", minilm, *words, *dev, "--eval-every", 1, "--output", work / "cli")
    qrels = toller.Qrels(JUDGMENTS)
    seen = []
    trained = toller.train_dual(
        minilm,
        work / "own",
        queries=QUESTIONS,
        corpus=iter(PASSAGES),
        qrels=qrels,
        batch_size=4,
        epochs=1,
        max_length=16,
        title_mode="pair",
        untie=True,
        symmetric=True,
        dev=toller.DevSet(QUESTIONS, qrels, measures="RR", every=1),
        progress=lambda title, done, total: seen.append((title, done, total)),
    )
    assert (work / "cli/evaluations.jsonl").is_file() and trained.best_measures["RR"] > 0
    for path in [*(work / "cli").rglob("model.safetensors"), *(work / "cli").rglob("config_sentence_*.json")]:
        assert (work / "own" / path.relative_to(work / "cli")).read_bytes() == path.read_bytes()
    assert ("training", 2, 2) in seen


def test_a_cross_encoder_is_that_of_the_command_line(cli: Cli, work: Path) -> None:
    model = FIXTURES / "cross-encoders/roberta"
    words = ["--data", work / "data.jsonl", "--batch-size", 4, "--steps", 2, "--output", work / "cli"]
    dev = ["--dev-queries", work / "queries.tsv", "--dev-qrels", work / "qrels", "--dev-corpus", work / "corpus.jsonl"]
    cli("train", "cross", "--model", model, *words, *dev, "--dev-run", work / "x.run")
    held_out = toller.DevSet(QUESTIONS, toller.Qrels(JUDGMENTS), corpus=PASSAGES, run=toller.Run.read(work / "x.run"))
    trained = toller.train_cross(model, work / "own", data=work / "data.jsonl", batch_size=4, steps=2, dev=held_out)
    same_run(work / "cli", work / "own")
    assert trained.best_step is not None


def test_prefixes_and_new_classifiers_are_those_of_the_command_line(cli: Cli, work: Path) -> None:
    model = FIXTURES / "tiny-bert"
    words = ["--data", work / "data.jsonl", "--batch-size", 4, "--steps", 2, "--seed", 3]
    options = {"data": work / "data.jsonl", "batch_size": 4, "steps": 2, "seed": 3}
    cli("train", "dual", "--model", model, *words, "--prefix-tokens", 5, "--output", work / "cli")
    toller.train_dual(model, work / "own", prefix_tokens=5, **options)  # type: ignore[arg-type]
    same_run(work / "cli", work / "own")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        assert (work / "cli" / name).read_bytes() == (work / "own" / name).read_bytes(), name
    for labels in (None, 2):
        flags = [] if labels is None else ["--labels", labels]
        one, other = work / f"cli-{labels}", work / f"own-{labels}"
        cli("train", "cross", "--model", model, *words, *flags, "--output", one)
        toller.train_cross(model, other, labels=labels, **options)  # type: ignore[arg-type]
        same_run(one, other)
    with pytest.raises(toller.InvalidArgument, match="a classifier with 2 labels"):
        toller.train_cross(work / "own-2", work / "new", labels=1, **options)  # type: ignore[arg-type]
    with pytest.raises(toller.InvalidArgument):
        toller.train_dual(model, work / "new", prefix_tokens=0, **options)  # type: ignore[arg-type]


def test_an_interrupted_run_goes_on_with_the_same_bits(minilm: Path, work: Path) -> None:
    class Stop(Exception):
        pass

    def stop(title: str, done: int, total: int | None) -> None:
        if title == "training" and done >= 2:
            raise Stop

    def train(name: str, progress: object = False) -> toller.Trained:
        data = {"data": work / "data.jsonl", "batch_size": 4, "steps": 40, "max_length": 16, "lr": 1e-3}
        return toller.train_dual(minilm, work / name, progress=progress, **data)  # type: ignore[arg-type]

    with pytest.raises(Stop):
        train("parts", stop)
    assert not (work / "parts/model.safetensors").exists()
    assert train("parts").steps == train("whole").steps == 40
    same_run(work / "parts", work / "whole")


def test_what_cannot_be_trained_is_refused(minilm: Path, work: Path) -> None:
    data, qrels = work / "data.jsonl", toller.Qrels(JUDGMENTS)
    for options, message in [
        ({}, "nothing to learn from"),
        ({"queries": QUESTIONS}, "queries needs judgments and texts"),
        ({"data": data, "relevance_level": 2}, "relevance_level is for queries, which is not given"),
        ({"data": data, "chunk_size": 0}, "chunk_size is 0"),
        ({"data": data, "lr": 0.0}, "lr is 0"),
        ({"data": data, "batch_size": 0}, "batch_size is 0"),
        ({"data": data, "temperature": 0.0}, "temperature is 0"),
        ({"data": data, "warmup": -1.0}, "warmup is -1"),
        ({"data": data, "batch_size": 1, "negatives_per_query": 0}, "none of its negatives is taken"),
        ({"data": data, "epochs": 1.0, "steps": 3}, "epochs and steps"),
        ({"data": data, "loss": "hinge"}, "hinge"),
        ({"data": data, "learning_rate": 1.0}, "no option is named learning_rate"),
        ({"data": data, "symmetric": True, "no_in_batch": True}, "symmetric"),
        ({"data": data, "dev": toller.DevSet(QUESTIONS, qrels)}, "the dev set has no collection"),
        ({"data": data, "dev": toller.DevSet(QUESTIONS, qrels, PASSAGES, toller.Run(RUN))}, "the DevSet's run is for a cross-encoder"),
        ({"data": data, "dev": toller.DevSet(QUESTIONS, qrels, PASSAGES, depth=5)}, "the DevSet's depth is for a"),
        ({"data": data, "dev": toller.DevSet(QUESTIONS, qrels, PASSAGES, patience=0)}, "patience=0"),
        ({"data": data, "dtype": "bf16"}, "kernels train in f32"),
        ({"data": data, "device": "cuda", "backend": "native"}, "do not train models on GPUs"),
        ({"data": data, "device": "tpu"}, "no device is named"),
        ({"data": work / "none.jsonl"}, "none.jsonl"),
        ({"data": data, "no_in_batch": True, "no_duplicates": True, "batch_size": 4}, "no_duplicates has no effect"),
        ({"data": data, "no_duplicates": True, "batch_size": 8, "only": "query"}, "have the same weights"),
        ({"data": data, "warmup": 9, "steps": 3, "batch_size": 4}, "a warm-up of 9 steps in a run of 3"),
    ]:
        with pytest.raises(toller.Error, match=message):
            toller.train_dual(minilm, work / "out", **options)
    for options, message in [
        ({"steps": "1"}, "steps='1': 'str' object"),
        ({"steps": -1}, "steps=-1, which is out of range"),
        ({"lr": "1e-3"}, "lr='1e-3': "),
        ({"qrels": "qrels.tsv"}, "qrels='qrels.tsv': "),
        ({"dev": 5}, "dev=5: "),
    ]:
        with pytest.raises(toller.InvalidArgument, match=message):
            toller.train_dual(minilm, work / "out", data=data, **options)
    with pytest.raises(toller.Error, match="^8 examples do not fill a batch of 9\nhint: ") as refused:
        toller.train_dual(minilm, work / "out", data=data, batch_size=9)
    assert refused.value.hint == "choose smaller batches, or give more examples"
    with pytest.raises(toller.InvalidArgument) as refused:
        toller.train_dual(minilm, work / "out")
    assert refused.value.hint == "give data, or queries, corpus and qrels"
    with pytest.raises(toller.InvalidArgument) as refused:
        toller.train_dual(minilm, work / "out", data=data, device="cuda:all", backend="native")
    assert refused.value.hint == 'use backend="candle", or device="cpu"'
    with pytest.raises(toller.InvalidArgument, match="by reranking a run") as refused:
        model, held_out = FIXTURES / "cross-encoders/roberta", toller.DevSet(QUESTIONS, qrels, PASSAGES)
        toller.train_cross(model, work / "out", data=data, dev=held_out)
    assert refused.value.hint == "give the DevSet's run, whose hits it ranks"


def test_bad_lines_are_skipped_as_on_the_command_line(minilm: Path, cli: Cli, work: Path) -> None:
    with (work / "queries.tsv").open("a") as queries:
        queries.write("a line without a query\n")
    words = ["--queries", work / "queries.tsv", "--corpus", work / "corpus.jsonl", "--qrels", work / "qrels"]
    words += ["--batch-size", 4, "--steps", 1, "--max-length", 16, "--skip-bad-lines"]
    cli("train", "dual", "--model", minilm, *words, "--output", work / "cli")
    options = {"batch_size": 4, "steps": 1, "max_length": 16, "qrels": toller.Qrels(JUDGMENTS)}
    files = {"queries": work / "queries.tsv", "corpus": work / "corpus.jsonl"}
    with pytest.raises(toller.Error, match="queries.tsv"):
        toller.train_dual(minilm, work / "own", **files, **options)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="skipped 1 bad line"):
        toller.train_dual(minilm, work / "own", skip_bad_lines=True, **files, **options)  # type: ignore[arg-type]
    for path in (work / "cli").rglob("model.safetensors"):
        assert (work / "own" / path.relative_to(work / "cli")).read_bytes() == path.read_bytes()


def test_what_examples_have_wrong_is_a_warning(minilm: Path, work: Path) -> None:
    data = work / "some.jsonl"
    good = {"query": "where is rain from", "positive": "rain", "negative": "rain"}
    other = {"query": "where is snow from", "positive": "rain", "negative": "snow"}
    bad = {"question": "where is rain from", "positive_ctxs": []}
    data.write_text("".join(json.dumps(record) + "\n" for record in (good, bad, other)))
    options = {"data": data, "batch_size": 2, "steps": 1, "max_length": 16}
    with pytest.raises(toller.Error, match="line 2: no positive passage"):
        toller.train_dual(minilm, work / "own", **options)  # type: ignore[arg-type]
    with pytest.warns(UserWarning) as warned:
        toller.train_dual(minilm, work / "own", skip_bad_lines=True, **options)  # type: ignore[arg-type]
    said = "\n".join(str(warning.message) for warning in warned)
    for words in (
        "skipped 1 bad record, the first: ",
        "1 example with a negative that is a positive of the same query, the first: ",
        "1 example with a query or a passage of another example",
        "(no_duplicates keeps such examples apart)",
    ):
        assert words in said, said


def test_a_dev_set_warns_of_what_it_cannot_show(minilm: Path, work: Path) -> None:
    queries = dict(list(QUESTIONS.items())[:5])
    dev = toller.DevSet(queries, toller.Qrels(JUDGMENTS), PASSAGES)
    with pytest.warns(UserWarning) as warned:
        options = {"data": work / "data.jsonl", "batch_size": 4, "steps": 1, "max_length": 16, "lr": 1e-30}
        toller.train_dual(minilm, work / "own", dev=dev, **options)  # type: ignore[arg-type]
    said = "\n".join(str(warning.message) for warning in warned)
    assert "the dev set counts 3 of 8 judged queries as zero, which have no results" in said, said
    assert "saved the model of step 0, the best on the dev set" in said, said


def test_a_token_classifier_is_that_of_the_command_line(cli: Cli, work: Path) -> None:
    model, marked = FIXTURES / "tiny-bert", work / "marked.jsonl"
    segments = [[f"{topic} is from the south.", f"Now it is {topic}"] for topic in TOPICS]
    marked.write_text("".join(json.dumps({"segments": own}) + "\n" for own in segments))
    words = ["--data", marked, "--batch-size", 4, "--epochs", 2, "--lr", 3e-3, "--dev-data", marked]
    cli("train", "token", "--model", model, *words, "--eval-every", 2, "--output", work / "cli")
    options = {"data": marked, "batch_size": 4, "epochs": 2, "lr": 3e-3}
    dev = toller.MarkedDevSet(marked, every=2)
    trained = toller.train_token(model, work / "own", dev=dev, **options)  # type: ignore[arg-type]
    same_run(work / "cli", work / "own")
    assert trained.steps == 4 and set(trained.best_measures) == {"precision", "recall", "F1"}
    with pytest.raises(toller.InvalidArgument, match="nothing to learn from") as refused:
        toller.train_token(model, work / "new")
    assert refused.value.hint == "give data"
    with pytest.raises(toller.InvalidArgument, match="every=0"):
        toller.train_token(model, work / "new", data=marked, dev=toller.MarkedDevSet(marked, every=0))
    with pytest.raises(toller.InvalidArgument, match="no option is named queries"):
        toller.train_token(model, work / "new", data=marked, queries=QUESTIONS)  # type: ignore[call-arg]
