"""The lifecycle of memories after decisions: live or not, superseded by what, valid until when, of which category.

Takes decisions in order of application (column `position`) and the memories before them; applying decisions in one
batch or in several gives the same result. Not here: the order itself, and the effect of decisions on edges, tiers and
blocks (`projection`); the JSON of decisions (`decision_json`); the fold of events (`folding`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.consolidation.state.derived_ids import SUPERSEDING, made_of
from memory_pipeline.consolidation.state.folding import FACT, ORIGINAL, complete
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Action, Lifecycle

STUB_MARK: Final = "[archived] "
STUB_CHARACTERS: Final = 200
"""Number of characters of its text that a stub keeps, after the mark."""

_RESTING: Final = (Action.EXPIRE.value, Action.COLD.value, Action.STUB.value)
"""Moves that end when an agent uses or changes the memory again."""

MOVES: Final = (
    Action.SUMMARISE.value,
    Action.SUPERSEDE.value,
    Action.DELETE.value,
    Action.ARCHIVE.value,
    *_RESTING,
)
"""Actions that set the lifecycle of a memory; a promotion to warm does so too."""

_ABOUT: Final = (*MOVES, Action.CLOSE.value, Action.TRIM.value, Action.PROMOTE.value)
_STATEMENTS: Final = TABLES["memories"].types["closed_statements"]
_NONE: Final = pl.lit(-1, pl.Int64)
_LAST: Final = pl.lit(2**62, pl.Int64)
_MADE_OF: Final = ("memory_id", "cluster_id", "kind", "members", "content_hash")


def made(ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the summaries that decisions made, as table `memories`, each as the first decision made it."""
    first = ordered.filter(does(Action.SUMMARISE)).unique(KEY, keep="first", maintain_order=True)
    summaries = first.select(
        *KEY,
        *decision_json.read("after", decision_json.SUMMARY),
        "plan_id",
        event_id="decision_id",
        created_at="as_of",
    )
    return complete(summaries.with_columns(memory_type_inferred=pl.lit(False), category_inferred=pl.lit(False)))


def unclosed(memories: pl.DataFrame) -> pl.DataFrame:
    """Initialise the validity of new memories, which no newer memory has closed yet.

    `valid_until_given` is what agents stated; `closed_by` and `closed_until` record a closing by a newer memory,
    whether or not it shows in `valid_until`; `closed_statements` those of single sentences.
    """
    return memories.with_columns(
        valid_until_given="valid_until",
        closed_by=pl.lit(None, pl.String),
        closed_until=pl.lit(None, INSTANT),
        closed_statements=pl.lit(None, _STATEMENTS),
    )


def settled(memories: pl.DataFrame, ordered: pl.DataFrame, accesses: pl.DataFrame) -> pl.DataFrame:
    """Return memories as the decisions in force leave them; new ones are as `unclosed` returns them.

    - The last move of a memory sets its lifecycle.
    - A summary holds while its members state what they stated when it was made; then it is archived.
    - A supersession by a summary holds for what the original stated when it was merged, and while the summary is live:
      an original that an agent changed since, or whose summary left the live set, is live again.
    - Expired, cold and stub memories are active again from the moment an agent uses or changes them, unless a summary
      superseded them. Until then a stub shows only the beginning of its text.
    - A newer memory closes an older one, or some of its sentences, while both state what they stated then. Whatever
      becomes of the newer one later, only undoing the closing or changing a text reopens it.
    - The last trim of a text is shown while it is the memory's text.
    - A promotion to core or warm holds from then on.
    """
    moved = _moved(_closed(memories, ordered), ordered)
    restored = _restored(_withdrawn(moved))
    ended = _ended(_shown(restored, accesses))
    return _with_category(_trimmed(ended, ordered), ordered).select(memories.columns)


