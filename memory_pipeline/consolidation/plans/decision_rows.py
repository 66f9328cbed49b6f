"""Decisions as rows: the desired changes of a run.

Not here: the fields of a decision and their JSON (`state.decision_json`), which changes become a plan (`planning`), and
what they do to a state (`state.projection`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY, counted
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.state.decision_json import (
    BLOCK,
    BUDGET,
    CLOSED,
    EDGE,
    LEAVES,
    MOVE,
    ORDER,
    PROMOTED,
    STATED,
    STATEMENT,
    SUMMARY,
    TRIMMED,
    WORDED,
    does,
    write,
)
from memory_pipeline.schemas import LIVE, Action, Lifecycle

_RISES: Final = {"tier": ("tier", "at", "energy"), "lifecycle": ("lifecycle",), "category": ("category",)}
"""What a promotion can raise, with the columns that describe it."""

RETIRED: Final = "no_longer_proposed"
"""Rule by which a link about facts is removed."""

_ENDED: Final = ("valid_until", "superseded_by", "superseded_kind")

CHANGES: Final = pl.Schema(
    {name: pl.String() for name in (*KEY, "action", "target_id", "rule", "reason", "factors", "before", "after")}
    | {"subject": pl.String()}
)
"""A desired change: a decision that belongs to no plan yet. `subject` is the content that it concerns."""

_NO_CHANGES: Final = CHANGES.to_frame()
"""Shared by all proposals that are empty, as most are in a run without news: no query has to find that out."""
_MISSING: Final = {
    "target_id": pl.lit(None, pl.String),
    **dict.fromkeys(("factors", "before", "after"), pl.lit("{}")),
    "subject": pl.lit(""),
}
"""Columns of a change that has nothing to say there."""


def links(proposed: pl.DataFrame, memories: pl.DataFrame, fact_changes: pl.DataFrame) -> pl.DataFrame:
    """Return changes that add the edges of table `proposed_edges`.

    Links about facts have the reason of `fact_changes`, and its confidence among their factors.
    """
    if proposed.is_empty():
        return _NO_CHANGES
    edges = _with_findings(_about_edges(proposed.with_columns(after=write(EDGE))), fact_changes)
    for end in ("source", "target"):
        texts = memories.select(
            "profile_id", pl.col("memory_id").alias(end), pl.col("content_hash").alias(f"{end}_text")
        )
        edges = edges.join(texts, on=["profile_id", end], how="left", maintain_order="left")
    return _changes(
        edges,
        action=pl.lit(Action.LINK.value),
        rule=pl.concat_str("algorithm", pl.coalesce("kind", "edge_type"), separator="."),
        reason=pl.coalesce(
            "why",
            pl.concat_str(
                pl.format("{} and {} are linked as {}", "source", "target", "label"),
                pl.format(": cosine {}", _shown("similarity")),
                pl.format(", confidence {}", _shown("confidence")),
                pl.lit("."),
                ignore_nulls=True,
            ),
        ),
        factors=write({name: EDGE[name] for name in ("confidence", "similarity", "weight")}),
        subject=pl.concat_str("label", "source_text", "target_text", separator=" ", ignore_nulls=True),
    )


def _with_findings(edges: pl.DataFrame, fact_changes: pl.DataFrame) -> pl.DataFrame:
    """Add to each link about facts the reason for it, `why`, and how likely the relation is."""
    linked = fact_changes.filter(pl.col("relation").is_in(list(edge_rows.PROPOSED)))
    pairs = linked.select(
        "profile_id",
        edge_type=pl.col("relation").replace_strict(edge_rows.PROPOSED, return_dtype=pl.String),
        low=pl.min_horizontal("memory_id", "other_id"),
        high=pl.max_horizontal("memory_id", "other_id"),
        why="reason",
        found="confidence",
        algorithm=pl.lit(edge_rows.FACT_COMPARISON),
    ).unique(["profile_id", "edge_type", "low", "high"], keep="first", maintain_order=True)
    ends = {"low": pl.min_horizontal("source", "target"), "high": pl.max_horizontal("source", "target")}
    key = ["profile_id", "edge_type", "low", "high", "algorithm"]
    joined = edges.with_columns(**ends).join(pairs, on=key, how="left", maintain_order="left")
    return joined.with_columns(confidence=pl.coalesce("confidence", "found"))


def retirements(outdated: pl.DataFrame) -> pl.DataFrame:
    """Return changes that remove links about facts, rows of `decided_edges`, that nothing supports any more."""
    if outdated.is_empty():
        return _NO_CHANGES
    return _changes(
        _about_edges(outdated),
        action=pl.lit(Action.PRUNE.value),
        rule=pl.lit(RETIRED),
        reason=pl.format(
            "{} and {} are no longer linked as {}: one of them has changed, is closed or has left, or beside what "
            "was remembered since the link is too unlikely.",
            *("source", "target", "label"),
        ),
        factors=write({"discovered_at": EDGE["discovered_at"]}),
        before=write(EDGE),
        after=write({"edge_type": EDGE["edge_type"]}),
        subject=pl.concat_str("label", pl.col("plan_id"), separator=" "),
    )


def prunes(faded: pl.DataFrame) -> pl.DataFrame:
    """Return changes that remove the edges of `faded`, rows of `decided_edges` at their present weight."""
    if faded.is_empty():
        return _NO_CHANGES
    return _changes(
        _about_edges(faded),
        action=pl.lit(Action.PRUNE.value),
        rule=pl.lit("edge_prune_weight"),
        reason=pl.format(
            "The {} edge of {} and {} has faded from {} to {}.",
            "edge_type",
            "source",
            "target",
            _shown("base_weight").fill_null("unknown"),
            _shown("weight").fill_null("unknown"),
        ),
        factors=write({name: EDGE[name] for name in ("base_weight", "last_strengthened_at", "weight")}),
        before=write(EDGE),
        after=write({"edge_type": EDGE["edge_type"]}),
        subject=pl.concat_str("label", "base_weight", pl.col("last_strengthened_at").dt.epoch("us"), separator=" "),
    )


def _about_edges(edges: pl.DataFrame) -> pl.DataFrame:
    return edges.with_columns(
        memory_id="source",
        target_id="target",
        label=pl.concat_str("edge_type", "kind", separator="/", ignore_nulls=True),
    )


def summaries(made: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return changes that add the summaries of table `summaries`, or restore those that are no longer live.

    A summary's id is a hash of its members and their texts, so it needs no further subject. `seq` of `made` is the
    ledger position its plan was made from.
    """
    if made.is_empty():
        return _NO_CHANGES
    rows = made.with_columns(
        memory_id="summary_id",
        importance_given="importance",
        stability_given="stability",
        lifecycle=pl.lit(Lifecycle.ACTIVE.value),
        superseded_by=pl.lit(None, pl.String),
        superseded_kind=pl.lit(None, pl.String),
        size=pl.col("members").list.len().cast(pl.Int64),
    )
    numbers = ("access_count", "confidence", "importance_given", "stability_given")
    return _changes(
        _with_before(rows, memories),
        action=pl.lit(Action.SUMMARISE.value),
        rule=pl.col("kind"),
        reason=pl.format("One text stands for {}.", counted("size", "memory", "memories")),
        factors=write({"size": pl.Int64()} | WORDED | {name: SUMMARY[name] for name in numbers}),
        before=_before(),
        after=write(SUMMARY),
    )


