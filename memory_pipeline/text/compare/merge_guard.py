"""The merge guard: do two texts that look alike state the same, or do they differ in a fact?

What only one of the two says elaborates, unless it takes the same for said, thought or possible, or tells it of
somebody else (`owners`). What each says without the other differs: another number, date or name, a denial, another time
of validity, another content word in the same slot. What is not here: how a text is read (`facts`, `meanings`), which
pairs are near enough to be asked about (`consolidation/similarity`) and what is merged in the end
(`consolidation/groups/clustering`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from difflib import SequenceMatcher
from itertools import pairwise, permutations
from typing import Any, Final

import polars as pl

from memory_pipeline.text.compare import spelling
from memory_pipeline.text.compare.owners import other_owners
from memory_pipeline.text.parse import dates
from memory_pipeline.text.parse.content_words import (
    BREAK,
    COUNTED,
    DATED,
    LINKS,
    OPERATORS,
    OPPOSITES,
    PAST,
    PLACING,
    SOFT,
    UNPLACED,
    alike,
    key,
    known,
    meanings,
    readings,
)
from memory_pipeline.text.parse.tokens import by_row, split

Sides = tuple[dict[str, Any], dict[str, Any]]
"""What is looked at of two texts."""
Words = Sequence[str]
Codes = Sequence[tuple[str, int, int, int, int]]
"""Edit operations as `difflib` gives them."""

REASONS: Final = ("numbers", "dates", "negation", "names", "validity", "words", "spelling")
"""What two texts can disagree in, in the order in which it is looked for."""

PASSING: Final = r"^(?:last|this|next) |^in [0-9]|^[0-9]+ .* ago$|^(?:yesterday|today|tonight|tomorrow)$|^day "
"""Dates in normal form that mean another day when they are said on another day."""

_SIDES: Final = ("left", "right")
_FACTS: Final = ("content", "numbers", "dates", "entities", "negated", "valid_from", "valid_until")
_COMPARED: Final = ("numbers", "dates", "names", "meant", "linked", "spelled")
"""What is looked for on each side and not on the other."""
_LOOKED_AT: Final = (
    "content",
    "said",
    "parted",
    "only_spelled",
    "names",
    "numbers",
    "dates",
    "only_meant",
    "only_linked",
    "only_numbers",
)
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*")
_MOST_MISTYPED: Final = 6
"""Strange words in one text up to which they can all be slips."""
_TELLING: Final = frozenset().union(*OPPOSITES) | OPERATORS
"""Links that are shown where they make the difference."""
_QUANTITIES: Final = frozenset({"all", "some", "sever", "few", "many", "both", "mani"})
_BOUNDS: Final = frozenset({"over", "under", "above", "below", "before", "after", "until", "since", "by", "up"})
"""Links that make a limit of the number or date behind them."""
_EVERY: Final = "all"
"""Meaning of "every" and "each", which with a period say how often."""
_FIRM: Final = (_BOUNDS - {"by", "over"}) | {"off", "down", "out", "into", "between", "through", "against", "without"}
"""Links that no other link can stand for."""
_PLACES: Final = frozenset(LINKS.values()) - {"and", "or", "but", "because", "when", "than"}
_LEADING: Final = re.compile(r"(?:^|[.!?:]\s)\W*([^\W\d_]+)\s")
"""Words at the start of a sentence, whose capital may be none of their own."""
_MAY: Final = re.compile(r"(?<!as you )\bmay\b(?! \d|,| of\b)")
"""The auxiliary, which turns a fact into a doubt; the month has a capital or a day."""
_PERIODS: Final = frozenset({"second", "minut", "hour", "day", "night", "week", "weekend", "month", "quarter", "year"})
_JOINING: Final = frozenset({"and", "or"})
_PLACING: Final = (frozenset(LINKS.values()) - {"and", "or", "but", "than"}) | SOFT | DATED | COUNTED | PLACING
"""Meanings that open a phrase of time, place or circumstance, which may stand anywhere in a sentence."""


def disagreements(pairs: pl.DataFrame) -> pl.DataFrame:
    """Say of each pair of texts whether they state different facts.

    Args:
        pairs: for both sides (`left_`, `right_`): content, numbers, dates, entities, negated (as in `enrichment`),
            valid_from and valid_until. Other columns are kept as they are.

    Returns:
        `pairs` with `reason` (null where the two may be merged, else the first of `REASONS`) and `detail` (what each
        says without the other, as "[a] / [b]"). The reason does not depend on which side is left. Cost: about 25 µs a
        pair, 100 µs for those that only the order of their words can settle.

    Raises:
        ValueError: a column is missing.
    """
    if missing := [f"{side}_{name}" for side in _SIDES for name in _FACTS if f"{side}_{name}" not in pairs.columns]:
        raise ValueError(f"pairs lack column {missing[0]!r}; give the facts of both texts as `enrichment` has them")
    judged = _read(pairs).with_columns(reason=_reason()).with_columns(detail=_detail())
    unsettled = judged.filter(pl.col("reason").is_null() & (pl.col("left_said") != pl.col("right_said")))
    found = [_different_words(row) for row in unsettled.iter_rows(named=True)]
    words = unsettled.select("row", words=pl.Series(found, dtype=pl.String))
    judged = judged.join(words, on="row", how="left", maintain_order="left")
    worded = pl.when(pl.col("words").is_null()).then("reason").otherwise(pl.lit("words"))
    told = judged.select(
        "left_content", "right_content", reason=worded, detail=pl.coalesce("words", "detail")
    ).with_columns(detail=pl.when(pl.col("reason").is_not_null()).then("detail"))
    shown = told["detail"].clone()
    different = (told["reason"] == "words").fill_null(value=False).arg_true()
    rows = told[different].select("left_content", "right_content", "detail").iter_rows()
    shown = shown.scatter(different, pl.Series([_as_written(*row) for row in rows], dtype=pl.String))
    return pairs.with_columns(*_spelled(pairs, told["reason"], shown))


def _spelled(pairs: pl.DataFrame, reason: pl.Series, detail: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Reason and detail, also of pairs that only their spelling tells apart."""
    alike = (reason.is_null() & pairs["left_content"].ne_missing(pairs["right_content"])).arg_true()
    found = spelling.differences(pairs[alike])
    rows, told = alike.filter(found.is_not_null()), found.drop_nulls()
    named = pl.Series(["spelling"] * len(rows), dtype=pl.String)
    return reason.clone().scatter(rows, named).alias("reason"), detail.scatter(rows, told).alias("detail")


