"""Collections and queries as tables, datasets and rows: the same bits as files."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toller

IDS = ["d1", "d2", "d3", "d4"]
TITLES = ["Tollers", None, "", "Ünïcödé 犬"]
TEXTS = ["lure ducks within reach", "a store keeps vectors in shards", "swim far\nand\twide \"quoted\"", "犬は走る 😀"]
COLUMNS = {"id": IDS, "title": TITLES, "text": TEXTS}
ROWS = [dict(zip(COLUMNS, row)) for row in zip(*COLUMNS.values())]

Document = namedtuple("Document", "doc_id title text")


class Searchable(namedtuple("Searchable", "doc_id abstract")):
    """A document of ir_datasets without a text."""

    def default_text(self) -> str:
        return f"default {self.abstract}"


class Dataset:
    """A dataset as ir_datasets has them."""

    def docs_iter(self) -> Iterator[Document]:
        return (Document(**{"doc_id": row["id"], "title": row["title"], "text": row["text"]}) for row in ROWS)

    def queries_iter(self) -> Iterator[Any]:
        Query = namedtuple("Query", "query_id text")
        return iter([Query("q1", "ducks"), Query("q2", "shards")])


def pandas() -> Any:
    return pytest.importorskip("pandas").DataFrame(COLUMNS)


def categorical() -> Any:
    return pandas().astype("category")


def categorical_polars() -> Any:
    return polars().cast(pytest.importorskip("polars").Categorical)


def arrow_dictionary() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table([column.combine_chunks().dictionary_encode() for column in arrow().columns], list(COLUMNS))


def polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def arrow(kind: str = "string") -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table(COLUMNS, schema=pyarrow.schema([(name, getattr(pyarrow, kind)()) for name in COLUMNS]))


def chunked() -> Any:
    table = arrow()
    return pytest.importorskip("pyarrow").concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])


def dataset() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(COLUMNS)


def selected() -> Any:
    """A dataset on rows of a larger table in another order."""
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_list([ROWS[2], ROWS[0], ROWS[3], ROWS[1], ROWS[0]]).select([1, 3, 0, 2])


def transformed() -> Any:
    """A dataset whose texts are made when its rows are read."""
    backwards = {**COLUMNS, "text": [text[::-1] for text in COLUMNS["text"]]}

    def forwards(rows: dict[str, list[str]]) -> dict[str, list[str]]:
        return {**rows, "text": [text[::-1] for text in rows["text"]]}

    return pytest.importorskip("datasets").Dataset.from_dict(backwards).with_transform(forwards)


FORMS: dict[str, Callable[[], Any]] = {
    "list of dicts": lambda: ROWS,
    "generator of dicts": lambda: (row for row in ROWS),
    "named tuples": lambda: [Document(*row.values()) for row in ROWS],
    "mapping of dicts": lambda: {row["id"]: {"title": row["title"], "text": row["text"]} for row in ROWS},
    "docs_iter": Dataset,
    "pandas": pandas,
    "pandas of objects": lambda: pandas().astype(object),
    "pandas of categories": categorical,
    "polars": polars,
    "polars of categories": categorical_polars,
    "arrow": arrow,
    "arrow large_string": lambda: arrow("large_string"),
    "arrow string_view": lambda: arrow("string_view"),
    "arrow dictionary": arrow_dictionary,
    "arrow chunks": chunked,
    "arrow batch": lambda: arrow().to_batches()[0],
    "arrow reader": lambda: arrow().to_reader(),
    "datasets": dataset,
    "datasets selected": selected,
    "datasets transformed": transformed,
    "datasets streamed": lambda: dataset().to_iterable_dataset(),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The index of the same rows in a file."""
    folder = tmp_path_factory.mktemp("tables")
    lines = [json.dumps({key: value for key, value in row.items() if value is not None}) for row in ROWS]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    return index(folder / "corpus.jsonl", folder / "index")


def index(corpus: Any, output: Path, **options: Any) -> list[bytes]:
    """The files of an index, and nothing is left next to it."""
    toller.index(corpus, output, analyzer="whitespace", **options)
    assert {path.name for path in output.parent.iterdir()} <= {output.name, "corpus.jsonl"}
    return [path.read_bytes() for path in sorted(output.iterdir())]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_the_file_of_its_rows(form: str, expected: list[bytes], tmp_path: Path) -> None:
    assert index(FORMS[form](), tmp_path / "index") == expected


