"""Core memory: five short blocks per profile that an agent reads at the start of every session.

A block joins facts by a line of three dashes; blocks are only cut between facts. The policy chooses the facts: those
that profile the user (`core_profile`), or the memories that SuperLocalMemory takes, each on one line, or as its gist if
it is longer than the block. A text that several memories share appears once in a block, for the first of them. Where
several users share a profile, each has a section in each block that profiles the user: its facts begin with the user's
id, the limits count for each user, and no model words it. Not here: wording by a model (`summaries.prompting`), and
when blocks are compiled (`triggers`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import polars as pl

from memory_pipeline.consolidation import core_profile, ownership, whereabouts
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.currency import holds
from memory_pipeline.consolidation.state import folding
from memory_pipeline.consolidation.summaries import prompting
from memory_pipeline.schemas import INSTANT, LIVE, TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens, one_line
from memory_pipeline.text.score import commands, sections

SEPARATOR: Final = "\n---\n"
"""Separates the facts of a block."""
TOP: Final = 5
"""Maximum number of facts in the blocks that take only the first few."""
DECISION_ACCESSES: Final = 3
"""Minimum number of accesses of a Decision that counts as active."""
PREFERENCE_CONFIDENCE: Final = 0.7
"""Minimum confidence of a preference that counts as learned."""
RULES: Final = "rules"
"""Value of `compiled_by` for a block that no model worded."""

_BLOCK: Final = ["profile_id", "block"]
_OWN: Final = ("original", "compression", "consolidation")
"""Kinds of memories that repeat nothing; the members of other kinds of summaries stay live themselves."""

Mark = Mapping[str, Any] | None
"""What stands in brackets behind a fact, if anything (see `core_memory_blocks.marks`)."""
SHARES: Final = 4
"""Parts of the limit in tokens, one of which each block has before it takes what others leave."""
_PERSON: Final = ["profile_id", "person"]


class Fact(NamedTuple):
    """A fact that a block may hold."""

    memory_id: str
    text: str
    """On one line, with what stands behind it."""
    gist: str
    vital: bool
    """Whether it never lacks room."""
    past: bool
    """Whether a newer memory probably outdates it."""
    mark: Mark


class Filled(NamedTuple):
    """What a block holds."""

    members: list[str]
    marks: list[Mark] | None
    content: str


@dataclass(frozen=True)
class Block:
    """Which memories a block takes, and in which order."""

    name: str
    admits: pl.Expr
    """Predicate of the memories it takes."""
    by: str
    """Column by which it ranks them, highest first."""
    most: int | None = None
    """Maximum number of facts; None: as many as fit."""
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
"""The blocks of SuperLocalMemory, in the order in which they are filled. A core memory became core through use, so that
it counts as semantic."""

PROFILE: Final = "profile"
"""Value of `core_facts` with which the blocks profile the user."""


def names(policy: Policy) -> tuple[str, ...]:
    """Return the names of the policy's blocks, in the order in which they are filled and read."""
    return core_profile.NAMES if policy.core_facts == PROFILE else tuple(block.name for block in BLOCKS)


def in_order(blocks: pl.DataFrame) -> pl.DataFrame:
    """Return blocks, of any table with profile_id and block, in the order in which they are read."""
    order = {name: index for index, name in enumerate((*core_profile.NAMES, *(block.name for block in BLOCKS[1:])))}
    return blocks.sort("profile_id", pl.col("block").replace_strict(order, default=len(order)), "block")