def settled_dates(mentioned: pl.Series, instants: pl.Series) -> pl.Series:
    """Dates as they are meant on the day they are said: "yesterday" becomes that day, "last month" that month.

    Args:
        mentioned: a list of dates in normal form a memory, as in `enrichment`.
        instants: when each memory was stored (UTC).

    Returns:
        A sorted list a memory. Dates that may come again ("friday") or are vague ("few days ago") stay as they are.
    """
    said = (
        pl.DataFrame({"date": mentioned, "day": instants.dt.date()}).with_row_index("row").explode("date").drop_nulls()
    )
    passing = said.select("date", "day").filter(pl.col("date").str.contains(PASSING)).unique()
    meant = pl.Series("meant", [_meant(*pair) for pair in passing.iter_rows()], dtype=pl.String)
    settled = (
        said.join(passing.with_columns(meant), on=["date", "day"], how="left")
        .group_by("row")
        .agg(dates=pl.coalesce("meant", "date").unique().sort())
    )
    return by_row(settled, len(mentioned))["dates"]


def _meant(text: str, day: date) -> str:
    """A date as seen from `day`: in the normal form of a day, month or year, else as first and last day."""
    span = dates.span(text, day)
    if span is None:
        return text
    start, last = span[0], span[1] - timedelta(days=1)
    if start == last:
        return f"{start}"
    if (start.day, span[1].day) == (1, 1) and start.year == last.year:
        if start.month == last.month:
            return f"{start:%Y-%m}"
        if (start.month, last.month) == (1, 12):
            return f"{start:%Y}"
    return f"{start}/{last}"


def _read(pairs: pl.DataFrame) -> pl.DataFrame:
    """Both texts of each pair, and of what they say what each says without the other (`left_only_`, `right_only_`)."""
    texts = readings(pl.concat([pairs["left_content"], pairs["right_content"]]))
    both = pl.concat([_side(pairs, texts, side) for side in _SIDES], how="horizontal").with_row_index("row")
    both = both.with_columns(
        pl.col(f"{one}_{what}")
        .list.set_difference(f"{other}_{'spelled' if what == 'names' else what}")
        .list.sort()
        .alias(f"{one}_only_{what}")
        for one, other in (_SIDES, _SIDES[::-1])
        for what in _COMPARED
    )
    return both.with_columns(dates_differ=_dates_differ(both))


