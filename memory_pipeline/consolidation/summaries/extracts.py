"""Extracts: texts made of what many memories say, in their own words, that keep every date, number and name.

Memories are cut into sentences. First come those that hold the facts, then, as far as the budget goes, those that add
most to what is said already; they stand in order of time, with day and speaker. What is not here: which memories belong
together (`clustering`), and what else a summary is (`summarising`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final

import polars as pl

from memory_pipeline.text.compare.merge_guard import PASSING
from memory_pipeline.text.parse import content_words, facts, tokens

LEAST_BUDGET: Final = 64
"""Tokens that an extract may always have; a longer one half of its members' tokens."""
INDEX_WORDS: Final = 64
"""Words of an index text."""
FACTS: Final = ("numbers", "dates", "entities")
_GROUP: Final = ["profile_id", "summary_id"]
_WIDE: Final = "\u3002\uff01\uff1f"
_CUTS: Final = (
    (r"([!?…;]+[\"')\]]*)\s+", "$1\n"),
    (r"((?:[\p{Ll}\p{N}]{2}|[%\"')\]])\.+[\"')\]]*)\s+", "$1\n"),
    (f"([{_WIDE}])", "$1\n"),
)
"""Where a text is cut: behind a mark with a space after it, and behind a wide one; not in "Dr. Smith" or "1. First"."""
_OPEN_ENDS: Final = ("%", ")", "]", '"', "'", "€", "$")
"""Ends of sentences that take a full stop, besides letters and digits."""
_FRESH: Final = 0.25
"""Share of a sentence's weight that must be new; less would say the same again."""
_DAY_TOKENS: Final = 6
"""Tokens of "2024-03-12:"."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a member, with what it holds.

    Attributes:
        order: its place among all sentences of all groups, in order of time within a group.
        member: number of its memory.
        day: when it was said, YYYY-MM-DD.
        speaker: who said it, empty if unknown.
        text: the sentence.
        tokens: its length.
        facts: its numbers, dates and names, each with its kind in front.
        words: its content words with their weight in hundredths.
        weight: the sum of these.
        passing: it names a day that only the day of speaking tells ("yesterday").
    """

    order: int
    member: int
    day: str
    speaker: str
    text: str
    tokens: int
    facts: frozenset[str]
    words: dict[str, int]
    weight: int
    passing: bool


@dataclass(slots=True)
class Draft:
    """The sentences chosen so far, and what they hold together."""

    chosen: dict[int, Sentence] = field(default_factory=dict)
    facts: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    spent: int = 0
    _named: set[str | int] = field(default_factory=set)

    def cost(self, sentence: Sentence) -> int:
        """Tokens that a sentence adds: its own, a full stop, and its day and speaker where they have to be named."""
        day = 0 if sentence.day in self._named else _DAY_TOKENS
        speaker = 0 if sentence.member in self._named or not sentence.speaker else len(sentence.speaker.split()) + 1
        return sentence.tokens + 1 + day + speaker

    def add(self, sentence: Sentence) -> None:
        """Take a sentence in."""
        self.spent += self.cost(sentence)
        self.chosen[sentence.order] = sentence
        self.facts |= sentence.facts
        self.words |= sentence.words.keys()
        self._named |= {sentence.day, sentence.member}

    def fill(self, sentences: Iterable[Sentence], worth: Callable[[Sentence], float], budget: int | None) -> None:
        """Take in, again and again, the sentence worth most, while it is worth anything and fits in the budget.

        What a sentence is worth must never grow as others are taken in: then only the best has to be looked at again.
        """
        heap = [(-value, sentence.order, sentence) for sentence in sentences if (value := worth(sentence)) > 0]
        heapify(heap)
        while heap:
            _, order, sentence = heap[0]
            value = worth(sentence)
            if len(heap) > 1 and value > 0 and (-value, order) > min(heap[1:3])[:2]:
                heapreplace(heap, (-value, order, sentence))
                continue
            heappop(heap)
            if value > 0 and (budget is None or self.spent + self.cost(sentence) <= budget):
                self.add(sentence)


