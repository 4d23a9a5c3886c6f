"""Encoders: the bits of the command line, the words of sentence-transformers."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import toller
from conftest import FIXTURES, Cli
from toller._arguments import check_device


def texts_of(path: Path) -> list[str]:
    rows = map(json.loads, path.read_text().splitlines())
    return [f"{row['title']} {row['text']}" if row.get("title") else row["text"] for row in rows]


def test_vectors_have_the_bits_of_the_command_line(
    cli: Cli, encoder: toller.Encoder, minilm: Path, passages: Path, queries: Path, tmp_path: Path
) -> None:
    cli("encode", "--model", minilm, "--corpus", passages, "--output", tmp_path / "passages")
    cli("encode", "--model", minilm, "--queries", queries, "--output", tmp_path / "queries")
    of_cli = toller.Store(tmp_path / "passages")
    vectors = encoder.encode_document(texts_of(passages))
    assert vectors.dtype == np.float32 and vectors.shape == (len(of_cli), 384)
    assert vectors.tobytes() == of_cli[:].tobytes()
    texts = [text for _, text in toller.read_queries(queries)]
    assert encoder.encode_query(texts).tobytes() == toller.Store(tmp_path / "queries")[:].tobytes()


def test_titles_are_given_in_the_models_own_way(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(FIXTURES / "tiny-bert", model)
    model.chmod(0o755)
    (model / "config_sentence_transformers.json").write_text(json.dumps({"title_mode": "sep"}))
    rows = [{"id": "a", "title": "dogs", "text": "They swim."}, {"id": "b", "title": None, "text": "ducks"}]
    titles, texts = [row["title"] for row in rows], [row["text"] for row in rows]
    encoder = toller.Encoder(model)
    vectors = encoder.encode_document(texts, titles=titles)
    assert vectors.tobytes() == toller.encode(encoder, tmp_path / "own", corpus=rows)[:].tobytes()
    assert encoder.encode_document(texts[0], titles=titles[0]).tobytes() == vectors[0].tobytes()
    joined = encoder.encode_document(texts, titles=titles, title_mode="join", title_separator=": ")
    assert joined.tobytes() == encoder.encode_document(["dogs: They swim.", "ducks"]).tobytes()
    assert joined[0].tobytes() != vectors[0].tobytes()
    for options, said in [
        ({"titles": ["dogs"]}, "1 titles of 2 texts"),
        ({"titles": titles, "title_separator": " "}, "have no separator"),
        ({"titles": titles, "title_mode": "bold"}, "`bold` is not a title mode"),
        ({"titles": [1, 2]}, "titles, row 1: a value of type int"),
        ({"title_mode": "sep"}, "without titles"),
    ]:
        with pytest.raises(toller.InvalidArgument, match=said):
            encoder.encode_document(texts, **options)


def test_stores_have_the_bytes_of_the_command_line(
    cli: Cli, store: toller.Store, minilm: Path, passages: Path, tmp_path: Path
) -> None:
    cli("encode", "--model", minilm, "--corpus", passages, "--output", tmp_path / "s", "--rows-per-shard", 64)
    shards = sorted(path.name for path in (tmp_path / "s").glob("shard-*"))
    assert len(shards) == 3
    for name in shards:
        assert (tmp_path / "s" / name).read_bytes() == Path(store.paths[0], name).read_bytes()


def test_the_shape_follows_the_input(encoder: toller.Encoder) -> None:
    one, two = encoder.encode("ducks"), encoder.encode(["ducks", "dogs"])
    assert one.shape == (384,) and two.shape == (2, 384)
    assert one.tobytes() == two[0].tobytes()
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.encode(("a", "b")).shape == (2, 384)
    assert encoder.get_embedding_dimension() == encoder.get_sentence_embedding_dimension() == encoder.dim == 384


def test_prompts(encoder: toller.Encoder) -> None:
    assert set(encoder.prompts) == {"query", "document"}
    prompted = encoder.encode("ducks", prompt="query: ")
    assert prompted.tobytes() == encoder.encode("query: ducks").tobytes()
    assert prompted.tobytes() == encoder.encode_query("ducks", prompt="query: ").tobytes()
    assert encoder.encode("ducks", prompt_name="query").tobytes() == encoder.encode_query("ducks").tobytes()
    for encode in (encoder.encode, encoder.encode_query, encoder.encode_document):
        with pytest.raises(toller.InvalidArgument, match="no prompt named 'nobody'"):
            encode("ducks", prompt_name="nobody")
        with pytest.raises(toller.InvalidArgument, match="prompt and prompt_name are both given"):
            encode("ducks", prompt_name="query", prompt="query: ")


def test_fewer_dimensions_and_unit_vectors(encoder: toller.Encoder) -> None:
    whole = encoder.encode(["ducks", "dogs"])
    assert encoder.encode(["ducks", "dogs"], truncate_dim=100).tobytes() == whole[:, :100].tobytes()
    unit = encoder.encode(["ducks", "dogs"], truncate_dim=100, normalize_embeddings=True)
    assert unit.shape == (2, 100)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
    with pytest.raises(toller.InvalidArgument, match="truncate_dim is 1 to 384"):
        encoder.encode("ducks", truncate_dim=385)


def test_a_cut_encoder_encodes_as_the_whole_one_cuts(
    encoder: toller.Encoder, minilm: Path, tmp_path: Path
) -> None:
    texts, ids = ["ducks", "dogs and ducks"], ["1", "2"]
    cut = toller.Encoder(minilm, truncate_dim=64)
    for encode, of_whole in ((cut.encode, encoder.encode), (cut.encode_query, encoder.encode_query)):
        assert encode(texts).tobytes() == of_whole(texts, truncate_dim=64).tobytes()
        assert encode(texts, truncate_dim=8).tobytes() == of_whole(texts, truncate_dim=8).tobytes()
        unit = encode(texts, normalize_embeddings=True)
        assert unit.tobytes() == of_whole(texts, truncate_dim=64, normalize_embeddings=True).tobytes()
    assert cut.encode([]).shape == (0, 64) and cut.encode("ducks").shape == (64,)
    # Stores and searches have vectors of length one.
    stored = toller.encode(cut, tmp_path / "stored", corpus=list(zip(ids, texts)))
    unit = cut.encode_document(texts, normalize_embeddings=True)
    assert stored[:].tobytes() == unit.tobytes()
    with pytest.raises(toller.InvalidArgument, match="length one") as refused:
        toller.Store.create(tmp_path / "cut", ids, cut.encode_document(texts), model=cut)
    assert "normalize_embeddings=True" in (refused.value.hint or "")
    created = toller.Store.create(tmp_path / "cut", ids, unit, model=cut)
    assert toller.Searcher.dense(created, cut).search("ducks", k=1)[0].score == pytest.approx(1)


def of_sentence_transformers(folder: Path, **settings: object) -> toller.Encoder:
    """The tiny model with settings of sentence-transformers."""
    shutil.copytree(FIXTURES / "tiny-bert", folder)
    path = folder / "config_sentence_transformers.json"
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**known, **settings}))
    return toller.Encoder(folder)


def test_all_prompts_of_a_model_have_names(tmp_path: Path) -> None:
    prompts = {"query": "q: ", "passage": "p: ", "cls": "classify: "}
    encoder = of_sentence_transformers(tmp_path / "model", prompts=prompts, default_prompt_name="cls")
    assert encoder.prompts == {"query": "q: ", "document": "p: ", "passage": "p: ", "cls": "classify: "}
    for name, prompt in encoder.prompts.items():
        assert encoder.encode("ducks", prompt_name=name).tobytes() == encoder.encode("ducks", prompt=prompt).tobytes()
    by_default = encoder.encode("ducks")
    assert by_default.tobytes() == encoder.encode("ducks", prompt_name="cls").tobytes()
    assert by_default.tobytes() != encoder.encode("ducks", prompt="").tobytes()
    with pytest.raises(toller.InvalidArgument, match="no prompt named") as refused:
        encoder.encode("ducks", prompt_name="nobody")
    assert refused.value.hint == "there are query, document, cls, passage"
    given = toller.Encoder(tmp_path / "model", prompt="x: ")
    assert set(given.prompts.values()) == {"x: "}
    assert given.encode("ducks").tobytes() == given.encode("ducks", prompt="x: ").tobytes()


def test_the_similarity_is_that_of_the_model(tmp_path: Path) -> None:
    vectors = np.array([[3, 4], [1, 0]], dtype=np.float32)
    dot = of_sentence_transformers(tmp_path / "dot", similarity_fn_name="dot")
    assert dot.similarity_fn_name == "dot"
    assert dot.similarity(vectors, vectors[0]).tolist() == [[25], [3]]
    assert dot.similarity_pairwise(vectors, vectors).tolist() == [25, 1]
    cosine = of_sentence_transformers(tmp_path / "cosine", similarity_fn_name=None)
    assert cosine.similarity_fn_name == "cosine"
    np.testing.assert_allclose(cosine.similarity_pairwise(vectors, vectors), 1)
    far = of_sentence_transformers(tmp_path / "far", similarity_fn_name="euclidean")
    with pytest.raises(toller.InvalidArgument, match="euclidean"):
        far.similarity(vectors, vectors)


def test_texts_come_from_any_iterable_but_tables_and_dicts(encoder: toller.Encoder) -> None:
    whole = encoder.encode(["ducks", "dogs"])
    for texts in (iter(["ducks", "dogs"]), {"ducks": 1, "dogs": 2}.keys(), np.array(["ducks", "dogs"])):
        assert encoder.encode(texts).tobytes() == whole.tobytes()
    for bad in ({"1": "ducks"}, {"ducks"}):
        with pytest.raises(toller.InvalidArgument, match="in place of texts"):
            encoder.encode_document(bad)
    frame = pytest.importorskip("pandas").DataFrame({"text": ["ducks", "dogs"]})
    with pytest.raises(toller.InvalidArgument, match="a table in place of texts"):
        encoder.encode(frame)
    assert encoder.encode(frame["text"]).tobytes() == whole.tobytes()


def test_a_missing_text_has_its_row(reranker: toller.CrossEncoder) -> None:
    encoder = toller.Encoder(FIXTURES / "tiny-bert")
    for bad, found in ((None, "null"), (float("nan"), "null"), (3, "a value of type int")):
        for encode in (encoder.encode, encoder.encode_query, encoder.encode_document):
            with pytest.raises(toller.InvalidArgument, match=f"texts, row 2: {found} in place of a text"):
                encode(["ducks", bad])  # type: ignore[list-item]
        with pytest.raises(toller.InvalidArgument, match=f"pairs, row 2: {found}"):
            reranker.predict([("dogs", "ducks"), ("dogs", bad)])
        if found == "null":
            with pytest.raises(toller.InvalidArgument, match="pairs, row 1: null"):
                reranker.predict(("dogs", bad))
        with pytest.raises(toller.InvalidArgument, match=f"documents, row 2: {found}"):
            reranker.rank("dogs", ["ducks", bad])  # type: ignore[list-item]
    pyarrow = pytest.importorskip("pyarrow")
    for column in (pyarrow.array(["ducks", "dogs"]), pyarrow.chunked_array([["ducks"], ["dogs"]])):
        assert encoder.encode(column).tobytes() == encoder.encode(["ducks", "dogs"]).tobytes()
    with pytest.raises(toller.InvalidArgument, match="texts, row 2: null"):
        encoder.encode(pyarrow.array(["ducks", None]))


def test_positions_are_those_of_sentence_transformers(reranker: toller.CrossEncoder) -> None:
    encoder = toller.Encoder(FIXTURES / "tiny-bert")
    form = ("sentence_embedding", "float32", True, False)
    for encode in (encoder.encode, encoder.encode_query, encoder.encode_document):
        vectors = encode(["ducks"], None, "about ", 32, None, *form, "cpu", True, 8, None, None)
        expected = encode(["about ducks"], prompt="", normalize_embeddings=True, truncate_dim=8)
        assert vectors.tobytes() == expected.tobytes()
        with pytest.raises(toller.InvalidArgument, match="output_value='token_embeddings'"):
            encode(["ducks"], None, None, 32, None, "token_embeddings")
    pairs = [("dogs", "ducks swim")]
    scores = reranker.predict(pairs, None, None, 32, None, None, False, True, False, "cpu", None, None)
    assert scores.tobytes() == reranker.predict(pairs).tobytes()
    ranked = reranker.rank("dogs", ["ducks swim"], None, True, None, None, 32, None, None, "cpu", None, None)
    assert ranked == reranker.rank("dogs", ["ducks swim"], return_documents=True)
    for refused in (
        lambda: reranker.predict(pairs, "query"),  # type: ignore[arg-type]
        lambda: reranker.rank("dogs", ["ducks swim"], None, True, "query"),  # type: ignore[arg-type]
    ):
        with pytest.raises(toller.InvalidArgument, match="prompt_name='query' is not supported"):
            refused()


def test_progress_is_any_truth_value(encoder: toller.Encoder, capsys: pytest.CaptureFixture[str]) -> None:
    encoder.encode(["ducks"], show_progress_bar=0)  # type: ignore[arg-type]
    assert "encoding" not in capsys.readouterr().err
    encoder.encode(["ducks"], show_progress_bar=1)  # type: ignore[arg-type]
    assert "encoding" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("precision", "int8"),
        ("output_value", "token_embeddings"),
        ("convert_to_numpy", False),
        ("device", "cuda"),
        ("device", ["cpu", "cpu"]),
        ("pool", {}),
        ("chunk_size", 10),
        ("no_such_argument", 1),
    ],
)
def test_what_is_not_supported_is_an_error_that_names_it(encoder: toller.Encoder, name: str, value: object) -> None:
    for encode in (encoder.encode, encoder.encode_query, encoder.encode_document):
        with pytest.raises(toller.InvalidArgument, match=name):
            encode("ducks", **{name: value})


def test_arguments_without_effect_are_accepted(encoder: toller.Encoder) -> None:
    plain = encoder.encode(["ducks"])
    same = encoder.encode(
        ["ducks"], batch_size=1, device="cpu", precision="float32", output_value="sentence_embedding", pool=None
    )
    assert same.tobytes() == plain.tobytes()


def test_the_device_is_that_of_the_loaded_model() -> None:
    for device in ("auto", "cpu", None):
        for model in (
            toller.Encoder(FIXTURES / "tiny-bert", device=device).encode,
            toller.CrossEncoder(FIXTURES / "cross-encoders/roberta", device=device).predict,
        ):
            for same in (None, device, "cpu"):
                model(("a", "b"), device=same)
            with pytest.raises(toller.InvalidArgument, match="device='cuda:1'"):
                model(("a", "b"), device="cuda:1")
    check_device("cuda", loaded="cuda", on_cpu=False)
    for loaded in ("auto", "cuda"):
        with pytest.raises(toller.InvalidArgument, match="device='cpu'"):
            check_device("cpu", loaded=loaded, on_cpu=False)


def test_similarity(encoder: toller.Encoder) -> None:
    vectors = encoder.encode(["a dog retrieves a duck", "a duck is retrieved by a dog", "stock prices fell"])
    similarity = encoder.similarity(vectors, vectors)
    np.testing.assert_allclose(np.diag(similarity), 1, rtol=1e-6)
    assert similarity[0, 1] > 0.8 > 0.2 > similarity[0, 2]
    pairwise = encoder.similarity_pairwise(vectors, vectors[::-1])
    np.testing.assert_allclose(pairwise, [similarity[0, 2], 1, similarity[2, 0]], atol=1e-6)


def test_progress_is_reported(encoder: toller.Encoder, passages: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []
    texts = texts_of(passages)
    encoder.encode(texts, show_progress_bar=lambda *report: heard.append(report))
    assert heard and heard[-1] == ("encoding", len(texts), len(texts))
    done = [report[1] for report in heard]
    assert done == sorted(done)


def test_errors_say_what_to_do_in_pythons_words(tmp_path: Path) -> None:
    with pytest.raises(toller.NotFound) as missing:
        toller.Encoder(tmp_path / "nowhere")
    assert isinstance(missing.value, FileNotFoundError) and "nowhere" in str(missing.value)
    with pytest.raises(ValueError, match="no pooling is named .sum.; there are cls"):
        toller.Encoder(FIXTURES / "tiny-bert", pooling="sum")
    with pytest.raises(toller.InvalidArgument, match="f33"):
        toller.Encoder(FIXTURES / "tiny-bert", dtype="f33")
    with pytest.raises(toller.Error) as classifier:
        toller.Encoder(FIXTURES / "cross-encoders/bert")
    assert classifier.value.hint and "pooling" in classifier.value.hint and "--" not in str(classifier.value)


def test_an_assumed_pooling_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="does not define its pooling") as warnings:
        toller.Encoder(FIXTURES / "models/bert-pooler")
    assert warnings[0].filename == __file__


def test_vectors_are_scaled_if_asked_for(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(FIXTURES / "tiny-bert", model)
    modules = json.loads((model / "modules.json").read_text())
    (model / "modules.json").write_text(json.dumps(modules[:2]))
    scaled, plain = toller.Encoder(model, normalize_embeddings=True), toller.Encoder(model)
    assert scaled.fingerprint == toller.Encoder(FIXTURES / "tiny-bert").fingerprint != plain.fingerprint
    assert scaled.encode("ducks").tobytes() == plain.encode("ducks", normalize_embeddings=True).tobytes()


def test_encoders_are_pickled_as_their_names(encoder: toller.Encoder) -> None:
    again = pickle.loads(pickle.dumps(encoder))
    assert again.fingerprint == encoder.fingerprint
    assert again.encode("ducks").tobytes() == encoder.encode("ducks").tobytes()


def test_tensors(encoder: toller.Encoder, reranker: toller.CrossEncoder) -> None:
    torch = pytest.importorskip("torch")
    tensor = encoder.encode(["ducks"], convert_to_numpy=False, convert_to_tensor=True)
    assert isinstance(tensor, torch.Tensor) and tuple(tensor.shape) == (1, 384)
    pair = ("dogs and ducks", "ducks swim")
    for inputs, shape in ((pair, ()), ([pair], (1,))):
        scores = reranker.predict(inputs, convert_to_tensor=True)
        assert isinstance(scores, torch.Tensor) and tuple(scores.shape) == shape
        assert scores.numpy().tobytes() == reranker.predict(inputs).tobytes()


def test_a_prompt_is_put_before_queries(reranker: toller.CrossEncoder) -> None:
    prompted = toller.CrossEncoder(FIXTURES / "cross-encoders/roberta", prompt="about ", activation=None)
    assert prompted.predict(("ducks", "a dog")) == reranker.predict(("about ducks", "a dog"))
    assert prompted.fingerprint != reranker.fingerprint


def test_cross_encoders(cli: Cli, reranker: toller.CrossEncoder) -> None:
    documents = ["ducks swim", "", "a dog fetches ducks", "stocks fell"]
    scores = reranker.predict([("dogs and ducks", document) for document in documents])
    assert scores.dtype == np.float32 and scores.shape == (4,)
    assert reranker.predict(("dogs and ducks", "ducks swim")) == scores[0]
    ranked = reranker.rank("dogs and ducks", documents, top_k=3, return_documents=True)
    order = sorted(range(4), key=lambda place: -scores[place])[:3]
    assert [document["corpus_id"] for document in ranked] == order
    assert [document["text"] for document in ranked] == [documents[place] for place in order]
    assert all(type(document["score"]) is float for document in ranked)
    assert reranker.rank("dogs", []) == []
    for texts in (["ab", "cd", "ef"], ["ab"], "ab", [("ab", "cd"), "ef"]):
        with pytest.raises(toller.InvalidArgument, match="texts in place of pairs"):
            reranker.predict(texts)  # type: ignore[arg-type]
    with pytest.raises(toller.InvalidArgument, match="apply_softmax"):
        reranker.predict([("a", "b")], apply_softmax=True)
    assert reranker.predict([("a", "b")], apply_softmax=False) == reranker.predict([("a", "b")])
    assert pickle.loads(pickle.dumps(reranker)).fingerprint == reranker.fingerprint
    assert repr(reranker).startswith("CrossEncoder('")


def test_pairs_come_from_any_iterable_but_tables_and_dicts(reranker: toller.CrossEncoder) -> None:
    queries, documents = ["dogs", "ducks", "cells"], ["ducks swim", "dogs fetch", "stocks fell"]
    pairs = list(zip(queries, documents))
    scores = reranker.predict(pairs)
    for inputs in (zip(queries, documents), iter(pairs), dict(pairs).items(), [list(pair) for pair in pairs]):
        assert reranker.predict(inputs).tobytes() == scores.tobytes()
    assert reranker.predict(text for text in pairs[0]) == scores[0]
    for bad in ({"query": "dogs", "text": "ducks swim"}, {"dogs", "ducks swim"}):
        with pytest.raises(toller.InvalidArgument, match="in place of pairs"):
            reranker.predict(bad)
    for bad_row, found in (
        ({"query": "dogs", "text": "ducks swim"}, "dict"),
        ({"dogs", "ducks swim"}, "set"),
        (("dogs", "ducks", "swim"), "tuple of 3"),
        (3, "int"),
    ):
        with pytest.raises(toller.InvalidArgument, match=f"pairs, row 2: a row of type {found}"):
            reranker.predict([pairs[0], bad_row])
    assert reranker.predict(np.array(pairs)).tobytes() == scores.tobytes()
    ranked = reranker.rank("dogs", iter(documents), return_documents=True)
    assert [found["text"] for found in ranked] == [documents[found["corpus_id"]] for found in ranked]
    with pytest.raises(toller.InvalidArgument, match="a dict in place of documents"):
        reranker.rank("dogs", dict(pairs))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"query": queries, "text": documents}, index=[2, 0, 1])
    with pytest.raises(toller.InvalidArgument, match="a table in place of pairs"):
        reranker.predict(frame)
    assert reranker.predict(frame.itertuples(index=False)).tobytes() == scores.tobytes()
    assert reranker.rank("dogs", frame["text"], return_documents=True) == ranked