def _side(pairs: pl.DataFrame, texts: pl.DataFrame, side: str) -> pl.DataFrame:
    own = pairs.select(pl.col(f"{side}_{name}").alias(name) for name in _FACTS)
    return (
        own.with_columns(names=split(own["entities"].list.join(" ")))
        .join(texts, on="content", how="left", maintain_order="left", nulls_equal=True)
        .with_columns(spelled=pl.col("spelled").list.set_union("names"))
        .select(pl.all().name.prefix(f"{side}_"))
    )


def _differ(what: str) -> pl.Expr:
    """Each side has something that the other lacks."""
    return pl.all_horizontal(pl.col(f"{side}_only_{what}").list.len() > 0 for side in _SIDES)


def _reason() -> pl.Expr:
    """The reason, as far as whole columns tell; open questions of wording stay null."""
    told = pl.col("left_denials") == pl.col("right_denials")
    denied = ~told | ((pl.col("left_negated") != pl.col("right_negated")) & (pl.col("left_denials") == 0))
    since = pl.col("left_valid_from") != pl.col("right_valid_from")
    asked = pl.any_horizontal(
        pl.col(f"{one}_asks") & pl.col(f"{other}_states") for one, other in (_SIDES, _SIDES[::-1])
    )
    tests = {
        "numbers": _differ("numbers"),
        "dates": pl.col("dates_differ"),
        "negation": denied,
        "names": _differ("names"),
        "validity": pl.col("left_valid_until").ne_missing(pl.col("right_valid_until")) | since.fill_null(value=False),
        "words": (_differ("meant") & ~_may_match()) | asked,
    }
    return pl.coalesce(pl.when(test).then(pl.lit(name)) for name, test in tests.items())


def _may_match() -> pl.Expr:
    """The words could be mistyped, or figures written in another way: worth a closer look."""
    figure = pl.element().str.contains("^[0-9]") | pl.element().is_in(sorted(DATED | COUNTED))
    initials = [pl.col(f"{side}_only_spelled").list.eval(pl.element().str.head(1)) for side in _SIDES]
    figures = [pl.col(f"{side}_only_meant").list.eval(figure).list.any() for side in _SIDES]
    few = pl.min_horizontal(pl.col(f"{side}_only_meant").list.len() for side in _SIDES) <= _MOST_MISTYPED
    return few & ((initials[0].list.set_intersection(initials[1]).list.len() > 0) | (figures[0] & figures[1]))


def _detail() -> pl.Expr:
    """What each side says without the other, for the reasons that whole columns tell."""
    reason = pl.col("reason")
    sides = []
    for side in _SIDES:
        valid = [
            pl.col(f"{side}_valid_{end}").dt.to_string("%Y-%m-%d %H:%M").fill_null("") for end in ("from", "until")
        ]
        denies = pl.when(f"{side}_negated").then(pl.lit("denied")).otherwise(pl.lit("stated"))
        shown = pl.coalesce(
            *(
                pl.when(reason == name).then(pl.col(f"{side}_only_{name}").list.join(", "))
                for name in ("numbers", "dates", "names")
            ),
            pl.when(reason == "negation").then(pl.format("{}, not: {}", denies, pl.col(f"{side}_denials"))),
            pl.when(reason == "validity").then(pl.concat_str(valid, separator=" to ")),
            pl.when((reason == "words") & _differ("meant")).then(pl.col(f"{side}_only_meant").list.join(", ")),
            pl.when(f"{side}_asks").then(pl.lit("asked")).otherwise(pl.lit("stated")),
        )
        sides.append(shown)
    return pl.when(reason.is_not_null()).then(pl.format("[{}] / [{}]", *sides))


def _dates_differ(both: pl.DataFrame) -> pl.Series:
    """Whether each text of a pair names a date that no date of the other can be."""
    rows = both.filter(_differ("dates")).select("row", "left_dates", "right_dates")
    differ = [
        not _covered(left, right) and not _covered(right, left)
        for left, right in rows.select(rows.columns[1:]).iter_rows()
    ]
    found = rows.select("row", dates_differ=pl.Series(differ, dtype=pl.Boolean))
    return both.join(found, on="row", how="left", maintain_order="left")["dates_differ"].fill_null(value=False)


def _covered(ones: Words, others: Words) -> bool:
    return all(any(_same_date(one, other) for other in others) for one in ones)


