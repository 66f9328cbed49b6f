"""The features by which a pair of memories is judged: what the two share and where they differ, in numbers.

Features count shared and unshared words, values of one type and cues of change, of two statements and of their clauses.
Not here: how memories are read (`relation_reading`), the choice of pairs of memories (`relation_candidates`), and the
weights of the features (`relation_model`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from memory_pipeline.text.arrays import Floats, Marks, Rows, last_of_each, places
from memory_pipeline.text.compare.relation_reading import CONTEXT_REACH, LEAST_WEIGHT, SMALL_TALK_WEIGHT, Reading, sums
from memory_pipeline.text.lang.en.relation_cues import CUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PAIRS_AT_ONCE: Final = 20_000
"""Pairs whose features are computed at once; bounds the scratch memory."""
_RANKS: Final = ("rank_old", "rank_new", "rank_least", "mutual", "relative_old", "relative_new")
"""Names of the features that compare a pair with the other pairs of its statements."""
_STATEMENT_PAIRS: Final = 8
"""Maximum number of pairs of statements compared for two long memories: those that share most."""


def statement_pairs(reading: Reading, older: Rows, newer: Rows) -> tuple[Rows, Rows, Rows]:
    """Return pairs of statements of pairs of memories: index of the pair, older and newer statement.

    For long memories, only the pairs of statements that share most.
    """
    pair, left, right = _crossed(reading.start, older, newer)
    long = np.bincount(pair, minlength=len(older))[pair] > _STATEMENT_PAIRS
    if not long.any():
        return pair, left, right
    shared = np.full(len(pair), np.inf)
    shared[long] = _dot(reading.weighted, reading.words, left[long], right[long])
    order = np.lexsort((np.arange(len(pair)), -shared, pair))
    kept = np.sort(order[places(pair[order]) < _STATEMENT_PAIRS])
    return pair[kept], left[kept], right[kept]


def features(reading: Reading, older: Rows, newer: Rows) -> tuple[tuple[str, ...], Floats]:
    """Return names and values, [pairs, names], of the features of pairs of statements, by index of the older and newer.

    Ranks are among the pairs given; the values of a feature lie side by side. Cost: about 8 µs per pair.
    """
    names, values = tuple[str, ...](), np.empty((0, len(older)))
    for part in parts(len(older)):
        found = columns(reading, older[part], newer[part])
        if not names:
            names, values = (*found, *_RANKS), np.empty((len(found) + len(_RANKS), len(older)))
        for row, column in zip(values, found.values(), strict=False):
            row[part] = column
    values[-len(_RANKS) :] = _ranks(values[names.index("similarity")], older, newer)
    return names, values.T


def parts(count: int) -> list[slice]:
    """Return slices of `count` pairs whose features fit into bounded memory; at least one slice."""
    return [slice(low, low + _PAIRS_AT_ONCE) for low in range(0, max(count, 1), _PAIRS_AT_ONCE)]


def _dot(one: sparse.csr_array, other: sparse.csr_array, left: Rows, right: Rows) -> Floats:
    """Return the product of row `left` of one matrix and row `right` of the other, for each pair."""
    result = np.zeros(len(left))
    filled = np.flatnonzero((np.diff(one.indptr)[left] > 0) & (np.diff(other.indptr)[right] > 0))
    for part in parts(len(filled)):
        at = filled[part]
        result[at] = sums(one[left[at]].multiply(other[right[at]]))
    return result


def columns(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return all features of pairs of statements except the ranks."""
    found = {
        **_shared(reading, older, newer),
        **_values_compared(reading, older, newer),
        **_cue_columns(reading, older, newer),
        **_clause_columns(reading, older, newer),
        **_circumstances(reading, older, newer),
    }
    return found | _together(found)


