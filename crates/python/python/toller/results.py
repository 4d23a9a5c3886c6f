"""What searches and comparisons find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Hit(NamedTuple):
    """A document that was found."""

    id: str
    """The document's id."""
    score: float
    """Its score; larger is better."""
    ordinal: int
    """Its number in the collection."""


class Passage(NamedTuple):
    """A document of a collection."""

    id: str
    """Its id."""
    title: str | None
    """Its title, if it has one."""
    text: str
    """Its text, without the title."""


@dataclass(frozen=True)
class Comparison:
    """Two runs compared by one measure, on the queries that both hold."""

    baseline: int
    """The number of the run that is compared with."""
    run: int
    """The number of the run that is compared."""
    measure: str
    """The measure."""
    queries: int
    """The number of queries."""
    means: tuple[float, float]
    """The mean of the baseline, and that of the run."""
    difference: float
    """The mean difference: run less baseline."""
    interval: tuple[float, float]
    """The ends of the interval of the mean difference."""
    wins_ties_losses: tuple[int, int, int]
    """Queries on which the run is better, the same and worse."""
    cohens_d: float
    """Cohen's d of paired samples."""
    p_values: dict[str, float]
    """The p-value of each test."""
    adjusted_p_values: dict[str, float]
    """The p-value of each test, corrected for the number of comparisons by one measure."""