def _same_date(one: str, other: str) -> bool:
    """Whether two dates in normal form can be one: 2024-03 and 2024-03-12 can, --03-12 and 2024-03-12 can."""
    parts = [re.fullmatch(r"([0-9]{4}|-)(?:-([0-9]{2}))?(?:-([0-9]{2}))?", text) for text in (one, other)]
    if one == other or not all(parts):
        return one == other
    known = [[None if part == "-" else part for part in found.groups()] for found in parts if found]
    both = [(first, second) for first, second in zip(*known, strict=True) if first and second]
    return bool(both) and all(first == second for first, second in both)


def _different_words(row: dict[str, Any]) -> str | None:
    """What two texts mean differently, as "[a] / [b]"; None if they only word one fact in two ways."""
    left, right = ({name: row[f"{side}_{name}"] for name in _LOOKED_AT} for side in _SIDES)
    swapped = right["said"] < left["said"]  # one order for both, because an alignment depends on it
    found = _difference((right, left) if swapped else (left, right))
    return found and _shown(*(found[::-1] if swapped else found))


def _difference(sides: Sides) -> tuple[Words, Words] | None:
    """The words that tell two texts apart, of each side."""
    said = [side["said"] for side in sides]
    more = [Counter(said[0]) - Counter(said[1]), Counter(said[1]) - Counter(said[0])]
    settled = _figures(sides) | _slips(sides, more)
    if found := other_limits(*said) or other_owners([side["content"] or "" for side in sides], more):
        return found
    doubted = [["may"] if _MAY.search(side["content"] or "") else [] for side in sides]
    if doubted[0] != doubted[1]:
        return doubted[0], doubted[1]
    alone = [[word for word in side["only_meant"] if word not in settled] for side in sides]
    links = [side["only_linked"] for side in sides]
    if _opposed(*links) or all(alone) or any(OPERATORS.intersection(words) for words in (*alone, *links)):
        left, right = (
            [*words, *(word for word in linked if word in _TELLING)] for words, linked in zip(alone, links, strict=True)
        )
        return left, right
    strange = [_strange(side, words) for side, words in zip(sides, alone, strict=True)]
    if any(strange):
        return strange[0], strange[1]
    codes = SequenceMatcher(None, said[0], said[1], autojunk=False).get_opcodes()
    for tag, i, j, k, m in codes:
        left, right = (
            [word for word in words[start:end] if many[word] and word not in settled]
            for words, many, start, end in zip(said, more, (i, k), (j, m), strict=True)
        )
        if tag == "replace" and _differ_in_slot(left, right):
            return left, right
    return _moved(sides, codes)


def other_limits(one: Words, other: Words) -> tuple[Words, Words] | None:
    """Limits ("before 5") of what two texts name that only one of them has, from all their meanings in order."""
    limits = _limits(one), _limits(other)
    left, right = (
        [" ".join(limit) for limit in sorted(own - others) if limit[1] in said]
        for own, others, said in ((*limits, other), (*limits[::-1], one))
    )
    return (left, right) if left or right else None


