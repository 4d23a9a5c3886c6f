"""Runs, qrels, measures, tests of significance and fusion: what the command line writes."""

from __future__ import annotations

import json
import math
import pickle
import random
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import toller
from conftest import Cli

Scores = dict[str, dict[str, float]]


def some_run(seed: int, queries: int = 12, depth: int = 40) -> Scores:
    """Scores with ties, and queries without hits."""
    pick = random.Random(seed)
    documents = [f"d{number}" for number in range(60)]
    return {
        f"q{query}": {
            document: round(pick.uniform(-3, 30), pick.choice([1, 6]))
            for document in pick.sample(documents, pick.randrange(1, depth))
        }
        for query in range(queries)
        if pick.random() < 0.9
    }


def some_qrels(seed: int) -> dict[str, dict[str, int]]:
    pick = random.Random(seed)
    return {f"q{query}": {f"d{pick.randrange(60)}": pick.randrange(-1, 4) for _ in range(9)} for query in range(14)}


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    lines = [f"{query} 0 {document} {grade}\n" for query, of in qrels.items() for document, grade in of.items()]
    path.write_text("".join(lines))


def test_mappings() -> None:
    scores = {"q1": {"a": 2.0, "b": 1.5}, "q2": {"c": 0.1}}
    run = toller.Run(scores)
    assert run.to_dict() == scores == {query: run[query] for query in run}
    assert (len(run), "q1" in run, "q9" in run, 3 in run, run.keys()) == (2, True, False, False, ["q1", "q2"])
    assert run == toller.Run(scores) and run != toller.Run({"q1": {"a": 2.0}})
    assert isinstance(run, Mapping) and pickle.loads(pickle.dumps(run)) == run
    assert pickle.loads(pickle.dumps(toller.Run(scores, tag="mine"))).tag == "mine"
    with pytest.raises(KeyError):
        run["q9"]
    assert run.items() == list(scores.items()) and run.values() == list(scores.values())
    assert (run.get("q2"), run.get("q9"), run.get("q9", {})) == (scores["q2"], None, {})
    grades = {"q1": {"a": 1, "b": 0}}
    qrels = toller.Qrels(grades)
    assert qrels.items() == list(grades.items()) and qrels.values() == list(grades.values())
    assert (qrels.get("q1"), qrels.get("q9"), qrels.get("q9", {})) == (grades["q1"], None, {})
    assert qrels.to_dict() == grades and qrels["q1"] == grades["q1"] and isinstance(qrels, Mapping)
    assert pickle.loads(pickle.dumps(qrels)) == qrels


def test_integers_find_what_integers_made() -> None:
    run = toller.Run({1: {2: 1.0}})  # type: ignore[dict-item]
    qrels = toller.Qrels({1: {2: 1}})  # type: ignore[dict-item]
    for query in (1, "1", np.int64(1)):
        assert query in run and run[query] == run.get(query) == {"2": 1.0}
        assert query in qrels and qrels[query] == qrels.get(query) == {"2": 1}
    for mapping in (run, qrels):
        with pytest.raises(KeyError, match="2"):
            mapping[2]
        with pytest.raises(TypeError):
            mapping[1.0]  # type: ignore[index]
        for other in (2, True, 1.0, None):
            assert other not in mapping and mapping.get(other) is None  # type: ignore[call-overload]


def test_mappings_are_taken(sparse: toller.SparseIndex) -> None:
    run, qrels = toller.Run(some_run(1)), toller.Qrels(some_qrels(1))
    assert toller.Run(run) == run and toller.Qrels(qrels) == qrels
    assert toller.Qrels({1: {2: 1.0}}) == toller.Qrels({"1": {"2": 1}})  # type: ignore[dict-item]
    with pytest.raises(toller.InvalidArgument, match="0.5 is not a whole number"):
        toller.Qrels({"q": {"d": 0.5}})  # type: ignore[dict-item]
    assert toller.Run(MappingProxyType({"q": MappingProxyType({"d": 1.0})})) == toller.Run({"q": {"d": 1.0}})
    queries = {"q": "cells of the immune system"}
    assert sparse.batch_search(MappingProxyType(queries)) == sparse.batch_search(queries)
    scores, grades = run.to_dict(), qrels.to_dict()
    assert toller.evaluate(grades, scores, "AP") == toller.evaluate(qrels, run, "AP")
    assert toller.fuse([scores, run]) == toller.fuse([run, run])
    assert toller.compare(grades, [scores, run], "AP") == toller.compare(qrels, [run, run], "AP")
    for given in ([("q", {"d": 1.0})], "run.txt", None):
        with pytest.raises(TypeError, match="a Run or a dict"):
            toller.evaluate(qrels, given, "AP")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        toller.Run([("q", {"d": 1.0})])  # type: ignore[arg-type]


