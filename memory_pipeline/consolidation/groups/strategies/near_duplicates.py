"""Near duplicates (SuperLocalMemory): copies and rewordings that one memory can supersede, with a merge guard.

A group contains no two memories that state different facts: the guard has judged every pair. Not here: how texts are
compared (`text.compare.merge_guard`), and the summaries of groups (`summarising`).
"""

import re
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.components import components
from memory_pipeline.consolidation.groups import linkage
from memory_pipeline.consolidation.groups.guard_answers import GuardAnswers
from memory_pipeline.consolidation.groups.strategies.strategy import (
    IN_CONFLICT,
    PAIRED,
    ClusteringInput,
    ClusteringResult,
    Reading,
    Rows,
    Strategy,
    grouped,
)
from memory_pipeline.consolidation.similarity import Pairs
from memory_pipeline.schemas import TABLES
from memory_pipeline.text.compare import merge_guard, standing

KIN: Final = ("profile_id", "user_id", "agent_id", "speaker", "file", "heading", "project")
"""Columns that all members of a group share: the memory's owner and speaker, and where it stands."""
NEAREST_REFUSALS: Final = 10
"""Number of refusals kept per memory: texts of one template ("order 17 shipped") refuse each other by the million."""
_GUARDED_AT_ONCE: Final = 100_000
"""Pairs judged by the guard at once; bounds the scratch memory."""
_REFUSED_AT_ONCE: Final = 2_000_000
"""Plainly different pairs among which the nearest are searched at once; bounds the scratch memory."""
_WORDS: Final = "words"
"""Reason of a refusal because of words alone."""
_IN_WORDS: Final = (_WORDS, "conflict")
"""Reasons of refusals that are explained by the words that differ, since no fact differs."""
LONGEST_GUARDED: Final = 6_000
"""Maximum characters of a text that the guard reads word by word; of longer texts, such as logs, only copies are
merged."""
_WORD: Final = re.compile(r"\w+(?:['\u2019-]\w+)*")
_COMPARED: Final = pl.col("mergeable") | pl.col("compressed")


def find(inputs: ClusteringInput) -> ClusteringResult:
    """Group live originals that may be superseded, and those that a live compression already supersedes.

    So a group that grew replaces its summary, and one that did not proposes nothing. Only memories of one user, agent
    and speaker are compared, since a merge must not lose the owner or the speaker. Groups are components of the
    agreeing pairs with a cosine of at least `duplicate_similarity`, split where two members would disagree, with at
    least `duplicate_min_size` memories. Memories joined by a conflict edge stay apart. Per memory the
    `NEAREST_REFUSALS` nearest refusals are kept; of identical texts the oldest represents all. Two memories that were
    surely judged to say the same count as near, and other words or another day do not keep them apart; other facts do.
    A denial does not either where somebody answered so and each has words of its own.

    Costs a similarity join, if there are no neighbours of all live memories, and about 25 µs for each pair that the
    guard judges.
    """
    rows = inputs.rows(_COMPARED)
    alike = inputs.repeated(rows)
    conflicts, repeats, told = (
        (pairs["left"].to_numpy(), pairs["right"].to_numpy())
        for pairs in (inputs.links(rows, IN_CONFLICT), alike, alike.filter("told"))
    )
    labels, refusals, answers = _near_duplicates(inputs, rows, conflicts, repeats, told)
    return ClusteringResult(grouped(rows, labels, inputs.policy.duplicate_min_size), refusals, answers)


def reads(inputs: ClusteringInput) -> Reading:
    """Return all that `find` reads."""
    rows = inputs.rows(_COMPARED)
    own = [name for name in KIN if name != "profile_id"]
    policy = inputs.policy
    return Reading(
        rows=rows,
        columns=("memory_id", *own, *merge_guard.FACTS, "content_hash", "created_at", "judged"),
        settings=(policy.duplicate_similarity, policy.duplicate_min_size),
        pairs=pl.concat(
            [
                inputs.links(rows, IN_CONFLICT).select("left", "right", kind=pl.lit("apart")),
                inputs.repeated(rows).select(
                    "left", "right", kind=pl.when("told").then(pl.lit("told alike")).otherwise(pl.lit("alike"))
                ),
            ]
        )
        .unique()
        .sort(PAIRED.names()),
    )


