"""Statements: what each clause of a text states, ready to be compared with another statement.

A text is split into clauses; code, questions and requests are left out; wishes and hypotheses are marked. Not here: cue
expressions (`lang/en/cues`), amounts (`quantities`), attribute values (`attributes`), and how two statements relate
(`compare/change_rules`).
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lemmas import (
    DATE_LEMMAS,
    FUNCTION_LEMMAS,
    NOT,
    NUMBER_LEMMAS,
    PAST,
    SENTENCE_END,
    lemma,
)
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse import attributes, facts, quantities
from memory_pipeline.text.parse.attributes import Claim
from memory_pipeline.text.parse.lemmatize import lemmatize
from memory_pipeline.text.parse.quantities import Amount, Label
from memory_pipeline.text.parse.tokens import align_rows, fold

MAX_CLAUSES: Final = 32
"""Clauses read of one text; the rest of a longer text is ignored."""
_SHORT_CLAUSE_WORDS: Final = 7
"""Words of a clause that only announces its neighbour."""
_NEIGHBOURS: Final = (-2, -1, 1, 2)
"""Offsets of the neighbouring clauses that give context."""
_CODE: Final = r"(?s)```.*?(?:```|\z)"
_MARKUP: Final = r"https?://\S+|\\[(\[].*?\\[)\]]|\$[^$\n]*=[^$\n]*\$|[^\s]*=[^\s]*|[*_#>|`]+"
_VOCATIVE: Final = r",\s+\p{Lu}\p{L}+\s*([.!?])"
"""A name addressed at the end of a sentence."""
_GREETING: Final = r"hey|hi|hello|dear|thanks|thank you|good (?:morning|afternoon|evening)"
_OPENER: Final = (
    r"(?:and|but|so|because|since|considering|given|although|though|while|whereas|especially|however|now|then|also|plus"
    r"|can|could|would|should|will|how|what|when|where|why|is|are|do|does|did|if|i|i'm|i've|i'll|i'd|my|we|we're"
    r"|we've|our|he|she|it|they|he's|she's|it's|they're|the|this|that|these|those|there|maybe|perhaps|please|having|don't|nobody|nobody's)"
)
_PERSON: Final = r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|he|she|they|my|our|it|it's|he's|she's)"
_CHILDHOOD: Final = (
    r"(?:little|young|small|[a-z0-9-]+ years old|a (?:kid|child|boy|girl|teenager)|[a-z]+teen|[0-9]{1,2}"
    r"|four|five|six|seven|eight|nine|ten|eleven|twelve)"
)
_TAG_QUESTION: Final = (
    r"(?i)[, ]+(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would|should|wo|ca)(?:n't)?"
    r" (?:i|you|he|she|it|we|they|there)\s*\?"
)
_CLAUSE_REWRITES: Final = (
    (r"\[[^\[\]\n]*\]", "\n"),  # picture captions and stage directions
    (r"(?m)^\s*[-\u2022]\s+([^:\n]{1,40}):\s", "- $1, "),  # a list entry is not a fact of its own
    (r"\b(Prof|Dr|Mrs?|Ms|St|Jr|Sr)\.\s", "$1 "),
    (r"\"[^\"\n]*[.!?,]\"", " "),  # quotations
    (
        r"(?im)^\W*(?:funny|good|bad|big|great|sad|weird|funnily|sadly) (?:thing|news|story|enough|update)\b[:,]?\s+",
        "",
    ),
    (
        r"(?im)(^|[.!?]\s+)\W*(?:(?:and|but|so|oh),? )?on (?:an?|another|that|the) (?:[a-z]+ )?note[,:]\s+",
        "$1",
    ),  # transitions
    (
        rf"(?m)(^|[.!?]\s+)((?i:{_GREETING}),?) \p{{Lu}}\p{{L}}+([,!.])",
        "$1$2$3",
    ),  # salutations
    (_TAG_QUESTION, "."),  # "..., hasn't it?"
    (r"(?i),? (?:right|huh|eh|yeah|okay|ok)\s*\?", "."),
    (r"(?i)\b(never (?:[a-z]+ly )?)([a-z]+ )([^,.;:\n]{3,80}?) or ", "$1$2$3\n$1$2"),  # "never a or b" denies both
    (
        r"(?i)\b(changed|moved|switched|updated|renamed),? (?:and |so )?(?:it|they)(?:'s|'re| is| are)\b(?: now)?",
        "$1 to",
    ),
    (
        rf"(?i),? when (?:i|we|he|she|they) (?:was|were) (?:about |only |just )?{_CHILDHOOD}\b",
        " as a child",
    ),
    (r"\s?°(?:\s?[CF]\b)?", " degrees"),
    (r"(?i)\btwice\b", "2 times"),
    (r"(?i)\bonce (an?|per|every|each)\b", "1 times $1"),
    (r"(\d),? (\d{4})\b", "$1 $2"),  # "April 5, 2024" is one date
    (r"([.!?\u2026]+)[\"')\]]*\s+", "$1\n"),
    (r"(?m)(^|:)\s*\d{1,2}[.)]\s", "$1 "),  # list numbering
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
    (r"(?m)^[ \t]*([^\s.!?]+(?: [^\s.!?]+)?)\n", "$1 "),  # one or two words are not a clause
)
"""Rewrites after which every line of a text is a clause."""

_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_NOT_TOPICAL: Final = (
    (FUNCTION_LEMMAS | (DATE_LEMMAS - {"wed", "sun", "mar", "sat"}) | NUMBER_LEMMAS | _PERSONS)
    | {lemma(word) for word in (*STOP_WORDS, "first", "second", "third", "fourth", "fifth", "final", "last", "next")}
    | {NOT, "be", "be+ed", "have", "have+ed", "do", "do+ed", "will", "would", "can"}
)
_NAMING_VERBS: Final = frozenset(lemma(word) + PAST for word in ("call", "name"))
_NAMED_NOUN: Final = re.compile(r"\ban? (?:[a-z-]+ ){1,3}?(?:called|named)\b")
"""A noun with its name: "a band called ..."."""
_NOT_IN_FRAME: Final = words.CHANGE_WORDS | {
    "a",
    "be",
    "is",
    "was",
    "have",
    "will",
    "do",
    "does",
    "did",
    "get",
    "go",
    SENTENCE_END,
}
"""Roots that only say when something holds, or that it changed."""
_CLAUSE_LEAD_IN: Final = re.compile(
    r"^(?:.{0,40}?\b(?:says|said|told me|thinks|mentioned|announced|confirmed)\b(?: that)? )?"
    r"\W*(?:(?:and|but|so|now|actually|well|also|the|recently|because|since|that|then|yes|no)\b\W*)*"
)
"""Words before the subject of a clause."""
_DEFINITE: Final = re.compile(_CLAUSE_LEAD_IN.pattern.replace("|the|", "|") + r"(?:the|this|that) ")
_OWNED: Final = re.compile(_CLAUSE_LEAD_IN.pattern + r"(?:my|our|his|her|their|[a-z]+'s) ((?:[a-z-]+\W?){1,2})")
_CAUSATIVE: Final = re.compile(
    r"^\W*(?:my|our) [a-z]+ (?:told|asked|wants|advised|convinced|got|let|helped|talked) (?:me|us)\b"
)
"""Somebody causes the speaker to act: the statement is about the speaker."""
_NEGATOR: Final = re.compile(r"\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot|without|unable to)\b|n't\b")
_ALPHANUMERIC: Final = re.compile(r"\b[a-z]*[0-9][a-z0-9]*(?:\.[a-z0-9]+)+\b")
_WORD: Final = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Statement:
    """What one clause states; words stand as roots.

    Attributes:
        low: the clause, folded.
        topic: roots of what it is about, without numbers, dates and persons.
        context_topic: topics of the neighbouring clauses.
        roots: roots of all its words in order, with persons, connectives and negators.
        frame: the same without words that only say that something changed.
        figures: words with digits, as written.
        persons: i, we, you, he, she, they.
        people: relatives, pets and other people by their relation to somebody, if the clause begins with one.
        lead: names at the start of the clause.
        names: names, lower-case.
        amounts: numbers with the things they count.
        dates: dates in normal form.
        context_dates: these and those of the neighbouring clauses.
        labels: what distinguishes things of one kind, such as (sprint, 2) or (draft, first).
        exclusive: words that exclude others (`change_words.EXCLUSIVE`), as written.
        claims: values that it assigns to attributes.
        ended: things it says are over.
        is_over: it says that its own subject is over.
        negation: "", never, undone, did_not, not or no_longer.
        negated: root of the first content word after the negator.
        planned: it is about the future.
        experienced: it is about experience, past or perfect.
        past: it is in the past tense.
        hypothetical: it is a hypothesis, a wish or a condition.
        desired: it states a wish or a goal.
        rescheduled: it gives an event another time.
        changing: it contains a change verb or adverb.
        correcting: it takes something back.
        announced: it contains any expression of news.
        declared: it, or a short neighbouring clause, states the change outright.
        retracting: likewise, and says that the earlier state no longer holds.
    """

    low: str
    topic: frozenset[str]
    context_topic: frozenset[str]
    roots: tuple[str, ...]
    frame: tuple[str, ...]
    figures: frozenset[str]
    persons: frozenset[str]
    people: frozenset[str]
    lead: frozenset[str]
    names: frozenset[str]
    amounts: tuple[Amount, ...]
    dates: frozenset[str]
    context_dates: frozenset[str]
    labels: frozenset[Label]
    exclusive: frozenset[str]
    claims: tuple[Claim, ...]
    ended: tuple[frozenset[str], ...]
    is_over: bool
    negation: str
    negated: str
    planned: bool
    experienced: bool
    past: bool
    hypothetical: bool
    desired: bool
    rescheduled: bool
    changing: bool
    correcting: bool
    announced: bool
    declared: bool
    retracting: bool


def extract_clauses(texts: pl.Series) -> pl.DataFrame:
    """Extract the clauses of each text that state something.

    Args:
        texts: strings; null counts as empty.

    Returns:
        row (index of the text), clause (as written), low, lemmas (in order), topic (roots), context_topic, dates,
        context_dates, names, numbers, and the columns of `cues.detect`, `quantities.scan` and `attributes.scan`. Sorted
        by row and position in the text. Cost: about 70 µs per clause.
    """
    cut = (
        pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True), "clause": _split_lines(texts)})
        .explode("clause")
        .filter(pl.col("clause").str.contains(r"\p{L}.*\p{L}"))
        .filter(pl.int_range(pl.len()).over("row") < MAX_CLAUSES)
        .with_columns(pl.col("clause").str.strip_chars(" \t,-\u2022"))
    )
    low = fold(cut["clause"])
    cut = cut.with_columns(low=low, bare=cut["clause"].str.replace_all(cues.CHANGE_MARKERS, " "))
    lemmatized = lemmatize(pl.concat([cut["clause"], cut["bare"]])).select("lemmas", clause="content")
    clauses = _with_topics(cut.join(lemmatized, on="clause", how="left", maintain_order="left"))
    frames = lemmatized.select(bare="clause", frame="lemmas")
    clauses = clauses.join(frames, on="bare", how="left", maintain_order="left").drop("bare")
    extracted = facts.extract(cut["clause"], low).select("numbers", "dates", names="entities")
    none = pl.lit([], dtype=pl.List(pl.String))
    topics_around = [pl.col("topic").shift(step).over("row").fill_null(none) for step in _NEIGHBOURS]
    dates_around = [pl.col("dates").shift(step).over("row").fill_null(none) for step in (-1, 0, 1)]
    is_short = pl.col("low").str.count_matches(r"\s") < _SHORT_CLAUSE_WORDS
    spread = {
        name: pl.any_horizontal(name, *((pl.col(name) & is_short).shift(step).over("row") for step in (-1, 1)))
        for name in ("declared", "retracting")
    }
    return (
        pl.concat([clauses, extracted, cues.detect(low), quantities.scan(low), attributes.scan(low)], how="horizontal")
        .with_columns(context_topic=pl.concat_list(topics_around), context_dates=pl.concat_list(dates_around), **spread)
        .filter(~cues.are_requests(low))
    )


def parse_statements(rows: pl.DataFrame) -> list[Statement]:
    """Convert rows of `extract_clauses` to statements, in order. Cost: about 40 µs per clause."""
    parsed = quantities.parse_amounts(rows["amounts"])
    return [_statement(row, parsed) for row in rows.iter_rows(named=True)]


def _statement(row: dict[str, Any], parsed: dict[str, Amount]) -> Statement:
    low, lemmas, topic = row["low"], row["lemmas"], frozenset(row["topic"])
    clause_amounts = quantities.clause_amounts(low, row["amounts"], row["numbers"], parsed)
    labels = quantities.labels(row["labels"], clause_amounts)
    label_numbers = {label for _, label in labels}
    naming_verbs = _NAMING_VERBS if _NAMED_NOUN.search(low) else frozenset()
    past = (
        any(word.endswith(PAST) and word not in naming_verbs for word in lemmas)
        and not row["perfect"]
        and not cues.PRESENT.search(low)
    )
    return Statement(
        low=low,
        topic=topic,
        context_topic=frozenset(row["context_topic"]),
        roots=tuple(words.root(word) for word in lemmas),
        frame=tuple(root for word in row["frame"] if (root := words.root(word)) not in _NOT_IN_FRAME),
        figures=frozenset(_ALPHANUMERIC.findall(low)),
        persons=_PERSONS.intersection(lemmas),
        people=_people_at_start(low),
        lead=_names_at_start(row),
        names=frozenset(name.lower() for name in row["names"]),
        amounts=tuple(amount for amount in clause_amounts if amount.head or amount.value not in label_numbers),
        dates=frozenset(row["dates"]),
        context_dates=frozenset(row["context_dates"]),
        labels=labels,
        exclusive=frozenset(row["exclusive"]),
        claims=attributes.extract_claims(low, row["attributes"], assigns=row["assigns"]),
        ended=_ended_things(row),
        is_over=row["is_over"],
        negation=row["negation"],
        negated=_negated_root(low, topic) if row["negation"] else "",
        experienced=any(word.endswith(PAST) for word in lemmas) or bool(cues.EXPERIENCED.search(low)),
        planned=bool(cues.FUTURE.search(low)),
        past=past,
        hypothetical=row["hypothetical"],
        desired=row["desired"],
        rescheduled=row["rescheduled"],
        changing=row["changing"],
        correcting=row["correcting"],
        announced=row["announced"],
        declared=bool(row["declared"]),
        retracting=bool(row["retracting"]),
    )


def _split_lines(texts: pl.Series) -> pl.Series:
    """Split each text into lines, one per clause."""
    plain = texts.fill_null("").str.replace_all(_CODE, "\n").str.replace_all(_MARKUP, " ")
    plain = plain.str.replace_all("[\u2018\u2019]", "'").str.replace_all(_VOCATIVE, "$1")
    for pattern, replacement in _CLAUSE_REWRITES:
        plain = plain.str.replace_all(pattern, replacement)
    return plain.str.split("\n")


def _with_topics(clauses: pl.DataFrame) -> pl.DataFrame:
    """Add the topic roots of each clause, without numbers, dates, persons and connectives."""
    occurrences = clauses.select("lemmas").with_row_index("at").explode("lemmas").drop_nulls()
    distinct = occurrences["lemmas"].unique()
    topic = [None if word in _NOT_TOPICAL or word[0].isdigit() else words.root(word) for word in distinct]
    topical = pl.DataFrame({"lemmas": distinct, "topic": pl.Series(topic, dtype=pl.String)}).drop_nulls()
    topic_words = occurrences.join(topical.filter(~pl.col("topic").is_in(sorted(words.CHANGE_WORDS))), on="lemmas")
    topics = topic_words.group_by(row="at").agg(pl.col("topic").unique().sort())
    return clauses.with_columns(align_rows(topics, len(clauses))["topic"])


def _negated_root(low: str, topic: frozenset[str]) -> str:
    """Return the first topic root after the negator; the negator itself where no word follows it."""
    negator = _NEGATOR.search(low)
    following = _WORD.findall(low[negator.end() :]) if negator else []
    if negator and not following:
        return negator[0]
    roots = (words.word_root(word.removesuffix("'s")) for word in following)
    return next((root for root in roots if root in topic), "")


def _people_at_start(low: str) -> frozenset[str]:
    """Return the people by relation at the start of a clause: the sister of "my older sister lives here"."""
    match = None if _CAUSATIVE.match(low) else _OWNED.match(low)
    return words.PEOPLE & words.roots(match[1]) if match else frozenset()


def is_impersonal(statement: Statement) -> bool:
    """Return whether a statement begins with a name or "the", so that it means the same whoever says it."""
    return bool(statement.lead) or bool(_DEFINITE.match(statement.low))


def _names_at_start(row: dict[str, Any]) -> frozenset[str]:
    """Return names at the start of a clause."""
    low = _CLAUSE_LEAD_IN.sub("", row["low"])
    starts = low, low.partition(" ")[2]  # "Anna", "Doctor Anna", "project Falcon"
    return frozenset(name.lower() for name in row["names"] if any(start.startswith(name.lower()) for start in starts))


def _ended_things(row: dict[str, Any]) -> tuple[frozenset[str], ...]:
    """Return the roots of each thing that a clause says is over, and of names that somebody left."""
    if cues.INTENDED.search(row["low"]):
        return ()
    left = cues.LEFT_PLACE.search(row["low"])
    names = [name.lower() for name in row["names"]] if left else []
    left_names = [words.roots(name) for name in names if left and left[1].startswith(name)]
    return tuple(thing for thing in (*(_ended_thing(text) for text in row["ended"]), *left_names) if thing)


def _ended_thing(text: str) -> frozenset[str]:
    """Return the roots of the thing in one match of an ending expression."""
    match = _ENDED_PATTERN.search(text)
    if match is None:
        return frozenset()
    thing = cues.ENDED_PHRASE_END.sub("", match[1])
    if cues.REPLACING.search(text[: match.start(1)]):
        thing = cues.REPLACED_PHRASE_END.sub("", thing)
    content = " ".join(word for word in _WORD.findall(thing.replace("'s ", " ")) if word not in STOP_WORDS)
    return words.roots(content) - _NOT_TOPICAL - words.GENERIC


_ENDED_PATTERN: Final = cues.compile_cue(cues.ENDED)
