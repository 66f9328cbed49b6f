"""Statements: what a text states, clause by clause, ready to be compared with what another text states.

A text is cut into clauses; code, questions and requests are left out; what is wished or supposed is marked. What is
not here: how a clause says something (`cues`), its numbers (`amounts`), the values it gives to attributes
(`attributes`), and how two statements relate (`fact_rules`).
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse import attributes, facts, quantities
from memory_pipeline.text.parse.attributes import Claim
from memory_pipeline.text.parse.content_words import BREAK, COUNTED, DATED, NOT, PAST, UNPLACED, key, readings
from memory_pipeline.text.parse.quantities import Amount, Label
from memory_pipeline.text.parse.tokens import by_row, fold

MOST_CLAUSES: Final = 32
"""Clauses of one text that are read; a longer text is cut off."""
_SHORT: Final = 7
"""Words of a clause that only announces what stands beside it."""
_BESIDE: Final = (-2, -1, 1, 2)
"""Neighbours of a clause that tell what it is about."""
_CODE: Final = r"(?s)```.*?(?:```|\z)"
_MARKUP: Final = r"https?://\S+|\\[(\[].*?\\[)\]]|\$[^$\n]*=[^$\n]*\$|[^\s]*=[^\s]*|[*_#>|`]+"
_CALLED: Final = r",\s+\p{Lu}\p{L}+\s*([.!?])"
"""A name called out at the end of a sentence."""
_GREETING: Final = r"hey|hi|hello|dear|thanks|thank you|good (?:morning|afternoon|evening)"
_OPENER: Final = (
    r"(?:and|but|so|because|since|considering|given|although|though|while|whereas|especially|however|now|then|also|plus"
    r"|can|could|would|should|will|how|what|when|where|why|is|are|do|does|did|if|i|i'm|i've|i'll|i'd|my|we|we're"
    r"|we've|our|he|she|it|they|he's|she's|it's|they're|the|this|that|these|those|there|maybe|perhaps|please|having|don't|nobody|nobody's)"
)
_PERSON: Final = r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|he|she|they|my|our|it|it's|he's|she's)"
_YOUNG: Final = (
    r"(?:little|young|small|[a-z0-9-]+ years old|a (?:kid|child|boy|girl|teenager)|[a-z]+teen|[0-9]{1,2}"
    r"|four|five|six|seven|eight|nine|ten|eleven|twelve)"
)
_TAG: Final = (
    r"(?i)[, ]+(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would|should|wo|ca)(?:n't)?"
    r" (?:i|you|he|she|it|we|they|there)\s*\?"
)
_SPLIT: Final = (
    (r"\[[^\[\]\n]*\]", "\n"),  # captions of pictures and stage directions
    (r"(?m)^\s*[-\u2022]\s+([^:\n]{1,40}):\s", "- $1, "),  # an entry of a list is a part of it, not a fact
    (r"\b(Prof|Dr|Mrs?|Ms|St|Jr|Sr)\.\s", "$1 "),
    (r"\"[^\"\n]*[.!?,]\"", " "),  # what somebody else said, word for word
    (
        r"(?im)^\W*(?:funny|good|bad|big|great|sad|weird|funnily|sadly) (?:thing|news|story|enough|update)\b[:,]?\s+",
        "",
    ),
    (
        r"(?im)(^|[.!?]\s+)\W*(?:(?:and|but|so|oh),? )?on (?:an?|another|that|the) (?:[a-z]+ )?note[,:]\s+",
        "$1",
    ),  # how one comes to another subject
    (
        rf"(?m)(^|[.!?]\s+)((?i:{_GREETING}),?) \p{{Lu}}\p{{L}}+([,!.])",
        "$1$2$3",
    ),  # whom it is said to
    (_TAG, "."),  # "..., hasn't it?"
    (r"(?i),? (?:right|huh|eh|yeah|okay|ok)\s*\?", "."),
    (r"(?i)\b(never (?:[a-z]+ly )?)([a-z]+ )([^,.;:\n]{3,80}?) or ", "$1$2$3\n$1$2"),  # "never a or b" denies both
    (
        r"(?i)\b(changed|moved|switched|updated|renamed),? (?:and |so )?(?:it|they)(?:'s|'re| is| are)\b(?: now)?",
        "$1 to",
    ),
    (
        rf"(?i),? when (?:i|we|he|she|they) (?:was|were) (?:about |only |just )?{_YOUNG}\b",
        " as a child",
    ),
    (r"\s?°(?:\s?[CF]\b)?", " degrees"),
    (r"(?i)\btwice\b", "2 times"),
    (r"(?i)\bonce (an?|per|every|each)\b", "1 times $1"),
    (r"(\d),? (\d{4})\b", "$1 $2"),  # "April 5, 2024" is one date
    (r"([.!?\u2026]+)[\"')\]]*\s+", "$1\n"),
    (r"(?m)(^|:)\s*\d{1,2}[.)]\s", "$1 "),  # the number of a list entry
    (r"[;\u2014]|\s-{1,2}\s|[()]", "\n"),
    (rf"(?i),\s+({_OPENER}\b)", "\n$1"),
    (rf"(?i)([a-z]):\s+({_OPENER}\b)", "$1\n$2"),
    (
        r"(?i)\s+((?:but|because|whereas|although|though|considering|given (?:that|the|my)|especially since)\b)",
        "\n$1",
    ),
    (rf"(?i)\s+((?:and|so|since|while|that|if|when) {_PERSON}\b)", "\n$1"),
    (r"(?i),\s+((?:i |we )?hope(?:fully)?\b)", "\n$1"),
    (r"(?i)\s+(and (?:ca|could|do|did|wo|have)n't\b)", "\n$1"),
    (r"(?i)\s+((?:so|and) (?:can|could|would|what|how|should|please|if)\b)", "\n$1"),
    (r"(?m)^[ \t]*([^\s.!?]+(?: [^\s.!?]+)?)\n", "$1 "),  # one or two words are no clause of their own
)
"""Rewritings after which every line of a text is a clause."""

_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_NO_TOPIC: Final = (
    (UNPLACED | (DATED - {"wed", "sun", "mar", "sat"}) | COUNTED | _PERSONS)
    | {key(word) for word in (*STOP_WORDS, "first", "second", "third", "fourth", "fifth", "final", "last", "next")}
    | {NOT, "be", "be+ed", "have", "have+ed", "do", "do+ed", "will", "would", "can"}
)
_NAMING: Final = frozenset(key(word) + PAST for word in ("call", "name"))
_CALLED_SO: Final = re.compile(r"\ban? (?:[a-z-]+ ){1,3}?(?:called|named)\b")
"""Where these tell what something is: "a band called ..."."""
_NO_FRAME: Final = words.IDLE | {"a", "be", "is", "was", "have", "will", "do", "does", "did", "get", "go", BREAK}
"""What only tells when something holds, or that it changed."""
_SKIPPED: Final = re.compile(
    r"^(?:.{0,40}?\b(?:says|said|told me|thinks|mentioned|announced|confirmed)\b(?: that)? )?"
    r"\W*(?:(?:and|but|so|now|actually|well|also|the|recently|because|since|that|then|yes|no)\b\W*)*"
)
"""What stands before the subject of a clause."""
_DEFINITE: Final = re.compile(_SKIPPED.pattern.replace("|the|", "|") + r"(?:the|this|that) ")
_OWNED: Final = re.compile(_SKIPPED.pattern + r"(?:my|our|his|her|their|[a-z]+'s) ((?:[a-z-]+\W?){1,2})")
_TOLD_ME: Final = re.compile(
    r"^\W*(?:my|our) [a-z]+ (?:told|asked|wants|advised|convinced|got|let|helped|talked) (?:me|us)\b"
)
"""Somebody had the speaker do something: it is about the speaker."""
_DENYING: Final = re.compile(r"\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot|without|unable to)\b|n't\b")
_FIGURE: Final = re.compile(r"\b[a-z]*[0-9][a-z0-9]*(?:\.[a-z0-9]+)+\b")
_WORD: Final = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Statement:
    """What one clause states; words stand as roots.

    Attributes:
        low: the clause in lower case.
        topic: what it is about, without numbers, dates and persons.
        around: what the clauses beside it are about.
        said: all of its words in order, with persons, links and denials.
        frame: the same without what only tells that something changed.
        figures: words with digits, as written.
        persons: i, we, you, he, she, they.
        people: relatives, pets and other people by what they are to somebody, if it begins with them.
        lead: the name that it begins with.
        names: names, lower-case.
        amounts: numbers with what they count.
        dates: dates in normal form.
        when: these and those of the clauses beside it.
        labels: what tells one thing from others of its kind, such as (sprint, 2) or (draft, first).
        sides: words of which each excludes others, as written.
        claims: values that it gives to attributes.
        ended: what it says is over.
        over: it says that its own subject is over.
        denial: "", never, undone, did_not, not or no_longer.
        denied: the root that it denies: of the first telling word behind the denial.
        planned: it tells what is still to come.
        experienced: it tells what has happened.
        past: it tells what happened.
        supposed: it only supposes.
        wished: it tells what is wanted.
        moved: it gives an event another time.
        changing: it announces a change.
        correcting: it takes something back.
        announced: it tells, in whatever words, that something is new.
        declared: it, or a short clause beside it, says so outright.
        retracting: likewise, that what was said before does not hold.
    """

    low: str
    topic: frozenset[str]
    around: frozenset[str]
    said: tuple[str, ...]
    frame: tuple[str, ...]
    figures: frozenset[str]
    persons: frozenset[str]
    people: frozenset[str]
    lead: frozenset[str]
    names: frozenset[str]
    amounts: tuple[Amount, ...]
    dates: frozenset[str]
    when: frozenset[str]
    labels: frozenset[Label]
    sides: frozenset[str]
    claims: tuple[Claim, ...]
    ended: tuple[frozenset[str], ...]
    over: bool
    denial: str
    denied: str
    planned: bool
    experienced: bool
    past: bool
    supposed: bool
    wished: bool
    moved: bool
    changing: bool
    correcting: bool
    announced: bool
    declared: bool
    retracting: bool


def clauses(texts: pl.Series) -> pl.DataFrame:
    """Clauses of each text that state something.

    Args:
        texts: strings; null counts as empty.

    Returns:
        row (place of the text), clause (as written), low, said (meanings in order), topic (roots), around, dates, when,
        names, numbers, and what was found by `cues`, `amounts` and `attributes`. Sorted by row and place in the text.
        Cost: about 70 µs a clause.
    """
    cut = (
        pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True), "clause": _lines(texts)})
        .explode("clause")
        .filter(pl.col("clause").str.contains(r"\p{L}.*\p{L}"))
        .filter(pl.int_range(pl.len()).over("row") < MOST_CLAUSES)
        .with_columns(pl.col("clause").str.strip_chars(" \t,-\u2022"))
    )
    low = fold(cut["clause"])
    cut = cut.with_columns(low=low, bare=cut["clause"].str.replace_all(cues.NEWLY, " "))
    said = readings(pl.concat([cut["clause"], cut["bare"]])).select(clause="content", said="said")
    known = _with_topics(cut.join(said, on="clause", how="left", maintain_order="left"))
    frames = said.select(bare="clause", frame="said")
    known = known.join(frames, on="bare", how="left", maintain_order="left").drop("bare")
    read = facts.read(cut["clause"], low).select("numbers", "dates", names="entities")
    none = pl.lit([], dtype=pl.List(pl.String))
    around = [pl.col("topic").shift(step).over("row").fill_null(none) for step in _BESIDE]
    when = [pl.col("dates").shift(step).over("row").fill_null(none) for step in (-1, 0, 1)]
    short = pl.col("low").str.count_matches(r"\s") < _SHORT
    beside = {
        name: pl.any_horizontal(name, *((pl.col(name) & short).shift(step).over("row") for step in (-1, 1)))
        for name in ("declared", "retracting")
    }
    return (
        pl.concat([known, read, cues.told(low), quantities.found(low), attributes.found(low)], how="horizontal")
        .with_columns(around=pl.concat_list(around), when=pl.concat_list(when), **beside)
        .filter(~cues.asking(low))
    )


def statements(rows: pl.DataFrame) -> list[Statement]:
    """Rows of `clauses` as values, in their order. Cost: about 40 µs a clause."""
    known = quantities.read(rows["amounts"])
    return [_statement(row, known) for row in rows.iter_rows(named=True)]


def _statement(row: dict[str, Any], known: dict[str, Amount]) -> Statement:
    low, said, topic = row["low"], row["said"], frozenset(row["topic"])
    counted = quantities.counted(low, row["amounts"], row["numbers"], known)
    labels = quantities.labels(row["labels"], counted)
    naming = {label for _, label in labels}
    aside = _NAMING if _CALLED_SO.search(low) else frozenset()
    past = (
        any(word.endswith(PAST) and word not in aside for word in said)
        and not row["perfect"]
        and not cues.PRESENT.search(low)
    )
    return Statement(
        low=low,
        topic=topic,
        around=frozenset(row["around"]),
        said=tuple(words.root(word) for word in said),
        frame=tuple(root for word in row["frame"] if (root := words.root(word)) not in _NO_FRAME),
        figures=frozenset(_FIGURE.findall(low)),
        persons=_PERSONS.intersection(said),
        people=_people(low),
        lead=_lead(row),
        names=frozenset(name.lower() for name in row["names"]),
        amounts=tuple(amount for amount in counted if amount.head or amount.value not in naming),
        dates=frozenset(row["dates"]),
        when=frozenset(row["when"]),
        labels=labels,
        sides=frozenset(row["sides"]),
        claims=attributes.claims(low, row["attributes"], gives=row["gives"]),
        ended=_ended(row),
        over=row["over"],
        denial=row["denial"],
        denied=_denied(low, topic) if row["denial"] else "",
        experienced=any(word.endswith(PAST) for word in said) or bool(cues.EXPERIENCED.search(low)),
        planned=bool(cues.PLANNED.search(low)),
        past=past,
        supposed=row["supposed"],
        wished=row["wished"],
        moved=row["moved"],
        changing=row["changing"],
        correcting=row["correcting"],
        announced=row["announced"],
        declared=bool(row["declared"]),
        retracting=bool(row["retracting"]),
    )


def _lines(texts: pl.Series) -> pl.Series:
    plain = texts.fill_null("").str.replace_all(_CODE, "\n").str.replace_all(_MARKUP, " ")
    plain = plain.str.replace_all("[\u2018\u2019]", "'").str.replace_all(_CALLED, "$1")
    for pattern, instead in _SPLIT:
        plain = plain.str.replace_all(pattern, instead)
    return plain.str.split("\n")


def _with_topics(cut: pl.DataFrame) -> pl.DataFrame:
    """Add the roots of what each clause is about: no numbers, dates, persons and links."""
    said = cut.select("said").with_row_index("at").explode("said").drop_nulls()
    distinct = said["said"].unique()
    topic = [None if word in _NO_TOPIC or word[0].isdigit() else words.root(word) for word in distinct]
    known = pl.DataFrame({"said": distinct, "topic": pl.Series(topic, dtype=pl.String)}).drop_nulls()
    told = said.join(known.filter(~pl.col("topic").is_in(sorted(words.IDLE))), on="said")
    topics = told.group_by(row="at").agg(pl.col("topic").unique().sort())
    return cut.with_columns(by_row(topics, len(cut))["topic"])


def _denied(low: str, topic: frozenset[str]) -> str:
    """The first root of the topic behind a denial; where nothing stands behind it, the denial itself."""
    found = _DENYING.search(low)
    behind = _WORD.findall(low[found.end() :]) if found else []
    if found and not behind:
        return found[0]
    roots = (words.root(key(word.removesuffix("'s"))) for word in behind)
    return next((root for root in roots if root in topic), "")


def _people(low: str) -> frozenset[str]:
    """What somebody is to somebody, where a clause begins with it: the sister of "my older sister lives here"."""
    match = None if _TOLD_ME.match(low) else _OWNED.match(low)
    return words.PEOPLE & words.roots(match[1]) if match else frozenset()


def impersonal(one: Statement) -> bool:
    """It begins with a name or "the": whoever says it means the same."""
    return bool(one.lead) or bool(_DEFINITE.match(one.low))


def _lead(row: dict[str, Any]) -> frozenset[str]:
    """The name that a clause begins with."""
    low = _SKIPPED.sub("", row["low"])
    starts = low, low.partition(" ")[2]  # "Anna", "Doctor Anna", "project Falcon"
    return frozenset(name.lower() for name in row["names"] if any(one.startswith(name.lower()) for one in starts))


def _ended(row: dict[str, Any]) -> tuple[frozenset[str], ...]:
    """Roots of what a clause says is over, and of names that somebody left."""
    if cues.TRIED.search(row["low"]):
        return ()
    left = cues.LEFT.search(row["low"])
    names = [name.lower() for name in row["names"]] if left else []
    gone = [words.roots(name) for name in names if left and left[1].startswith(name)]
    return tuple(over for over in (*(_over(found) for found in row["ended"]), *gone) if over)


def _over(found: str) -> frozenset[str]:
    match = _ENDED.search(found)
    if match is None:
        return frozenset()
    over = cues.ENDED_STOP.sub("", match[1])
    if cues.REPLACING.search(found[: match.start(1)]):
        over = cues.REPLACED_STOP.sub("", over)
    plain = " ".join(word for word in _WORD.findall(over.replace("'s ", " ")) if word not in STOP_WORDS)
    return words.roots(plain) - _NO_TOPIC - words.GENERIC


_ENDED: Final = cues.python(cues.ENDED)