def _near_duplicates(
    inputs: ClusteringInput,
    rows: Rows,
    conflicts: tuple[Rows, Rows],
    repeats: tuple[Rows, Rows],
    told: tuple[Rows, Rows],
) -> tuple[Rows, pl.DataFrame, pl.DataFrame]:
    """Return the first row of its group for each row, the pairs that must not be merged, and what the guard answered.

    Memories of equal owner, text, validity, dates and occasion are one node. The guard judges the near pairs of nodes,
    then the pairs that others would hold together, until no group contains a pair that disagrees. Of texts in a
    language without full rules, and of those longer than `LONGEST_GUARDED`, only exact copies are merged.
    """
    stated = _stated(inputs.points[rows]).with_row_index("index")
    first = pl.col("index").first().over("kin", "content_hash", "valid_from", "valid_until", "dated", "occasion")
    nodes, node = np.unique(stated.select(first).to_series().to_numpy(), return_inverse=True)
    stated, vectors = stated[nodes], inputs.space[rows[nodes]]
    near = inputs.near(rows[nodes], stated["kin"].to_numpy(), inputs.policy.duplicate_similarity)
    near = near.take((stated["judged"].gather(near.left) & stated["judged"].gather(near.right)).to_numpy())
    repeated, answered = (_of_one_owner(stated, _between(node, pairs)) for pairs in (repeats, told))
    same = _Same(
        components(len(nodes), repeated.left, repeated.right), components(len(nodes), answered.left, answered.right)
    )
    near = similarity.concatenate([near, repeated.take(~_contains(near, repeated))])
    contrary = _between(node, conflicts)
    contrary = contrary.take(same.told[contrary.left] != same.told[contrary.right])
    denied = _contains(contrary, near)
    plain = ~denied & _plainly_apart(stated, near) & (same.found[near.left] != same.found[near.right])
    judged = near.take(~plain & ~denied)
    guard = GuardAnswers(stated, inputs.answers)
    refused = pl.concat([_disagreeing(stated, judged, same, guard), _denied(near.take(denied))])
    agreeing = judged.take(~_contains(_ends(refused), judged))
    apart = similarity.concatenate([near.take(plain), _ends(refused), contrary])
    while True:
        labels = linkage.united(
            len(nodes), agreeing.left, agreeing.right, agreeing.similarity, apart=(apart.left, apart.right)
        )
        inner = _inside(labels)
        inner = inner.take(~_contains(judged, inner))
        inner = Pairs(inner.left, inner.right, similarity.pair_similarity(vectors, inner.left, inner.right))
        disagreements = _disagreeing(stated, inner, same, guard)
        if disagreements.is_empty():
            refusals = _refusals(stated, refused, near.take(plain), guard)
            return nodes[labels][node], refusals, guard.table()
        judged, refused, apart = (
            similarity.concatenate([judged, inner]),
            pl.concat([refused, disagreements]),
            similarity.concatenate([apart, _ends(disagreements)]),
        )


class _Same(NamedTuple):
    """Nodes that say the same, maybe through others: those of one number were found, or told by somebody, to do so."""

    found: Rows
    told: Rows


def _between(node: Rows, ends: tuple[Rows, Rows]) -> Pairs:
    """Return pairs of nodes from pairs of rows, the lower first, with similarity 0."""
    low, high = np.minimum(node[ends[0]], node[ends[1]]), np.maximum(node[ends[0]], node[ends[1]])
    return Pairs(low[low < high], high[low < high], np.zeros(np.count_nonzero(low < high), dtype=np.float32))


def _denied(pairs: Pairs) -> pl.DataFrame:
    """Return pairs joined by a conflict edge, with the columns of `_disagreeing`."""
    return _frame(pairs).with_columns(reason=pl.lit("conflict"), detail=pl.lit("", pl.String))


def _stated(points: pl.DataFrame) -> pl.DataFrame:
    """Add the facts that a text implies: the speaker counts as a name, and "yesterday" becomes a calendar day.

    `occasion` is the day of the memory if the same words on another day may report another event; null for lasting
    statements and long texts without a number. The same number on another day may be another measurement.
    """
    spoken = pl.when(pl.col("speaker").is_not_null()).then(pl.concat_list("speaker")).otherwise([])
    settled = merge_guard.absolute_dates(points["dates"], points["created_at"])
    readable = pl.col("judged") & (pl.col("content").str.len_chars() <= LONGEST_GUARDED)
    copied = points["content"].str.len_chars() >= standing.COPIED_CHARACTERS
    unclear = pl.when(points["judged"] & ~copied).then(pl.col("content"))
    lasting = standing.are_standing(points.select(unclear).to_series())
    numbered = pl.col("content").str.contains(r"\p{N}")
    return points.with_columns(
        settled.alias("dates"),
        pl.col("entities").list.set_union(spoken),
        readable,
        occasion=pl.when(~(lasting | copied) | numbered).then(pl.col("created_at").dt.date()),
    ).with_columns(dated=pl.col("dates").list.join("|"), kin=pl.struct(KIN).rank("dense").cast(pl.Int64))


