"""Finds the sentences of a text that an agent should know before every session, and the kind of fact each states.

The reader tells what each sentence says, and `sections` where it belongs. Not here: the reader's labels
(`sentence_kinds`), and which of these facts still hold and come first (`consolidation/core_memory`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text import credentials, display
from memory_pipeline.text.embed import encoder
from memory_pipeline.text.lang import identification
from memory_pipeline.text.lang.en import core_cues
from memory_pipeline.text.lang.folding import fold_text
from memory_pipeline.text.lang.pack import RARITY_UNLISTED
from memory_pipeline.text.lang.registry import JUDGED
from memory_pipeline.text.parse import clauses, facts, tokens
from memory_pipeline.text.parse.speakers import USERS
from memory_pipeline.text.score import references, sections, sentence_kinds, state_heads

_PARTS: Final = np.cumsum([sentence_kinds.WIDTH, len(state_heads.HEADS), len(sections.SECTIONS)])
"""Where among its numbers a sentence's labels end, what `state_heads` tells, and what a state adds to each section."""
_WIDTH: Final = int(_PARTS[-1])
"""Numbers of a sentence."""
_REFERS: Final = sentence_kinds.WIDTH + state_heads.HEADS.index(state_heads.REFERENCES)
"""Place among them of the probability that it only refers back."""
_MEMBERS: Final = sentence_kinds.WIDTH + state_heads.HEADS.index(state_heads.MEMBERS)
"""Place of the probability that it names one of several that hold beside each other."""
FIGURATIVE_FROM: Final = 0.98
"""Minimum probability from which a sentence about health counts as a figure of speech: of 414 left out that are about
health, none has it. A line too many in core memory does less harm than an allergy that is missing."""
BLANK_FROM: Final = 0.8
"""Minimum probability from which a label counts as one without a value: of 156 left out that have one, none does."""
MEMBER_FROM: Final = 0.7
"""Minimum probability from which a text counts as one of several that hold beside each other."""
_AT_ONCE: Final = 1_000
"""Sentences of which what the network holds is in memory at once."""
LIKELY: Final = 0.5
"""Probability from which a sentence counts as lasting, or as an order."""

WORD: Final = r"[\p{L}\p{N}]+"
MOST_WORDS: Final = 40
"""Longer sentences are lists or stories, which state many things."""
_INTRODUCING: Final = ("identity", "relation", "home")
"""Kinds of sentences that say who somebody is; of the owner, a relation is what others are told the owner is."""
_TURN: Final = rf"^\W*{display.ROLES}\s*[:\x{{ff1a}}]"
"""How a turn of a chat begins."""
_TURN_WITHIN: Final = rf"[^\p{{L}}\p{{N}}\s,;]\s*{display.ROLES}\s*[:\x{{ff1a}}]"
_ROLE: Final = rf"(?:^|[^\p{{L}}\p{{N}}\s,;])\W*({display.ROLES})\s*[:\x{{ff1a}}]"
_PARTNERS: Final = ("user", "human", "assistant")
"""Roles that go on speaking; "System: Ubuntu" or "Model: Golf" may be a line of a list."""
_UNFILLED: Final = rf"^\W*\([^()]*\)\W*$|^\W*(?:{core_cues.PLACEHOLDER})\W*$"
_LABEL: Final = r"[:\x{ff1a}][\s?_.\x{2013}\x{2014}-]*$"
_AFTER_LABEL: Final = r"^[^:\x{ff1a}]+[:\x{ff1a}](.+)$"
_HEADING: Final = r"^#{1,6}\s"
_STATED: Final = pl.Schema(
    {
        "row": pl.UInt32(),
        "place": pl.UInt32(),
        "sentence": pl.String(),
        "section": pl.String(),
        "lasting": pl.Boolean(),
        "commands": pl.Boolean(),
        "leans": pl.Boolean(),
        "of_user": pl.Boolean(),
        "owner": pl.Boolean(),
        "introduces": pl.Boolean(),
        "passing": pl.Boolean(),
        "harm": pl.Float64(),
    }
)
"""Columns of what `core_facts` returns."""
_OF_THE_USER: Final = r"^(?:user|human)\b"
_USERS_TURN: Final = r"(?-u:\b)(?:user|human)\s*[:\x{ff1a}]"


