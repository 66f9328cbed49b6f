"""Near duplicates: copies and rewordings that one memory can stand for, and a guard against merging different facts.

A group holds no two memories that state different facts: the guard has looked at every pair. What is not here: reading
texts (`text.differences`), and what is made of a group (`summarising`).
"""

import re
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.groups import grouping
from memory_pipeline.consolidation.groups.strategies.strategy import (
    IN_CONFLICT,
    Found,
    Rows,
    Scene,
    Space,
    Strategy,
    grouped,
)
from memory_pipeline.consolidation.similarity import Pairs
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import merge_guard

KIN: Final = ("profile_id", "user_id", "agent_id", "speaker")
"""What all members of a group share: whose memory it is, and who said it."""
NEAREST_REFUSALS: Final = 10
"""Refusals kept of a memory: texts of one template ("order 17 shipped") refuse each other by the million."""
_GUARDED_AT_ONCE: Final = 100_000
"""Pairs that the guard reads at once: bounds the scratch memory."""
_REFUSED_AT_ONCE: Final = 2_000_000
"""Plainly different pairs among which the nearest are looked for at once, likewise."""
_IN_WORDS: Final = ("words", "conflict")
"""Reasons of refusals that no fact tells but only the words themselves."""
_WORD: Final = re.compile(r"\w+(?:['\u2019-]\w+)*")
_STATED: Final = ("content", "numbers", "dates", "entities", "negated", "valid_from", "valid_until")


def find(scene: Scene) -> Found:
    """Group live originals that may give way, and those that a live compression already stands for.

    So a group that grew replaces its summary, and one that did not proposes nothing. Only memories of one user, agent
    and speaker are compared: a merge must not lose whose they are. Cosine at least `duplicate_similarity`; components
    of the pairs that agree, split where two members would disagree; at least `duplicate_min_size` memories. Two that an
    edge of kind conflict joins stay apart. Of a memory's refusals the `NEAREST_REFUSALS` nearest are kept, and of
    memories that say the same word for word the oldest stands for all.

    Costs the similarity join and about 25 µs for each pair that the guard looks at.
    """
    rows = scene.rows(pl.col("mergeable") | pl.col("stood_for"))
    conflicts = scene.links(rows, IN_CONFLICT)
    ends = conflicts["left"].to_numpy(), conflicts["right"].to_numpy()
    labels, refusals = _near_duplicates(scene.points[rows], scene.space[rows], ends, scene.policy)
    return Found(grouped(rows, labels, scene.policy.duplicate_min_size), refusals)


def _near_duplicates(
    points: pl.DataFrame, space: Space, conflicts: tuple[Rows, Rows], policy: Policy
) -> tuple[Rows, pl.DataFrame]:
    """The first row of its group for each row, and the pairs that must not be merged.

    Memories of one owner, text, validity and dates are one node. The guard looks at the near pairs of nodes, then at
    the pairs that others would hold together, until no group holds a pair that disagrees.
    """
    stated = _stated(points).with_row_index("place")
    first = pl.col("place").first().over("kin", "content_hash", "valid_from", "valid_until", "dated")
    nodes, node = np.unique(stated.select(first).to_series().to_numpy(), return_inverse=True)
    stated, vectors = stated[nodes], space[nodes]
    near = similarity.threshold_join(vectors, stated["kin"].to_numpy(), policy.duplicate_similarity)
    contrary = _between(node, conflicts)
    denied = _contains(contrary, near)
    plain = ~denied & _plainly_apart(stated, near)
    asked = _take(near, ~plain & ~denied)
    refused = pl.concat([_disagreeing(stated, asked), _denied(_take(near, denied))])
    agreeing = _take(asked, ~_contains(_ends(refused), asked))
    apart = _both(_both(_take(near, plain), _ends(refused)), contrary)
    while True:
        labels = grouping.united(
            len(nodes), agreeing.left, agreeing.right, agreeing.similarity, apart=(apart.left, apart.right)
        )
        inner = _inside(labels)
        inner = _take(inner, ~_contains(asked, inner))
        inner = Pairs(inner.left, inner.right, similarity.pair_similarity(vectors, inner.left, inner.right))
        found = _disagreeing(stated, inner)
        if found.is_empty():
            return nodes[labels][node], _refusals(stated, refused, _take(near, plain))
        asked, refused, apart = _both(asked, inner), pl.concat([refused, found]), _both(apart, _ends(found))