def test_the_splits_of_a_dataset_are_refused(tmp_path: Path) -> None:
    splits = pytest.importorskip("datasets").DatasetDict({"train": dataset(), "test": dataset()})
    with pytest.raises(toller.InvalidArgument, match="corpus of type DatasetDict") as error:
        toller.index(splits, tmp_path / "index", analyzer="whitespace")
    assert error.value.hint == "give one of its splits: train, test"
    with pytest.raises(toller.InvalidArgument, match="data of type DatasetDict"):
        toller.train_dual("model", tmp_path / "out", data=splits)


def test_datasets_of_ir_datasets(tmp_path: Path, expected: list[bytes]) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    lines = [f"{name}\t{text}\n" for name, text in (("d1", "ducks swim"), ("d2", "shards"))]
    (tmp_path / "docs.tsv").write_text("".join(lines))
    (tmp_path / "queries.tsv").write_text("q1\tducks\n")
    local = ir_datasets.create_dataset(docs_tsv=str(tmp_path / "docs.tsv"), queries_tsv=str(tmp_path / "queries.tsv"))
    sparse = toller.index(local, tmp_path / "index", analyzer="whitespace")
    assert sparse.batch_search(local) == sparse.batch_search([("q1", "ducks")])
    assert list(sparse.batch_search(local)["q1"]) == ["d1"]


def test_a_document_without_a_text_is_searched_by_its_default(tmp_path: Path) -> None:
    sparse = toller.index([Searchable("d1", "of ducks")], tmp_path / "index", analyzer="whitespace")
    assert sparse.search("default")[0].id == "d1"


def test_titles_may_be_left_out_of_an_index(tmp_path: Path) -> None:
    titled = toller.index(ROWS, tmp_path / "titled", analyzer="whitespace")
    sparse = toller.index(ROWS, tmp_path / "index", analyzer="whitespace", title_separator=None)
    assert titled.search("Tollers") and not sparse.search("Tollers") and sparse.search("ducks")


def test_queries_of_files_have_columns(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text("<top>\n<num> 7\n<title> ducks\n<desc> Description: who swims?\n</top>\n")
    assert toller.read_queries(tmp_path / "topics", text_column="title+desc") == [("7", "ducks who swims?")]
    (tmp_path / "q.jsonl").write_text('{"key": 1, "title": "ducks"}\n')
    assert toller.read_queries(tmp_path / "q.jsonl", id_column="key", text_column="title") == [("1", "ducks")]


def test_identifiers_may_be_integers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for number, corpus in enumerate(
        [
            [(7, "ducks"), (-8, "shards")],
            pyarrow.table({"id": pyarrow.array([7, -8], pyarrow.int16()), "text": ["ducks", "shards"]}),
            pyarrow.table({"id": pyarrow.array([7, -8]).dictionary_encode(), "text": ["ducks", "shards"]}),
            {7: "ducks", -8: "shards"},
        ]
    ):
        sparse = toller.index(corpus, tmp_path / str(number), analyzer="whitespace")
        assert [hit.id for hit in sparse.search("shards ducks")] == ["7", "-8"]


def test_columns_are_named(tmp_path: Path) -> None:
    corpus = arrow().rename_columns(["key", "heading", "body"])
    names = {"id_column": "key", "title_column": "heading", "text_column": "body"}
    with pytest.raises(toller.InvalidArgument, match="no column of identifiers .*; the table has key, heading, body"):
        toller.index(corpus, tmp_path / "index", analyzer="whitespace")
    by_names = index(corpus, tmp_path / "1/index", **names)
    assert by_names == index(ROWS, tmp_path / "2/index") == index(corpus.to_pylist(), tmp_path / "3/index", **names)
    (tmp_path / "4").mkdir()
    (tmp_path / "4/corpus.jsonl").write_text("\n".join(json.dumps(row) for row in corpus.to_pylist() if row["heading"]))
    assert len(toller.index(tmp_path / "4/corpus.jsonl", tmp_path / "4/index", analyzer="whitespace", **names)) == 2
    for rows in (arrow(), ROWS):
        with pytest.raises(toller.InvalidArgument, match="heading"):
            toller.index(rows, tmp_path / "no", analyzer="whitespace", title_column="heading")


def test_columns_are_named_in_any_case(tmp_path: Path) -> None:
    names = ["ID", "Title", "TEXT"]
    corpus = arrow().rename_columns(names)
    expected = index(ROWS, tmp_path / "1/index")
    assert index(corpus, tmp_path / "2/index") == index(corpus.to_pylist(), tmp_path / "3/index") == expected
    # An exact name counts before one in another case.
    both = corpus.append_column("text", arrow()["text"]).set_column(2, "TEXT", arrow()["id"].cast("string"))
    assert index(both, tmp_path / "4/index") == index(both.to_pylist(), tmp_path / "5/index") == expected
    # Of two names in other cases, the first counts.
    both = corpus.append_column("Text", arrow()["id"].cast("string"))
    assert index(both, tmp_path / "6/index") == index(both.to_pylist(), tmp_path / "7/index") == expected


def test_queries_of_files_without_identifiers_are_numbered_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"number": 7, "text": "ducks"}\n')
    with pytest.warns(UserWarning, match=r"q.jsonl has no identifiers: .* \(fields: number, text; id_column names one"):
        assert toller.read_queries(tmp_path / "q.jsonl") == [("0", "ducks")]


