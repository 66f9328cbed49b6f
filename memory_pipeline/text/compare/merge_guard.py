"""Merge guard: decides whether two similar texts state the same facts.

Two texts state the same if neither says anything that the other does not. Differences without meaning do not count:
greetings, fillers, determiners and politeness, spelling, synonyms and word order. An additional word makes another
statement, since it may limit the fact ("paid" and "paid in part", "the door" and "the back door").

Not here: which words tell them apart (`word_differences`), how texts are parsed (`parse/facts`, `parse/lemmatize`),
which pairs are similar enough to be compared (`consolidation/similarity`) and which are merged
(`consolidation/groups/clustering`).
"""

from datetime import date, timedelta
from typing import Final

import polars as pl

from memory_pipeline.text.compare import spelling, word_differences
from memory_pipeline.text.compare.word_differences import COPULA, CURRENCIES, SIDES, Lemmas
from memory_pipeline.text.lang.en.lemmas import DATE_LEMMAS, NUMBER_LEMMAS
from memory_pipeline.text.parse import dates
from memory_pipeline.text.parse.lemmatize import lemmatize
from memory_pipeline.text.parse.tokens import align_rows, tokenize

REASONS: Final = ("numbers", "dates", "negation", "names", "validity", "words", "spelling")
"""Ways in which two texts can differ, in the order in which they are tested."""

_CODE: Final = r"\b[A-Z][A-Z0-9]+"
"""A code, or its beginning: it names something and is spelled as it is."""
LETTER: Final = r"[\p{Ll}\p{N},;] [\p{Lu}--I]\b"
"""A lone capital inside a sentence, after what stands before it: it names a class, size, group or door."""

RELATIVE_DATES: Final = r"^(?:last|this|next) |^in [0-9]|^[0-9]+ .* ago$|^(?:yesterday|today|tonight|tomorrow)$|^day "
"""Dates in normal form that mean another day when said on another day."""

FACTS: Final = ("content", "numbers", "dates", "entities", "negated", "valid_from", "valid_until")
"""Columns of a memory that are read."""
_REPEATED: Final = "repeated"
_TOLD: Final = "told"
_COMPARED_COLUMNS: Final = ("numbers", "dates", "names", "content_lemmas", "function_lemmas", "words")
"""Columns whose values are compared between the two sides."""
_MAX_TYPOS: Final = 6
"""Maximum number of unknown words in one text that may all be typos."""


def disagreements(pairs: pl.DataFrame) -> pl.DataFrame:
    """Decide for each pair of texts whether they state different facts.

    Args:
        pairs: for both sides (`left_`, `right_`): content, numbers, dates, entities, negated (as in `enrichment`),
            valid_from and valid_until; `repeated`, whether the two were found to say the same: then a figure or a day
            that only one of them names, and how often both deny, make no difference; and `told`, whether somebody said
            so: then words make none, and a denial only where one of the two has no other word of its own. Other columns
            are passed through.

    Returns:
        `pairs` with `reason` (null where the two may be merged, else the first of `REASONS` that applies) and `detail`
        (what each text says without the other, as "[a] / [b]"). The reason does not depend on which side is left. Cost:
        about 25 µs per pair, 100 µs where word order decides.

    Raises:
        ValueError: a column is missing.
    """
    needed = [*(f"{side}_{name}" for side in SIDES for name in FACTS), _REPEATED, _TOLD]
    if missing := [name for name in needed if name not in pairs.columns]:
        raise ValueError(f"pairs lack column {missing[0]!r}; give the facts of both texts as `enrichment` has them")
    parsed = _parsed_pairs(pairs).with_columns(reason=_reason()).with_columns(detail=_detail())
    worded = (pl.col("left_lemmas") != pl.col("right_lemmas")) & ~pl.col(_TOLD)
    unsettled = parsed.filter(pl.col("reason").is_null() & worded)
    differences = [word_differences.difference(row) for row in unsettled.iter_rows(named=True)]
    wordings = unsettled.select("row", words=pl.Series(differences, dtype=pl.String))
    parsed = parsed.join(wordings, on="row", how="left", maintain_order="left")
    reason = pl.when(pl.col("words").is_null()).then("reason").otherwise(pl.lit("words"))
    reasoned = parsed.select(
        "left_content", "right_content", reason=reason, detail=pl.coalesce("words", "detail")
    ).with_columns(detail=pl.when(pl.col("reason").is_not_null()).then("detail"))
    details = reasoned["detail"].clone()
    worded_rows = (reasoned["reason"] == "words").fill_null(value=False).arg_true()
    rows = reasoned[worded_rows].select("left_content", "right_content", "detail").iter_rows()
    details = details.scatter(
        worded_rows, pl.Series([word_differences.as_written(*row) for row in rows], dtype=pl.String)
    )
    return pairs.with_columns(*_with_spelling(pairs, reasoned["reason"], details))