def _plainly_apart(stated: pl.DataFrame, pairs: Pairs) -> NDArray[np.bool_]:
    """Mask of the pairs with different numbers or days (one each), different occasions, or different validity.

    They would be refused anyway. But texts of one template ("order 17 shipped", "order 18 shipped") are near each other
    by the million, and here a pair costs nanoseconds.
    """
    numbers = stated.select(pl.col("numbers").list.join("|").rank("dense")).to_series().to_numpy()
    days = stated["dated"].rank("dense").to_numpy()
    one_number = (stated["numbers"].list.len() == 1).to_numpy()
    one_day = stated["dated"].str.contains("^[0-9]{4}-[0-9]{2}-[0-9]{2}$").to_numpy()
    since, until = (stated[end].rank("dense").fill_null(0).to_numpy() for end in ("valid_from", "valid_until"))
    left, right = pairs.left, pairs.right
    elsewhen = (until[left] != until[right]) | ((since[left] != since[right]) & (since[left] * since[right] > 0))
    occasion = stated["occasion"].rank("dense").fill_null(0).to_numpy()
    elsewhen |= (occasion[left] != occasion[right]) & (occasion[left] * occasion[right] > 0)
    plain: NDArray[np.bool_] = elsewhen | np.where(
        numbers[left] != numbers[right],
        one_number[left] & one_number[right],
        one_day[left] & one_day[right] & (days[left] != days[right]),
    )
    return plain


def _of_one_owner(stated: pl.DataFrame, pairs: Pairs) -> Pairs:
    """Return the pairs of nodes with the same owner and speaker, each once, with similarity 0."""
    kin = stated["kin"].to_numpy()
    ends = np.unique(np.stack([pairs.left, pairs.right], axis=1), axis=0).reshape(-1, 2)
    ends = ends[kin[ends[:, 0]] == kin[ends[:, 1]]]
    return Pairs(ends[:, 0], ends[:, 1], np.zeros(len(ends), dtype=np.float32))


def _disagreeing(stated: pl.DataFrame, pairs: Pairs, same: _Same, guard: GuardAnswers) -> pl.DataFrame:
    """Return the pairs that state different facts: left, right, similarity, reason, detail (smaller id first).

    Neither other words nor another day makes two different that were found to repeat each other.
    """
    no_text = pl.lit(None, pl.String)
    judged = [_frame(pairs.take(slice(0))).with_columns(reason=no_text, detail=no_text)]
    ids = stated["memory_id"].rank("dense").to_numpy()
    for part in (pairs.take(slice(at, at + _GUARDED_AT_ONCE)) for at in range(0, len(pairs), _GUARDED_AT_ONCE)):
        ordered = ids[part.left] < ids[part.right]
        left, right = np.where(ordered, part.left, part.right), np.where(ordered, part.right, part.left)
        repeated, told = (numbers[part.left] == numbers[part.right] for numbers in same)
        answered = guard.of(left, right, repeated=repeated, told=told)
        days = [stated["occasion"].gather(end).alias(side) for side, end in (("left", left), ("right", right))]
        found = _on_one_day(answered.with_columns(pl.Series("repeated", repeated, dtype=pl.Boolean), *days))
        judged.append(_frame(part).hstack(found).drop_nulls("reason"))
    return pl.concat(judged)


