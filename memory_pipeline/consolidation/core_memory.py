"""Core memory: what an agent reads at the start of every session, five short blocks a profile.

A block joins facts by a line of three dashes. A fact is a memory on one line; it is whole, or its gist where it is too
long for the block, and a block ends between two facts. What several memories say alike stands in a block once, told by
the first of them. What is not here: how a model words a block (`prompting`), and when blocks are compiled (`triggers`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.promotion import holds
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.consolidation.state import folding
from memory_pipeline.consolidation.summaries import prompting
from memory_pipeline.schemas import INSTANT, LIVE, TABLES
from memory_pipeline.settings import Policy

SEPARATOR: Final = "\n---\n"
"""What stands between two facts of a block."""
TOP: Final = 5
"""Most facts of the blocks that take only the first few."""
DECISION_ACCESSES: Final = 3
"""Accesses from which a decision counts as active."""
PREFERENCE_CONFIDENCE: Final = 0.7
"""Confidence from which a preference counts as learned."""
RULES: Final = "rules"
"""What compiled a block that no model worded."""

_BLOCK: Final = ["profile_id", "block"]
_OWN: Final = ("original", "compression", "consolidation")
"""Kinds of memories that repeat nothing: the members of other summaries stay and speak for themselves."""

Fact = tuple[str, str, str]
"""A memory, its text on one line, and its gist."""


@dataclass(frozen=True)
class Block:
    """What a block takes, and what it takes first.

    Attributes:
        name: the block.
        admits: which memories it takes.
        by: column by which it ranks them, highest first.
        most: how many facts it takes at most; None: as many as fit.
        kinds: kinds of memories it takes.
    """

    name: str
    admits: pl.Expr
    by: str
    most: int | None = None
    kinds: tuple[str, ...] = _OWN


def _is(column: str, *values: str) -> pl.Expr:
    return pl.col(column).is_in(values)


_USED: Final = pl.col("access_count") >= DECISION_ACCESSES
_SURE: Final = pl.col("confidence") >= PREFERENCE_CONFIDENCE

BLOCKS: Final = (
    Block("user_profile", _is("category", "semantic", "opinion", "core"), "access_count", TOP),
    Block("project_context", _is("category", "episodic"), "created_at", TOP),
    Block(
        "behavioral_patterns",
        _is("memory_type", "Pattern", "MetaPattern"),
        "confidence",
        TOP,
        kinds=(*_OWN, "meta_pattern"),
    ),
    Block("active_decisions", _is("memory_type", "Decision") & _USED, "access_count"),
    Block("learned_preferences", (_is("category", "opinion") | _is("memory_type", "Preference")) & _SURE, "confidence"),
)
"""The blocks (SuperLocalMemory), in the order in which they are filled."""


def candidates(
    memories: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy, *, as_of: datetime
) -> pl.DataFrame:
    """Choose the facts of each block and word it by rule, within both limits.

    - user_profile: five semantic memories or opinions, most accessed first. A core memory counts as semantic: it has
      become core because it is used.
    - project_context: the five newest episodic ones.
    - behavioral_patterns: five of type Pattern or MetaPattern, most confident first.
    - active_decisions: of type Decision with at least 3 accesses, most accessed first.
    - learned_preferences: opinions and those of type Preference with confidence at least 0.7, most confident first.

    Taken are live memories that hold at `as_of` and that nothing superseded; of those of one text (core memories are
    never merged) the first. Ties: the more important, then the older, then the smaller id; importance does not fade, so
    the order changes only when something happens. Summaries whose members stay are left to behavioral_patterns.

    Args:
        memories: table `memories`.
        scored: table `scored_memories`; a memory without a row counts with the importance it was given.
        enrichment: table `enrichment`, for gists; a text without a row is its own gist.
        policy: limits in characters, separators counted.
        as_of: instant at which facts must hold.

    Returns:
        profile_id, block, members (in order) and content; blocks without facts have no row. Sorted by profile, then in
        the order of `BLOCKS`.

    Cost: a filter and a sort of the live memories a block.
    """
    return _filled(_facts(memories, scored, enrichment, policy, as_of), {}, policy).drop("worded")


def numbered(blocks: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """Blocks with the highest version they ever had, so that a version names one text even after an undo.

    Args:
        blocks: table `core_memory_blocks`, as they stand.
        used: profile_id, block and version of every text ever decided, undone ones too.

    Returns:
        profile_id, block, version and content; one that was undone before it stood a second time has no content.
    """
    said = [*_BLOCK, "version", "content"]
    every = pl.concat([blocks.select(said), used.with_columns(content=pl.lit(None, pl.String)).select(said)])
    return every.group_by(_BLOCK).agg(pl.col("version").max(), pl.col("content").drop_nulls().first()).sort(_BLOCK)


def compile_blocks(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    blocks: pl.DataFrame,
    completions: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Compile the core memory blocks and return those whose text changes.

    Each block holds at most `block_char_limit` characters and all of a profile together at most
    `core_memory_char_limit`, separators counted; they are filled in the order of `BLOCKS`.

    Args:
        memories: table `memories`.
        scored: table `scored_memories`.
        enrichment: table `enrichment`.
        blocks: profile_id, block, version (the highest so far) and content of blocks as they stand.
        completions: table `completions`: what the policy's model made of the first two blocks. Where it gave no text
            that may stand there and fits, the rules' text stands.
        policy: limits, and whether blocks are compiled at all.
        as_of: instant at which facts must hold.
        plan_id: plan that the rows belong to.

    Returns:
        Table `core_memory_blocks`, only blocks with another text than before, each with the next version. One that has
        become empty has the text "" and no members.

    Cost: as of `candidates`.
    """
    table = TABLES["core_memory_blocks"]
    if not policy.core_blocks:
        return table.empty()
    facts = _facts(memories, scored, enrichment, policy, as_of)
    ruled = _filled(facts, {}, policy)
    answers = prompting.accepted_blocks(ruled, completions, policy).drop_nulls("content")
    wordings = {(profile_id, block): text for profile_id, block, text in answers.select(*_BLOCK, "content").iter_rows()}
    filled = _filled(facts, wordings, policy) if wordings else ruled
    before = blocks.select(*_BLOCK, "version", before="content")
    changed = (
        filled.join(before, on=_BLOCK, how="full", coalesce=True)
        .with_columns(
            pl.col("content", "before").fill_null(""),
            pl.col("members").fill_null([]),
            compiled_by=pl.when("worded").then(pl.lit(policy.llm_model)).otherwise(pl.lit(RULES)),
            version=pl.col("version").fill_null(0) + 1,
            compiled_at=pl.lit(as_of, dtype=INSTANT),
            plan_id=pl.lit(plan_id),
        )
        .filter(pl.col("content") != pl.col("before"))
    )
    return table.conform(changed)