def _with_spelling(pairs: pl.DataFrame, reason: pl.Series, detail: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Add reason and detail of pairs that differ in spelling alone."""
    unexplained = (reason.is_null() & pairs["left_content"].ne_missing(pairs["right_content"])).arg_true()
    differences = spelling.differences(pairs[unexplained])
    rows, spellings = unexplained.filter(differences.is_not_null()), differences.drop_nulls()
    reasons = pl.Series(["spelling"] * len(rows), dtype=pl.String)
    return reason.clone().scatter(rows, reasons).alias("reason"), detail.scatter(rows, spellings).alias("detail")


def absolute_dates(mentioned: pl.Series, instants: pl.Series) -> pl.Series:
    """Resolve relative dates against the day they were said: "yesterday" becomes that day, "last month" that month.

    Takes the dates in normal form per memory, as in `enrichment`, and when each was stored (UTC); returns a sorted list
    per memory. Dates that recur ("friday") or are vague ("few days ago") are left unchanged.
    """
    mentions = (
        pl.DataFrame({"date": mentioned, "day": instants.dt.date()}).with_row_index("row").explode("date").drop_nulls()
    )
    relative = mentions.select("date", "day").filter(pl.col("date").str.contains(RELATIVE_DATES)).unique()
    resolved = pl.Series("absolute", [_absolute_date(*pair) for pair in relative.iter_rows()], dtype=pl.String)
    dates_by_row = (
        mentions.join(relative.with_columns(resolved), on=["date", "day"], how="left")
        .group_by("row")
        .agg(dates=pl.coalesce("absolute", "date").unique().sort())
    )
    return align_rows(dates_by_row, len(mentioned))["dates"]


def _absolute_date(text: str, day: date) -> str:
    """Return a date as seen from `day`: normal form of a day, month or year, else first and last day."""
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


def _parsed_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Parse both texts of each pair and add what each says without the other (`left_only_`, `right_only_`)."""
    texts = lemmatize(pl.concat([pairs["left_content"], pairs["right_content"]]))
    sides = [_parsed_side(pairs, texts, side) for side in SIDES]
    both = pl.concat([*sides, pairs.select(_REPEATED, _TOLD)], how="horizontal").with_row_index("row")
    both = both.with_columns(
        pl.col(f"{one}_{column}")
        .list.set_difference(f"{other}_{'words' if column == 'names' else column}")
        .list.sort()
        .alias(f"{one}_only_{column}")
        for one, other in (SIDES, SIDES[::-1])
        for column in _COMPARED_COLUMNS
    )
    return both.with_columns(dates_differ=_dates_differ(both))


def _parsed_side(pairs: pl.DataFrame, texts: pl.DataFrame, side: str) -> pl.DataFrame:
    """Return the facts and lemmas of one side of each pair, with that side as prefix."""
    facts = pairs.select(pl.col(f"{side}_{name}").alias(name) for name in FACTS)
    letters = pl.col("content").str.extract_all(LETTER).list.eval(pl.element().str.tail(1))
    codes = pl.col("content").str.extract_all(_CODE)
    named = facts.select(pl.concat_list("entities", codes, letters).list.join(" "))
    return (
        facts.with_columns(names=tokenize(named.to_series()))
        .join(texts, on="content", how="left", maintain_order="left", nulls_equal=True)
        .with_columns(words=pl.col("words").list.set_union("names"))
        .select(pl.all().name.prefix(f"{side}_"))
    )


def _both_differ(column: str) -> pl.Expr:
    """Return whether each side has a value that the other lacks."""
    return pl.all_horizontal(pl.col(f"{side}_only_{column}").list.len() > 0 for side in SIDES)


def _either_adds(column: str) -> pl.Expr:
    """Return whether one side has a value that the other lacks."""
    return pl.any_horizontal(pl.col(f"{side}_only_{column}").list.len() > 0 for side in SIDES)


def _reason() -> pl.Expr:
    """Return the reason as far as column operations can find it; null where the wording must be aligned."""
    same_negations = pl.col("left_negations") == pl.col("right_negations")
    only_one_denies = pl.col("left_negated") != pl.col("right_negated")
    negation_differs = (
        pl.when(_REPEATED)
        .then(~same_negations & only_one_denies)
        .otherwise(~same_negations | (only_one_denies & (pl.col("left_negations") == 0)))
    )
    starts_differ = pl.col("left_valid_from") != pl.col("right_valid_from")
    question_differs = pl.any_horizontal(
        pl.col(f"{one}_asks") & pl.col(f"{other}_states") for one, other in (SIDES, SIDES[::-1])
    )
    tests = {
        "numbers": pl.when(_REPEATED).then(_both_differ("numbers")).otherwise(_either_adds("numbers")),
        "dates": pl.col("dates_differ") & (~pl.col(_REPEATED) | _both_differ("dates")),
        "negation": negation_differs & (~pl.col(_TOLD) | _either_adds_nothing()),
        "names": _both_differ("names"),
        "validity": pl.col("left_valid_until").ne_missing(pl.col("right_valid_until"))
        | starts_differ.fill_null(value=False),
        "words": ((_either_adds("content_lemmas") & ~_may_agree()) | question_differs | _unrelated()) & ~pl.col(_TOLD),
    }
    return pl.coalesce(pl.when(test).then(pl.lit(name)) for name, test in tests.items())


def _either_adds_nothing() -> pl.Expr:
    """Return whether one side has no content word that the other lacks."""
    return pl.min_horizontal(pl.col(f"{side}_only_content_lemmas").list.len() for side in SIDES) == 0


def _unrelated() -> pl.Expr:
    """Return whether two texts share nothing meaningful, so that neither elaborates on the other.

    Names in the texts are among the lemmas; the column of names also has the speaker, who is not content.
    """
    shared = [
        pl.col(f"left_{name}").list.set_intersection(f"right_{name}").list.len()
        for name in ("content_lemmas", "numbers", "dates")
    ]
    worded_alike = (pl.col("left_lemmas") == pl.col("right_lemmas")) & (pl.col("left_lemmas").list.len() > 0)
    letters = [
        pl.col(f"{side}_content").fill_null("").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
        for side in SIDES
    ]
    written_alike = (letters[0] == letters[1]) & (letters[0] != "")
    same = pl.col("left_content").eq_missing(pl.col("right_content"))
    return (pl.sum_horizontal(shared) == 0) & ~worded_alike & ~written_alike & ~same


def _may_agree() -> pl.Expr:
    """Return whether differing words may be typos or other spellings of figures, so that they need a closer look."""
    figure = pl.element().str.contains("^[0-9]") | pl.element().is_in(sorted(DATE_LEMMAS | NUMBER_LEMMAS))
    initials = [pl.col(f"{side}_only_words").list.eval(pl.element().str.head(1)) for side in SIDES]
    figures = [pl.col(f"{side}_only_content_lemmas").list.eval(figure).list.any() for side in SIDES]
    few = pl.min_horizontal(pl.col(f"{side}_only_content_lemmas").list.len() for side in SIDES) <= _MAX_TYPOS
    written = pl.element().is_in([COPULA, *sorted(CURRENCIES)])
    units = [pl.col(f"{side}_only_content_lemmas").list.eval(written).list.all() for side in SIDES]
    alike = initials[0].list.set_intersection(initials[1]).list.len() > 0
    return few & (alike | (figures[0] & figures[1]) | (units[0] & units[1]))


def _detail() -> pl.Expr:
    """Return what each side says without the other, for the reasons found by column operations."""
    reason = pl.col("reason")
    sides = []
    for side in SIDES:
        validity = [
            pl.col(f"{side}_valid_{end}").dt.to_string("%Y-%m-%d %H:%M").fill_null("") for end in ("from", "until")
        ]
        polarity = pl.when(f"{side}_negated").then(pl.lit("denied")).otherwise(pl.lit("stated"))
        value = pl.coalesce(
            *(
                pl.when(reason == name).then(pl.col(f"{side}_only_{name}").list.join(", "))
                for name in ("numbers", "dates", "names")
            ),
            pl.when(reason == "negation").then(pl.format("{}, not: {}", polarity, pl.col(f"{side}_negations"))),
            pl.when(reason == "validity").then(pl.concat_str(validity, separator=" to ")),
            pl.when((reason == "words") & _either_adds("content_lemmas")).then(
                pl.col(f"{side}_only_content_lemmas").list.join(", ")
            ),
            pl.when(f"{side}_asks").then(pl.lit("asked")).otherwise(pl.lit("stated")),
        )
        sides.append(value)
    return pl.when(reason.is_not_null()).then(pl.format("[{}] / [{}]", *sides))


def _dates_differ(both: pl.DataFrame) -> pl.Series:
    """Return whether one text of a pair has a date that the other lacks."""
    rows = both.filter(_either_adds("dates")).select("row", "left_dates", "right_dates")
    differ = [
        not (_all_match(left, right) and _all_match(right, left))
        for left, right in rows.select(rows.columns[1:]).iter_rows()
    ]
    compared = rows.select("row", dates_differ=pl.Series(differ, dtype=pl.Boolean))
    return both.join(compared, on="row", how="left", maintain_order="left")["dates_differ"].fill_null(value=False)


def _all_match(ones: Lemmas, others: Lemmas) -> bool:
    """Return whether each date of the first list matches one of the second."""
    return all(any(_same_date(one, other) for other in others) for one in ones)


def _same_date(one: str, other: str) -> bool:
    """Return whether two dates in normal form match: --03-12 and 2024-03-12 do, 2024-03 and 2024-03-12 do not."""
    yearless = any(a.startswith("--") and b.endswith(a[1:]) for a, b in ((one, other), (other, one)))
    return one == other or yearless