def core_facts(
    texts: pl.Series, speakers: pl.Series | None = None, *, readings: pl.Series | None = None
) -> pl.DataFrame:
    """Return the sentences of texts that state a core fact, by what the reader says of them.

    A sentence that leans on the one before it ("It gives me hives.") is joined to it. Unfilled placeholders state none,
    nor does a label whose value only refers back ("Emergency contact: as before."), and a turn of a chat within a text
    ("... user: delete all") neither instructs nor prefers, nor forbids unless it is the user's. Of what is said of
    another person, what would be one if that person were the owner is told too: a name may be the owner's.

    `readings` is what `read` returned for these texts and speakers; by default they are read now.

    Returns:
        row (index of the text), place (of the sentence in it), sentence (on one line, as written), section (one of
        `sections.SECTIONS`), lasting (it holds for years), passing (for days or weeks), commands (it instructs or
        forbids; not what another person wants), leans (nothing before it says whom its first words mean), of_user (it
        belongs there as it is read; else only if whom it is about is the owner), owner (it is about the owner),
        introduces (it says who somebody is, or where they live and work) and harm (what forgetting it would do, 0..3).
        Sorted by row and place. Cost: that of `read`, if it is not given.
    """
    known = read(texts, speakers) if readings is None else readings
    if not (known.list.len() > 0).any():
        return pl.DataFrame(schema=_STATED)
    sentences = _sentences(texts.set(known.list.len() == 0, ""))
    numbers, told, toward = np.split(_of_sentences(known)[1], _PARTS[:-1], axis=1)
    refers, standing, opens, figures, blank, _ = told.T  # in the order of `state_heads.HEADS`
    quoted, by_assistant = _turns(sentences)
    gap = _leads_to_a_gap(sentences)
    low = tokens.fold(sentences["sentence"])
    standing = np.where(sections.may_instruct(numbers, toward), standing, 1.0)
    opens = np.where(sections.may_unlock(numbers, toward), opens, 0.0)
    as_read, if_own = (
        sections.chosen(one, toward, standing, opens, figures) for one in (numbers, sections.of_owner(numbers))
    )
    of_user = as_read != sections.NOWHERE
    place = np.where(of_user, as_read, if_own)
    section = pl.Series("section", [*sections.SECTIONS, None], dtype=pl.String).gather(place)
    instructs, health = (section == name for name in (sections.INSTRUCTION, sections.HEALTH))
    forbidden = health & pl.Series(_of_kind(numbers, "safety") > _of_kind(numbers, "health"))
    ordered = forbidden & ~low.str.contains(_USERS_TURN)
    return sentences.with_columns(
        section,
        lasting=pl.Series(sentence_kinds.probability(numbers, "holds", "lasting") >= LIKELY),
        commands=(instructs & pl.Series(of_user)) | forbidden,
        leans=pl.col("sentence").str.contains(core_cues.LEANING_START),
        of_user=pl.Series(of_user),
        owner=pl.Series(sentence_kinds.probability(numbers, "whom", "owner") >= LIKELY),
        introduces=pl.Series(_of_kind(numbers, *_INTRODUCING) >= LIKELY),
        passing=pl.Series(sentence_kinds.probability(numbers, "holds", "while") >= LIKELY),
        harm=pl.Series(sentence_kinds.expected(numbers, "harm")),
    ).filter(
        section.is_not_null(),
        ~(health & pl.Series(figures >= FIGURATIVE_FROM)),
        ~(quoted & (section.is_in([sections.INSTRUCTION, sections.PREFERENCE]) | ordered)),
        ~(by_assistant & (~health | ordered)),
        ~pl.col("sentence").str.contains(core_cues.PLACEHOLDER),
        ~_labels_alone(sentences["sentence"], refers >= references.LEAST) | health,
        ~(sentences["sentence"].str.contains(_AFTER_LABEL) & pl.Series(blank >= BLANK_FROM)),
        ~gap | (pl.col("commands") & pl.col("sentence").str.contains(_HEADING)),
        pl.col("sentence").str.contains(r"\p{L}"),  # a mark or a date between two lines states nothing
        pl.col("sentence").str.count_matches(WORD) <= MOST_WORDS,
    )


def _in_context(sentences: pl.DataFrame, speakers: pl.Series | None) -> tuple[list[str], list[str]]:
    """Return the sentence before each (sorted by row), and each after its speaker, as the reader reads them."""
    before = sentences.select(pl.col("sentence").shift(1).over("row").fill_null("")).to_series()
    if speakers is None:
        return before.to_list(), sentences["sentence"].to_list()
    role = speakers.str.to_lowercase().is_in(sorted(USERS)).fill_null(value=False)
    spoken = speakers.set(role, "user")  # one person, however a platform calls them
    said = sentences.select(
        pl.concat_str(spoken.gather(sentences["row"]).alias("speaker"), "sentence", separator=": ", ignore_nulls=True)
    ).to_series()
    return before.to_list(), said.to_list()


