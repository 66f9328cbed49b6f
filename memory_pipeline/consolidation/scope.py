"""Limits what a run decides about: to sessions with new memories, or to one user, agent, session or tag of a profile.

A scope is a text: `all`, `recent`, or a kind and a name such as `user:ana`. Not here: from when on a session is recent
and whether a name exists (`runs.inputs`), and what the run would decide without the limit (`stages`).
"""

from typing import Final, cast

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.schemas import LIVE, Action, ClusterMembers, EventType, Frame, Memories

KINDS: Final = {"user": "user_id", "agent": "agent_id", "session": "session_id", "tag": "tags"}
"""Column of `memories` and `events` that holds the names of each kind."""

KNOWN: Final = "all, recent, user:NAME, agent:NAME, session:NAME or tag:NAME"

WHOLE: Final = frozenset({Action.TRIM, Action.COMPILE, Action.DEFER})
"""Actions that concern a profile as a whole, so that a run about a part of it decides none of them: token budget, core
memory blocks, and which memories wait for the next run."""

NARROW: Final = pl.col("scope").str.contains(":", literal=True)
"""Rows of `profiles` or `consolidation_runs` of a run that decided only about a part of its profile."""


def part(scope: str) -> tuple[str, str] | None:
    """Return kind and name of a scope such as `user:ana`; None for all and recent. Raises ValueError for others."""
    if scope in ("all", "recent"):
        return None
    kind, _, name = scope.partition(":") if isinstance(scope, str) else ("", "", "")
    if kind not in KINDS or not name.strip():
        raise ValueError(f"scope is {scope!r}; give one of {KNOWN}, or leave it out")
    return kind, name


def names(kind: str, events: pl.DataFrame) -> pl.DataFrame:
    """Return the names of a kind (see `KINDS`) that memories were given: `profile_id`, `name`, each once, sorted."""
    types = [EventType.STORED.value, EventType.UPDATED.value]
    naming = events.filter(pl.col("event_type").is_in(types) & pl.col("erased_at").is_null())
    named = naming.select("profile_id", name=KINDS[kind])
    if kind == "tag":
        named = named.explode("name")
    return named.drop_nulls().unique().sort("profile_id", "name")


def inside(scope: str, memories: pl.DataFrame, summaries: pl.DataFrame | None = None) -> pl.DataFrame | None:
    """Return the memories (KEY) of a part of a profile: originals that match, and summaries of nothing else; None: all.

    Proposed summaries count too. Cost: a pass over the members for each level of summaries of summaries.
    """
    chosen = part(scope)
    if chosen is None:
        return None
    kind, name = chosen
    column = pl.col(KINDS[kind])
    matches = column.list.contains(name) if kind == "tag" else column == name
    is_original = pl.col("kind") == "original"
    outside = memories.filter(is_original & ~matches.fill_null(value=False)).select(KEY)
    made = [memories.filter(~is_original).select(*KEY, "members")]
    if summaries is not None:
        made.append(summaries.select("profile_id", "members", memory_id="summary_id").select(*KEY, "members"))
    members = pl.concat(made).explode("members")
    while True:
        about_others = members.join(outside, left_on=["profile_id", "members"], right_on=KEY, how="semi")
        added = about_others.select(KEY).unique().join(outside, on=KEY, how="anti")
        if added.is_empty():
            break
        outside = pl.concat([outside, added])
    everything = pl.concat([memories.select(KEY), members.select(KEY)]).unique(maintain_order=True)
    return everything.join(outside, on=KEY, how="anti", maintain_order="left")


def decided_about(rows: pl.DataFrame, within: pl.DataFrame) -> pl.DataFrame:
    """Keep the decisions that change only memories of a part: both ends of a link, else the one it is about."""
    own = rows.join(within, on=KEY, how="semi", maintain_order="left").with_row_index("row")
    is_link = does(Action.LINK, Action.PRUNE)
    targets = within.rename({"memory_id": "target_id"})
    foreign = own.filter(is_link).join(targets, on=["profile_id", "target_id"], how="anti")
    return own.join(foreign, on="row", how="anti", maintain_order="left").drop("row")