def test_a_query_is_no_hit_of_itself() -> None:
    qrels, run = toller.Qrels({"q": {"d": 1}}), toller.Run({"q": {"q": 2.0, "d": 1.0}})
    assert toller.evaluate(qrels, run, "RR")["RR"] == 0.5
    assert toller.evaluate(qrels, run, "RR", remove_query=True)["RR"] == 1.0
    assert list(run["q"]) == ["q", "d"]


def test_runs_are_in_the_order_of_their_scores(tmp_path: Path) -> None:
    run = toller.Run({"q": {"bad": 1.0, "good": 9.0, "tied": 1.0}})
    assert list(run["q"]) == ["good", "bad", "tied"]
    assert run == toller.Run({"q": {"good": 9.0, "bad": 1.0, "tied": 1.0}}) == pickle.loads(pickle.dumps(run))
    run.write(tmp_path / "run")
    ranks = [line.split()[2:4] for line in (tmp_path / "run").read_text().splitlines()]
    assert ranks == [["good", "1"], ["bad", "2"], ["tied", "3"]]
    (tmp_path / "unordered").write_text("q Q0 bad 1 1.0 t\nq Q0 good 2 9.0 t\n")
    read = toller.Run.read(tmp_path / "unordered")
    assert list(read["q"]) == ["good", "bad"] and pickle.loads(pickle.dumps(read)) == read


def test_a_run_of_other_documents_is_a_warning() -> None:
    qrels = toller.Qrels({"q": {"d1": 1}})
    run, other = toller.Run({"q": {"d1": 1.0}}), toller.Run({"q": {"x1": 1.0, "x2": 0.5}})
    message = 'none of the 2 documents retrieved for judged queries is judged, for example "x1"'
    with pytest.warns(UserWarning, match=message) as warnings:
        toller.evaluate(qrels, other, "AP")
    assert warnings[0].filename == __file__
    with pytest.warns(UserWarning, match="run 1: none of the 2 documents"):
        toller.compare(toller.Qrels({"q": {"d1": 1}, "p": {"d1": 1}}), [run, other], "AP", tests=["t-test"])


def test_measures_are_one_string_or_a_list() -> None:
    run, qrels = toller.Run(some_run(1)), toller.Qrels(some_qrels(1))
    assert toller.evaluate(qrels, run, ["AP", "P@5"]) == toller.evaluate(qrels, run, "AP P@5")
    with pytest.raises(TypeError, match="a string of measures or a list of them is expected"):
        toller.evaluate(qrels, run, 10)  # type: ignore[arg-type]


def test_measures_and_tests_come_from_any_iterable() -> None:
    runs, qrels = [toller.Run(some_run(seed)) for seed in (1, 2)], toller.Qrels(some_qrels(1))
    expected = toller.evaluate(qrels, runs[0], "map ndcg_cut_10")
    for measures in ({"ndcg_cut_10", "map"}, frozenset(["ndcg_cut_10", "map"]), iter(["map", "ndcg_cut_10"])):
        assert toller.evaluate(qrels, runs[0], measures) == expected
    compared = toller.compare(qrels, runs, "AP", tests=["t-test", "wilcoxon"])
    for tests in ("t-test wilcoxon", "t-test,wilcoxon", {"wilcoxon", "t-test"}):
        assert toller.compare(qrels, runs, "AP", tests=tests) == compared
    ir_measures = pytest.importorskip("ir_measures")
    of_objects = toller.evaluate(qrels, runs[0], [ir_measures.nDCG @ 10, ir_measures.AP(rel=2)])
    assert of_objects == toller.evaluate(qrels, runs[0], "nDCG@10 AP(rel=2)")