def forms_of(rows: list[dict[str, Any]]) -> list[Any]:
    """Bad rows in memory, in a stream, and as they are."""
    pyarrow = pytest.importorskip("pyarrow")
    return [pyarrow.Table.from_pylist(rows), pyarrow.Table.from_pylist(rows).to_reader(), iter(rows)]


@pytest.mark.parametrize(
    "bad, message",
    [
        ({"id": None, "text": "x"}, "corpus, row 3: null: found null as the identifier"),
        ({"id": "3", "text": None}, "corpus, row 3: null: found null as the text"),
        ({"id": "1", "text": "x"}, "corpus, (row|line) 3: duplicate id: found \"1\""),
        ({"id": " ", "text": "x"}, "corpus, (row|line) 3: empty id"),
    ],
)
def test_bad_rows_are_refused_or_skipped(bad: dict[str, Any], message: str, tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "ducks"}, {"id": "2", "text": "ducks"}, bad]
    for number, corpus in enumerate(forms_of(rows)):
        with pytest.raises(toller.Error, match=message) as refused:
            toller.index(corpus, tmp_path / str(number), analyzer="whitespace")
        assert refused.value.line == 3 and "skip_bad_lines" in (refused.value.hint or "")
    for number, corpus in enumerate(forms_of(rows)):
        with pytest.warns(UserWarning, match="skipped 1 bad line"):
            kept = toller.index(corpus, tmp_path / f"skipped-{number}", analyzer="whitespace", skip_bad_lines=True)
        assert [hit.id for hit in kept.search("ducks")] == ["1", "2"]
    assert not list(tmp_path.glob("toller-*"))


def test_wrong_types_are_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for corpus, message in [
        ([("1", "x"), ("2", ["y"])], "row 2: the text is of type list"),
        ([(True, "x")], "row 1: the identifier is of type bool"),
        ([("1", "\ud800")], "row 1: the text is a string with lone surrogates"),
        ([("1", "x", "y")], "row 1: a row of type tuple of 3"),
        (["x", 3], "corpus, row 1: a row of type str"),
        ([{"id": "1", "said": "x"}], "row 1: no text .*; the row has id, said"),
        ([{"text": "x"}], "row 1: no identifier"),
        (
            pyarrow.table({"id": ["1"], "text": pyarrow.array([1.5]).dictionary_encode()}),
            "the column text of texts is of type Dictionary",
        ),
        (pyarrow.table({"id": [1.5], "text": ["x"]}), "the column id of identifiers is of type Float64"),
        (pyarrow.table({"id": ["1"], "text": [["x"]]}), "the column text of texts is of type List"),
        (pyarrow.array(["x"]), "corpus, row 1: a row of type StringScalar"),
        (3, "corpus of type int"),
        ([], "corpus: no passages found"),
    ]:
        with pytest.raises((toller.Error, TypeError), match=message):
            toller.index(corpus, tmp_path / "index", analyzer="whitespace")
    assert not list(tmp_path.iterdir())