def moves(
    archived: pl.DataFrame, made: pl.DataFrame, memories: pl.DataFrame, *, superseded_lifecycle: str = "archived"
) -> pl.DataFrame:
    """Return changes that take memories out of the live set, or from cold to stub: one per memory, by the first action.

    A memory superseded by a summary, or archived because a summary covers it, is marked as such; an earlier closing by
    a newer memory stays marked. `archived` is table `archived_set`, `made` table `summaries`; what these replace is
    superseded too. `superseded_lifecycle` is that of memories superseded by a summary.
    """
    if archived.is_empty() and made.is_empty():
        return _NO_CHANGES
    replaced = made.select("profile_id", "replaces", target_id="summary_id").explode("replaces").drop_nulls()
    candidates = pl.concat(
        [
            archived.select(*KEY, "action", "target_id", "rule", "reason", "strength", "threshold"),
            replaced.select(
                "profile_id",
                "target_id",
                memory_id="replaces",
                action=pl.lit(Action.SUPERSEDE.value),
                rule=pl.lit("replaced_by_summary"),
                reason=pl.format("Summary {} takes the place of this one.", "target_id"),
            ),
        ],
        how="diagonal",
    )
    first = candidates.sort(_place(), "rule", "target_id").unique(KEY, keep="first", maintain_order=True)
    superseded = does(Action.SUPERSEDE) | (does(Action.ARCHIVE) & pl.col("target_id").is_not_null())
    original = pl.col("kind_before") == "original"
    present = memories.select(*KEY, "superseded_by", "superseded_kind")
    rows = first.join(present, on=KEY, how="left", maintain_order="left").with_columns(
        lifecycle=pl.when(superseded)
        .then(pl.lit(superseded_lifecycle))
        .otherwise(pl.col("action").replace_strict(LEAVES, default=Lifecycle.ARCHIVED.value, return_dtype=pl.String)),
        superseded_by=pl.when(superseded).then("target_id").otherwise("superseded_by"),
        superseded_kind=pl.when(superseded).then(pl.lit("summary")).otherwise("superseded_kind"),
    )
    changed = _with_before(rows, memories).with_columns(pl.col(f"{name}_before").alias(name) for name in STATED)
    return _changes(
        changed,
        factors=write({"strength": pl.Float64(), "threshold": pl.Float64()}),
        before=_before(),
        after=pl.when(superseded & original).then(write({**MOVE, **STATED})).otherwise(write(MOVE)),
        subject=pl.col("content_hash_before").fill_null(""),
    )


