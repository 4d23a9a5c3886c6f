"""The native half of the package."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from toller.results import Comparison, Hit, Passage

_Path: TypeAlias = str | PathLike[str]
_Paths: TypeAlias = _Path | Sequence[_Path]
_Texts: TypeAlias = _Paths | Any
_Progress: TypeAlias = bool | Callable[[str, int, int | None], object] | None
_Run: TypeAlias = Run | Mapping[str, Mapping[str, float]]
_Qrels: TypeAlias = Qrels | Mapping[str, Mapping[str, int]]
_Default = TypeVar("_Default")
_Numbers: TypeAlias = NDArray[np.float32] | NDArray[np.float16]
_Weights: TypeAlias = Sequence[float] | NDArray[Any]
_Names: TypeAlias = str | Iterable[object]

__version__: str

def set_num_threads(threads: int) -> None: ...
def get_num_threads() -> int: ...
def command_line(arguments: Sequence[str]) -> int: ...

class DualEncoder:
    def __new__(
        cls,
        model: _Path,
        *,
        query_model: _Path | None = None,
        max_length: int | None = None,
        prompt: str | None = None,
        pooling: str | None = None,
        normalize_embeddings: bool = False,
        append_eos_token: bool = False,
        truncate_dim: int | None = None,
        dtype: str | None = None,
        device: str | None = ...,
        batch_tokens: int | None = None,
    ) -> Self: ...
    def vectors(
        self,
        texts: Sequence[str],
        role: str,
        *,
        titles: Sequence[str] | None = None,
        title_mode: str | None = None,
        title_separator: str | None = None,
        prompt: str | None = None,
        dim: int | None = None,
        unit: bool = False,
        progress: _Progress = None,
    ) -> NDArray[np.float32]: ...
    @property
    def dim(self) -> int: ...
    @property
    def max_seq_length(self) -> int: ...
    @property
    def role_prompts(self) -> list[tuple[str, str]]: ...
    @property
    def named_prompts(self) -> dict[str, str]: ...
    @property
    def default_prompt_name(self) -> str | None: ...
    @property
    def named_similarity(self) -> str | None: ...
    @property
    def shares_weights(self) -> bool: ...
    @property
    def normalizes(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def on_cpu(self) -> bool: ...
    @property
    def fingerprint(self) -> str: ...

class PairScorer:
    def __new__(
        cls,
        model: _Path,
        *,
        max_length: int | None = None,
        prompt: str | None = None,
        truncation: str = "only_second",
        label: int | None = None,
        activation: str | None = None,
        dtype: str | None = None,
        device: str | None = ...,
        batch_tokens: int | None = None,
    ) -> Self: ...
    def scores(self, pairs: Sequence[tuple[str, str]], *, progress: _Progress = None) -> NDArray[np.float32]: ...
    @property
    def max_length(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def on_cpu(self) -> bool: ...
    @property
    def fingerprint(self) -> str: ...

@final
class Store:
    def __new__(cls, path: _Paths, *, verify: bool = True) -> Self: ...
    @staticmethod
    def create(
        path: _Path,
        ids: Iterable[str | SupportsIndex],
        vectors: _Numbers | NDArray[np.float64],
        *,
        model: DualEncoder | None = None,
        role: str = "passage",
        store_dtype: str = "f32",
        overwrite: bool = False,
        progress: _Progress = None,
    ) -> Store: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    @property
    def shards(self) -> list[NDArray[Any]]: ...
    @property
    def ids(self) -> list[str]: ...
    def ids_of(self, rows: Iterable[SupportsIndex]) -> list[str]: ...
    @property
    def dim(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def query_model(self) -> str | None: ...
    @property
    def model_fingerprint(self) -> str: ...
    @property
    def paths(self) -> list[str]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def reopen(paths: Sequence[_Path]) -> Store: ...

@final
class FlatIndex:
    def __new__(
        cls,
        store: Store | _Paths,
        *,
        rows: tuple[SupportsIndex, SupportsIndex] | None = None,
        scan: str = "auto",
        device: str = "auto",
        verify: bool = True,
    ) -> Self: ...
    @staticmethod
    def of_arrays(*arrays: _Numbers, scan: str = "auto") -> FlatIndex: ...
    def search(
        self, queries: _Numbers, k: SupportsIndex = 10, *, allowed: Iterable[SupportsIndex] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]: ...
    def __len__(self) -> int: ...
    @property
    def dim(self) -> int: ...

class Searcher:
    @staticmethod
    def dense(
        store: Store | _Paths,
        encoder: DualEncoder | None = None,
        *,
        query_vectors: _Path | None = None,
        scan: str = "auto",
        device: str = "auto",
        verify: bool = True,
        any_role: bool = False,
        assume_model: bool = False,
        vector_prf: str | dict[str, Any] | None = None,
    ) -> Searcher: ...
    @staticmethod
    def hybrid(
        searchers: Sequence[Searcher],
        method: str = "rrf",
        *,
        depth: SupportsIndex = 1000,
        weights: _Weights | None = None,
        rrf_k: float | None = None,
        normalize: str | None = None,
        missing: str | None = None,
        different_collections: bool = False,
    ) -> Searcher: ...
    def reranked(
        self,
        models: PairScorer | Sequence[PairScorer],
        corpus: _Texts,
        *,
        depth: SupportsIndex = 100,
        cut: bool = False,
        combine: str = "mean",
        interpolate: float | None = None,
        title_separator: str | None = ...,
        skip_unavailable: bool = False,
        id_column: str | None = None,
        title_column: str | None = None,
        text_column: str | None = None,
        skip_bad_lines: bool = False,
        progress: _Progress = None,
    ) -> Searcher: ...
    def search(self, query: str, k: SupportsIndex = 10) -> list[Hit]: ...
    def batch_search(
        self,
        queries: Mapping[str, str] | Sequence[tuple[str, str]] | _Texts,
        k: SupportsIndex = 1000,
        *,
        allowed: Iterable[str | int] | None = None,
        excluded: Mapping[str, Iterable[str | int]] | None = None,
        id_column: str | None = None,
        text_column: str | None = None,
        skip_bad_lines: bool = False,
        progress: _Progress = None,
    ) -> Run: ...
    def __len__(self) -> int: ...

@final
class Texts:
    def __new__(
        cls,
        corpus: _Texts,
        *,
        id_column: str | None = None,
        title_column: str | None = None,
        text_column: str | None = None,
        skip_bad_lines: bool = False,
        progress: _Progress = None,
    ) -> Self: ...
    def __getitem__(self, key: str, /) -> str: ...
    def __contains__(self, key: str, /) -> bool: ...
    def __len__(self) -> int: ...
    @overload
    def get(self, id: str, /) -> str | None: ...
    @overload
    def get(self, id: str, default: _Default, /) -> str | _Default: ...
    def passages(self, ids: Sequence[str]) -> list[Passage | None]: ...

@final
class SparseIndex(Searcher):
    def __new__(
        cls,
        directory: _Path,
        *,
        ranker: str | None = None,
        k1: float | None = None,
        b: float | None = None,
        mu: float | None = None,
        lambda_: float | None = None,
        exact_lengths: bool = False,
        rm3: bool | dict[str, Any] | None = None,
        rocchio: bool | dict[str, Any] | None = None,
        analyzer: str | None = None,
        sparse_model: str | None = None,
        device: str = "auto",
        queries_have_impacts: bool = False,
        verify: bool = True,
    ) -> Self: ...
    @property
    def directory(self) -> str: ...

def read_queries(
    path: _Paths, *, id_column: str | None = None, text_column: str | None = None, skip_bad_lines: bool = False
) -> list[tuple[str, str]]: ...

@final
class Run(Mapping[str, dict[str, float]]):
    def __new__(cls, scores: _Run, tag: str = "toller") -> Self: ...
    @staticmethod
    def read(path: _Path, *, format: str | None = None, skip_bad_lines: bool = False) -> Run: ...
    def write(
        self, path: _Path, *, tag: str | None = None, tab_separated: bool = False, format: str = "trec"
    ) -> None: ...
    def max_passage(self, *, delimiter: str = "#", hits: int | None = None) -> Run: ...
    @property
    def tag(self) -> str: ...
    def to_dict(self) -> dict[str, dict[str, float]]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __getitem__(self, key: str | SupportsIndex, /) -> dict[str, float]: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[dict[str, float]]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, dict[str, float]]]: ...  # type: ignore[override]
    @overload
    def get(self, query: str | SupportsIndex, /) -> dict[str, float] | None: ...
    @overload
    def get(self, query: str | SupportsIndex, default: _Default, /) -> dict[str, float] | _Default: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    __hash__: None  # type: ignore[assignment]

def run_of_rows(
    store: Store, queries: Sequence[str], scores: NDArray[np.float32], rows: NDArray[np.int64]
) -> Run: ...

@final
class Qrels(Mapping[str, dict[str, int]]):
    def __new__(cls, grades: _Qrels) -> Self: ...
    @staticmethod
    def read(path: _Path, *, format: str | None = None, skip_bad_lines: bool = False) -> Qrels: ...
    def to_dict(self) -> dict[str, dict[str, int]]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __getitem__(self, key: str | SupportsIndex, /) -> dict[str, int]: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[dict[str, int]]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, dict[str, int]]]: ...  # type: ignore[override]
    @overload
    def get(self, query: str | SupportsIndex, /) -> dict[str, int] | None: ...
    @overload
    def get(self, query: str | SupportsIndex, default: _Default, /) -> dict[str, int] | _Default: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    __hash__: None  # type: ignore[assignment]

@final
class Evaluation(Mapping[str, float]):
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __getitem__(self, key: str, /) -> float: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[float]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, float]]: ...  # type: ignore[override]
    @overload
    def get(self, measure: str, /) -> float | None: ...
    @overload
    def get(self, measure: str, default: _Default, /) -> float | _Default: ...
    @property
    def aggregates(self) -> dict[str, float]: ...
    @property
    def per_query(self) -> dict[str, dict[str, float]]: ...
    @property
    def missing(self) -> int: ...
    @property
    def unjudged(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    __hash__: None  # type: ignore[assignment]

def evaluation_of(
    measures: str | Sequence[str],
    aggregates: Sequence[float],
    per_query: Sequence[tuple[str, bool, Sequence[float], Sequence[float]]],
    missing: int,
    unjudged: int,
) -> Evaluation: ...
def evaluate(
    qrels: _Qrels,
    run: _Run,
    measures: _Names,
    *,
    missing: Literal["zero", "skip"] = "zero",
    relevance_level: SupportsIndex = 1,
    depth: SupportsIndex | None = None,
    remove_query: bool = False,
) -> Evaluation: ...
def compare(
    qrels: _Qrels,
    runs: Sequence[_Run],
    measures: _Names,
    *,
    baseline: SupportsIndex | None = ...,
    tests: _Names = ...,
    correction: str = "holm",
    permutations: SupportsIndex = 100_000,
    seed: SupportsIndex = 42,
    relevance_level: SupportsIndex = 1,
) -> list[Comparison]: ...
def fuse(
    runs: Sequence[_Run],
    method: str = "rrf",
    *,
    k: SupportsIndex = 1000,
    depth: SupportsIndex | None = None,
    weights: _Weights | None = None,
    rrf_k: float | None = None,
    normalize: str | None = None,
    missing: str | None = None,
) -> Run: ...
def mine(
    runs: list[_Run], qrels: _Qrels | None, output: _Path, options: dict[str, Any]
) -> tuple[int, int, int, int, int]: ...
def train_dual(
    output: _Path, options: dict[str, Any], *, progress: _Progress = None
) -> tuple[int, float | None, tuple[int, dict[str, float]] | None]: ...
def train_cross(
    output: _Path, options: dict[str, Any], *, progress: _Progress = None
) -> tuple[int, float | None, tuple[int, dict[str, float]] | None]: ...
def train_token(
    output: _Path, options: dict[str, Any], *, progress: _Progress = None
) -> tuple[int, float | None, tuple[int, dict[str, float]] | None]: ...
def encode(
    encoder: DualEncoder,
    output: _Path,
    *,
    corpus: _Texts | None = None,
    queries: _Texts | None = None,
    store_dtype: str = "f32",
    title_mode: str | None = None,
    title_separator: str | None = None,
    context_field: str | None = None,
    shard: tuple[int, int] | None = None,
    rows_per_shard: int | None = None,
    overwrite: bool = False,
    id_column: str | None = None,
    title_column: str | None = None,
    text_column: str | None = None,
    skip_bad_lines: bool = False,
    progress: _Progress = None,
) -> Path: ...
def index(
    corpus: _Texts,
    output: _Path,
    *,
    analyzer: str,
    title_separator: str | None = ...,
    doc_vectors: bool = False,
    memory_bytes: int | None = None,
    overwrite: bool = False,
    id_column: str | None = None,
    title_column: str | None = None,
    text_column: str | None = None,
    skip_bad_lines: bool = False,
    progress: _Progress = None,
) -> None: ...