def other_places(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether links that only one text has, and those of the other, put things in other places or times."""
    left, right = _PLACES.intersection(one), _PLACES.intersection(other)
    return bool(left and right) and not _FIRM.isdisjoint(left | right)


def _limits(said: Words) -> set[tuple[str, str]]:
    """Limits with what they limit: ("before", "5"), ("every", "hour")."""
    found = set()
    for at, word in enumerate(said[:-1]):
        if word in _BOUNDS:
            first, *rest = said[at + 1 : at + 4]
            limited, *rest = rest if first == "to" and rest else [first, *rest]
            dated = limited in DATED or limited == "noon" or (limited[0].isdigit() and rest[:1] in (["am"], ["pm"]))
            figure = limited[0].isdigit() or limited in COUNTED
            if limited not in _PERIODS and (dated or (figure and word != "by")):
                found.add((word, limited))
        elif word == _EVERY and (said[at + 1][0].isdigit() or said[at + 1] in _PERIODS):
            found.add((word, said[at + 1]))
    return found


def _strange(side: dict[str, Any], alone: Words) -> list[str]:
    """Words that only one text has and that are no known ones: what they do to what is said cannot be told."""
    leading = {word.lower() for word in _LEADING.findall(side["content"] or "")}
    return [
        word
        for word in side["only_spelled"]
        if key(word) in alone
        and word[0].isalpha()
        and not known(word)
        and (word in leading or word not in side["names"])
    ]


def _shown(left: Words, right: Words) -> str:
    return f"[{', '.join(left)}] / [{', '.join(right)}]"


def _as_written(left: str, right: str, detail: str) -> str:
    """The detail with each meaning as the text words it; a side without a word of its own says nothing."""
    sides = []
    for text, shown in zip((left, right), detail[1:-1].split("] / [", 1), strict=True):
        written: dict[str, str] = {}
        for word in _WORD.findall(text or ""):
            for meaning in meanings(word.lower().replace("\u2019", "'")):
                written.setdefault(meaning, word)
                written.setdefault(meaning.removesuffix(PAST), word)
        said = (written.get(one) or written.get(one.removesuffix(PAST), one) for one in shown.split(", ") if one)
        sides.append(", ".join(dict.fromkeys(said)) or "nothing")
    return "[{}] / [{}]".format(*sides)


def _opposed(left: Words, right: Words) -> bool:
    return any(frozenset((one, other)) in OPPOSITES for one in left for other in right)


def _differ_in_slot(left: Words, right: Words) -> bool:
    """Whether words that two texts have in one place, each more often than the other, tell them apart."""
    if not left or not right or _opposed(left, right):
        return bool(left and right)
    if _PLACES.issuperset((*left, *right)) and other_places(left, right):
        return True
    strong = [word for word in (*left, *right) if word not in UNPLACED]
    counting = any(word[0].isdigit() or word in COUNTED or word in _QUANTITIES for word in strong)
    return bool(strong) and (counting or ["a"] not in (left, right))


def _figures(sides: Sides) -> set[str]:
    """Figures that each text writes in its own way, where its numbers and dates are known to agree with the other's."""
    alone = [side["only_meant"] for side in sides]
    written = {
        word
        for words, facts in ((COUNTED, "numbers"), (DATED, "dates"))
        if all(side[facts] for side in sides)
        for word in (*words, *(word for word in alone[0] + alone[1] if word[0].isdigit()))
    }
    agreed = not any(side["only_numbers"] for side in sides)
    return written if agreed and all(written.intersection(words) for words in alone) else set()


def _slips(sides: Sides, more: Sequence[Counter[str]]) -> set[str]:
    """Words that look like a word of the other text mistyped or written as two; a name is never taken for another."""
    names = {name for side in sides for name in side["names"]}
    left, right = (
        [word for word in side["only_spelled"] if word not in names and many[key(word)]]
        for side, many in zip(sides, more, strict=True)
    )
    mistyped = {(one, other) for one in left for other in right if alike(one, other)}
    joined = {
        (*pair, whole)
        for parts, wholes in ((left, right), (right, left))
        for pair in permutations(parts, 2)
        for whole in wholes
        if "".join(pair) == whole
    }
    return {key(word) for found in mistyped | joined for word in found}


def _moved(sides: Sides, codes: Codes) -> tuple[Words, Words] | None:
    """Words that both texts have in another order, unless whole sentences or circumstances only changed places."""
    one, other = _shared(sides, codes)
    dated = {part for side in sides for date in side["dates"] for part in re.findall("[1-9][0-9]*", date)} | DATED
    plain = [[word for word in order if word not in UNPLACED and word not in dated] for order in (one, other)]
    sentences = [sorted(_sentences(side["parted"])) for side in sides]
    if plain[0] == plain[1] or sentences[0] == sentences[1]:
        return None
    while one and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    turns = (at for at in range(1, len(one)) if one[at:] + one[:at] == other)
    if any(one[0] in _PLACING or one[at] in _PLACING for at in turns):
        return None
    joints = (at for at, word in enumerate(one) if word in _JOINING)
    if any([*one[at + 1 :], one[at], *one[:at]] == other for at in joints):
        return None
    return one, other


def _shared(sides: Sides, codes: Codes) -> tuple[list[str], list[str]]:
    """Both texts without the words that only one has, each word as often as both have it."""
    spans = [
        [
            (side["said"][at], tag == "equal")
            for tag, *ends in codes
            for at in range(ends[2 * place], ends[2 * place + 1])
        ]
        for place, side in enumerate(sides)
    ]
    loose = [Counter(word for word, matched in span if not matched) for span in spans]
    moved = loose[0] & loose[1]
    shared: tuple[list[str], list[str]] = ([], [])
    for order, span in zip(shared, spans, strict=True):
        left = moved.copy()
        for word, matched in span:
            if matched or left[word]:
                left[word] -= not matched
                order.append(word)
    return shared


def _sentences(words: Words) -> list[tuple[str, ...]]:
    ends = [at for at, word in enumerate(words) if word == BREAK]
    cut = (tuple(words[start + 1 : end]) for start, end in pairwise([-1, *ends, len(words)]))
    return [
        tuple(word for word in sentence if word != BREAK) for sentence in cut if any(word != BREAK for word in sentence)
    ]