def test_an_evaluation_is_a_mapping() -> None:
    run, qrels = toller.Run(some_run(1)), toller.Qrels(some_qrels(1))
    found = toller.evaluate(qrels, run, "nDCG@10 AP")
    assert isinstance(found, Mapping) and dict(found) == found.aggregates
    assert (list(found), len(found), found.keys()) == (["nDCG@10", "AP"], 2, ["nDCG@10", "AP"])
    assert found.values() == list(found.aggregates.values()) and found.items() == list(found.aggregates.items())
    assert "AP" in found and "ndcg_cut_10" in found and "RR" not in found
    assert "no measure" not in found and 3 not in found
    assert found.get("map") == found["AP"]
    assert (found.get("RR"), found.get("RR", 0.5), found.get("no measure")) == (None, 0.5, None)


def test_evaluations_and_comparisons_are_pickled() -> None:
    runs, qrels = [toller.Run(some_run(seed)) for seed in (1, 2)], toller.Qrels(some_qrels(1))
    found = toller.evaluate(qrels, runs[0], "nDCG@10 RBP(p=0.8) AP(rel=2) num_rel_ret")
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again != toller.evaluate(qrels, runs[1], "AP")
    assert (again.aggregates, again.per_query) == (found.aggregates, found.per_query)
    assert found.per_query is found.per_query
    compared = toller.compare(qrels, runs, "AP", tests=["t-test"])
    assert pickle.loads(pickle.dumps(compared)) == compared == toller.compare(qrels, runs, "AP", tests=["t-test"])


def test_runs_are_written_as_others_have_them(tmp_path: Path) -> None:
    run = toller.Run({"q": {"a": 1.5, "b": 2.0}})
    for name, lines in [("msmarco", "q\tb\t1\nq\ta\t2\n"), ("tevatron", "q\tb\t2.0\nq\ta\t1.5\n")]:
        run.write(tmp_path / name, format=name)
        assert (tmp_path / name).read_text() == lines
        assert [*toller.Run.read(tmp_path / name, format=name)["q"]] == ["b", "a"]
    with pytest.raises(toller.InvalidArgument, match="format in which runs are written"):
        run.write(tmp_path / "no", format="dpr")



@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz", "run.zst"])
def test_runs_survive_their_files(tmp_path: Path, name: str) -> None:
    run = toller.Run(some_run(1))
    run.write(tmp_path / name, tag="mine")
    again = toller.Run.read(tmp_path / name)
    assert again == run and again.tag == "mine"


def test_passages_become_documents() -> None:
    run = toller.Run({"q": {"a#1": 3.0, "b#1": 2.5, "a#2": 2.0, "c": 1.0}, "none": {}}, tag="mine")
    documents = run.max_passage()
    assert documents.to_dict() == {"q": {"a": 3.0, "b": 2.5, "c": 1.0}, "none": {}}
    assert list(documents["q"]) == ["a", "b", "c"] and documents.tag == "mine"
    assert run.max_passage(hits=2).to_dict() == {"q": {"a": 3.0, "b": 2.5}, "none": {}}
    assert run.max_passage(delimiter="::") == run
    with pytest.raises(toller.InvalidArgument, match="delimiter is empty"):
        run.max_passage(delimiter="")


def test_bad_lines_have_their_place(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 d1 1 3.5 t\nq1 Q0 d2 2 much t\n")
    with pytest.raises(toller.Error) as error:
        toller.Run.read(path)
    assert (error.value.file, error.value.line) == (str(path), 2)
    assert error.value.hint and "skip_bad_lines" in error.value.hint and "--" not in error.value.hint
    with pytest.warns(UserWarning, match="skipped 1 bad line") as warnings:
        assert len(toller.Run.read(path, skip_bad_lines=True)["q1"]) == 1
    assert warnings[0].filename == __file__
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "d1", "text": "ducks"}\nducks\n')
    with pytest.warns(UserWarning, match="skipped 1 bad line") as warnings:
        toller.index(corpus, tmp_path / "index", language="en", skip_bad_lines=True)
    assert warnings[0].filename == __file__