def _on_one_day(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return `reason` and `detail`, refusing events of two days that are described in the same words.

    What differs in words alone, or is of two days, counts as the same where it was found to repeat.
    """
    told_apart = pl.when(~pl.col("repeated") | (pl.col("reason") != _WORDS))
    verdicts = verdicts.with_columns(reason=told_apart.then("reason"), detail=told_apart.then("detail"))
    apart = pl.col("reason").is_null() & (pl.col("left") != pl.col("right")) & ~pl.col("repeated")
    days = pl.format("[{}] / [{}]", pl.col("left").cast(pl.String), pl.col("right").cast(pl.String))
    return verdicts.select(
        reason=pl.when(apart).then(pl.lit("dates")).otherwise("reason"),
        detail=pl.when(apart).then(days).otherwise("detail"),
    )


def _refusals(stated: pl.DataFrame, refused: pl.DataFrame, plain: Pairs, guard: GuardAnswers) -> pl.DataFrame:
    """Return table `merge_refusals`: the refused pairs, and of the plainly different ones those nearest to a memory."""
    nearest = _frame(plain.take(slice(0)))
    for start in range(0, len(plain), _REFUSED_AT_ONCE):
        nearest = _nearest(pl.concat([nearest, _frame(plain.take(slice(start, start + _REFUSED_AT_ONCE)))]))
    alone = np.arange(len(stated))
    nearest = _nearest(pl.concat([refused, _disagreeing(stated, _ends(nearest), _Same(alone, alone), guard)]))
    one, two = (stated["memory_id"].gather(nearest[side]) for side in ("left", "right"))
    texts = [stated["content"].gather(nearest[side]) for side in ("left", "right")]
    ordered = pl.when(pl.col("one") <= pl.col("two"))
    named = nearest.with_columns(
        stated["profile_id"].gather(nearest["left"]), one=one, two=two, said=texts[0], other=texts[1]
    ).with_columns(
        memory_id=pl.min_horizontal("one", "two"),
        other_id=pl.max_horizontal("one", "two"),
        said=ordered.then("said").otherwise("other"),
        other=ordered.then("other").otherwise("said"),
    )
    worded = named.filter(pl.col("reason").is_in(_IN_WORDS))
    wordings = [_differing_words(*pair) for pair in worded.select("said", "other").iter_rows()]
    explained = worded.select("left", "right", words=pl.Series(wordings, dtype=pl.String))
    return TABLES["merge_refusals"].conform(
        named.join(explained, on=["left", "right"], how="left").with_columns(detail=pl.coalesce("words", "detail"))
    )


def _differing_words(one: str, other: str) -> str:
    """Return what each text says without the other, as written; the texts themselves if only the order differs."""
    spelled = [_WORD.findall(text) for text in (one, other)]
    vocabularies = [{word.casefold() for word in words} for words in spelled]
    distinct = [[word for word in spelled[side] if word.casefold() not in vocabularies[1 - side]] for side in (0, 1)]
    left, right = (" ".join(dict.fromkeys(words)) for words in (distinct if any(distinct) else spelled))
    return f"[{left}] / [{right}]"


def _nearest(refused: pl.DataFrame) -> pl.DataFrame:
    """Return pairs that are among the nearest of one of their two nodes, nearest first."""
    ordered = refused.sort("similarity", "left", "right", descending=[True, False, False]).with_row_index("pair")
    ends = pl.concat([ordered.select("pair", node=side) for side in ("left", "right")]).sort("pair")
    near = ends.filter(pl.col("pair").cum_count().over("node") <= NEAREST_REFUSALS)
    return ordered.join(near, on="pair", how="semi", maintain_order="left").drop("pair")


def _inside(labels: Rows) -> Pairs:
    """Return all pairs of rows within a group, without similarities: rows `lag` positions apart, for every lag."""
    order = np.argsort(labels, kind="stable")
    grouped = labels[order]
    parts = [np.empty((2, 0), dtype=np.int64)]
    for lag in range(1, int(np.bincount(labels).max(initial=0))):
        here = np.flatnonzero(grouped[lag:] == grouped[:-lag])
        parts.append(np.stack([order[here], order[here + lag]]))
    left, right = np.concatenate(parts, axis=1)
    return Pairs(left, right, np.empty(len(left), dtype=np.float32))


def _contains(pairs: Pairs, asked: Pairs) -> NDArray[np.bool_]:
    """Mask of the `asked` pairs that are among `pairs`; left is below right in both."""
    n = 1 + max(int(pairs.right.max(initial=0)), int(asked.right.max(initial=0)))
    found: NDArray[np.bool_] = np.isin(asked.left * n + asked.right, pairs.left * n + pairs.right)
    return found


def _frame(pairs: Pairs) -> pl.DataFrame:
    return pl.DataFrame({"left": pairs.left, "right": pairs.right, "similarity": pairs.similarity})


def _ends(refused: pl.DataFrame) -> Pairs:
    return Pairs(*(refused[name].to_numpy() for name in ("left", "right", "similarity")))


STRATEGY: Final = Strategy(find, "compression", supersedes=True, order=10, reads=reads)