def without_partial(
    within: pl.DataFrame, summaries: pl.DataFrame, archived: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Drop proposed summaries that also cover memories outside the part, and the supersessions by them."""
    others = summaries.select("profile_id", memory_id="summary_id").join(within, on=KEY, how="anti")
    dropped = others.rename({"memory_id": "summary_id"})
    return (
        summaries.join(dropped, on=["profile_id", "summary_id"], how="anti"),
        archived.join(others.rename({"memory_id": "target_id"}), on=["profile_id", "target_id"], how="anti"),
    )


def requested(
    within: pl.DataFrame, requests: pl.DataFrame, *, memories: Frame[Memories], cluster_members: Frame[ClusterMembers]
) -> pl.DataFrame:
    """Keep the requests to a language model that concern only clusters and texts of a part."""
    subject = ["profile_id", "subject"]
    foreign = cluster_members.join(within, on=KEY, how="anti").select("profile_id", subject="cluster_id")
    own = pl.concat(
        [
            cluster_members.select("profile_id", subject="cluster_id").join(foreign, on=subject, how="anti"),
            memories.join(within, on=KEY, how="semi").select("profile_id", subject="content_hash"),
        ]
    )
    return requests.join(own, on=subject, how="semi", maintain_order="left")


def sides(scope: str, memories: Frame[schemas.Memories]) -> list[Frame[schemas.Memories]]:
    """Divide memories into those that may be grouped with one another; each side holds all summaries.

    Memories of a part of a profile are grouped apart from the others, except those that a live summary covers together
    with others, which stay where they are.
    """
    own = inside(scope, memories)
    if own is None:
        return [memories]
    is_original = pl.col("kind") == "original"
    shared = memories.filter(~is_original & pl.col("lifecycle").is_in(LIVE)).join(own, on=KEY, how="anti")
    summarised = shared.select("profile_id", memory_id="members").explode("memory_id")
    apart = own.join(summarised, on=KEY, how="anti")
    summaries = memories.filter(~is_original)
    originals = memories.filter(is_original)
    return [
        cast(
            "Frame[schemas.Memories]",
            pl.concat([originals.join(apart, on=KEY, how=how, maintain_order="left"), summaries]),
        )
        for how in ("semi", "anti")
    ]


def recent(profiles: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Select the memories (KEY) of all sessions in which something was stored since the last reflection."""
    originals = memories.filter(pl.col("kind") == "original").join(profiles, on="profile_id", suffix="_profile")
    new = originals.filter(pl.col("seq") > pl.col("since")).select(*KEY, "session_id")
    touched = originals.join(new, on=["profile_id", "session_id"], how="semi")
    return pl.concat([touched.select(KEY), new.select(KEY)]).unique()


def about(
    recent_memories: pl.DataFrame, summaries: pl.DataFrame, archived: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keep the summaries that have a recent member, and the supersessions by those summaries."""
    concerned = (
        touching(recent_memories, summaries.explode("members"), "members").select("profile_id", "summary_id").unique()
    )
    targets = concerned.rename({"summary_id": "target_id"})
    return (
        summaries.join(concerned, on=["profile_id", "summary_id"], how="semi"),
        archived.join(targets, on=["profile_id", "target_id"], how="semi"),
    )


def touching(recent_memories: pl.DataFrame, rows: pl.DataFrame, *ends: str) -> pl.DataFrame:
    """Keep the rows in which at least one of the columns `ends` names a recent memory."""
    numbered = rows.with_row_index("row")
    matches = [
        numbered.join(recent_memories.rename({"memory_id": end}), on=["profile_id", end], how="semi").select("row")
        for end in ends
    ]
    return numbered.join(pl.concat(matches).unique(), on="row", how="semi", maintain_order="left").drop("row")