def _between(node: Rows, ends: tuple[Rows, Rows]) -> Pairs:
    """Pairs of nodes from pairs of rows, the lower first; similarities do not matter."""
    low, high = np.minimum(node[ends[0]], node[ends[1]]), np.maximum(node[ends[0]], node[ends[1]])
    return Pairs(low[low < high], high[low < high], np.zeros(np.count_nonzero(low < high), dtype=np.float32))


def _denied(pairs: Pairs) -> pl.DataFrame:
    """Pairs that an edge says are in conflict, as `_disagreeing` returns them."""
    return _frame(pairs).with_columns(reason=pl.lit("conflict"), detail=pl.lit("", pl.String))


def _stated(points: pl.DataFrame) -> pl.DataFrame:
    """Points with what a memory states beyond its text: the speaker is a name, and "yesterday" is a certain day."""
    spoken = pl.when(pl.col("speaker").is_not_null()).then(pl.concat_list("speaker")).otherwise([])
    settled = merge_guard.settled_dates(points["dates"], points["created_at"])
    return points.with_columns(settled.alias("dates"), pl.col("entities").list.set_union(spoken)).with_columns(
        dated=pl.col("dates").list.join("|"), kin=pl.struct(KIN).rank("dense").cast(pl.Int64)
    )


def _plainly_apart(stated: pl.DataFrame, pairs: Pairs) -> NDArray[np.bool_]:
    """Pairs that name one number each, or one day each, and not the same; or that hold at different times.

    The guard would say so too. But texts of one template ("order 17 shipped", "order 18 shipped") are near each other
    by the million, and here a pair costs nanoseconds.
    """
    numbers = stated.select(pl.col("numbers").list.join("|").rank("dense")).to_series().to_numpy()
    days = stated["dated"].rank("dense").to_numpy()
    one_number = (stated["numbers"].list.len() == 1).to_numpy()
    one_day = stated["dated"].str.contains("^[0-9]{4}-[0-9]{2}-[0-9]{2}$").to_numpy()
    since, until = (stated[end].rank("dense").fill_null(0).to_numpy() for end in ("valid_from", "valid_until"))
    left, right = pairs.left, pairs.right
    elsewhen = (until[left] != until[right]) | ((since[left] != since[right]) & (since[left] * since[right] > 0))
    plain: NDArray[np.bool_] = elsewhen | np.where(
        numbers[left] != numbers[right],
        one_number[left] & one_number[right],
        one_day[left] & one_day[right] & (days[left] != days[right]),
    )
    return plain


def _disagreeing(stated: pl.DataFrame, pairs: Pairs) -> pl.DataFrame:
    """Those of the pairs that state different facts: left, right, similarity, reason, detail (smaller id first)."""
    unsaid = pl.lit(None, pl.String)
    judged = [_frame(_take(pairs, slice(0))).with_columns(reason=unsaid, detail=unsaid)]
    ids = stated["memory_id"].rank("dense").to_numpy()
    for part in (_take(pairs, slice(at, at + _GUARDED_AT_ONCE)) for at in range(0, len(pairs), _GUARDED_AT_ONCE)):
        ordered = ids[part.left] < ids[part.right]
        ends = {"left": np.where(ordered, part.left, part.right), "right": np.where(ordered, part.right, part.left)}
        sides = [stated[end].select(pl.col(_STATED).name.prefix(f"{side}_")) for side, end in ends.items()]
        verdicts = merge_guard.disagreements(pl.concat(sides, how="horizontal")).select("reason", "detail")
        judged.append(_frame(part).hstack(verdicts).drop_nulls("reason"))
    return pl.concat(judged)