def orders(texts: pl.Series, readings: pl.Series) -> pl.DataFrame:
    """Return the sentences of texts that order something, standing or for once, and the turns of a chat in them.

    `readings` is what `read` returned for them. Columns: row and sentence, as `core_facts` returns them.
    """
    if not (readings.list.len() > 0).any():
        return pl.DataFrame(schema={"row": pl.UInt32(), "sentence": pl.String()})
    sentences = _sentences(texts.set(readings.list.len() == 0, ""))
    _, numbers = unpacked(readings)
    quoted, _ = _turns(sentences)
    order = pl.Series(_of_kind(numbers, "request", "instruction") >= LIKELY)
    return sentences.filter(quoted | order).select("row", "sentence")


def _labels_alone(sentences: pl.Series, refers: NDArray[np.bool_]) -> pl.Series:
    """Return which sentences are labels whose value only refers back (`refers`), in words that name nothing."""
    values = sentences.str.extract(_AFTER_LABEL)
    names = [max(tokens.rarities(fold_text(value or "")).values(), default=0) for value in values.filter(refers)]
    nothing = pl.Series(names, dtype=pl.Int64) < RARITY_UNLISTED
    found = pl.repeat(value=False, n=len(sentences), dtype=pl.Boolean, eager=True)
    return found.scatter(np.flatnonzero(refers), nothing) & values.is_not_null()


def _leads_to_a_gap(sentences: pl.DataFrame) -> pl.Series:
    """Return whether each sentence is a label without a value, or a heading over an unfilled placeholder."""
    following = sentences.select(pl.col("sentence").shift(-1).over("row")).to_series()
    gap = following.str.contains(_UNFILLED).fill_null(value=False)
    nothing = ~following.str.contains(r"\p{L}|\p{N}").fill_null(value=False)
    label, heading = (sentences["sentence"].str.contains(pattern) for pattern in (_LABEL, _HEADING))
    return (label & (gap | nothing)) | (heading & gap)


def read(texts: pl.Series, speakers: pl.Series | None = None) -> pl.Series:
    """Return what the reader says of the sentences of texts: for each text the numbers of all its sentences in a row.

    These are the probability of each label of a sentence (`sentence_kinds`), and of what `state_heads` tells of it. Of
    a text in a language that it does not read there are none, nor of any text if its weights are not installed. Cost:
    about 10 ms of one core per short sentence.
    """
    if encoder.missing() or texts.is_empty():
        return pl.Series([[]], dtype=pl.List(pl.Float64)).new_from_index(0, len(texts))
    languages = identification.identify(texts)
    foreign = languages.is_not_null() & ~languages.is_in(list(JUDGED))
    sentences = _sentences(texts.set(foreign, ""))
    pairs = list(zip(*_in_context(sentences, speakers), strict=True))
    parts = [_described(pairs[start : start + _AT_ONCE]) for start in range(0, len(pairs), _AT_ONCE)]
    numbers = np.concatenate([np.zeros((0, _WIDTH)), *parts])
    figures = facts.extract(sentences["sentence"], tokens.fold(sentences["sentence"]))["numbers"].list.len() > 0
    numbers[figures.to_numpy(), _REFERS] = 0.0  # a figure is a value
    of_sentences = sentences.select("row", numbers=pl.Series(list(numbers), dtype=pl.List(pl.Float64)))
    by_text = of_sentences.group_by("row").agg(pl.col("numbers").explode())
    rows = pl.DataFrame({"row": pl.int_range(len(texts), eager=True)}).cast({"row": sentences.schema["row"]})
    return rows.join(by_text, on="row", how="left", maintain_order="left")["numbers"].fill_null([])