def extracts(members: pl.DataFrame, *, joined: bool = False) -> pl.DataFrame:
    """Write the extract of each group of memories.

    Args:
        members: one row a group and member: profile_id, summary_id, memory_id, created_at, speaker, content; tokens,
            numbers, dates and entities of the content (as in `enrichment`); whole (Boolean): the members say one thing
            in several ways, so the fullest is kept whole and the others only add to it.
        joined: do not choose, but put the different texts of each group one behind the other: "Summary: a | b | c".

    Returns:
        profile_id, summary_id, content, index_text (the words that tell most, in order; of members that say one thing
        the content itself) and complete (the content holds every fact of the members), one row a group, sorted. A
        content is at most half as long as its members together, or `LEAST_BUDGET` tokens, unless the facts or the text
        that is kept whole need more. Cost: about 1 s for 1,000 groups of 17 short texts; linear in their number and
        size.
    """
    ordered = members.sort(*_GROUP, "created_at", "memory_id").with_row_index("member")
    written = _completed(_joined(ordered) if joined else _chosen(ordered), ordered)
    long = ordered if joined else ordered.filter(~pl.col("whole"))
    return written.join(_index_texts(long), on=_GROUP, how="left", maintain_order="left").with_columns(
        pl.col("index_text").fill_null(pl.col("content"))
    )


def _joined(ordered: pl.DataFrame) -> pl.DataFrame:
    """The different texts of each group, each with its speaker, one behind the other."""
    said = pl.concat_str("speaker", "content", separator=": ", ignore_nulls=True)
    return ordered.group_by(_GROUP, maintain_order=True).agg(
        content=pl.lit("Summary: ") + said.unique(maintain_order=True).str.join(" | ")
    )


