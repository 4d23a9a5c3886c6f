"""Toller inside other packages. Each test needs the real package, and skips without it."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toller
from conftest import FIXTURES

TEXTS = {
    "d1": "Tollers lure ducks within reach of hunters.",
    "d2": "A store keeps vectors in shards.",
    "d3": "Cross-encoders read a query and a passage together.",
}


@pytest.fixture(scope="session")
def small(encoder: toller.Encoder, tmp_path_factory: pytest.TempPathFactory) -> toller.Searcher:
    """A dense searcher over three texts."""
    directory = tmp_path_factory.mktemp("small") / "store"
    vectors = encoder.encode_document(list(TEXTS.values()))
    return toller.Searcher.dense(toller.Store.create(directory, list(TEXTS), vectors, model=encoder), encoder)


@pytest.fixture(scope="session")
def corpus(scifact: Path) -> dict[str, dict[str, str]]:
    """SciFact as BEIR reads it."""
    with gzip.open(scifact / "corpus.jsonl.gz", "rt") as lines:
        rows = map(json.loads, lines)
        return {row["_id"]: {"title": row["title"], "text": row["text"]} for row in rows}


def test_beir(encoder: toller.Encoder, corpus: dict[str, dict[str, str]], scifact: Path) -> None:
    """The published nDCG@10 of all-MiniLM-L6-v2 on SciFact, from the whole collection."""
    pytest.importorskip("beir")
    from beir.retrieval.evaluation import EvaluateRetrieval

    from toller.integrations.beir import ExactSearch

    qrels = toller.Qrels.read(scifact / "qrels/test.tsv")
    texts = dict(toller.read_queries(scifact / "queries.jsonl"))
    queries = {query: texts[query] for query in qrels}
    retriever = EvaluateRetrieval(ExactSearch(encoder), k_values=[10])
    results = retriever.retrieve(corpus, queries)
    ndcg, _, recall, _ = retriever.evaluate(qrels.to_dict(), results, [10])
    assert round(ndcg["NDCG@10"], 4) == 0.6451
    ours = toller.evaluate(qrels, toller.Run(results), "nDCG@10 R@10")
    assert round(ours["nDCG@10"], 5) == ndcg["NDCG@10"] and round(ours["R@10"], 5) == recall["Recall@10"]


def test_beir_searches_what_is_there(sparse: toller.SparseIndex, passages: Path) -> None:
    pytest.importorskip("beir")
    from beir.retrieval.evaluation import EvaluateRetrieval

    from toller.integrations.beir import SearcherSearch

    rows = map(json.loads, passages.read_text().splitlines())
    corpus = {row["_id"]: {"title": row["title"], "text": row["text"]} for row in rows}
    results = EvaluateRetrieval(SearcherSearch(sparse), k_values=[5]).retrieve(corpus, {"q": "cells"})
    assert list(results["q"]) == [hit.id for hit in sparse.search("cells", k=5)]
    with pytest.raises(toller.InvalidArgument, match="a corpus of 0"):
        SearcherSearch(sparse).search({}, {"q": "cells"}, 5)


def test_beir_leaves_out_the_query_itself(encoder: toller.Encoder, small: toller.Searcher) -> None:
    pytest.importorskip("beir")
    from toller.integrations.beir import ExactSearch, SearcherSearch

    corpus = {name: {"title": "", "text": text} for name, text in TEXTS.items()}
    for search in (ExactSearch(encoder), SearcherSearch(small)):
        found = search.search(corpus, {"d1": TEXTS["d1"], "q": TEXTS["d1"]}, 2, "cos_sim")
        assert list(found["q"])[0] == "d1" and len(found["q"]) == 2
        assert set(found["d1"]) == {"d2", "d3"}
    assert ExactSearch(encoder).search({}, {"q1": "ducks", "q2": "dogs"}, 10) == {"q1": {}, "q2": {}}


def some_run() -> tuple[toller.Qrels, toller.Run]:
    pick = np.random.default_rng(3)
    scores = {f"q{query}": {f"d{d}": float(pick.normal()) for d in pick.permutation(50)[:20]} for query in range(9)}
    grades = {f"q{query}": {f"d{d}": int(pick.integers(0, 3)) for d in range(50)} for query in range(9)}
    return toller.Qrels(grades), toller.Run(scores)


def test_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    from toller.integrations.ir_measures import qrels_of, run_of, to_qrels, to_run

    qrels, run = some_run()
    assert to_run(run_of(run)) == run and to_qrels(qrels_of(qrels)) == qrels
    names = ["nDCG@10", "RR@10", "AP", "R@5", "P@5"]
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.calc_aggregate(measures, qrels_of(qrels), run_of(run))
    ours = toller.evaluate(qrels, run, " ".join(names))
    for measure in measures:
        assert math.isclose(theirs[measure], ours[str(measure)], rel_tol=1e-12), measure


def test_ranx() -> None:
    ranx = pytest.importorskip("ranx")
    from toller.integrations.ranx import qrels_of, run_of, to_qrels, to_run

    qrels, run = some_run()
    assert to_run(run_of(run)).to_dict() == run.to_dict()
    assert to_qrels(qrels_of(qrels)).keys() == qrels.keys()
    theirs = ranx.evaluate(qrels_of(qrels), run_of(run), ["map", "mrr"])
    ours = toller.evaluate(qrels, run, "AP RR")
    assert math.isclose(theirs["map"], ours["AP"], rel_tol=1e-9)
    assert math.isclose(theirs["mrr"], ours["RR"], rel_tol=1e-9)


def test_pyterrier(small: toller.Searcher, reranker: toller.CrossEncoder, encoder: toller.Encoder) -> None:
    pt = pytest.importorskip("pyterrier")
    pd = pytest.importorskip("pandas")
    from toller.integrations.pyterrier import QueryEncoder, Reranker, Retriever

    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["who lures ducks?", "where are vectors kept?"]})
    retriever = Retriever(small, k=2)
    found = retriever.transform(topics)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert found[found["rank"] == 0]["docno"].tolist() == ["d1", "d2"] and len(found) == 4
    texts = pt.apply.text(lambda row: TEXTS[row["docno"]])
    reranked = (retriever >> texts >> Reranker(reranker)).transform(topics)
    for _, hits in reranked.groupby("qid"):
        expected = reranker.predict([(row.query, TEXTS[row.docno]) for row in hits.itertuples()])
        np.testing.assert_array_equal(hits["score"].to_numpy(np.float32), expected)
        assert (hits.sort_values("rank")["score"].diff().dropna() <= 0).all()
    qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d2"], "label": [1, 1]})
    measured = pt.Experiment([retriever, retriever >> texts >> Reranker(reranker)], topics, qrels, ["recip_rank"])
    assert measured["recip_rank"][0] == 1
    assert QueryEncoder(encoder).transform(topics)["query_vec"][0].shape == (384,)
    with pytest.raises(toller.InvalidArgument, match="a table without query"):
        retriever.transform(topics[["qid"]])


def test_langchain(small: toller.Searcher, encoder: toller.Encoder, reranker: toller.CrossEncoder) -> None:
    pytest.importorskip("langchain_core")
    from toller.integrations.langchain import TollerEmbeddings, TollerReranker, TollerRetriever

    embeddings = TollerEmbeddings(encoder)
    assert len(embeddings.embed_query("ducks")) == 384 and len(embeddings.embed_documents(["a", "b"])) == 2
    retriever = TollerRetriever(searcher=small, texts=TEXTS, k=2)
    documents = retriever.invoke("who lures ducks?")
    assert documents[0].page_content == TEXTS["d1"] and documents[0].metadata["id"] == "d1" and len(documents) == 2
    reranked = TollerReranker(model=reranker, top_n=1).compress_documents(documents, "who lures ducks?")
    scores = reranker.predict([("who lures ducks?", document.page_content) for document in documents])
    assert reranked[0].page_content == documents[int(np.argmax(scores))].page_content
    assert reranked[0].metadata["relevance_score"] == float(max(scores)) and "score" in reranked[0].metadata


def test_llama_index(small: toller.Searcher, encoder: toller.Encoder, reranker: toller.CrossEncoder) -> None:
    pytest.importorskip("llama_index.core")
    from toller.integrations.llama_index import TollerEmbedding, TollerReranker, TollerRetriever

    embedding = TollerEmbedding(encoder)
    assert embedding.get_query_embedding("ducks") == encoder.encode_query("ducks").tolist()
    assert len(embedding.get_text_embedding_batch(["a", "b"])) == 2
    nodes = TollerRetriever(small, TEXTS, k=2).retrieve("who lures ducks?")
    assert [node.node.node_id for node in nodes][0] == "d1" and len(nodes) == 2
    reranked = TollerReranker(reranker, top_n=1).postprocess_nodes(nodes, query_str="who lures ducks?")
    assert len(reranked) == 1


def test_haystack(small: toller.Searcher, encoder: toller.Encoder, reranker: toller.CrossEncoder) -> None:
    haystack = pytest.importorskip("haystack")
    from toller.integrations.haystack import TollerDocumentEmbedder, TollerRanker, TollerRetriever, TollerTextEmbedder

    assert TollerTextEmbedder(encoder).run("ducks")["embedding"] == encoder.encode_query("ducks").tolist()
    embedded = TollerDocumentEmbedder(encoder).run([haystack.Document(content="ducks")])["documents"]
    assert len(embedded[0].embedding) == 384
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", TollerRetriever(small, TEXTS, top_k=3))
    pipeline.add_component("ranker", TollerRanker(reranker, top_k=2))
    pipeline.connect("retriever.documents", "ranker.documents")
    query = "who lures ducks?"
    documents = pipeline.run({"retriever": {"query": query}, "ranker": {"query": query}})["ranker"]["documents"]
    ranked = reranker.rank(query, list(TEXTS.values()), top_k=2)
    assert [document.score for document in documents] == [hit["score"] for hit in ranked]


@pytest.fixture(scope="session")
def mteb_tasks() -> Any:
    """MTEB's mock tasks, which need no network."""
    pytest.importorskip("mteb")
    from mteb.mocks.mock_tasks.reranking import MockRerankingTask
    from mteb.mocks.mock_tasks.retrieval import MockRetrievalTask

    return MockRetrievalTask, MockRerankingTask