def test_texts_in_place_of_files_have_a_hint(tmp_path: Path) -> None:
    sparse = toller.index(ROWS, tmp_path / "index", analyzer="whitespace")
    for queries in (["ducks", "dogs"], "what do ducks do?"):
        with pytest.raises(toller.NotFound, match="no file is named") as refused:
            sparse.batch_search(queries)
        assert "(id, text) pairs" in (refused.value.hint or "")
    with pytest.raises(toller.NotFound, match="no file is named 'ducks swim'"):
        toller.index(["ducks swim"], tmp_path / "no", analyzer="whitespace")
    with pytest.raises(toller.NotFound, match="no file is named") as refused:
        toller.train_dual("model", tmp_path / "out", data=["ducks swim"])
    assert "dicts" in (refused.value.hint or "")


def test_a_series_has_its_identifiers_in_the_index(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    sparse = toller.index(ROWS, tmp_path / "index", analyzer="whitespace")
    assert sparse.batch_search(pandas.Series(QUERIES)) == sparse.batch_search(QUERIES)
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(toller.InvalidArgument, match="queries: not readable as an Arrow table") as refused:
        sparse.batch_search(pyarrow.chunked_array([["ducks"]]))
    assert "no identifiers" in (refused.value.hint or "")


def test_an_error_of_an_iterator_reaches_the_caller(tmp_path: Path) -> None:
    def rows() -> Iterator[tuple[str, str]]:
        yield "1", "x"
        raise RuntimeError("from the iterator")

    with pytest.raises(RuntimeError, match="from the iterator"):
        toller.index(rows(), tmp_path / "index", analyzer="whitespace")
    assert not list(tmp_path.iterdir())


QUERIES = {"q1": "ducks", "q2": "vectors in shards"}


def test_queries_are_tables(encoder: toller.Encoder, tmp_path: Path) -> None:
    sparse = toller.index(ROWS, tmp_path / "index", analyzer="whitespace")
    expected = sparse.batch_search(QUERIES)
    columns = {"query_id": list(QUERIES), "query": list(QUERIES.values())}
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    Named = namedtuple("Named", "query query_id")
    named = [Named(text, name) for name, text in QUERIES.items()]
    for queries in (table, table.to_reader(), table.to_pylist(), named, QUERIES.items()):
        assert sparse.batch_search(queries) == expected
    renamed = table.rename_columns(["key", "words"])
    assert sparse.batch_search(renamed, id_column="key", text_column="words") == expected
    assert list(sparse.batch_search([{"text": "ducks"}, {"text": "vectors"}])) == ["0", "1"]
    for queries, names, message in [
        ([{"id": "q", "text": "ducks"}], {"id_column": "key"}, "row 1: no identifier .key."),
        ([{"id": "q", "text": "ducks"}], {"text_column": "words"}, "row 1: no text .words."),
        ([("q", "ducks")], {"id_column": "key"}, "row 1: a pair has no names"),
        ([Searchable("q", "ducks")], {"text_column": "words"}, "row 1: no text .words."),
    ]:
        with pytest.raises(toller.InvalidArgument, match=message):
            sparse.batch_search(queries, **names)
    with pytest.raises(toller.Error, match="queries, (row|line) 2: duplicate id"):
        sparse.batch_search([{"id": "q", "text": "ducks"}, {"id": "q", "text": "x"}])
    with pytest.raises(toller.Error, match="queries, row 2: null as the identifier|queries, row 2: null"):
        sparse.batch_search([{"id": "q", "text": "ducks"}, {"text": "x"}])

    of_table = toller.encode(encoder, tmp_path / "a", queries=table)
    of_pairs = toller.encode(encoder, tmp_path / "b", queries=list(QUERIES.items()))
    assert of_table.ids == list(QUERIES) and of_table.role == "query"
    assert of_table[:].tobytes() == of_pairs[:].tobytes() == encoder.encode_query(list(QUERIES.values())).tobytes()


def test_frames_of_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    sparse = toller.index(ROWS, tmp_path / "index", analyzer="whitespace")
    columns = {"query_id": list(QUERIES), "query": list(QUERIES.values())}
    assert sparse.batch_search(pandas.DataFrame(columns)) == sparse.batch_search(QUERIES)
    frame = pandas.DataFrame({"id": ["1", "2"], "text": pandas.array(["ducks", pandas.NA], dtype="string")})
    with pytest.raises(toller.Error, match="corpus, row 2: null"):
        toller.index(frame, tmp_path / "no", analyzer="whitespace")
    rows = list(frame.itertuples(index=False))
    with pytest.raises(toller.Error, match="corpus, row 2: null"):
        toller.index(rows, tmp_path / "no", analyzer="whitespace")


def test_a_bad_query_takes_no_other_with_it(encoder: toller.Encoder, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [{"id": None, "text": "a bad one"}, *({"id": name, "text": text} for name, text in QUERIES.items())]
    for number, queries in enumerate([pyarrow.Table.from_pylist(rows), [{"id": "x", "text": None}, *rows[1:]]]):
        with pytest.warns(UserWarning, match="skipped 1 bad line"):
            store = toller.encode(encoder, tmp_path / str(number), queries=queries, skip_bad_lines=True)
        assert store.ids == list(QUERIES)


def test_some_queries_without_identifiers_are_refused(tmp_path: Path) -> None:
    sparse = toller.index(ROWS, tmp_path / "index", analyzer="whitespace")
    with pytest.raises(toller.InvalidArgument, match="queries, row 2: an identifier, and row 1 has none"):
        sparse.batch_search([{"id": None, "text": "ducks"}, {"id": "q", "text": "vectors"}])


def test_tables_are_encoded_and_reranked(
    encoder: toller.Encoder, reranker: toller.CrossEncoder, tmp_path: Path
) -> None:
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in ROWS if row["title"] is not None))
    rows = [row for row in ROWS if row["title"] is not None]
    table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
    store = toller.encode(encoder, tmp_path / "file", corpus=tmp_path / "corpus.jsonl")
    for name, corpus in (("table", table), ("rows", iter(rows))):
        of_table = toller.encode(encoder, tmp_path / name, corpus=corpus)
        for path in (tmp_path / "file").iterdir():
            assert (tmp_path / name / path.name).read_bytes() == path.read_bytes()
        assert of_table.ids == store.ids
    searcher = toller.Searcher.dense(store, encoder)
    expected = searcher.reranked(reranker, tmp_path / "corpus.jsonl").batch_search(QUERIES)
    for corpus in (table, iter(rows)):
        assert searcher.reranked(reranker, corpus).batch_search(QUERIES) == expected


