"""Replays a conversation in memory under a policy: the remaining memories and the results of each question."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.state import projection
from memory_pipeline.evaluation.comparison import NIGHTS, spread
from memory_pipeline.evaluation.conversations import READ
from memory_pipeline.evaluation.metrics import DEPTH, RECORDS, RESULTS
from memory_pipeline.evaluation.recall_log import originals
from memory_pipeline.evaluation.simulation import Night, simulate
from memory_pipeline.interop.items import stable_id
from memory_pipeline.ledger import event as ledger_events
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank import fact_links
from memory_pipeline.recall.rank.baselines import SCORED
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.recall.rank.present_scores import present_scores
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.schemas import LIVE, TABLES, EventType
from memory_pipeline.settings import Policy, load
from memory_pipeline.text import enrich
from memory_pipeline.text.classification import MEMORY_TYPES
from memory_pipeline.text.compare.judge import ASIDE
from memory_pipeline.text.embed import embedding

PROFILE: Final = "replayed"
QUERIES: Final = {"id": pl.String(), "at": pl.Datetime("us", "UTC"), "text": pl.String()}
"""Columns of questions: id, time and text."""
_QUOTA: Final = 1.0
"""Quota of a replay: everything may leave the live set in one night, since nothing is at stake."""
UNLIMITED: Final = "Replays ignore max_archived_share: a run may remove as many memories as budget and preset ask for."
"""Caveat for readers of the figures."""
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)
_BY_TIME: Final = ("coactivation", "episodes")
"""Clustering methods that group by time or use instead of content."""
_ACCESSED: Final = 10
"""Results of a training question that count as accessed."""


@dataclass(frozen=True)
class Replay:
    """Result of a replay."""

    hot: pl.DataFrame
    """Columns of `metrics.RECORDS`: live memories after the last night, with the texts that recall shows."""
    results: pl.DataFrame
    """Columns of `metrics.RESULTS`, limited to records in `hot`."""
    memories: pl.DataFrame
    """Table `memories` after the last night."""
    seconds: float
    """Wall time of all nightly runs, without the questions."""
    largest_cluster: int
    """Members of the largest content-based cluster of any night; episodes do not count."""


def policy_for(*, preset: str | None = None, budget: float | None = None, embedder: str | None = None) -> Policy:
    """Return the policy of a replay: a preset with a token budget, or one that keeps everything.

    Without a preset, nothing is merged, linked, promoted or forgotten except to meet the budget; changed facts are
    still detected. Settings files and environment variables are ignored. Raises SettingsError: the preset or embedder
    is unknown, or the budget out of range.
    """
    overrides = {"TOKEN_BUDGET": budget, "EMBEDDER": embedder}
    environment = {f"MEMORY_PIPELINE_{name}": str(value) for name, value in overrides.items() if value is not None}
    policy = load(".", environment=environment, preset_name=preset or "default", text="").policy
    return policy if preset is not None else policy.model_copy(update=_KEEP_EVERYTHING)


_KEEP_EVERYTHING: Final[Mapping[str, Any]] = {
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
    """Store turns at their times, consolidate on each night, and ask questions at their times.

    Args:
        turns: columns of `conversations.TURNS` with unique ids; optionally `importance` (0..1) and `memory_type`.
        queries: columns of `QUERIES`.
        policy: policy of the nightly runs; its quota is ignored.
        training: columns of `QUERIES`; asked too, and their results count as accesses, which strengthen memories.
        nights: number of runs, spread evenly over the conversation; the last run follows the last turn.

    Raises:
        ValueError: there are no turns, or an id is used twice.
    """
    if (duplicates := turns.filter(turns["id"].is_duplicated())).height:
        raise ValueError(f"two turns have the id {duplicates['id'][0]!r}; give each its own")
    events = stored(turns)
    questions = _questions(queries, training)
    accesses: list[pl.DataFrame] = []
    night_times = spread(events, count=nights)
    runs = simulate(
        lambda night: pl.concat([events.filter(pl.col("occurred_at") <= night), *accesses]),
        policy,
        night_times,
        max_archived_share=_QUOTA,
    )
    results: list[pl.DataFrame] = []
    finished: list[Night] = []
    for (start, end), night in zip(pairwise([_BEGINNING, *night_times, READ]), chain([None], runs), strict=True):
        finished += [night] if night is not None else []
        due = questions.filter((pl.col("at") >= start) & (pl.col("at") < end))
        if due.height:
            index = LiveIndex(night, events, policy)
            for row in due.iter_rows(named=True):
                ranked = index.recall(row["text"], now=row["at"], k=depth, ranking=ranking)
                if row["training"]:
                    accesses += access_events(row, ranked, len(accesses))
                else:
                    results.append(ranked.select(query_id=pl.lit(row["id"]), rank="rank", id="memory_id"))
    memories = finished[-1].after["memories"]
    hot = records(memories)
    clusters = pl.concat([night.tables["clusters"] for night in finished])
    by_content = clusters.filter(~pl.col("method").is_in(_BY_TIME))
    return Replay(
        hot,
        pl.concat([pl.DataFrame(schema=RESULTS), *results]).join(
            hot.select("id"), on="id", how="semi", maintain_order="left"
        ),
        memories,
        sum(night.seconds for night in finished),
        max([0, *by_content["cluster_size"]]),
    )


def records(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the live rows of the table `memories` as a store: columns of `metrics.RECORDS`, oldest first."""
    members = {row["memory_id"]: row["members"] for row in memories.select("memory_id", "members").to_dicts()}
    created = dict(memories.select("memory_id", "created_at").iter_rows())
    rows = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort("created_at", "seq", "memory_id")
    turns = [sorted(originals([name], members), key=lambda turn: (created[turn], turn)) for name in rows["memory_id"]]
    text = pl.coalesce("trimmed", "content")
    return rows.select(
        id="memory_id",
        text=pl.concat_str("speaker", pl.lit(": "), text).fill_null(text),
        member_ids=pl.Series(turns, dtype=pl.List(pl.String())),
        t_start=pl.Series([created[ids[0]] for ids in turns], dtype=RECORDS["t_start"]),
        t_end=pl.Series([created[ids[-1]] for ids in turns], dtype=RECORDS["t_end"]),
    )