def _together(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return products of features that mean more together than alone."""
    alike, plain = columns["covered_least"], np.minimum(columns["clause_plain"], 1.5)
    moved = np.maximum.reduce([columns[f"new_{cue}"] for cue in ("change", "end", "onset", "return")])
    other = np.maximum(columns["value_differs"], columns["amount_differs"])
    denied, named = columns["negation_differs"], columns["names_differ"]
    meant = np.minimum(columns["plain_meant"], 1.5)
    return {
        "alike_no_change": alike * (1 - moved) * (1 - other) * (1 - denied),
        "alike_values_equal": alike * columns["value_equal"] * (1 - other),
        "alike_values_differ": alike * other * (1 - moved),
        "alike_denied": alike * denied * (1 - moved),
        "alike_apart": alike * np.minimum(columns["apart"], 1.0) * (1 - moved),
        "alike_names_differ": alike * named * (1 - moved) * (1 - other),
        "alike_left": alike * columns["left_plain_both"],
        "alike_values_differ_alone": alike * other * (1 - moved) * np.exp(-2 * columns["left_plain_both"]),
        "alike_leads_absent": alike * columns["leads_absent"],
        "repeated": alike * (1 - other) * (1 - denied) * np.exp(-2 * columns["left_plain_both"]),
        "alike_both_sides": alike**2,
        "changed_value": plain * moved * other,
        "changed_attribute": plain * moved,
        "meant_changed": meant * moved,
        "meant_still": meant * (1 - moved),
        "lead_other": columns["lead_differs"] * (1 - columns["lead_same"]) * alike,
    }


def _share(part: Floats, whole: Floats) -> Floats:
    return part / np.maximum(whole, LEAST_WEIGHT)


def _shared(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return how much the two share: words, names, words close in meaning, context."""
    weighted, words = reading.weighted, reading.words
    total, named_total, value_total, norms, context_total = reading.totals.values()
    plain_total = total - named_total
    both = words[older].multiply(weighted[newer]).tocsr()
    shared = sums(both)
    names = _dot(words, reading.names, older, newer)
    plain = shared - names
    rarest = np.asarray(both.max(axis=1).todense()).ravel() if both.nnz else np.zeros(len(older))
    close_old = np.minimum(_dot(weighted, reading.close, older, newer), total[older])
    close_new = np.minimum(_dot(weighted, reading.close, newer, older), total[newer])
    covered_old = np.minimum(_share(shared + close_old, total[older]), 1.0)
    covered_new = np.minimum(_share(shared + close_new, total[newer]), 1.0)
    cosine = _dot(weighted, weighted, older, newer) / np.maximum(norms[older] * norms[newer], 1e-9)
    context = _dot(reading.context, reading.context, older, newer)
    context = context / np.maximum(np.sqrt(context_total[older] * context_total[newer]), 1.0)
    lead = reading.statements["lead"].to_numpy()
    lead_named = reading.statements["lead_named"].to_numpy()
    lead_differs = lead_named[older] & lead_named[newer] & (lead[older] != lead[newer])
    old_only, new_only = named_total[older] - names, named_total[newer] - names
    plain_both = plain - np.asarray(both @ reading.valued).ravel()
    left = [
        np.maximum(plain_total[side] - value_total[side] - plain_both - close, 0.0)
        for side, close in ((older, close_old), (newer, close_new))
    ]
    leading = np.flatnonzero(lead >= 0)
    leads = sparse.csr_array((np.ones(len(leading)), (leading, lead[leading])), shape=words.shape)
    absent = [
        (lead[one] >= 0) & (_dot(leads, words, one, other) < 1) for one, other in ((older, newer), (newer, older))
    ]
    return {
        "shared": np.log1p(shared),
        "shared_old": _share(shared, total[older]),
        "shared_new": _share(shared, total[newer]),
        "rarest": rarest,
        "close_old": _share(close_old, total[older]),
        "close_new": _share(close_new, total[newer]),
        "covered_least": np.minimum(covered_old, covered_new),
        "covered_most": np.maximum(covered_old, covered_new),
        "covered": covered_old * covered_new,
        "cosine": cosine,
        "context": context,
        "similarity": _share(shared, np.sqrt(total[older] * total[newer]))
        + 0.25 * (covered_old + covered_new)
        + 0.3 * context,
        "names": names,
        "plain": plain,
        "plain_old": _share(plain, plain_total[older]),
        "plain_new": _share(plain, plain_total[newer]),
        "plain_meant": np.minimum(plain + 0.5 * (close_old + close_new), 3.0),
        "names_old": _share(names, named_total[older]),
        "names_new": _share(names, named_total[newer]),
        "names_differ": ((old_only > SMALL_TALK_WEIGHT) & (new_only > SMALL_TALK_WEIGHT)).astype(np.float64),
        "left_old": np.log1p(total[older] - shared),
        "left_new": np.log1p(total[newer] - shared),
        "apart": np.minimum(_dot(reading.apart, words, older, newer), 2.0),
        "left_plain_old": np.log1p(left[0]),
        "left_plain_new": np.log1p(left[1]),
        "left_plain_both": np.log1p(np.minimum(left[0], left[1])),
        "lead_absent_old": absent[0].astype(np.float64),
        "lead_absent_new": absent[1].astype(np.float64),
        "leads_absent": (absent[0] & absent[1]).astype(np.float64),
        "lead_same": ((lead[older] == lead[newer]) & (lead[older] >= 0)).astype(np.float64),
        "lead_differs": lead_differs.astype(np.float64),
    }


def _values_compared(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return how values of one type compare: in both, equal, different, around the same words."""
    columns: dict[str, NDArray[Any]] = {}
    differ, equal = np.zeros(len(older)), np.zeros(len(older))
    stated = np.zeros(len(reading.statements))
    for kind, matrix in reading.values.items():
        count = np.asarray(matrix.sum(axis=1)).ravel()
        stated += count
        old, new, same = count[older], count[newer], _dot(matrix, matrix, older, newer)
        columns |= {
            f"{kind}_both": np.minimum(old, new) > 0,
            f"{kind}_equal": (same > 0) & (same == old) & (same == new),
            f"{kind}_differs": (old > same) & (new > same),
            f"{kind}_new_only": (new > 0) & (old == 0),
            f"{kind}_old_only": (old > 0) & (new == 0),
        }
        differ = np.maximum(differ, (old > same) & (new > same))
        equal = np.maximum(equal, same > 0)
    units, amounts = reading.units
    same_units, same_amounts = _dot(units, units, older, newer), _dot(amounts, amounts, older, newer)
    near_values, near_names = (np.minimum(_dot(weighted, near, older, newer), 3.0) for near, weighted in reading.around)
    columns |= {
        "old_values": np.minimum(stated[older], 3.0),
        "amount_differs": same_units > same_amounts,
        "amount_equal": same_amounts > 0,
        "value_differs": differ,
        "value_equal": equal,
        "value_place_differs": near_values * differ,
        "value_place_equal": near_values * equal,
        "name_place": near_names,
    }
    return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def _cue_columns(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return the cues of each side."""
    columns: dict[str, Floats] = {}
    old, new = reading.cues[older].T.astype(np.float64), reading.cues[newer].T.astype(np.float64)
    for place, name in enumerate(CUES):
        columns |= {f"old_{name}": old[place], f"new_{name}": new[place]}
    columns["negation_differs"] = np.abs(columns["old_negation"] - columns["new_negation"])
    return columns


_OLD_CLAUSE_CUES: Final = ("present", "plan", "negation", "past", "quote", "habit")
_NEW_CLAUSE_CUES: Final = ("change", "end", "negation", "onset", "return", "plan", "past", "same", "add")
_CHANGING: Final = ("change", "end", "onset", "return")
_DENYING: Final = ("negation", "end")
_MOST_PLAIN: Final = 3.0
"""Upper bound on what the plain words of two clauses count."""


def _clause_columns(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return what the two clauses that share most share, and their cues."""
    owner, present, cues = reading.clauses
    weighted, named, total = reading.clause_weights
    pair, left, right = _crossed(np.searchsorted(owner, np.arange(len(reading.statements) + 1)), older, newer)
    both = present[left].multiply(weighted[right]).tocsr()
    shared = sums(both)
    plain = np.minimum(shared - _dot(present, named, left, right), _MOST_PLAIN)
    old, new = np.minimum(shared / total[left], 1.0), np.minimum(shared / total[right], 1.0)
    match = np.sqrt(old * new) * np.minimum(shared, 1.0)
    order = np.lexsort((-np.arange(len(pair)), match + 0.5 * np.minimum(plain, 2.0), pair))
    best = last_of_each(pair, order, len(older))
    changing, denying = _any_cue(cues, _CHANGING)[right], _any_cue(cues, _DENYING)[right]
    return {
        "old_clauses": np.bincount(owner, minlength=len(reading.statements))[older].astype(np.float64),
        "clause_match": match[best],
        "clause_plain": plain[best],
        "clause_old": old[best],
        "clause_new": new[best],
        "change_plain": _most(plain * changing, pair, len(older)),
        "change_match": _most(match * changing, pair, len(older)),
        "end_plain": _most(plain * denying, pair, len(older)),
        **{f"clause_old_{name}": _any_cue(cues, (name,))[left[best]] for name in _OLD_CLAUSE_CUES},
        **{f"clause_new_{name}": _any_cue(cues, (name,))[right[best]] for name in _NEW_CLAUSE_CUES},
    }


def _any_cue(cues: Marks, names: Sequence[str]) -> Floats:
    """Return 1 where a row has one of some cues."""
    kinds = list(CUES)
    return np.asarray(cues[:, [kinds.index(name) for name in names]].any(axis=1), dtype=np.float64)


def _crossed(start: Rows, older: Rows, newer: Rows) -> tuple[Rows, Rows, Rows]:
    """Return all pairs of the parts of each pair of wholes: its index, part of the older, part of the newer.

    `start` is the first part of each whole, and the number of parts at the end; a whole has at least one.
    """
    counts = np.diff(start)
    pair = np.repeat(np.arange(len(older)), counts[older] * counts[newer])
    within = places(pair)
    return pair, start[older[pair]] + within // counts[newer[pair]], start[newer[pair]] + within % counts[newer[pair]]


def _most(values: Floats, pair: Rows, count: int) -> Floats:
    """Return the largest value of each pair, at least 0."""
    result = np.zeros(count)
    np.maximum.at(result, pair, values)
    return result


def _circumstances(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return who said the two, when, where, and how long they are."""
    speaker, session, at, words, memory = (
        reading.statements[name].to_numpy() for name in ("speaker", "session_id", "at", "words", "memory")
    )
    day = 86_400e6
    one_session = (session[older] == session[newer]) & (session[older] >= 0)
    length_old, length_new = np.log1p(words[older]), np.log1p(words[newer])
    return {
        "speaker_same": ((speaker[older] == speaker[newer]) & (speaker[older] >= 0)).astype(np.float64),
        "speaker_differs": (speaker[older] != speaker[newer]).astype(np.float64),
        "gap": np.log1p(np.maximum(at[newer] - at[older], 0) / day),
        "one_session": one_session.astype(np.float64),
        "adjacent": (one_session & (memory[newer] - memory[older] <= CONTEXT_REACH + 1)).astype(np.float64),
        "length_old": length_old,
        "length_new": length_new,
        "longer": length_new - length_old,
    }


def _ranks(similarity: Floats, older: Rows, newer: Rows) -> Floats:
    """Return how near the two are compared with the other pairs of each, [`_RANKS`, pairs]."""
    ends = np.concatenate([older, newer])
    both = np.concatenate([similarity, similarity])
    order = np.lexsort((np.concatenate([newer, older]), -both, ends))
    first = np.searchsorted(ends[order], ends[order])
    rank = np.empty(len(ends))
    rank[order] = np.arange(len(ends)) - first
    best = np.empty(len(ends))
    best[order] = both[order][first] if len(ends) else 0.0
    inverse, relative = np.split(1.0 / (1.0 + rank), 2), np.split(both / np.maximum(best, 1e-9), 2)
    mutual = np.maximum(*np.split(rank, 2)) == 0
    return np.stack([*inverse, np.minimum(*inverse), mutual, *relative])
