"""A conversation lived through again under a policy, in memory: what is left in the end, and what each question gets.

Here: turns become events, nights pass, questions are asked at their time. Not here: the run of a night (`nights.py`),
figures (`metrics.py`), reading and writing files (`replay_files.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.state import projection
from memory_pipeline.evaluation.comparison import NIGHTS, spread
from memory_pipeline.evaluation.metrics import DEPTH, RECORDS, RESULTS
from memory_pipeline.evaluation.simulation import Night, live
from memory_pipeline.interop.importing import stable_id
from memory_pipeline.ledger import event as ledger_events
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.live.ledger_tail import contradictions
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.schemas import LIVE, TABLES, EventType
from memory_pipeline.settings import Policy, load
from memory_pipeline.text import enrich
from memory_pipeline.text.classification import MEMORY_TYPES
from memory_pipeline.text.embed import embedding

PROFILE: Final = "replayed"
QUERIES: Final = {"id": pl.String(), "at": pl.Datetime("us", "UTC"), "text": pl.String()}
"""Columns of questions to ask: when, and what."""
_QUOTA: Final = 1.0
"""Share of the live memories that may leave in one night: nothing is at stake."""
UNLIMITED: Final = (
    "A replay lets a run take as much as budget and preset ask: the quota of what may leave in one run is not applied."
)
"""What a reader of its figures must know."""
_READ: Final = datetime(9999, 1, 1, tzinfo=UTC)
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)
_BY_TIME: Final = ("coactivation", "episodes")
"""Ways to group memories by when they were said or used."""
_REMEMBERED: Final = 10
"""Results of an earlier question that count as recalled."""


@dataclass(frozen=True)
class Replay:
    """What is left of a conversation, and what came back for each question."""

    hot: pl.DataFrame
    """Columns of `metrics.RECORDS`: the live memories after the last night, texts as recall shows them."""
    results: pl.DataFrame
    """Columns of `metrics.RESULTS`; only what is still in `hot`."""
    memories: pl.DataFrame
    """Table `memories` after the last night."""
    seconds: float
    """Wall time of all nights, without the questions."""
    largest_cluster: int
    """Members of the largest group that any night found by what memories say; an episode is as long as its session."""


def policy_for(*, preset: str | None = None, budget: float | None = None, embedder: str | None = None) -> Policy:
    """Return the policy of a replay: a preset with a token budget, or one that keeps everything whole.

    Without a preset nothing is merged, linked, moved or left out, but for what the budget asks; what changed is noted
    all the same. Settings of this machine play no part.

    Raises:
        SettingsError: the preset or embedder is unknown, or the budget out of range.
    """
    given = {"TOKEN_BUDGET": budget, "EMBEDDER": embedder}
    environment = {f"MEMORY_PIPELINE_{name}": str(value) for name, value in given.items() if value is not None}
    policy = load(".", environment=environment, preset_name=preset or "default", text="").policy
    return policy if preset is not None else policy.model_copy(update=_WHOLE)


_WHOLE: Final[Mapping[str, Any]] = {
    "methods": (),
    "summarised": (),
    "associations": (),
    "similar_edges": False,
    "reference_edges": False,
    "forgetting": (),
    "promote_tiers": False,
    "promote_warm": False,
    "promote_core": False,
    "core_blocks": False,
}


def run(
    turns: pl.DataFrame,
    queries: pl.DataFrame,
    policy: Policy,
    *,
    training: pl.DataFrame | None = None,
    nights: int = NIGHTS,
    depth: int = DEPTH,
    ranking: str = "default",
) -> Replay:
    """Store turns at their times, consolidate in some nights, ask questions at their times.

    Args:
        turns: columns of `conversations.TURNS`, ids unique; an `importance` (0..1) and a `memory_type` are taken too.
        queries: columns of `QUERIES`.
        policy: how nights consolidate; its quota is not applied.
        training: columns of `QUERIES`: asked too, and what comes back counts as recalled, which strengthens it.
        nights: how many, spread evenly over the conversation's days; the last follows the last turn.
        depth: results a question.
        ranking: see `recall.ranking`.

    Raises:
        ValueError: there are no turns, or two have one id.
    """
    if (twice := turns.filter(turns["id"].is_duplicated())).height:
        raise ValueError(f"two turns have the id {twice['id'][0]!r}; give each its own")
    told = stored(turns)
    asked = _asked(queries, training)
    used: list[pl.DataFrame] = []
    at = spread(told, count=nights)
    runs = live(
        lambda night: pl.concat([told.filter(pl.col("occurred_at") <= night), *used]),
        policy,
        at,
        max_archived_share=_QUOTA,
    )
    came: list[pl.DataFrame] = []
    passed: list[Night] = []
    for (begins, ends), night in zip(pairwise([_BEGINNING, *at, _READ]), chain([None], runs), strict=True):
        passed += [night] if night is not None else []
        now = asked.filter((pl.col("at") >= begins) & (pl.col("at") < ends))
        if now.height:
            shelf = _Shelf(night, told, policy.embedder)
            for row in now.iter_rows(named=True):
                found = shelf.recall(row["text"], now=row["at"], k=depth, ranking=ranking)
                if row["training"]:
                    used += _used(row, found, len(used))
                else:
                    came.append(found.select(query_id=pl.lit(row["id"]), rank="rank", id="memory_id"))
    memories = passed[-1].after["memories"]
    hot = records(memories)
    return Replay(
        hot,
        pl.concat([pl.DataFrame(schema=RESULTS), *came]).join(
            hot.select("id"), on="id", how="semi", maintain_order="left"
        ),
        memories,
        sum(night.seconds for night in passed),
        max(_largest(night.tables["clusters"]) for night in passed),
    )


def _largest(clusters: pl.DataFrame) -> int:
    alike = clusters.filter(~pl.col("method").is_in(_BY_TIME))
    return int(max([0, *alike["cluster_size"]]))


def records(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the live rows of the table `memories` as a store: columns of `metrics.RECORDS`, oldest first."""
    made = {row["memory_id"]: row["members"] for row in memories.select("memory_id", "members").to_dicts()}
    born = dict(memories.select("memory_id", "created_at").iter_rows())
    rows = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort("created_at", "seq", "memory_id")
    turns = [sorted(_originals(name, made), key=lambda one: (born[one], one)) for name in rows["memory_id"]]
    said = pl.coalesce("trimmed", "content")
    return rows.select(
        id="memory_id",
        text=pl.concat_str("speaker", pl.lit(": "), said).fill_null(said),
        member_ids=pl.Series(turns, dtype=pl.List(pl.String())),
        t_start=pl.Series([born[own[0]] for own in turns], dtype=RECORDS["t_start"]),
        t_end=pl.Series([born[own[-1]] for own in turns], dtype=RECORDS["t_end"]),
    )