def predictions(model: Any, tasks: Any, folder: Path) -> dict[str, float]:
    """The score of each document for each query that a model predicts, by task, split, query and document."""
    import mteb

    folder.mkdir()
    instances = [task() for task in tasks]
    mteb.evaluate(model, instances, cache=None, prediction_folder=folder, show_progress_bar=False)
    found = {}
    for path in folder.glob("*.json"):
        splits = json.loads(path.read_text())["default"]
        for split, queries in splits.items():
            for query, documents in queries.items():
                found.update({f"{path.name} {split} {query} {document}": of for document, of in documents.items()})
    assert len(found) >= 4
    return found


def test_mteb(
    mteb_tasks: Any, encoder: toller.Encoder, reranker: toller.CrossEncoder, minilm: Path, tmp_path: Path
) -> None:
    from mteb.models.search_wrappers import SearchEncoderWrapper
    from sentence_transformers import SentenceTransformer

    from toller.integrations.mteb import ExactIndex, MtebCrossEncoder, MtebEncoder

    ours = MtebEncoder(encoder)
    theirs = predictions(SentenceTransformer(str(minilm), device="cpu"), mteb_tasks, tmp_path / "theirs")
    assert predictions(ours, mteb_tasks, tmp_path / "ours") == pytest.approx(theirs, abs=2e-6)
    exact = SearchEncoderWrapper(ours, index_backend=ExactIndex(ours))
    assert predictions(exact, mteb_tasks, tmp_path / "exact") == pytest.approx(theirs, abs=2e-6)
    _, reranking = mteb_tasks
    assert len(set(predictions(MtebCrossEncoder(reranker), [reranking], tmp_path / "pairs").values())) > 2