def test_contexts_follow_their_texts(encoder: toller.Encoder, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [{**row, "title": "Ducks", "paragraph": f"{row['text']} In a paragraph."} for row in ROWS]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    alone = toller.encode(encoder, tmp_path / "alone", corpus=path)
    expected = toller.encode(encoder, tmp_path / "file", corpus=path, context_field="paragraph")
    assert expected[:].tobytes() != alone[:].tobytes()
    table = pyarrow.Table.from_pylist(rows)
    for name, corpus in (("table", table), ("stream", table.to_reader()), ("rows", iter(rows))):
        toller.encode(encoder, tmp_path / name, corpus=corpus, context_field="paragraph")
        for file in (tmp_path / "file").iterdir():
            assert (tmp_path / name / file.name).read_bytes() == file.read_bytes()
    for corpus in (table, iter(rows)):
        with pytest.raises(toller.InvalidArgument, match="no (column of contexts|context) .*chapter") as refused:
            toller.encode(encoder, tmp_path / "no", corpus=corpus, context_field="chapter")
        assert "context_field" in (refused.value.hint or "")
    rows[1]["paragraph"] = None
    for corpus in (pyarrow.Table.from_pylist(rows), iter(rows)):
        with pytest.raises(toller.Error, match="corpus, (row|line) 2: .*no context"):
            toller.encode(encoder, tmp_path / "no", corpus=corpus, context_field="paragraph")
    with pytest.raises(toller.InvalidArgument, match="titles that are not joined.*no context"):
        toller.encode(encoder, tmp_path / "no", corpus=path, title_mode="sep", context_field="paragraph")


def test_the_texts_of_a_table_are_not_copied(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    text = "ducks swim far and wide " * 400
    rows = 16_000
    table = pyarrow.table({"id": [str(row) for row in range(rows)], "text": pyarrow.array([text] * rows)})
    assert table.nbytes > 150_000_000

    def most_memory() -> int:
        """The most memory since it was last asked for, in bytes."""
        lines = Path("/proc/self/status").read_text().splitlines()
        most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
        Path("/proc/self/clear_refs").write_text("5")
        return most

    small = table.slice(0, 100)
    toller.index(small, tmp_path / "small", analyzer="whitespace", memory_bytes=1 << 24)
    most_memory()
    before = most_memory()
    toller.index(table, tmp_path / "index", analyzer="whitespace", memory_bytes=1 << 24)
    assert most_memory() - before < 60_000_000