def candidates(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    edges: pl.DataFrame | None = None,
    changes: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Select the facts of each block and word it by rule, within both limits.

    Arguments as for `compile_blocks`. Returns profile_id, block, members (in order), marks and content; empty blocks
    have no row. Sorted by profile, then in the order of `names`. Cost: a filter and a sort of the live memories per
    block.
    """
    facts = _facts(memories, scored, enrichment, policy, as_of, edges=edges, changes=changes)
    return _fill_blocks(facts, {}, policy).drop("worded")


def numbered(blocks: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """Return for each block its content and the highest version ever used, so that a version names one text.

    That holds even after an undo: `used` has profile_id, block and version of every text ever decided, undone ones too.
    Content is null for a block whose only texts were undone.
    """
    columns = [*_BLOCK, "version", "content"]
    versions = pl.concat([blocks.select(columns), used.with_columns(content=pl.lit(None, pl.String)).select(columns)])
    return versions.group_by(_BLOCK).agg(pl.col("version").max(), pl.col("content").drop_nulls().first()).sort(_BLOCK)


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
    edges: pl.DataFrame | None = None,
    changes: pl.DataFrame | None = None,
    known: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Compile the core memory blocks and return those whose text changes.

    A profile of the user holds what `core_profile.facts` returns, at most `core_memory_tokens` in all blocks; only what
    does harm if it is forgotten may exceed this. Of SuperLocalMemory's facts (`BLOCKS`) each block holds at most
    `block_char_limit` characters, and all together at most `core_memory_char_limit`; they are filled in the order of
    `names`.

    Live memories are eligible if they are valid at `as_of`, not superseded, and do not instruct a model. Of memories
    with the same text (core memories are never merged) the first one counts. Ties: higher importance, then older, then
    smaller id; importance does not decay, so the order only changes when something happens. A memory without a row in
    `scored` uses the importance it was stored with; a text without a row in `enrichment` is its own gist.

    Args:
        blocks: profile_id, block, version (the highest so far) and content of the current blocks.
        completions: table `completions`: the wording of the first two blocks by the policy's model. The text by rule is
            used where the model gave none that is acceptable and fits.
        edges: decided and proposed edges, which show what is outdated or repeated; read, like `changes`, only for
            blocks that profile the user; default: none.
        changes: table `fact_changes`, which names the outdated statement; default: none.
        known: table `core_sentences`: texts that need not be read again; default: none.

    Returns:
        Table `core_memory_blocks`: only the blocks whose text changes, each with the next version. A block that became
        empty has the text "" and no members.
    """
    table = TABLES["core_memory_blocks"]
    if not policy.core_blocks:
        return table.empty()
    facts = _facts(memories, scored, enrichment, policy, as_of, edges=edges, changes=changes, known=known)
    by_rules = _fill_blocks(facts, {}, policy)
    worded = by_rules.filter(~pl.col("profile_id").is_in(ownership.shared(memories).implode()))
    answers = prompting.accepted_blocks(worded, completions, policy).drop_nulls("content")
    wordings = {(profile_id, block): text for profile_id, block, text in answers.select(*_BLOCK, "content").iter_rows()}
    filled = _fill_blocks(facts, wordings, policy) if wordings else by_rules
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
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    policy: Policy,
    as_of: datetime,
    *,
    edges: pl.DataFrame | None,
    changes: pl.DataFrame | None,
    known: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the facts of each block as lists, best first, by profile_id, person (whose section it is) and index."""
    shared = pl.col("profile_id").is_in(ownership.shared(memories).implode())
    voiced = memories.with_columns(voice=ownership.voices(memories, policy), person=pl.when(shared).then("user_id"))
    placed = whereabouts.inherited(voiced).with_columns(project=whereabouts.project())
    eligible = _with_member_dates(placed).filter(
        pl.col("lifecycle").is_in(LIVE)
        & pl.col("superseded_by").is_null()
        & holds(as_of)
        & (one_line(pl.col("content")) != "")
    )
    texts = eligible["content"]
    eligible = eligible.filter(~commands.commands_a_model(texts) & ~commands.of_a_platform(texts))
    if policy.core_facts == PROFILE:
        others = placed.join(eligible.select(KEY), on=KEY, how="anti")
        own = eligible.filter(_is("kind", *_OWN))
        drawn = TABLES["proposed_edges"].empty() if edges is None else edges
        of_statements = TABLES["fact_changes"].empty() if changes is None else changes
        chosen = core_profile.facts(own, scored, drawn, of_statements, as_of=as_of, others=others, known=known)
        chosen = chosen.with_columns(text=pl.col("text") + core_profile.shown(pl.col("mark")))
        chosen = chosen.with_columns(gist="text")
    else:
        chosen = _counted(eligible, scored, enrichment, policy).with_columns(
            *(pl.lit(value=False).alias(name) for name in ("vital", "past")),
            person=pl.lit(None, pl.String),
            mark=pl.lit(None),
        )
    return (
        chosen.join(eligible.select(*KEY, "metadata"), on=KEY, how="left", maintain_order="left")
        .with_columns(whereabouts.shown_below(name) for name in ("text", "gist"))
        .group_by(*_PERSON, "index", maintain_order=True)
        .agg("memory_id", "text", "gist", "vital", "past", "mark")
        .sort(*_PERSON, "index")
    )


def _counted(eligible: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the facts of the blocks of SuperLocalMemory, best first: profile_id, index, memory_id, text, gist."""
    rated = (
        eligible.with_columns(_attributed("content").alias("text"))
        .join(scored.select(*KEY, "importance"), on=KEY, how="left")
        .with_columns(pl.coalesce("importance", "importance_given"))
    )
    fitting = (policy.block_char_limit + len(SEPARATOR)) // (1 + len(SEPARATOR))
    chosen = [
        rated.filter(block.admits & _is("kind", *block.kinds))
        .sort(
            *("profile_id", block.by, "importance", "created_at", "memory_id"),
            descending=[False, True, True, False, False],
            nulls_last=True,
        )
        .unique(["profile_id", "text"], keep="first", maintain_order=True)
        .group_by("profile_id", maintain_order=True)
        .head(min(block.most or fitting, fitting))
        .select("profile_id", "memory_id", "text", "content_hash", "kind", "speaker", index=pl.lit(index))
        for index, block in enumerate(BLOCKS)
    ]
    gists = enrichment.select("profile_id", "content_hash", "gist")
    return (
        pl.concat(chosen)
        .join(gists, on=["profile_id", "content_hash"], how="left", maintain_order="left")
        .with_columns(pl.coalesce(_attributed("gist"), "text").alias("gist"))
    )


def _with_member_dates(memories: pl.DataFrame) -> pl.DataFrame:
    """Date each summary by its newest member, regardless of when a run made it."""
    member_dates = memories.select("profile_id", members="memory_id", dated_at="created_at")
    summaries = memories.filter(pl.col("kind") != folding.ORIGINAL).select(*KEY, "members").explode("members")
    newest = summaries.join(member_dates, on=["profile_id", "members"]).group_by(KEY).agg(pl.col("dated_at").max())
    return memories.join(newest, on=KEY, how="left", maintain_order="left").with_columns(
        created_at=pl.coalesce("dated_at", "created_at")
    )


def _attributed(column: str) -> pl.Expr:
    """Return the text on one line; a summary's text is prefixed with the name of its speaker."""
    named = (pl.col("kind") != folding.ORIGINAL) & pl.col("speaker").is_not_null()
    return pl.when(named).then(pl.col("speaker") + ": " + one_line(pl.col(column))).otherwise(one_line(pl.col(column)))


def _fill_blocks(facts: pl.DataFrame, wordings: Mapping[tuple[str, str], str], policy: Policy) -> pl.DataFrame:
    """Fill the blocks of each profile in order, with a model's wording where one fits and else with facts.

    Returns profile_id, block, members, marks, content, and `worded` (a model wrote the content); a block without text
    has no row.
    """
    fill = _filled_by_tokens if policy.core_facts == PROFILE else _filled
    rows = []
    for (profile_id, _), of_person in groupby(facts.sort(*_PERSON, "index").iter_rows(), key=itemgetter(0, 1)):
        listed = {index: [Fact(*one) for one in zip(*lists, strict=True)] for _, _, index, *lists in of_person}
        worded = {index: wordings.get((profile_id, names(policy)[index]), "") for index in listed}
        for index, filled in fill(listed, worded, policy).items():
            if filled.content:
                rows.append((profile_id, names(policy)[index], *filled, filled.content == worded[index]))
    types = TABLES["core_memory_blocks"].types
    schema = {name: types[name] for name in (*_BLOCK, *Filled._fields)} | {"worded": pl.Boolean()}
    order = {name: index for index, name in enumerate(names(policy))}
    of_persons = pl.DataFrame(rows, schema=schema, orient="row").group_by(_BLOCK, maintain_order=True)
    blocks = of_persons.agg(
        pl.col("members").list.explode(keep_nulls=False, empty_as_null=False),
        pl.when(pl.col("marks").is_not_null().all()).then(pl.col("marks").list.explode().implode()).first(),
        pl.col("content").str.join(SEPARATOR),
        pl.col("worded").any(),
    )
    return blocks.sort("profile_id", pl.col("block").replace_strict(order, return_dtype=pl.Int64))


def _filled_by_tokens(
    facts: Mapping[int, Sequence[Fact]], wordings: Mapping[int, str], policy: Policy
) -> dict[int, Filled]:
    """Fill the blocks that profile one person, by the index of each.

    Vital facts come first, and all of them, then the best fact of each block. Then each block has a share of the limit,
    health and safety first, standing instructions second, and what they leave is for those that are full, instructions
    before others. What is probably outdated takes what all others leave. A fact that has no room is left out for the
    next that has.
    """
    safety, rules = (core_profile.NAMES.index(name) for name in (sections.HEALTH, sections.INSTRUCTION))
    costs = {index: _costs([fact.text for fact in listed]) for index, listed in facts.items()}
    taken = {index: [fact.vital for fact in listed] for index, listed in facts.items()}
    spent = {index: sum(compress(costs[index], taken[index])) for index in facts}
    limit = policy.core_memory_tokens
    best = [(index, limit, 1) for index in facts if not any(taken[index])]
    shared = [
        (index, limit // SHARES, None) for index in sorted(facts, key=lambda one: (one != safety, one != rules, one))
    ]
    left = [(index, limit, None) for index in sorted(facts, key=lambda one: (one != rules, one))]
    rounds = [(one, False) for one in (*best, *shared, *left)] + [(one, True) for one in left]
    for (index, share, most), past in rounds:
        for row, cost in enumerate(costs[index][:most]):
            if taken[index][row] or facts[index][row].past > past:
                continue
            if spent[index] + cost <= share and sum(spent.values()) + cost <= limit:
                taken[index][row], spent[index] = True, spent[index] + cost
    filled = {}
    for index, listed in facts.items():
        chosen = [*compress(listed, taken[index])]
        members, marks = [fact.memory_id for fact in chosen], [fact.mark for fact in chosen]
        filled[index] = Filled(members, marks, SEPARATOR.join(fact.text for fact in chosen))
        cost = _costs([wordings[index]])[0]
        if wordings[index] and sum(spent.values()) - spent[index] + cost <= limit:
            filled[index], spent[index] = Filled(members, None, wordings[index]), cost
    return filled


def _costs(texts: Sequence[str]) -> list[int]:
    return count_tokens(pl.Series(texts, dtype=pl.String)).to_list()


def _filled(facts: Mapping[int, Sequence[Fact]], wordings: Mapping[int, str], policy: Policy) -> dict[int, Filled]:
    """Fill the blocks of SuperLocalMemory, by the index of each."""
    remaining, filled = policy.core_memory_char_limit, dict[int, Filled]()
    for index in sorted(facts):
        room = min(policy.block_char_limit, remaining)
        members, content = _fill_block(facts[index], policy.block_char_limit, room)
        wording = wordings[index]
        filled[index] = Filled(members, None, wording if 0 < len(wording) <= room else content)
        remaining -= len(filled[index].content)
    return filled


def _fill_block(facts: Iterable[Fact], limit: int, room: int) -> tuple[list[str], str]:
    """Take facts in order while they fit in `limit` and `room`, in characters; return their memories and the text."""
    members: list[str] = []
    content = ""
    for fact in facts:
        line = fact.text if len(fact.text) <= limit else _clipped(fact.gist, limit)
        longer = SEPARATOR.join((content, line)) if content else line
        if not line or len(longer) > min(limit, room):
            break
        members.append(fact.memory_id)
        content = longer
    return members, content


def _clipped(line: str, room: int) -> str:
    """Shorten a line to at most `room` characters, at a word boundary where there is one."""
    if len(line) <= room:
        return line
    head = line[: max(0, room - 1)]
    if line[len(head)] != " " and " " in head:
        head = head[: head.rindex(" ")]
    head = head.rstrip(" ,;:-")
    return f"{head}…" if head else ""