def _facts(
    memories: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy, as_of: datetime
) -> pl.DataFrame:
    """Facts of each block, best first: profile_id, place (of the block), memory_id, text, gist; a list each."""
    eligible = (
        _dated(memories)
        .filter(pl.col("lifecycle").is_in(LIVE) & pl.col("superseded_by").is_null() & holds(as_of))
        .filter(_line("content") != "")
        .with_columns(_told("content").alias("text"))
        .join(scored.select(*KEY, "importance"), on=KEY, how="left")
        .with_columns(pl.coalesce("importance", "importance_given"))
    )
    fitting = (policy.block_char_limit + len(SEPARATOR)) // (1 + len(SEPARATOR))
    chosen = [
        eligible.filter(block.admits & _is("kind", *block.kinds))
        .sort(
            *("profile_id", block.by, "importance", "created_at", "memory_id"),
            descending=[False, True, True, False, False],
            nulls_last=True,
        )
        .unique(["profile_id", "text"], keep="first", maintain_order=True)
        .group_by("profile_id", maintain_order=True)
        .head(min(block.most or fitting, fitting))
        .select("profile_id", "memory_id", "text", "content_hash", "kind", "speaker", place=pl.lit(place))
        for place, block in enumerate(BLOCKS)
    ]
    gists = enrichment.select("profile_id", "content_hash", "gist")
    return (
        pl.concat(chosen)
        .join(gists, on=["profile_id", "content_hash"], how="left", maintain_order="left")
        .with_columns(pl.coalesce(_told("gist"), "text").alias("gist"))
        .group_by("profile_id", "place", maintain_order=True)
        .agg("memory_id", "text", "gist")
        .sort("profile_id", "place")
    )


def _dated(memories: pl.DataFrame) -> pl.DataFrame:
    """Memories of which a summary is as new as its newest member, whenever a run made it."""
    told = memories.select("profile_id", members="memory_id", told_at="created_at")
    summaries = memories.filter(pl.col("kind") != folding.ORIGINAL).select(*KEY, "members").explode("members")
    newest = summaries.join(told, on=["profile_id", "members"]).group_by(KEY).agg(pl.col("told_at").max())
    return memories.join(newest, on=KEY, how="left", maintain_order="left").with_columns(
        created_at=pl.coalesce("told_at", "created_at")
    )


def _told(column: str) -> pl.Expr:
    """A text on one line; of a memory that stands for others, behind the name of who said them all."""
    named = (pl.col("kind") != folding.ORIGINAL) & pl.col("speaker").is_not_null()
    return pl.when(named).then(pl.col("speaker") + ": " + _line(column)).otherwise(_line(column))


def _line(column: str) -> pl.Expr:
    return pl.col(column).str.replace_all(r"\s+", " ").str.strip_chars()


def _filled(facts: pl.DataFrame, wordings: Mapping[tuple[str, str], str], policy: Policy) -> pl.DataFrame:
    """Fill the blocks of each profile in order, with a wording where one fits and else with facts.

    Returns:
        profile_id, block, members, content, and whether it is worded; a block without text has no row.
    """
    rows, owner, left = [], None, 0
    for profile_id, place, *lists in facts.iter_rows():
        if profile_id != owner:
            owner, left = profile_id, policy.core_memory_char_limit
        block = BLOCKS[place].name
        room = min(policy.block_char_limit, left)
        members, content = _filling(zip(*lists, strict=True), policy.block_char_limit, room)
        wording = wordings.get((profile_id, block), "")
        worded = 0 < len(wording) <= room
        if text := wording if worded else content:
            rows.append((profile_id, block, members, text, worded))
        left -= len(text)
    types = TABLES["core_memory_blocks"].empty().schema
    schema = {name: types[name] for name in (*_BLOCK, "members", "content")} | {"worded": pl.Boolean()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _filling(facts: Iterable[Fact], limit: int, room: int) -> tuple[list[str], str]:
    """As many of the facts, in order, as fit into the room that is left in a block: their memories and the text."""
    members: list[str] = []
    content = ""
    for memory_id, text, gist in facts:
        fact = text if len(text) <= limit else _clipped(gist, limit)
        longer = SEPARATOR.join((content, fact)) if content else fact
        if not fact or len(longer) > room:
            break
        members.append(memory_id)
        content = longer
    return members, content


def _clipped(line: str, room: int) -> str:
    """A line of at most so many characters: whole, or cut at the end of a word, or within a word longer than that."""
    if len(line) <= room:
        return line
    head = line[: max(0, room - 1)]
    if line[len(head)] != " " and " " in head:
        head = head[: head.rindex(" ")]
    head = head.rstrip(" ,;:-")
    return f"{head}…" if head else ""