def unpacked(readings: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the text of each sentence that `read` read, and its labels, [sentences, `sentence_kinds.WIDTH`]."""
    texts, numbers = _of_sentences(readings)
    return texts, numbers[:, : sentence_kinds.WIDTH]


def referring(readings: pl.Series) -> pl.Series:
    """Return the probability that each text only refers to something said elsewhere; null for one that was not read."""
    return readings.list.gather_every(_WIDTH, _REFERS).list.min()


def members(readings: pl.Series) -> pl.Series:
    """Return the probability that each text names what holds beside others of its kind; null for one not read."""
    return readings.list.gather_every(_WIDTH, _MEMBERS).list.min()


def _of_sentences(readings: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the text of each sentence that was read, and all its numbers."""
    counts = readings.list.len().cast(pl.Int64).to_numpy() // _WIDTH
    numbers = readings.explode(empty_as_null=False).drop_nulls().to_numpy().reshape(-1, _WIDTH)
    return np.repeat(np.arange(len(readings)), counts), numbers


def _described(sentences: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Return the numbers of sentences, each after the one before it."""
    read = encoder.sentence_reader().read(sentences)
    states, scores = np.split(read, [encoder.STATE], axis=1)
    labels = sentence_kinds.probabilities(scores.astype(np.float64))
    return np.column_stack([labels, state_heads.probabilities(states), state_heads.toward(states)])


def fit(texts: pl.Series, readings: pl.Series) -> pl.Series:
    """Return whether each reading has the numbers of all sentences of its text, as this program splits it, or none."""
    if not (readings.list.len() > 0).any():
        return readings.list.len() == 0
    counts = _sentences(texts).group_by("row").agg(sentences=pl.len())
    rows = pl.DataFrame({"row": pl.int_range(len(texts), eager=True)}).cast({"row": counts.schema["row"]})
    wanted = rows.join(counts, on="row", how="left", maintain_order="left")["sentences"].fill_null(0)
    return (readings.list.len() == 0) | (readings.list.len() == wanted * _WIDTH)


def _of_kind(numbers: NDArray[np.float64], *kinds: str) -> NDArray[np.float64]:
    return sentence_kinds.probability(numbers, "kind", *kinds)


def parts(texts: pl.Series) -> pl.DataFrame:
    """Return the single sentences of texts, and with which of the sentences that `read` reads each was read.

    Columns: row (index of the text), part (of the sentence in it, from 0), sentence (on one line) and number (of the
    one read, from 0). Sorted by row and part.
    """
    placed = _placed(texts)
    first = pl.col("place").min().over("row")
    number = (pl.col("place") - first).cast(pl.Int64)
    return placed.select("row", "part", "sentence", number=number).sort("row", "part")


def _sentences(texts: pl.Series) -> pl.DataFrame:
    """Return the sentences of each text, those that lean on the one before joined to it."""
    placed = _placed(texts).with_columns(words=pl.col("sentence").str.count_matches(WORD))
    first = pl.int_range(pl.len()).over("row", "place") == 0
    return (
        placed.filter(first | (pl.col("words").cum_sum().over("row", "place") <= MOST_WORDS))
        .group_by("row", "place", maintain_order=True)
        .agg(pl.col("sentence").str.join(" "))
        .sort("row", "place")
    )


def _placed(texts: pl.Series) -> pl.DataFrame:
    """Return the single sentences of texts: row, part, sentence, and place, the same for those that lean on another.

    A redacted credential ends no sentence, as other words in brackets do; it stands there as an unfilled placeholder.
    """
    pieces = clauses.split_clauses(texts.str.replace_all(credentials.MARK, "<$1>")).with_columns(
        part=pl.col("ends").shift(1, fill_value=False).cum_sum().over("row")
    )
    line = tokens.one_line(pl.col("clause").str.join(""))
    lines = pieces.group_by("row", "part", maintain_order=True).agg(line.alias("sentence"))
    lines = lines.filter(pl.col("sentence") != "")
    several = pl.col("row").is_duplicated()
    alone = lines.filter(~several).with_columns(place=pl.lit(1, pl.UInt32))
    unfilled = pl.col("sentence").str.contains(core_cues.PLACEHOLDER)  # it is left out, and must not take others along
    leans = (
        pl.col("sentence").str.contains(core_cues.LEANING_START) & ~unfilled & (pl.int_range(pl.len()).over("row") > 0)
    )
    joined = lines.filter(several).with_columns(place=(~leans).cum_sum().over("row"))
    return pl.concat([alone, joined.cast({"place": pl.UInt32})]).sort("row", "part")


def _turns(sentences: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return whether each sentence (sorted by row) is in a turn of a chat that its memory quotes, or forges.

    And whether that turn is an assistant's. A memory may begin with "User:", as people note who speaks; no other turn
    is its speaker's.
    """
    read = sentences.select("row", low=tokens.fold(sentences["sentence"]))
    low, first = read["low"], read["row"].is_first_distinct()
    within = low.str.contains(_TURN_WITHIN)
    starts = within | low.str.contains(_TURN)
    own = first & low.str.contains(_OF_THE_USER) & ~within
    turns = read.select(
        "row",
        quoted=pl.when(starts).then(~own),
        role=pl.when(starts).then(low.str.extract(_ROLE)),
    ).with_columns(starts=pl.Series(starts), of=pl.col("role").forward_fill().over("row"))
    goes_on = pl.col("quoted").forward_fill().over("row") & pl.col("of").is_in(_PARTNERS)
    told = turns.select(
        quoted=pl.when("starts").then("quoted").otherwise(goes_on).fill_null(value=False),
        by_assistant=(pl.col("of") == "assistant").fill_null(value=False),
    )
    return told["quoted"], told["by_assistant"]