def closings(fact_changes: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return changes that end the validity of memories, or of sentences, whose fact a newer memory updates.

    All of them keep their lifecycle, and only updates that are decided close anything. Of several updates of one
    sentence, the earliest closes it.
    """
    present = memories.select(
        *KEY, "content_hash", "closed_statements", pl.col("valid_until", "superseded_by", "superseded_kind")
    )
    newer = memories.select("profile_id", other_id="memory_id", other_hash="content_hash")
    rows = (
        fact_changes.filter(pl.col("relation") == "update", "decided")
        .join(present.rename({name: f"{name}_before" for name in _ENDED}), on=KEY)
        .join(newer, on=["profile_id", "other_id"])
        .with_columns(target_id="other_id")
    )
    if rows.is_empty():
        return _NO_CHANGES
    parts = _statements(rows.drop_nulls("statement"))
    whole = rows.filter(
        pl.col("statement").is_null(), pl.col("superseded_by_before").ne_missing(pl.col("other_id"))
    ).with_columns(
        superseded_by="other_id",
        superseded_kind=pl.lit("update"),
        valid_until=pl.min_horizontal("at", "valid_until_before"),
    )
    texts = ("content_hash", "other_hash")
    closed = {
        "action": pl.lit(Action.CLOSE.value),
        "factors": write({"confidence": pl.Float64(), "similarity": pl.Float64()}),
    }
    return pl.concat(
        [
            _changes(
                whole,
                **closed,
                before=write({name: CLOSED[name] for name in _ENDED}, suffix="_before"),
                after=write(CLOSED),
                subject=pl.concat_str(texts, separator=" "),
            ),
            _changes(
                parts,
                **closed,
                after=write({name: CLOSED[name] for name in ("valid_until", *texts)} | STATEMENT),
                subject=pl.concat_str(*texts, "statement", separator=" "),
            ),
        ]
    )


def _statements(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the sentences that are not closed yet, each in the earliest row that closes it."""
    closed = pl.col("closed_statements").list.eval(pl.element().struct.field("sentence")).fill_null([])
    sentences = (
        rows.with_columns(closed=closed, sentence=pl.col("statement").str.split("\n"))
        .explode("sentence")
        .filter(~pl.col("sentence").is_in("closed"), pl.col("superseded_kind_before").ne_missing(pl.lit("update")))
        .sort("at", "other_id")
        .unique([*KEY, "sentence"], keep="first", maintain_order=True)
    )
    statements = sentences.group_by(*KEY, "other_id", maintain_order=True).agg(
        statement=pl.col("sentence").str.join("\n")
    )
    return rows.drop("statement").join(statements, on=[*KEY, "other_id"]).with_columns(valid_until="at")


def trims(cut: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return changes to the part of a text that recall shows, by table `trims`.

    A row that is already in effect, or that concerns another text, changes nothing; a memory that is missing in
    `memories` is created by the same run.
    """
    if cut.is_empty():
        return _NO_CHANGES
    present = memories.select(*KEY, pl.col("trimmed", "content_hash").name.suffix("_before"))
    rows = cut.join(present, on=KEY, how="left", maintain_order="left").filter(
        pl.col("content_hash_before").is_null()
        | (
            (pl.col("content_hash") == pl.col("content_hash_before"))
            & pl.col("trimmed").ne_missing(pl.col("trimmed_before"))
        )
    )
    return _changes(
        rows,
        action=pl.lit(Action.TRIM.value),
        rule=pl.lit(BUDGET),
        factors=write({"tokens_before": pl.Int64(), "tokens_after": pl.Int64(), "value": pl.Float64()}),
        before=write({"trimmed": TRIMMED["trimmed"]}, suffix="_before"),
        after=write(TRIMMED),
        subject=pl.concat_str("content_hash", "trimmed", separator=" ", ignore_nulls=True),
    )


def promotions(risen: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return changes, by table `promotions`, that raise memories in tier, lifecycle or category.

    One each, so that each can be undone alone.
    """
    if risen.is_empty():
        return _NO_CHANGES
    present = memories.select(*KEY, pl.col(tuple(_RISES)).name.suffix("_before"))
    rows = risen.join(present, on=KEY).with_columns(place=pl.lit(0))
    changes = []
    for name, fields in _RISES.items():
        others = [column for column in PROMOTED if column not in fields]
        raised = rows.filter(pl.col(name).is_not_null()).with_columns(
            pl.lit(None, PROMOTED[column]).alias(column) for column in others
        )
        changes.append(_rise(raised, name))
        rows = rows.with_columns(place=pl.col("place") + pl.col(name).is_not_null())
    return pl.concat(changes)


def _rise(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the changes of one kind; `place` is the position of its rule and sentence among those of the memory."""
    return _changes(
        rows,
        action=pl.lit(Action.PROMOTE.value),
        rule=pl.coalesce(pl.col("rules").list.get("place", null_on_oob=True), "rule"),
        reason=pl.coalesce(pl.col("reasons").list.get("place", null_on_oob=True), "reason"),
        factors=write({"energy": PROMOTED["energy"]}),
        before=write({name: PROMOTED[name]}, suffix="_before"),
        after=write(PROMOTED),
        subject=pl.concat_str(name, pl.col("at").dt.epoch("us").cast(pl.String), separator=" ", ignore_nulls=True),
    )


def deferrals(deferred: pl.DataFrame) -> pl.DataFrame:
    """Return changes that record what a run left for the next one: table `deferred`."""
    return _changes(
        deferred,
        action=pl.lit(Action.DEFER.value),
        rule=pl.lit("time_budget"),
        reason=pl.lit("The time budget of the run left it for the next one, where it comes first."),
        factors=write({"place": pl.Int64()}),
    )


def blocks(proposed: pl.DataFrame, present: pl.DataFrame) -> pl.DataFrame:
    """Return changes of `present` core memory blocks to the `proposed` texts; `memory_id` is the block's name."""
    current = present.select("profile_id", "block", *(pl.col(name).name.suffix("_before") for name in BLOCK))
    rows = proposed.join(current, on=["profile_id", "block"], how="left", maintain_order="left")
    exists = pl.col("content_before").is_not_null()
    return _changes(
        rows.with_columns(size=pl.col("members").list.len().cast(pl.Int64)),
        action=pl.lit(Action.COMPILE.value),
        memory_id=pl.col("block"),
        rule=pl.col("compiled_by"),
        reason=pl.format(
            "Version {} of the block {}, from {}.", "version", "block", counted("size", "memory", "memories")
        ),
        factors=write({"size": pl.Int64()}),
        before=pl.when(exists).then(write(BLOCK, suffix="_before")).otherwise(pl.lit("{}")),
        after=write(BLOCK),
        subject=pl.concat_str(pl.col("version").cast(pl.String), "content", separator=" "),
    )


def withdrawals(decisions: pl.DataFrame) -> pl.DataFrame:
    """Return changes that withdraw decisions of the same instant."""
    return _changes(
        decisions,
        target_id=pl.col("decision_id"),
        reason=pl.format("Decided at this instant and no longer called for: {}", "reason"),
        action=pl.lit(Action.WITHDRAW.value),
        rule=pl.lit("no_longer_desired"),
        factors=pl.lit("{}"),
        before=pl.col("after"),
        after=pl.lit("{}"),
    )


def _with_before(rows: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Add the present state of each memory, and drop what would change nothing.

    Only live memories can leave, and only cold ones become stubs; a superseded one can get another summary.
    """
    present = memories.select(*KEY, pl.col(*MOVE, *STATED, "kind").name.suffix("_before"))
    live = pl.col("lifecycle_before").is_in(LIVE)
    deleted = pl.col("lifecycle_before") == Lifecycle.DELETED.value
    other_summary = pl.col("superseded_by").is_not_null() & pl.col("superseded_by").ne_missing(
        pl.col("superseded_by_before")
    )
    comes_back = pl.col("lifecycle") == Lifecycle.ACTIVE.value
    cold = pl.col("lifecycle_before") == Lifecycle.COLD.value
    changes = (
        pl.when(comes_back)
        .then(~live)
        .when(pl.col("lifecycle") == Lifecycle.STUB.value)
        .then(cold)
        .otherwise(live | (other_summary & ~deleted))
    )
    return rows.join(present, on=KEY, how="left", maintain_order="left").filter(
        pl.col("lifecycle_before").is_null() | changes
    )


def _before() -> pl.Expr:
    return pl.when(pl.col("lifecycle_before").is_null()).then(pl.lit("{}")).otherwise(write(MOVE, suffix="_before"))


def _place() -> pl.Expr:
    return pl.col("action").replace_strict(ORDER, return_dtype=pl.Int64)


def _shown(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64).round(4).cast(pl.String)


def _changes(rows: pl.DataFrame, **columns: pl.Expr) -> pl.DataFrame:
    if rows.is_empty():
        return _NO_CHANGES
    missing = {name: value for name, value in _MISSING.items() if name not in rows.columns}
    return rows.with_columns(**missing | columns).select(pl.col(name).cast(kind) for name, kind in CHANGES.items())
