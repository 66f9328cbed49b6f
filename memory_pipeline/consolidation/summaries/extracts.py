"""Extracts: summaries in the members' own sentences that keep every date, number and name.

Memories are split into sentences. Sentences with facts come first, then, as far as the budget allows, those that add
most to what is already said; they are written in order of time, with day and speaker. Not here: which memories belong
together (`clustering`), and the other fields of a summary (`summarising`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final

import polars as pl

from memory_pipeline.text.compare.merge_guard import RELATIVE_DATES
from memory_pipeline.text.lang.en.core_cues import PERSON_START
from memory_pipeline.text.lang.en.lemmas import lemmas
from memory_pipeline.text.lang.en.rarity import RARITY_SMALL_TALK
from memory_pipeline.text.parse import facts, tokens
from memory_pipeline.text.parse.lemmatize import lemmatize

LEAST_BUDGET: Final = 64
"""Tokens that an extract may always have; a longer one may have half of its members' tokens."""
INDEX_WORDS: Final = 64
"""Maximum number of words in an index text."""
FACTS: Final = ("numbers", "dates", "entities")
_GROUP: Final = ["profile_id", "summary_id"]
_WIDE: Final = "\u3002\uff01\uff1f"
_CUTS: Final = (
    (r"([!?…;]+[\"')\]]*)\s+", "$1\n"),
    (r"((?:[\p{Ll}\p{N}]{2}|[%\"')\]])\.+[\"')\]]*)\s+", "$1\n"),
    (f"([{_WIDE}])", "$1\n"),
)
"""Sentence boundaries: after a punctuation mark followed by a space, and after a wide one; not in "Dr. Smith" or "1.
First"."""
_OPEN_ENDS: Final = ("%", ")", "]", '"', "'", "€", "$")
"""Endings of sentences, besides letters and digits, that take a full stop."""
_FRESH: Final = 0.25
"""Minimum share of a sentence's weight that must be new; otherwise it would repeat what is said."""
_DAY_TOKENS: Final = 6
"""Tokens of "2024-03-12:"."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a member, with its facts and words.

    Attributes:
        order: its position among all sentences of all groups, in order of time within a group.
        member: number of its memory.
        day: when it was said, YYYY-MM-DD.
        speaker: who said it, empty if unknown.
        text: the sentence.
        tokens: its length.
        facts: its numbers, dates and names, each prefixed with its kind.
        words: its content words with their weight in hundredths.
        weight: the sum of these weights.
        passing: whether it names a day relative to the day of speaking ("yesterday").
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
    """The sentences chosen so far, with the facts and words they cover."""

    chosen: dict[int, Sentence] = field(default_factory=dict)
    facts: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    spent: int = 0
    _named: set[str | int] = field(default_factory=set)

    def cost(self, sentence: Sentence) -> int:
        """Return the tokens that a sentence adds: its own, a full stop, and day and speaker if they must be named."""
        day = 0 if sentence.day in self._named else _DAY_TOKENS
        speaker = 0 if sentence.member in self._named or not sentence.speaker else len(sentence.speaker.split()) + 1
        return sentence.tokens + 1 + day + speaker

    def add(self, sentence: Sentence) -> None:
        """Add a sentence."""
        self.spent += self.cost(sentence)
        self.chosen[sentence.order] = sentence
        self.facts |= sentence.facts
        self.words |= sentence.words.keys()
        self._named |= {sentence.day, sentence.member}

    def fill(self, sentences: Iterable[Sentence], worth: Callable[[Sentence], float], budget: int | None) -> None:
        """Add the most valuable sentence repeatedly, while its value is positive and it fits in the budget.

        The value of a sentence must never increase as others are added: then only the best one has to be re-evaluated.
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
        members: one row per group and member: profile_id, summary_id, memory_id, created_at, speaker, content; tokens,
            numbers, dates and entities of the content (as in `enrichment`); whole (Boolean): the members state one
            thing in several ways, so the fullest is kept whole and the others only add facts that it lacks.
        joined: concatenate the different texts of each group instead of selecting: "Summary: a | b | c".

    Returns:
        profile_id, summary_id, content, index_text (the most informative words in order; for members that state one
        thing the content itself) and complete (whether the content holds every fact of the members), one row per group,
        sorted. A content is at most half as long as its members together, or `LEAST_BUDGET` tokens, unless the facts or
        the text that is kept whole need more. Cost: about 1 s per 1,000 groups of 17 short texts; linear in their
        number and size.
    """
    ordered = members.sort(*_GROUP, "created_at", "memory_id").with_row_index("member")
    written = _completed(_joined(ordered) if joined else _chosen(ordered), ordered)
    indexed = ordered if joined else ordered.filter(~pl.col("whole"))
    return written.join(_index_texts(indexed), on=_GROUP, how="left", maintain_order="left").with_columns(
        pl.col("index_text").fill_null(pl.col("content"))
    )


def _joined(ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the different texts of each group, each with its speaker, concatenated."""
    spoken = pl.concat_str("speaker", "content", separator=": ", ignore_nulls=True)
    return ordered.group_by(_GROUP, maintain_order=True).agg(
        content=pl.lit("Summary: ") + spoken.unique(maintain_order=True).str.join(" | ")
    )