def _refusals(stated: pl.DataFrame, refused: pl.DataFrame, plain: Pairs) -> pl.DataFrame:
    """Table `merge_refusals`: the refused pairs, and of those that are plainly apart, among the nearest of a node."""
    kept = _frame(_take(plain, slice(0)))
    for start in range(0, len(plain), _REFUSED_AT_ONCE):
        kept = _nearest(pl.concat([kept, _frame(_take(plain, slice(start, start + _REFUSED_AT_ONCE)))]))
    kept = _nearest(pl.concat([refused, _disagreeing(stated, _ends(kept))]))
    one, two = (stated["memory_id"].gather(kept[side]) for side in ("left", "right"))
    texts = [stated["content"].gather(kept[side]) for side in ("left", "right")]
    ordered = pl.when(pl.col("one") <= pl.col("two"))
    named = kept.with_columns(
        stated["profile_id"].gather(kept["left"]), one=one, two=two, said=texts[0], other=texts[1]
    ).with_columns(
        memory_id=pl.min_horizontal("one", "two"),
        other_id=pl.max_horizontal("one", "two"),
        said=ordered.then("said").otherwise("other"),
        other=ordered.then("other").otherwise("said"),
    )
    worded = named.filter(pl.col("reason").is_in(_IN_WORDS))
    shown = [_apart(*pair) for pair in worded.select("said", "other").iter_rows()]
    told = worded.select("left", "right", words=pl.Series(shown, dtype=pl.String))
    return TABLES["merge_refusals"].conform(
        named.join(told, on=["left", "right"], how="left").with_columns(detail=pl.coalesce("words", "detail"))
    )


def _apart(one: str, other: str) -> str:
    """What each of two texts says without the other, as written; the texts themselves where only the order differs."""
    said = [_WORD.findall(text) for text in (one, other)]
    known = [{word.casefold() for word in words} for words in said]
    alone = [[word for word in said[side] if word.casefold() not in known[1 - side]] for side in (0, 1)]
    left, right = (" ".join(dict.fromkeys(words)) for words in (alone if any(alone) else said))
    return f"[{left}] / [{right}]"


def _nearest(refused: pl.DataFrame) -> pl.DataFrame:
    """Pairs that are among the nearest of one of their two nodes, the nearest first."""
    ordered = refused.sort("similarity", "left", "right", descending=[True, False, False]).with_row_index("pair")
    ends = pl.concat([ordered.select("pair", node=side) for side in ("left", "right")]).sort("pair")
    near = ends.filter(pl.col("pair").cum_count().over("node") <= NEAREST_REFUSALS)
    return ordered.join(near, on="pair", how="semi", maintain_order="left").drop("pair")


def _inside(labels: Rows) -> Pairs:
    """All pairs of rows of one group, without similarities; rows that stand `lag` places apart, for every lag."""
    order = np.argsort(labels, kind="stable")
    grouped = labels[order]
    found = [np.empty((2, 0), dtype=np.int64)]
    for lag in range(1, int(np.bincount(labels).max(initial=0))):
        here = np.flatnonzero(grouped[lag:] == grouped[:-lag])
        found.append(np.stack([order[here], order[here + lag]]))
    left, right = np.concatenate(found, axis=1)
    return Pairs(left, right, np.empty(len(left), dtype=np.float32))


def _take(pairs: Pairs, which: NDArray[np.bool_] | Rows | slice) -> Pairs:
    return Pairs(pairs.left[which], pairs.right[which], pairs.similarity[which])


def _both(one: Pairs, other: Pairs) -> Pairs:
    return Pairs(
        np.concatenate([one.left, other.left]),
        np.concatenate([one.right, other.right]),
        np.concatenate([one.similarity, other.similarity]),
    )


def _contains(pairs: Pairs, asked: Pairs) -> NDArray[np.bool_]:
    """Which of the pairs asked about are among `pairs`; left is below right in both."""
    n = 1 + max(int(pairs.right.max(initial=0)), int(asked.right.max(initial=0)))
    found: NDArray[np.bool_] = np.isin(asked.left * n + asked.right, pairs.left * n + pairs.right)
    return found


def _frame(pairs: Pairs) -> pl.DataFrame:
    return pl.DataFrame({"left": pairs.left, "right": pairs.right, "similarity": pairs.similarity})


def _ends(refused: pl.DataFrame) -> Pairs:
    return Pairs(*(refused[name].to_numpy() for name in ("left", "right", "similarity")))


STRATEGY: Final = Strategy(find, "compression", supersedes=True, place=10)