def _chosen(ordered: pl.DataFrame) -> pl.DataFrame:
    """The telling sentences of each group."""
    sentences = _sentences(ordered)
    groups = ordered.group_by(_GROUP, maintain_order=True).agg(
        "member", "content", owed=_held(), tokens=pl.col("tokens").sum(), whole=pl.col("whole").first()
    )
    texts = []
    for row in groups.iter_rows(named=True):
        own = [sentences.get(member, []) for member in row["member"]]
        owed = [frozenset(held) for held in row["owed"]]
        budget = max(LEAST_BUDGET, row["tokens"] // 2)
        texts.append(_version(own, owed, budget, row["content"]) if row["whole"] else _digest(own, owed, budget))
    return groups.select(*_GROUP, content=pl.Series(texts, dtype=pl.String))


def missing_facts(kept: pl.DataFrame, owed: pl.DataFrame) -> pl.DataFrame:
    """Facts of members that their summary lacks.

    Args:
        kept: profile_id, summary_id, and numbers, dates and entities of each summary's text.
        owed: the same of its members, any number of rows a summary.

    Returns:
        profile_id, summary_id, kind (numbers, dates or entities) and fact, sorted; empty if every fact was kept.
    """
    wanted, found = (
        pl.concat(
            frame.select(*_GROUP, kind=pl.lit(name), fact=pl.col(name)).explode("fact").drop_nulls("fact")
            for name in FACTS
        ).unique()
        for frame in (owed, kept)
    )
    return wanted.join(found, on=[*_GROUP, "kind", "fact"], how="anti").sort(*_GROUP, "kind", "fact")


def _held() -> pl.Expr:
    """All facts of a row in one list, each with its kind in front."""
    return pl.concat_list(pl.col(name).list.eval(pl.format("{} {}", pl.lit(name), pl.element())) for name in FACTS)


def _sentences(ordered: pl.DataFrame) -> dict[int, list[Sentence]]:
    """The sentences of each member, by its number."""
    contents = ordered.select("content").unique().sort("content")
    cut = pl.col("content")
    for pattern, instead in _CUTS:
        cut = cut.str.replace_all(pattern, instead)
    pieces = (
        contents.with_columns(text=cut.str.split("\n"))
        .explode("text")
        .with_columns(pl.col("text").str.strip_chars())
        .filter(pl.col("text") != "")
    )
    placed = (
        ordered.select("member", "content", "speaker", day=pl.col("created_at").dt.to_string("%Y-%m-%d"))
        .join(pieces, on="content", how="inner", maintain_order="left_right")
        .join(_held_by(pieces["text"].unique().sort()), on="text", how="left", maintain_order="left")
    )
    found: dict[int, list[Sentence]] = {}
    columns = ("member", "day", "speaker", "text", "tokens", "facts", "words", "weights", "passing")
    for order, (member, day, speaker, text, length, held, words, weights, passing) in enumerate(
        placed.select(columns).iter_rows()
    ):
        found.setdefault(member, []).append(
            Sentence(
                order,
                member,
                day,
                speaker or "",
                text,
                length,
                frozenset(held),
                dict(zip(words, weights, strict=True)),
                sum(weights),
                passing,
            )
        )
    return found


def _held_by(texts: pl.Series) -> pl.DataFrame:
    """What distinct sentences hold: text, tokens, facts, words with their weights, passing."""
    held = facts.facts(pl.DataFrame({"content": texts}))
    read = content_words.readings(texts)
    known = tokens.vocabulary(read["spelled"].explode(empty_as_null=False)).filter(
        pl.col("rarity") > tokens.RARITY_SMALL_TALK
    )
    weights = (
        known.select(
            "rarity",
            meant=pl.Series([list(content_words.meanings(word)) for word in known["word"]], dtype=pl.List(pl.String)),
        )
        .explode("meant")
        .group_by("meant")
        .agg(weights=pl.col("rarity").max())
    )
    words = (
        read.select(text="content", words="meant")
        .explode("words")
        .join(weights, left_on="words", right_on="meant", how="inner", maintain_order="left")
        .group_by("text", maintain_order=True)
        .agg("words", "weights")
    )
    return (
        held.select(
            text="content",
            tokens=tokens.count_tokens(texts),
            facts=_held(),
            passing=pl.col("dates").list.eval(pl.element().str.contains(PASSING)).list.any(),
        )
        .join(words, on="text", how="left", maintain_order="left")
        .with_columns(pl.col("words", "weights").fill_null([]))
    )


def _digest(members: list[list[Sentence]], owed: list[frozenset[str]], budget: int) -> str:
    """The telling sentences of many memories, in order of time."""
    draft = Draft()
    _keep_facts(draft, members, owed)
    draft.fill(
        (sentence for own in members for sentence in own if sentence.order not in draft.chosen),
        lambda sentence: _fresh(draft, sentence, _FRESH),
        budget,
    )
    if not draft.chosen:  # nothing but small talk: its first sentence shows that
        draft.fill([sentence for own in members for sentence in own][:1], lambda _: 1.0, None)
    return _rendered([draft.chosen[order] for order in sorted(draft.chosen)], dated=True)


def _version(members: list[list[Sentence]], owed: list[frozenset[str]], budget: int, contents: list[str]) -> str:
    """The fullest of many versions of one text, and what the others add."""
    draft = Draft()
    fullest = max(range(len(members)), key=lambda place: _fullness(members[place]))
    for sentence in members[fullest]:
        draft.add(sentence)
    _keep_facts(draft, members, owed)
    draft.fill(
        (sentence for own in members for sentence in own if sentence.order not in draft.chosen),
        lambda sentence: _fresh(draft, sentence, 0.0),
        budget,
    )
    chosen = list(draft.chosen.values())
    if len(chosen) == len(members[fullest]) and not any(sentence.passing for sentence in chosen):
        speaker = chosen[0].speaker if chosen else ""
        return f"{speaker}: {contents[fullest]}" if speaker else contents[fullest]
    return _rendered(chosen, dated=any(sentence.passing for sentence in chosen))


def _fullness(own: list[Sentence]) -> tuple[int, int, int]:
    """How much a memory says: its facts, the weight of its words, and how briefly."""
    words = {word: weight for sentence in own for word, weight in sentence.words.items()}
    held = {fact for sentence in own for fact in sentence.facts}
    return len(held), sum(words.values()), -sum(sentence.tokens for sentence in own)


def _keep_facts(draft: Draft, members: list[list[Sentence]], owed: list[frozenset[str]]) -> None:
    """Take in sentences until every fact of the members is held: all of a member if no single one holds a fact."""
    wanted = frozenset().union(*owed)
    draft.fill(
        (sentence for own in members for sentence in own),
        lambda sentence: len((sentence.facts & wanted) - draft.facts) / sentence.tokens,
        None,
    )
    for own, facts_owed in zip(members, owed, strict=True):
        if facts_owed - draft.facts:
            draft.facts |= facts_owed
            for sentence in own:
                if sentence.order not in draft.chosen:
                    draft.add(sentence)


def _fresh(draft: Draft, sentence: Sentence, least: float) -> float:
    """Weight per token that is not said yet; 0 if it is no more than a share `least` of the sentence."""
    new = sum(map(sentence.words.__getitem__, sentence.words.keys() - draft.words))
    return new / sentence.tokens if new > least * sentence.weight else 0.0


def _rendered(sentences: Iterable[Sentence], *, dated: bool) -> str:
    """Sentences as text: a line for each day if `dated`, and the speaker's name where another one speaks."""
    lines: list[list[str]] = []
    day, speaker = None, ""
    for sentence in sentences:
        if not lines or (dated and sentence.day != day):
            lines.append([f"{sentence.day}:"] if dated else [])
            speaker = ""
        if sentence.speaker not in {"", speaker}:
            lines[-1].append(f"{sentence.speaker}:")
        day, speaker = sentence.day, sentence.speaker
        ended = not (sentence.text[-1].isalnum() or sentence.text.endswith(_OPEN_ENDS))
        lines[-1].append(sentence.text if ended else f"{sentence.text}.")
    return "\n".join(" ".join(line) for line in lines)


def _completed(written: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Add whole members whose facts got lost where sentences were put together, and in the last resort the facts.

    Returns:
        `written` with `complete`: nothing is lost.
    """
    missing = missing_facts(facts.facts(written), members)
    for what, mark in (("content_member", ""), ("fact", "Also: ")):
        if missing.is_empty():
            break
        held = pl.concat(
            members.select("member", *_GROUP, content_member="content", kind=pl.lit(name), fact=name).explode("fact")
            for name in FACTS
        )
        lost = (
            held.join(missing, on=[*_GROUP, "kind", "fact"], how="semi")
            .sort("member", "kind", "fact")
            .unique([*_GROUP, "kind", "fact"], keep="first", maintain_order=True)
            .group_by(_GROUP)
            .agg(more=pl.lit(mark) + pl.col(what).unique(maintain_order=True).str.join(", " if mark else "\n"))
        )
        written = written.join(lost, on=_GROUP, how="left", maintain_order="left").select(
            *_GROUP, content=pl.concat_str("content", "more", separator="\n", ignore_nulls=True)
        )
        missing = missing_facts(facts.facts(written), members)
    lacking = missing.select(_GROUP).unique().with_columns(complete=pl.lit(value=False))
    return written.join(lacking, on=_GROUP, how="left", maintain_order="left").with_columns(
        pl.col("complete").fill_null(value=True)
    )


def _index_texts(members: pl.DataFrame) -> pl.DataFrame:
    """The speakers and the words that tell most, each once, in the order in which they come first."""
    contents = members["content"].unique().sort()
    words = tokens.occurrences(tokens.fold(contents)).filter(pl.col("rarity") > 0).with_row_index("place")
    known = words.group_by("row", "form").agg(pl.col("rarity").max(), pl.col("place").min())
    said = (
        members.join(contents.to_frame().with_row_index("row"), on="content", how="left")
        .select(*_GROUP, "row", base=pl.col("member").cast(pl.Int64) * len(words))
        .join(known, on="row", how="inner")
        .group_by(*_GROUP, "form")
        .agg(weight=pl.col("rarity").sum(), first=(pl.col("base") + pl.col("place")).min())
        .sort("weight", "form", descending=[True, False])
        .group_by(_GROUP, maintain_order=True)
        .agg(words=pl.col("form").head(INDEX_WORDS).sort_by(pl.col("first").head(INDEX_WORDS)))
    )
    speakers = members.group_by(_GROUP, maintain_order=True).agg(
        pl.col("speaker").drop_nulls().unique(maintain_order=True)
    )
    return speakers.join(said, on=_GROUP, how="inner").select(
        *_GROUP, index_text=pl.concat_list("speaker", "words").list.join(" ")
    )