def stored(turns: pl.DataFrame) -> pl.DataFrame:
    """Return turns as the table `events`, with the start and end of each session; profile `replayed`.

    Raises InvalidEvent: a turn is invalid; the message names it and the remedy.
    """
    rows = list[tuple[Any, ...]]()
    ordered = turns.sort("at", maintain_order=True)
    for row in ordered.iter_rows(named=True):
        rows.append(
            event_row(EventType.STORED, row, row["id"], {"memory_id": row["id"], "payload": _payload(row)}, len(rows))
        )
    sessions = ordered.group_by("session_id", maintain_order=True).agg(
        first=pl.col("at").min(), last=pl.col("at").max()
    )
    for row in sessions.drop_nulls("session_id").iter_rows(named=True):
        for event_type, at in ((EventType.SESSION_STARTED, row["first"]), (EventType.SESSION_ENDED, row["last"])):
            rows.append(event_row(event_type, row | {"at": at}, row["session_id"], {}, len(rows)))
    return ledger_events.frame(rows)


def _payload(row: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: row.get(name) for name in ("content", "speaker", "importance", "memory_type")}
    if values["memory_type"] not in MEMORY_TYPES:
        values["memory_type"] = None
    return {name: value for name, value in values.items() if value is not None}


def event_row(
    event_type: EventType, row: Mapping[str, Any], subject: str, fields: Mapping[str, Any], seq: int
) -> tuple[Any, ...]:
    """Return a row of table `events` about something (`row`: its `at` and `session_id`, if known).

    The `subject` names the event together with its type.
    """
    raw = {
        "event_id": stable_id(PROFILE, event_type.value, subject),
        "profile_id": PROFILE,
        "event_type": event_type.value,
        "occurred_at": row["at"],
        "session_id": row.get("session_id"),
        **fields,
    }
    event = ledger_events.parse(raw, recorded_at=READ, origin=f"{event_type.value} {subject!r}", future=None)
    return (seq + 1, *event.row())


def _questions(queries: pl.DataFrame, training: pl.DataFrame | None) -> pl.DataFrame:
    """Return all questions by time; at equal times, training questions come last."""
    parts = [queries.select(*QUERIES, training=pl.lit(value=False))]
    if training is not None:
        parts.append(training.select(*QUERIES, training=pl.lit(value=True)))
    return pl.concat(parts).sort("at", "training", maintain_order=True)


def access_events(row: Mapping[str, Any], ranked: pl.DataFrame, number: int) -> list[pl.DataFrame]:
    """Return the first results of a question as an access event, the `number`th one."""
    ids = ranked["memory_id"].head(_ACCESSED).to_list()
    if not ids:
        return []
    payload = {"memory_ids": ids, "ranks": list(range(1, len(ids) + 1)), "query": row["text"]}
    subject = f"{number} {row['id']}"
    return [ledger_events.frame([event_row(EventType.ACCESSED, row, subject, {"payload": payload}, 10**6 + number)])]


class LiveIndex:
    """Index between two nights: the state after the night plus the turns since."""

    def __init__(self, night: Night | None, events: pl.DataFrame, policy: Policy) -> None:
        self._stored = events.filter(pl.col("event_type") == EventType.STORED.value)
        self._until = night.at if night is not None else _BEGINNING
        self._policy = policy
        after = night.after if night is not None else {}
        empty = TABLES["memories"].empty(), TABLES["vectors"].empty()
        memories = after.get("memories", empty[0])
        vectors = pl.concat([night.tables["vectors"], after["vectors"]]) if night is not None else empty[1]
        self._index = Index.build(memories, vectors, model=policy.embedder)
        self._edges = after.get("association_edges", TABLES["association_edges"].empty())
        judged = night.tables["fact_changes"] if night is not None else TABLES["fact_changes"].empty()
        changes = judged.filter(pl.col("relation").is_in(["doubt", ASIDE]))
        compares = policy.fact_changes and night is not None
        edges = after.get("decided_edges", TABLES["decided_edges"].empty())
        self._links = FactLinks.of(
            fact_links.pairs(edges, changes, judged),
            compared_until=max(memories["seq"].to_list(), default=0) if compares else 0,
        )

    def recall(self, query: str, *, now: datetime, k: int, ranking: str = "default") -> pl.DataFrame:
        """Rank the memories as of an instant (see `rank`); instants must not decrease."""
        index = self._at(now)
        scored = None
        if ranking in SCORED:
            scored = present_scores(index.memories, TABLES["enrichment"].empty(), self._edges, self._policy, now=now)
        return rank(index, query, now=now, k=k, ranking=ranking, scored=scored, links=self._links)

    def _at(self, instant: datetime) -> Index:
        """Return the index as of an instant."""
        since = (pl.col("occurred_at") > self._until) & (pl.col("occurred_at") <= instant)
        new = self._stored.filter(since)
        if new.height:
            memories = projection.project(new).memories
            texts = enrich.texts(memories).with_columns(content="embedded")
            self._index = self._index.extended(memories, embedding.embed_texts(texts, self._policy.embedder))
        self._until = max(self._until, instant)
        return self._index