def test_measures_are_those_of_the_command_line(cli: Cli, tmp_path: Path) -> None:
    measures = "nDCG@10 RR@10 R@20 AP P@5 Bpref RBP(p=0.8) num_rel_ret"
    for seed in range(8):
        run, qrels = toller.Run(some_run(seed)), some_qrels(seed)
        run.write(tmp_path / "run")
        write_qrels(tmp_path / "qrels", qrels)
        found = toller.evaluate(toller.Qrels(qrels), run, measures)
        asked = ["--qrels", tmp_path / "qrels", tmp_path / "run", "--measures", measures, "--per-query"]
        report = json.loads(cli("eval", *asked, "--format", "json"))
        of_cli = report["runs"][0]
        assert found.aggregates == of_cli["aggregates"]
        assert {query: dict(values) for query, values in found.per_query.items()} == of_cli["per_query"]
        assert found["ndcg_cut_10"] == found["nDCG@10"] == found.aggregates["nDCG@10"]


def test_evaluation_without_judged_queries_is_an_error() -> None:
    with pytest.raises(toller.Error):
        toller.evaluate(toller.Qrels({"x": {"d": 1}}), toller.Run({"y": {"d": 1.0}}), "AP")
    run, qrels = toller.Run({"y": {"d": 1.0}}), toller.Qrels({"y": {"d": 1}})
    with pytest.raises(toller.InvalidArgument, match="nDGC"):
        toller.evaluate(qrels, run, "nDGC@10")
    for absent in ("RR", "AP RR"):
        with pytest.raises(KeyError):
            toller.evaluate(qrels, run, "AP P@5")[absent]


def test_fusion_is_that_of_the_command_line(cli: Cli, tmp_path: Path) -> None:
    for seed, options, arguments in [
        (1, {}, []),
        (2, {"rrf_k": 10.0, "depth": 15}, ["--rrf-k", 10, "--depth", 15]),
        (3, {"weights": [0.2, 1.0, 0.5]}, ["--weights", "0.2,1,0.5"]),
        (4, {"method": "combmnz", "k": 7}, ["--k", 7]),
        (
            5,
            {"method": "interpolate", "normalize": "z-score", "missing": "minimum"},
            ["--normalize", "z-score", "--missing", "minimum"],
        ),
    ]:
        runs = [toller.Run(some_run(seed * 10 + number)) for number in range(3)]
        for number, run in enumerate(runs):
            run.write(tmp_path / f"{number}.run")
        files = [tmp_path / f"{number}.run" for number in range(3)]
        method = options.get("method", "rrf")
        cli("fuse", *files, "--method", method, *arguments, "--output", tmp_path / "fused")
        fused = toller.fuse(runs, **options)  # type: ignore[arg-type]
        fused.write(tmp_path / "of-python")
        assert (tmp_path / "of-python").read_bytes() == (tmp_path / "fused").read_bytes(), options
        assert fused == toller.Run.read(tmp_path / "fused")


def test_comparisons() -> None:
    qrels = toller.Qrels(some_qrels(1))
    runs = [toller.Run(some_run(seed)) for seed in (1, 2, 3)]
    compared = toller.compare(qrels, runs, "AP nDCG@10", permutations=2000)
    assert [(pair.measure, pair.baseline, pair.run) for pair in compared] == [
        ("AP", 0, 1),
        ("AP", 0, 2),
        ("nDCG@10", 0, 1),
        ("nDCG@10", 0, 2),
    ]
    for pair in compared:
        assert set(pair.p_values) == {"t-test", "randomization"}
        assert all(pair.p_values[test] <= adjusted <= 1 for test, adjusted in pair.adjusted_p_values.items())
        assert math.isclose(pair.means[1] - pair.means[0], pair.difference, abs_tol=1e-12)
        assert sum(pair.wins_ties_losses) == pair.queries == 14
        assert pair.interval[0] <= pair.difference <= pair.interval[1]
    assert len(toller.compare(qrels, runs, "AP", baseline=None, tests=["wilcoxon"])) == 3
    with pytest.raises(toller.InvalidArgument, match="baseline=3"):
        toller.compare(qrels, runs, "AP", baseline=3)
    with pytest.raises(toller.InvalidArgument, match="`z` is not a significance test: expected t-test, randomization"):
        toller.compare(qrels, runs, "AP", tests=["z"])
    with pytest.raises(toller.InvalidArgument, match="`sidak` is not a correction: expected holm, bonferroni, bh or none"):
        toller.compare(qrels, runs, "AP", correction="sidak")