def _moved(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Apply the last move of each memory; columns `_after` are its fields, `position` its number."""
    fields = {**decision_json.MOVE, **decision_json.STATED, "content": pl.String()}
    moves = (
        ordered.filter(pl.col("action").is_in(MOVES) | does(Action.PROMOTE))
        .select(
            *(*KEY, "position", "action"),
            *decision_json.read("after", fields, suffix="_after"),
            moved_at="as_of",
        )
        .filter(pl.col("lifecycle_after").is_not_null())
    )
    last = moves.unique(KEY, keep="last", maintain_order=True)
    stubs = moves.filter(does(Action.STUB)).unique(KEY, keep="last", maintain_order=True)
    stubs = stubs.select(*KEY, stubbed="position", stubbed_at="moved_at", stubbed_kind="superseded_kind_after")
    positions = moves.group_by(KEY).agg(
        summarised=pl.col("position").filter(does(Action.SUMMARISE)).max(),
        deleted=pl.col("position").filter(does(Action.DELETE)).max(),
        summary_text=pl.col("content_after").filter(does(Action.SUMMARISE)).first(),
        ends=pl.col("valid_until_after").filter(does(Action.SUMMARISE)).last(),
    )
    latest = ordered.filter(pl.col("action").is_in(_ABOUT)).unique(KEY, keep="last", maintain_order=True)
    rows = memories.with_columns(was_stub=pl.col("lifecycle") == Lifecycle.STUB.value)
    for columns in (last, stubs, positions, latest.select(*KEY, moved_by="plan_id")):
        rows = rows.join(columns, on=KEY, how="left", maintain_order="left")
    moved = pl.col("position").is_not_null()
    merged = pl.when(moved).then("superseded_kind_after").otherwise("superseded_kind") == "summary"
    return rows.with_columns(
        *(
            pl.when(merged).then(pl.when(moved).then(f"{name}_after").otherwise(name)).alias(name)
            for name in ("superseded_by", "superseded_kind")
        ),
        valid_until_given=pl.when(pl.col("summarised").is_not_null() & pl.col("updated_at").is_null())
        .then("ends")
        .otherwise("valid_until_given"),
        lifecycle=pl.coalesce("lifecycle_after", "lifecycle"),
        lifecycle_since=pl.coalesce("moved_at", "lifecycle_since"),
        plan_id=pl.coalesce("moved_by", "plan_id"),
    )


def _withdrawn(moved: pl.DataFrame) -> pl.DataFrame:
    """Archive the summaries that no longer say what their members say; `untrue_at` is when the last of these changed.

    Tagging, rating or protecting a member does not change what it says.
    """
    rows = moved.join(_untrue(moved), on=KEY, how="left", maintain_order="left")
    falls = pl.col("lifecycle").is_in(LIVE) & pl.col("untrue_at").is_not_null()
    return rows.with_columns(
        lifecycle=pl.when(falls).then(pl.lit(Lifecycle.ARCHIVED.value)).otherwise("lifecycle"),
        lifecycle_since=pl.when(falls)
        .then(pl.max_horizontal("lifecycle_since", "untrue_at"))
        .otherwise("lifecycle_since"),
    )


def _untrue(moved: pl.DataFrame) -> pl.DataFrame:
    """Return summaries whose members' texts changed or, for facts and superseding ones, their ends: KEY, untrue_at.

    This depends on the memories as they are, and not on when that was decided.
    """
    made = moved.filter(pl.col("kind") != ORIGINAL).select(
        *(*KEY, "kind", "members", "cluster_id"),
        end=pl.when(pl.col("kind").is_in([FACT, *SUPERSEDING])).then("valid_until_given"),
        bound=pl.col("kind").is_in([FACT, *SUPERSEDING]) & pl.col("updated_at").is_null(),
    )
    stated = pl.col("valid_until_given")
    ends = {"stated": stated, "shortened": pl.min_horizontal(stated, "closed_until")}
    members = moved.select("profile_id", "content_hash", "updated_at", member="memory_id", **ends)
    pairs = made.with_columns(member="members").explode("member").join(members, on=["profile_id", "member"])
    touched = pairs.drop_nulls("updated_at").select(KEY).unique()
    other_end = pl.col("end").ne_missing(pl.col("stated")) & pl.col("end").ne_missing(pl.col("shortened"))
    rows = (
        pairs.join(touched, on=KEY, how="semi")
        .group_by(KEY, maintain_order=True)
        .agg(
            pl.col("kind", "members", "cluster_id").first(),
            pl.col("content_hash").sort(),
            untrue_at=pl.col("updated_at").max(),
            ended=(other_end & pl.col("bound") & pl.col("updated_at").is_not_null()).any(),
        )
        .filter(pl.col("content_hash").list.len() == pl.col("members").list.len())
    )
    held = [made_of(**one) for one in rows.select(_MADE_OF).iter_rows(named=True)]
    return rows.filter(~pl.Series(held, dtype=pl.Boolean) | pl.col("ended")).select(*KEY, "untrue_at")


def _restored(moved: pl.DataFrame) -> pl.DataFrame:
    """Find originals whose supersession no longer holds (`back`), and resting memories used since (`woken`)."""
    inactive = ~pl.col("lifecycle").is_in(LIVE) & ~_woken("moved_at")
    untrue = pl.col("untrue_at").is_not_null()
    departed = moved.filter((pl.col("position").is_not_null() & inactive) | untrue)
    rows = moved.join(
        departed.select(
            "profile_id",
            superseded_by="memory_id",
            departed=pl.when(untrue).then(_LAST).otherwise("position"),
            departed_at=pl.when(untrue).then("untrue_at").otherwise("moved_at"),
        ),
        on=["profile_id", "superseded_by"],
        how="left",
        maintain_order="left",
    )
    merged = (pl.col("kind") == ORIGINAL) & (pl.col("superseded_kind") == "summary")
    orphaned = pl.col("departed") > pl.col("position").fill_null(_NONE)
    since = pl.col("lifecycle_since")
    back_at = pl.min_horizontal(
        pl.when(_changed()).then(pl.max_horizontal(since, "updated_at")),
        pl.when(orphaned).then(pl.max_horizontal(since, "departed_at")),
    )
    return (
        rows.with_columns(back_at=pl.when(merged).then(back_at))
        .with_columns(back=pl.col("back_at").is_not_null())
        .with_columns(
            *(pl.when(~pl.col("back")).then(name).alias(name) for name in ("superseded_by", "superseded_kind")),
            slept_at=pl.when("back").then(pl.max_horizontal("moved_at", "departed_at")).otherwise("moved_at"),
        )
        .with_columns(woken=_woken("slept_at") & ~untrue)
    )


def _woken(slept_at: str) -> pl.Expr:
    """Return whether an agent changed a resting memory, or used one that no summary superseded."""
    used = (pl.col("last_accessed_at") > pl.col(slept_at)) & pl.col("superseded_by").is_null()
    touched = used.fill_null(value=False) | (pl.col("updated_at") > pl.col("moved_at")).fill_null(value=False)
    return pl.col("action").is_in(_RESTING).fill_null(value=False) & touched


def _changed() -> pl.Expr:
    """Return whether an original states something other than when it was merged (`_after`), apart from closings."""
    until, stated = pl.col("valid_until_after"), pl.col("valid_until_given")
    ended = until.ne_missing(stated) & until.ne_missing(pl.min_horizontal(stated, "closed_until"))
    differs = [
        pl.col(name).ne_missing(pl.col(f"{name}_after")) for name in decision_json.STATED if name != "valid_until"
    ]
    return pl.col("content_hash_after").is_not_null() & pl.any_horizontal(ended, *differs)


def _shown(restored: pl.DataFrame, accesses: pl.DataFrame) -> pl.DataFrame:
    """Restore the lifecycle of memories that came back, and cut the text of stubs.

    A stub stays a stub, whatever else is decided, until it is woken, deleted or summarised anew, since it has no other
    text. A stub that has lost its summary waits for an agent to use it.
    """
    wakings = (
        accesses.select(*KEY, "at")
        .join(restored.filter(pl.col("woken") & pl.col("superseded_by").is_null()).select(*KEY, "slept_at"), on=KEY)
        .filter(pl.col("at") > pl.col("slept_at"))
        .group_by(KEY)
        .agg(used_at=pl.col("at").min())
    )
    used = (pl.col("last_accessed_at") > pl.col("stubbed_at")) & pl.col("stubbed_kind").ne_missing("summary")
    touched = used.fill_null(value=False) | (pl.col("updated_at") > pl.col("stubbed_at")).fill_null(value=False)
    awake = pl.when(pl.col("stubbed") == pl.col("position")).then("woken").otherwise(touched)
    stubbed, summarised, deleted = (pl.col(name).fill_null(_NONE) for name in ("stubbed", "summarised", "deleted"))
    new = (stubbed > summarised) & ~awake
    old = pl.col("was_stub") & (summarised == _NONE)
    text = pl.when(pl.col("was_stub") & ~old).then(pl.coalesce("summary_text", "content")).otherwise("content")
    short = pl.concat_str(pl.lit(STUB_MARK), text.str.slice(0, STUB_CHARACTERS))
    stub = (new | old) & (deleted <= stubbed)
    live = (pl.col("back") | pl.col("woken")) & ~stub
    changed_at = pl.when(pl.col("updated_at") > pl.col("moved_at")).then("updated_at")
    since = pl.when("woken").then(pl.min_horizontal("used_at", changed_at)).otherwise("back_at")
    return restored.join(wakings, on=KEY, how="left", maintain_order="left").with_columns(
        content=pl.when(new & ~old).then(short).otherwise(text),
        lifecycle=pl.when(stub)
        .then(pl.lit(Lifecycle.STUB.value))
        .when(live)
        .then(pl.lit(Lifecycle.ACTIVE.value))
        .otherwise("lifecycle"),
        lifecycle_since=pl.when(live).then(since).otherwise("lifecycle_since"),
        **{name: pl.when(~pl.col("woken")).then(name) for name in ("superseded_by", "superseded_kind")},
    )


def _closed(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Record which newer memories closed an older one or sentences of it, and when: the last closings that hold."""
    closings = _closings(memories, ordered)
    whole = closings.filter(pl.col("statement").is_null()).unique(KEY, keep="last", maintain_order=True)
    return (
        memories.join(whole.drop("statement"), on=KEY, how="left", maintain_order="left")
        .with_columns(
            closed_by=pl.coalesce("newer", "closed_by"),
            closed_until=pl.when(pl.col("newer").is_null()).then("closed_until").otherwise("until"),
        )
        .join(_closed_statements(memories, closings), on=KEY, how="left", maintain_order="left")
        .with_columns(closed_statements=pl.coalesce("ended", "closed_statements"))
    )


def _closings(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the closings whose two texts still match, in order: the key, `newer`, `until` and `statement`.

    Where the newer text was erased, the closing stands without it.
    """
    texts = memories.select(*KEY, "content_hash")
    erased = pl.col("lifecycle") == Lifecycle.ERASED.value
    newer = memories.select("profile_id", newer="memory_id", newer_hash="content_hash", newer_erased=erased)
    ends = {name: decision_json.CLOSED[name] for name in ("valid_until", "content_hash", "other_hash")}
    same = pl.col("newer_hash") == pl.col("other_hash_after")
    return (
        ordered.filter(does(Action.CLOSE))
        .select(
            *KEY,
            *decision_json.read("after", ends | decision_json.STATEMENT, suffix="_after"),
            newer="target_id",
        )
        .join(texts, on=KEY, maintain_order="left")
        .join(newer, on=["profile_id", "newer"], maintain_order="left")
        .filter(
            pl.col("content_hash") == pl.col("content_hash_after"),
            same.fill_null(value=False) | (pl.col("other_hash_after").is_null() & pl.col("newer_erased")),
        )
        .select(*KEY, "newer", until="valid_until_after", statement="statement_after")
    )


def _closed_statements(memories: pl.DataFrame, closings: pl.DataFrame) -> pl.DataFrame:
    """Return the closed sentences of each memory that has any (`ended`): of each one, the last closing counts."""
    before = memories.select(*KEY, "closed_statements").explode("closed_statements").drop_nulls("closed_statements")
    earlier = before.unnest("closed_statements").select(*KEY, "sentence", "valid_until", "closed_by")
    later = (
        closings.drop_nulls("statement")
        .with_columns(sentence=pl.col("statement").str.split("\n"))
        .explode("sentence")
        .select(*KEY, "sentence", valid_until="until", closed_by="newer")
    )
    return (
        pl.concat([earlier, later])
        .unique([*KEY, "sentence"], keep="last", maintain_order=True)
        .sort(*KEY, "sentence")
        .group_by(KEY, maintain_order=True)
        .agg(ended=pl.struct("sentence", "valid_until", "closed_by"))
    )


def _ended(shown: pl.DataFrame) -> pl.DataFrame:
    """Apply the closings by newer memories; a supersession by a summary takes precedence."""
    closed = pl.col("closed_by").is_not_null()
    marked = closed & pl.col("superseded_by").is_null()
    return shown.with_columns(
        valid_until=pl.min_horizontal("valid_until_given", pl.when(closed).then("closed_until")),
        superseded_by=pl.when(marked).then("closed_by").otherwise("superseded_by"),
        superseded_kind=pl.when(marked).then(pl.lit("update")).otherwise("superseded_kind"),
    )


def _trimmed(ended: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Apply the last trim of each memory's present text."""
    trims = (
        ordered.filter(does(Action.TRIM))
        .select(
            *KEY,
            *decision_json.read("after", decision_json.TRIMMED, suffix="_after"),
            cut=pl.lit(value=True),
        )
        .join(ended.select(*KEY, "content_hash"), on=KEY, maintain_order="left")
        .filter(pl.col("content_hash") == pl.col("content_hash_after"))
        .unique(KEY, keep="last", maintain_order=True)
        .select(*KEY, "trimmed_after", "cut")
    )
    rows = ended.join(trims, on=KEY, how="left", maintain_order="left")
    return rows.with_columns(trimmed=pl.when("cut").then("trimmed_after").otherwise("trimmed"))


def _with_category(closed: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Apply the category of promoted memories."""
    category = decision_json.read("after", {"category": decision_json.PROMOTED["category"]}, suffix="_after")
    risen = ordered.filter(does(Action.PROMOTE)).select(*KEY, "as_of", *category)
    last = risen.drop_nulls("category_after").unique(KEY, keep="last", maintain_order=True)
    rows = closed.join(last, on=KEY, how="left", maintain_order="left")
    in_force = (pl.col("as_of") >= pl.col("created_at")).fill_null(value=False)
    return rows.with_columns(
        category=pl.when(in_force).then("category_after").otherwise("category"),
        category_inferred=pl.col("category_inferred") & ~in_force,
    )