def stored(turns: pl.DataFrame) -> pl.DataFrame:
    """Return turns as the table `events`, with the start and end of each session; profile `replayed`.

    Raises:
        InvalidEvent: a turn cannot be stored; names it and the remedy.
    """
    rows = list[tuple[Any, ...]]()
    ordered = turns.sort("at", maintain_order=True)
    for row in ordered.iter_rows(named=True):
        rows.append(
            _row(EventType.STORED, row, row["id"], {"memory_id": row["id"], "payload": _payload(row)}, len(rows))
        )
    sessions = ordered.group_by("session_id", maintain_order=True).agg(
        first=pl.col("at").min(), last=pl.col("at").max()
    )
    for row in sessions.drop_nulls("session_id").iter_rows(named=True):
        for event_type, at in ((EventType.SESSION_STARTED, row["first"]), (EventType.SESSION_ENDED, row["last"])):
            rows.append(_row(event_type, row | {"at": at}, row["session_id"], {}, len(rows)))
    return ledger_events.frame(rows)


def _payload(row: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: row.get(name) for name in ("content", "speaker", "importance", "memory_type")}
    if given["memory_type"] not in MEMORY_TYPES:
        given["memory_type"] = None
    return {name: value for name, value in given.items() if value is not None}


def _row(
    event_type: EventType, row: Mapping[str, Any], about: str, more: Mapping[str, Any], seq: int
) -> tuple[Any, ...]:
    raw = {
        "event_id": stable_id(PROFILE, event_type.value, about),
        "profile_id": PROFILE,
        "event_type": event_type.value,
        "occurred_at": row["at"],
        "session_id": row.get("session_id"),
        **more,
    }
    event = ledger_events.parse(raw, recorded_at=_READ, origin=f"{event_type.value} {about!r}", future=None)
    return (seq + 1, *event.row())


def _asked(queries: pl.DataFrame, training: pl.DataFrame | None) -> pl.DataFrame:
    """Return all questions in order of time; of one instant, those that count come first."""
    parts = [queries.select(*QUERIES, training=pl.lit(value=False))]
    if training is not None:
        parts.append(training.select(*QUERIES, training=pl.lit(value=True)))
    return pl.concat(parts).sort("at", "training", maintain_order=True)


def _used(row: Mapping[str, Any], found: pl.DataFrame, number: int) -> list[pl.DataFrame]:
    """Return what came back first for an earlier question as accesses."""
    ids = found["memory_id"].head(_REMEMBERED).to_list()
    if not ids:
        return []
    payload = {"memory_ids": ids, "ranks": list(range(1, len(ids) + 1)), "query": row["text"]}
    about = f"{number} {row['id']}"
    return [ledger_events.frame([_row(EventType.ACCESSED, row, about, {"payload": payload}, 10**6 + number)])]


def _originals(name: str, made: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the turns that a memory stands for, through summaries of summaries."""
    members = list(made.get(name) or ())
    return {turn for member in members for turn in _originals(member, made)} if members else {name}


class _Shelf:
    """The index between two nights: what the night left, and what was said since."""

    def __init__(self, night: Night | None, told: pl.DataFrame, model: str) -> None:
        self._told = told.filter(pl.col("event_type") == EventType.STORED.value)
        self._until = night.at if night is not None else _BEGINNING
        self._model = model
        after = night.after if night is not None else {}
        empty = TABLES["memories"].empty(), TABLES["vectors"].empty()
        memories = after.get("memories", empty[0])
        vectors = pl.concat([night.tables["vectors"], after["vectors"]]) if night is not None else empty[1]
        self._index = Index.build(memories, vectors, model=model)
        self._scored = after.get("scored_memories", TABLES["scored_memories"].empty())
        self._conflicts = contradictions(after.get("decided_edges", TABLES["decided_edges"].empty()))

    def recall(self, query: str, *, now: datetime, k: int, ranking: str) -> pl.DataFrame:
        """Rank what stands at an instant (see `rank`); instants must not go back."""
        index = self._at(now)
        return rank(index, query, now=now, k=k, ranking=ranking, scored=self._scored, conflicts=self._conflicts)

    def _at(self, instant: datetime) -> Index:
        """Return the index as it stands at an instant."""
        since = (pl.col("occurred_at") > self._until) & (pl.col("occurred_at") <= instant)
        new = self._told.filter(since)
        if new.height:
            memories = projection.project(new).memories
            texts = enrich.texts(memories).with_columns(content="embedded")
            self._index = self._index.extended(memories, embedding.embed_texts(texts, self._model))
        self._until = max(self._until, instant)
        return self._index