def _chosen(ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the extract of each group by selecting sentences."""
    sentences = _sentences(ordered)
    groups = ordered.group_by(_GROUP, maintain_order=True).agg(
        "member", "content", owed=_all_facts(), tokens=pl.col("tokens").sum(), whole=pl.col("whole").first()
    )
    texts = []
    for row in groups.iter_rows(named=True):
        member_sentences = [sentences.get(member, []) for member in row["member"]]
        facts_owed = [frozenset(held) for held in row["owed"]]
        texts.append(
            _version(member_sentences, facts_owed, row["content"])
            if row["whole"]
            else _digest(member_sentences, facts_owed, max(LEAST_BUDGET, row["tokens"] // 2))
        )
    return groups.select(*_GROUP, content=pl.Series(texts, dtype=pl.String))


def missing_facts(written: pl.DataFrame, required: pl.DataFrame) -> pl.DataFrame:
    """Return facts of members that their summary lacks: profile_id, summary_id, kind (see `FACTS`) and fact, sorted.

    Both tables have profile_id, summary_id, numbers, dates and entities: one row per summary's text, and any number of
    rows for what is `required`.
    """
    wanted, found = (
        pl.concat(
            frame.select(*_GROUP, kind=pl.lit(name), fact=pl.col(name)).explode("fact").drop_nulls("fact")
            for name in FACTS
        ).unique()
        for frame in (required, written)
    )
    return wanted.join(found, on=[*_GROUP, "kind", "fact"], how="anti").sort(*_GROUP, "kind", "fact")


def _all_facts() -> pl.Expr:
    """Return all facts of a row in one list, each prefixed with its kind."""
    return pl.concat_list(pl.col(name).list.eval(pl.format("{} {}", pl.lit(name), pl.element())) for name in FACTS)


def _sentences(ordered: pl.DataFrame) -> dict[int, list[Sentence]]:
    """Return the sentences of each member, by its number; one about "she" stays with the one that names her."""
    contents = ordered.select("content").unique().sort("content").with_row_index("row")
    split_text = pl.col("content")
    for pattern, instead in _CUTS:
        split_text = split_text.str.replace_all(pattern, instead)
    pieces = (  # keyed by number: with a long text as the key, every one of its sentences would hold a copy of it
        contents.select("row", text=split_text.str.split("\n"))
        .explode("text")
        .with_columns(pl.col("text").str.strip_chars())
        .filter(pl.col("text") != "")
        .with_columns(part=(~pl.col("text").str.contains(PERSON_START)).cum_sum().over("row"))
        .group_by("row", "part", maintain_order=True)
        .agg(pl.col("text").str.join(" "))
    )
    placed = (
        ordered.join(contents, on="content", how="left", maintain_order="left")
        .select("member", "row", "speaker", day=pl.col("created_at").dt.to_string("%Y-%m-%d"))
        .join(pieces, on="row", how="inner", maintain_order="left_right")
        .join(_features(pieces["text"].unique().sort()), on="text", how="left", maintain_order="left")
    )
    by_member: dict[int, list[Sentence]] = {}
    columns = ("member", "day", "speaker", "text", "tokens", "facts", "words", "weights", "passing")
    for order, (member, day, speaker, text, length, held, words, weights, passing) in enumerate(
        placed.select(columns).iter_rows()
    ):
        by_member.setdefault(member, []).append(
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
    return by_member


def _features(texts: pl.Series) -> pl.DataFrame:
    """Return features of distinct sentences: text, tokens, facts, words with their weights, passing."""
    parsed = facts.add_facts(pl.DataFrame({"content": texts}))
    lemmatized = lemmatize(texts)
    vocabulary = tokens.vocabulary(lemmatized["words"].explode(empty_as_null=False)).filter(
        pl.col("rarity") > RARITY_SMALL_TALK
    )
    weights = (
        vocabulary.select(
            "rarity",
            lemma=pl.Series([list(lemmas(word)) for word in vocabulary["word"]], dtype=pl.List(pl.String)),
        )
        .explode("lemma")
        .group_by("lemma")
        .agg(weights=pl.col("rarity").max())
    )
    words = (
        lemmatized.select(words="content_lemmas")
        .with_row_index("row")
        .explode("words")
        .join(weights, left_on="words", right_on="lemma", how="inner", maintain_order="left")
        .group_by("row", maintain_order=True)
        .agg("words", "weights")
    )
    described = lemmatized.select(text="content").with_row_index("row").join(words, on="row", how="left")
    return (
        parsed.select(
            text="content",
            tokens=tokens.count_tokens(texts),
            facts=_all_facts(),
            passing=pl.col("dates").list.eval(pl.element().str.contains(RELATIVE_DATES)).list.any(),
        )
        .join(described.drop("row"), on="text", how="left", maintain_order="left")
        .with_columns(pl.col("words", "weights").fill_null([]))
    )


def _digest(members: list[list[Sentence]], required: list[frozenset[str]], budget: int) -> str:
    """Return sentences selected from many memories, in order of time."""
    draft = Draft()
    _keep_facts(draft, members, required)
    draft.fill(
        (
            sentence
            for member_sentences in members
            for sentence in member_sentences
            if sentence.order not in draft.chosen
        ),
        lambda sentence: _fresh(draft, sentence),
        budget,
    )
    if not draft.chosen:  # only small talk, which its first sentence shows
        draft.fill([sentence for member_sentences in members for sentence in member_sentences][:1], lambda _: 1.0, None)
    return _rendered([draft.chosen[order] for order in sorted(draft.chosen)], dated=True)


def _version(members: list[list[Sentence]], required: list[frozenset[str]], contents: list[str]) -> str:
    """Return the fullest of several versions of one text, and sentences of the others with facts that it lacks."""
    draft = Draft()
    fullest = max(range(len(members)), key=lambda index: _fullness(members[index]))
    for sentence in members[fullest]:
        draft.add(sentence)
    _keep_facts(draft, members, required)
    chosen = list(draft.chosen.values())
    if len(chosen) == len(members[fullest]) and not any(sentence.passing for sentence in chosen):
        speaker = chosen[0].speaker if chosen else ""
        return f"{speaker}: {contents[fullest]}" if speaker else contents[fullest]
    return _rendered(chosen, dated=any(sentence.passing for sentence in chosen))


def _fullness(sentences: list[Sentence]) -> tuple[int, int, int]:
    """Return how much a memory says: number of facts, weight of its words, and brevity."""
    words = {word: weight for sentence in sentences for word, weight in sentence.words.items()}
    facts_held = {fact for sentence in sentences for fact in sentence.facts}
    return len(facts_held), sum(words.values()), -sum(sentence.tokens for sentence in sentences)


def _keep_facts(draft: Draft, members: list[list[Sentence]], required: list[frozenset[str]]) -> None:
    """Add sentences until every fact of the members is covered; all of a member if no single sentence holds a fact."""
    wanted = frozenset().union(*required)
    draft.fill(
        (sentence for member_sentences in members for sentence in member_sentences),
        lambda sentence: len((sentence.facts & wanted) - draft.facts) / sentence.tokens,
        None,
    )
    for member_sentences, facts_required in zip(members, required, strict=True):
        if facts_required - draft.facts:
            draft.facts |= facts_required
            for sentence in member_sentences:
                if sentence.order not in draft.chosen:
                    draft.add(sentence)


def _fresh(draft: Draft, sentence: Sentence) -> float:
    """Return the new weight per token of a sentence; 0 if it is at most the share `_FRESH` of its weight."""
    new = sum(map(sentence.words.__getitem__, sentence.words.keys() - draft.words))
    return new / sentence.tokens if new > _FRESH * sentence.weight else 0.0


def _rendered(sentences: Iterable[Sentence], *, dated: bool) -> str:
    """Return sentences as text: one line per day if `dated`, with the speaker's name where the speaker changes."""
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
    """Append whole members whose facts were lost when sentences were joined, or as a last resort the facts.

    `complete` says whether no fact is missing.
    """
    missing = missing_facts(facts.add_facts(written), members)
    for appended, mark in (("content_member", ""), ("fact", "Also: ")):
        if missing.is_empty():
            break
        facts_of_members = pl.concat(
            members.select("member", *_GROUP, content_member="content", kind=pl.lit(name), fact=name).explode("fact")
            for name in FACTS
        )
        additions = (
            facts_of_members.join(missing, on=[*_GROUP, "kind", "fact"], how="semi")
            .sort("member", "kind", "fact")
            .unique([*_GROUP, "kind", "fact"], keep="first", maintain_order=True)
            .group_by(_GROUP)
            .agg(more=pl.lit(mark) + pl.col(appended).unique(maintain_order=True).str.join(", " if mark else "\n"))
        )
        written = written.join(additions, on=_GROUP, how="left", maintain_order="left").select(
            *_GROUP, content=pl.concat_str("content", "more", separator="\n", ignore_nulls=True)
        )
        missing = missing_facts(facts.add_facts(written), members)
    lacking = missing.select(_GROUP).unique().with_columns(complete=pl.lit(value=False))
    return written.join(lacking, on=_GROUP, how="left", maintain_order="left").with_columns(
        pl.col("complete").fill_null(value=True)
    )


def _index_texts(members: pl.DataFrame) -> pl.DataFrame:
    """Return the speakers and the most informative words, each once, in the order of their first occurrence."""
    contents = members["content"].unique().sort()
    words = tokens.occurrences(tokens.fold(contents)).filter(pl.col("rarity") > 0).with_row_index("index")
    by_stem = words.group_by("row", "stem").agg(
        pl.col("rarity").max(), pl.col("form").sort_by("index").first(), pl.col("index").min()
    )
    ranked = (
        members.join(contents.to_frame().with_row_index("row"), on="content", how="left")
        .select(*_GROUP, "row", base=pl.col("member").cast(pl.Int64) * len(words))
        .join(by_stem, on="row", how="inner")
        .with_columns(at=pl.col("base") + pl.col("index"))
        .group_by(*_GROUP, "stem")
        .agg(pl.col("form").sort_by("at").first(), weight=pl.col("rarity").sum(), first=pl.col("at").min())
        .sort("weight", "form", descending=[True, False])
        .group_by(_GROUP, maintain_order=True)
        .agg(words=pl.col("form").head(INDEX_WORDS).sort_by(pl.col("first").head(INDEX_WORDS)))
    )
    speakers = members.group_by(_GROUP, maintain_order=True).agg(
        pl.col("speaker").drop_nulls().unique(maintain_order=True)
    )
    return speakers.join(ranked, on=_GROUP, how="inner").select(
        *_GROUP, index_text=pl.concat_list("speaker", "words").list.join(" ")
    )