def test_mteb_compares_as_the_model_does(encoder: toller.Encoder) -> None:
    pytest.importorskip("mteb")
    from mteb.models.model_meta import ScoringFunction

    from toller.integrations.mteb import ExactIndex, MtebEncoder

    one, two = np.array([[3, 4], [0, 2]], np.float32), np.array([[4, 3], [1, 1]], np.float32)
    cosine, dot = MtebEncoder(encoder), MtebEncoder(encoder, similarity="dot")
    assert cosine.mteb_model_meta.similarity_fn_name == ScoringFunction.COSINE
    assert dot.mteb_model_meta.similarity_fn_name == ScoringFunction.DOT_PRODUCT
    np.testing.assert_allclose(cosine.similarity(one, two), [[0.96, 7 / 50**0.5], [0.6, 0.5**0.5]], rtol=1e-6)
    np.testing.assert_allclose(cosine.similarity_pairwise(one, two), [0.96, 0.5**0.5], rtol=1e-6)
    assert dot.similarity(one, two).tolist() == [[24, 7], [6, 2]]
    assert dot.similarity_pairwise(one, two).tolist() == [24, 2]
    index = ExactIndex(dot)
    index.add_documents(two, ["a", "b"])
    assert index.search(one, 1, dot.similarity) == ([[24.0], [6.0]], [[0], [0]])
    with pytest.raises(toller.InvalidArgument, match="euclidean"):
        MtebEncoder(encoder, similarity="euclidean")


def test_sentence_transformers_gives_the_same_vectors(encoder: toller.Encoder, minilm: Path) -> None:
    st = pytest.importorskip("sentence_transformers")
    texts = ["a dog retrieves a duck", "", "Les chiens, " * 200, "日本語の文"]
    theirs = st.SentenceTransformer(str(minilm), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), theirs, atol=2e-6)


def test_sentence_transformers_scores_pairs_alike(scifact: Path) -> None:
    st = pytest.importorskip("sentence_transformers")
    directory = str(FIXTURES / "cross-encoders/roberta")
    pairs = [("who lures ducks?", text) for text in TEXTS.values()]
    theirs = st.CrossEncoder(directory, device="cpu").predict(pairs)
    np.testing.assert_allclose(toller.CrossEncoder(directory).predict(pairs), theirs, atol=1e-5)
