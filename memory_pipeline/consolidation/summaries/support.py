"""Checks each sentence that a model wrote against its sources, and drops what no source states.

A sentence is read in pieces. Each needs one source that has all its content words, its numbers and whom it is about,
and in that source a clause that affirms or denies the same, under the same conditions and doubts, with its names in the
same order. Words are compared as lemmas: inflections, synonyms and words of one root are the same; no other difference
is tolerated, since one new word can change the statement. Not here: what a text must not leave out (`faithfulness`) and
which texts are shown to a model (`prompting`).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import polars as pl

from memory_pipeline.text.lang import identification
from memory_pipeline.text.lang.en.core_cues import LEANING_START
from memory_pipeline.text.lang.en.lemmas import (
    DATE_LEMMAS,
    FUNCTION_LEMMAS,
    NOT,
    NUMBER_LEMMAS,
    OPERATORS,
    PAST,
    PERSONS,
    lemma,
)
from memory_pipeline.text.lang.en.word_families import roots
from memory_pipeline.text.lang.registry import ENGLISH
from memory_pipeline.text.parse import clauses, facts, tokens
from memory_pipeline.text.parse.lemmatize import lemmatize

_SHOWN: Final = 60
"""Maximum number of characters that a reason quotes."""
_PIECE: Final = re.compile(r"[.!?,:;()/\n]+\s+|\s+(?:and|or|as well as)\s+|\s[\u2013\u2014-]\s|[()]")
_PASSIVE: Final = re.compile(r"\bby\b", re.IGNORECASE)
_REPORTED: Final = frozenset(
    lemma(word).removesuffix(PAST)
    for word in (
        *("user", "users", "person", "people", "speaker", "participant", "someone", "say", "tell", "mention", "note"),
        *("state", "report", "share", "describe", "discuss", "explain", "indicate", "include", "several", "various"),
        *("both", "overall", "be", "have", "do", "go", "respectively", "later", "separately", "same", "following"),
    )
)
"""Lemmas of reporting words in summaries, which state nothing of their own."""
_EMPTY: Final = _REPORTED | DATE_LEMMAS | NUMBER_LEMMAS | frozenset(PERSONS.values())

_Sentence = tuple[str, bool, "list[_Piece]"]
"""A sentence as written, whether it leans on the one before, and its pieces."""


@dataclass(frozen=True)
class _Piece:
    """A piece of a sentence, or a clause of a source.

    Attributes:
        text: as written.
        words: its content words, as lemmas or stems.
        operators: its words that express a wish, a doubt or a condition.
        names: the words of its names, in their order.
        subject: the words of the name that it begins with, if it does.
        numbers: its numbers in normal form, dates apart.
        counted: its figures, each with the word that follows.
        denied: whether it denies something.
        passive: whether it says by whom something is done.
    """

    text: str
    words: frozenset[str]
    operators: frozenset[str]
    names: tuple[str, ...]
    subject: frozenset[str]
    numbers: frozenset[str]
    counted: frozenset[tuple[str, str]]
    denied: bool
    passive: bool


@dataclass(frozen=True)
class _Source:
    """A memory: its words, and its clauses."""

    words: frozenset[str]
    roots: frozenset[int]
    numbers: frozenset[str]
    clauses: Sequence[_Piece] = field(repr=False)

    def holds(self, words: Iterable[str], numbers: frozenset[str]) -> bool:
        """Return whether it has all these words, or words of the same roots, and all these numbers."""
        present = (word in self.words or not self.roots.isdisjoint(roots().get(word, ())) for word in words)
        return numbers <= self.numbers and all(present)


def supported(texts: pl.DataFrame, members: pl.DataFrame, *, on: list[str]) -> pl.DataFrame:
    """Return each text without the sentences that none of its sources states.

    A sentence that begins with a pronoun stays or goes with the one before it. `texts` has content and the columns
    `on`, which identify a text; `members` any number of rows per text, with speaker too.

    Returns:
        The columns `on`; content, empty if no sentence is left; and reason, such as "unsupported: approves all
        payments", null if every sentence is left: one row per text, in the order of `texts`. Cost: about 5 ms per text
        of ten members.
    """
    languages = identification.identify(texts["content"])
    keyed = texts.select(*on, "content", language=languages)
    sources: dict[tuple[Any, ...], list[_Source]] = {}
    spoken = members.join(keyed.select(*on, "language"), on=on, maintain_order="left").with_columns(
        content=pl.concat_str("speaker", "content", separator=": ", ignore_nulls=True)
    )
    for key, found in zip(spoken.select(on).iter_rows(), _sources(spoken), strict=True):
        sources.setdefault(key, []).append(found)
    sentences = _sentences(keyed)
    rows = []
    for row, key in enumerate(texts.select(on).iter_rows()):
        content, reason = _supported(sentences.get(row, []), sources.get(key, []))
        rows.append((*key, content, reason))
    schema = {name: texts.schema[name] for name in on} | {"content": pl.String(), "reason": pl.String()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _supported(sentences: Iterable[_Sentence], sources: Sequence[_Source]) -> tuple[str, str | None]:
    """Return the supported sentences, and what is wrong with the first of the others."""
    supported, reason, dropped = list[str](), None, False
    for text, leans, pieces in sentences:
        fault = _fault(pieces, sources)
        dropped = fault is not None or (dropped and leans)
        reason = reason or fault
        supported += [] if dropped else [text]
    return "".join(supported).strip(), reason


def _fault(pieces: Sequence[_Piece], sources: Sequence[_Source]) -> str | None:
    """Return what is wrong with a sentence."""
    operators = frozenset().union(*(piece.operators for piece in pieces))
    subject = frozenset[str]()
    for piece in pieces:
        subject = piece.subject or subject
        if not piece.words:
            continue
        wanted = piece.words if piece.names else piece.words | subject
        holding = (source for source in sources if source.holds(wanted, piece.numbers))
        if not any(_agrees(piece, operators, clause) for source in holding for clause in _nearest(piece, source)):
            return f"unsupported: {piece.text[:_SHOWN]}"
    return None


def _nearest(piece: _Piece, source: _Source) -> list[_Piece]:
    """Return the clauses of a source that share most words with a piece."""
    shared = [len(piece.words & clause.words) for clause in source.clauses]
    return [clause for clause, count in zip(source.clauses, shared, strict=True) if count == max(shared)]


def _agrees(piece: _Piece, operators: frozenset[str], clause: _Piece) -> bool:
    """Return whether a clause states the content of a piece in the same way, given the operators of its sentence."""
    ours = [name for name in piece.names if name in clause.names]
    theirs = [name for name in clause.names if name in ours]
    turned = len(ours) > 1 and (ours == theirs) == (piece.passive != clause.passive)
    other = {word for figure, word in clause.counted if (figure, word) not in piece.counted}
    miscounted = any(word in other for figure, word in piece.counted - clause.counted)
    return piece.denied == clause.denied and clause.operators <= operators and not (turned or miscounted)


def _sources(members: pl.DataFrame) -> list[_Source]:
    """Return what each member states."""
    by_row: dict[int, list[_Piece]] = {}
    split = clauses.split_clauses(members["content"], members["language"])
    spans = split.select("row", content="clause", language=members["language"].gather(split["row"]))
    for row, piece in zip(spans["row"], _pieces(spans), strict=True):
        by_row.setdefault(row, []).append(piece)
    found = []
    for row in range(members.height):
        parts = by_row.get(row, [])
        words = frozenset[str]().union(*(part.words.union(part.names) for part in parts))
        related = frozenset(root for word in words for root in roots().get(word, ()))
        numbers = frozenset[str]().union(*(part.numbers for part in parts))
        found.append(_Source(words, related, numbers, parts))
    return found


def _sentences(texts: pl.DataFrame) -> dict[int, list[_Sentence]]:
    """Return the sentences of each text, by its position.

    A clause that denies something is one piece: taken apart, its end would say the opposite.
    """
    split = clauses.split_clauses(texts["content"], texts["language"]).with_columns(
        sentence=pl.col("ends").shift(1, fill_value=False).cum_sum()
    )
    language = texts["language"].gather(split["row"])
    denied = facts.extract(split["clause"], tokens.fold(split["clause"]), language)["negated"]
    listed = [
        [clause] if whole else [part for part in _PIECE.split(clause) if part.strip()]
        for clause, whole in zip(split["clause"], denied, strict=True)
    ]
    spans = split.select("row", "sentence", "clause").with_columns(
        language.alias("language"), pl.Series("content", listed, dtype=pl.List(pl.String))
    )
    parts = spans.select("row", "sentence", "language", "content").explode("content").drop_nulls("content")
    written = spans.group_by("row", "sentence", maintain_order=True).agg(pl.col("clause").str.join(""))
    written = written.with_columns(leans=pl.col("clause").str.strip_chars().str.contains(LEANING_START))
    pieces: dict[tuple[int, int], list[_Piece]] = {}
    for key, piece in zip(parts.select("row", "sentence").iter_rows(), _pieces(parts), strict=True):
        pieces.setdefault(key, []).append(piece)
    found: dict[int, list[_Sentence]] = {}
    for row, sentence, text, leans in written.iter_rows():
        found.setdefault(row, []).append((text, leans, pieces.get((row, sentence), [])))
    return found


def _pieces(spans: pl.DataFrame) -> list[_Piece]:
    """Read spans of text: content, language."""
    english = spans["language"].is_null() | (spans["language"] == ENGLISH)
    lemmas = spans.join(lemmatize(spans["content"]), on="content", how="left", maintain_order="left")["lemmas"]
    stems = tokens.content_stems(spans["content"], spans["language"])
    low = tokens.fold(spans["content"])
    read = facts.extract(spans["content"], low, spans["language"])
    rows = zip(spans["content"], english, lemmas, stems, read.iter_rows(named=True), strict=True)
    return [_piece(text, plain if is_english else other, row) for text, is_english, plain, other, row in rows]


def _piece(text: str, words: Sequence[str], read: dict[str, Any]) -> _Piece:
    bare = [word.removesuffix(PAST) for word in words]
    said = frozenset(word for word in bare if not any(map(str.isdigit, word))) - FUNCTION_LEMMAS - {NOT}
    positions = sorted((text.find(name), name) for name in read["entities"])
    named = [(position, lemma(word)) for position, name in positions for word in name.lower().split()]
    names = [(position, word) for position, word in named if word not in _EMPTY]
    start = len(text) - len(text.lstrip())
    return _Piece(
        text=text.strip(),
        words=said - _EMPTY,
        operators=(said & OPERATORS) - _REPORTED,
        names=tuple(dict.fromkeys(word for _, word in names)),
        subject=frozenset(word for position, word in names if position == start),
        numbers=frozenset(read["numbers"]),
        counted=frozenset((one, other) for one, other in pairwise(bare) if one.isdigit() and other in said),
        denied=read["negated"],
        passive=_PASSIVE.search(text) is not None,
    )
