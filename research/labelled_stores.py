"""Stores of memories with labelled relations and questions: what a run decides in them, and what recall finds.

A folder holds `data/STORE.jsonl` (id, at, session, text, speaker), `relations.jsonl` (store, type, a, b, note) and
`questions.jsonl` (id, store, qtype, question, gold, stale, at, answer). Not here: conversations that are replayed over
several nights (`replay`), and the page (`quality_page`).
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import bm25_baseline
import polars as pl

from memory_pipeline.consolidation import change_detection, model_judge
from memory_pipeline.consolidation import questions as questions_of_runs
from memory_pipeline.consolidation.state import projection
from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.conversations import TURNS
from memory_pipeline.evaluation.decided_pairs import Decided, Pair, closed_sentences, decided, in_order, standing
from memory_pipeline.evaluation.replay import LiveIndex
from memory_pipeline.evaluation.simulation import Night, simulate
from memory_pipeline.ledger import event as ledger_events
from memory_pipeline.llm import protocol
from memory_pipeline.recall.rank.confidence import CONFIDENT
from memory_pipeline.schemas import LIVE, TABLES, EventType
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens

State = Literal["raw", "consolidated", "asked", "half", "half used"]

STATES: Final[tuple[State, ...]] = ("raw", "consolidated", "asked", "half", "half used")
"""As stored; after one run of the preset; after another one, before which the labels answered the pairs that a language
model would be asked about, one a memory; after one at half the tokens; the same after every second question was asked
and its first answer marked helpful."""
DEPTH: Final = 10
_MARKED: Final = 3
"""First results whose marks are looked at."""
_HALF: Final = 0.5
NIGHT: Final = time(2, tzinfo=UTC)
_MODEL: Final = "recorded"
"""Name of the language model whose answers are recorded."""


@dataclass(frozen=True)
class LabelledStore:
    """Memories of one profile with their labelled relations and questions."""

    name: str
    turns: pl.DataFrame
    """Columns of `conversations.TURNS`."""
    relations: Mapping[str, frozenset[Pair]]
    """Pairs by type (update: older, newer; duplicate, contradiction, lookalike: sorted), those noted as partial or
    arguable under `weak TYPE` only."""
    questions: Sequence[Mapping[str, Any]]

    @property
    def last(self) -> datetime:
        """Instant of the last question; of a store without questions, the day after the last memory."""
        instants: list[datetime] = [question["at"] for question in self.questions]
        last: datetime = self.turns["at"].to_list()[-1] + timedelta(days=1)
        return max(instants, default=last)


@dataclass(frozen=True)
class Outcome:
    """A store in one state, and the answers to its questions."""

    store: LabelledStore
    state: State
    memories: pl.DataFrame
    """Table `memories`."""
    edges: pl.DataFrame
    """Table `association_edges`."""
    results: Mapping[str, pl.DataFrame]
    """Columns of `ranking.SCHEMA` by question, best first."""
    blocks: pl.DataFrame = field(default_factory=TABLES["core_memory_blocks"].empty)
    """Table `core_memory_blocks`."""

    @property
    def decided(self) -> Decided:
        """What the run decided and linked."""
        return decided(self.store.turns["id"], self.memories, self.edges)


def load(folder: Path) -> list[LabelledStore]:
    """Read all stores of a folder.

    Raises:
        ValueError: the folder holds no store.
    """
    paths = sorted((folder / "data").glob("*.jsonl"))
    if not paths:
        raise ValueError(f"{folder}: has no data/*.jsonl; give the folder of the labelled stores")
    relations, questions = (_by_store(folder / name) for name in ("relations.jsonl", "questions.jsonl"))
    return [
        LabelledStore(
            path.stem,
            _turns(_rows(path)),
            _relations(relations[path.stem]),
            [question | {"at": _instant(question["at"])} for question in questions[path.stem]],
        )
        for path in paths
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _by_store(path: Path) -> defaultdict[str, list[dict[str, Any]]]:
    rows = defaultdict[str, list[dict[str, Any]]](list)
    for row in _rows(path):
        rows[row["store"]].append(row)
    return rows


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _turns(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    names = {"session": "session_id", "text": "content"}
    turns = [{names.get(key, key): value for key, value in row.items()} | {"at": _instant(row["at"])} for row in rows]
    return pl.DataFrame(turns, schema=TURNS)


def _relations(rows: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[Pair]]:
    pairs = defaultdict[str, set[Pair]](set)
    for row in rows:
        kind = f"weak {row['type']}" if row.get("note") else row["type"]
        pairs[kind].add((row["a"], row["b"]) if row["type"] == "update" else in_order(row["a"], row["b"]))
    return defaultdict(frozenset, {kind: frozenset(of_kind) for kind, of_kind in pairs.items()})


def run(store: LabelledStore, policy: Policy, state: State) -> Outcome:
    """Bring a store into a state by one run in memory, and ask all its questions.

    Args:
        store: the store.
        policy: the policy of the run, without a token budget.
        state: one of `STATES`.
    """
    events = replay.stored(store.turns)
    night = datetime.combine(store.last, NIGHT)
    if state == "raw":
        return _stored(store, events, replay.policy_for(embedder=policy.embedder))
    if state not in ("consolidated", "asked"):
        policy = policy.model_copy(update={"token_budget": _HALF})
    if state == "half used":
        before = next(simulate(lambda _: events, replay.policy_for(embedder=policy.embedder), [store.last]))
        events = pl.concat([events, *_uses(store, LiveIndex(before, events, policy))])
        night = store.last
    done = next(simulate(lambda _: events, policy, [night], max_archived_share=1.0))
    if state == "asked":
        events = pl.concat([events, _answered(store, done, policy)])
        nights = [night, night + timedelta(days=1)]
        *_, done = simulate(
            lambda at: events.filter(pl.col("occurred_at") <= at), policy, nights, max_archived_share=1.0
        )
    return _after(store, state, done, LiveIndex(done, events, policy))


def read(store: LabelledStore, policy: Policy, answers: Mapping[str, str]) -> Outcome:
    """Run a store as `run` does for `consolidated`, with a language model that answers as recorded.

    Args:
        store: the store.
        policy: the policy of the run, without a model.
        answers: what a model answered, by the name of a pair (`model_judge.named`); about others it has no answer.
    """
    events = replay.stored(store.turns)
    asking = policy.model_copy(update={"llm_model": _MODEL})
    rows = [
        {"request_hash": pair, "subject": pair, "content": content, "input_tokens": 0, "output_tokens": 0}
        for pair, content in answers.items()
    ]
    recorded = TABLES["verdicts"].conform(
        pl.DataFrame(rows).with_columns(
            profile_id=pl.lit(replay.PROFILE),
            model=pl.lit(_MODEL),
            purpose=pl.lit(model_judge.PURPOSE),
            outcome=pl.lit(protocol.Outcome.ANSWERED.value),
            cost=pl.lit(0.0),
            refused=pl.lit([], dtype=pl.List(pl.String)),
        )
    )
    night = datetime.combine(store.last, NIGHT)
    done = next(simulate(lambda _: events, asking, [night], max_archived_share=1.0, recorded={"verdicts": recorded}))
    return _after(store, "consolidated", done, LiveIndex(done, events, policy))


def _after(store: LabelledStore, state: State, night: Night, index: LiveIndex) -> Outcome:
    """Ask all questions of a store after a night."""
    memories, edges = night.after["memories"], night.after["association_edges"]
    return Outcome(store, state, memories, edges, _answers(store, index), night.tables["proposed_blocks"])


def _stored(store: LabelledStore, events: pl.DataFrame, policy: Policy) -> Outcome:
    """Ask all questions of a store that no run has seen."""
    memories, edges = projection.project(events).memories, TABLES["association_edges"].empty()
    return Outcome(store, "raw", memories, edges, _answers(store, LiveIndex(None, events, policy)))


def simple_half(store: LabelledStore, policy: Policy, order: Literal["newest", "oldest", "random"]) -> Outcome:
    """Keep as many memories as half the tokens hold, by a simple order, and ask all questions."""
    turns = store.turns.sort("at", "id", maintain_order=True)
    if order == "random":
        turns = turns.sample(fraction=1.0, shuffle=True, seed=1)
    elif order == "newest":
        turns = turns.reverse()
    tokens = count_tokens(turns["content"])
    kept = turns.filter(tokens.cum_sum() <= _HALF * float(tokens.sum()))
    part = LabelledStore(store.name, kept.sort("at", "id"), store.relations, store.questions)
    return _stored(part, replay.stored(part.turns), replay.policy_for(embedder=policy.embedder))


def _answers(store: LabelledStore, index: LiveIndex) -> dict[str, pl.DataFrame]:
    """Return what recall finds for each question of a store, asked in order of time."""
    asked = sorted(store.questions, key=lambda one: one["at"])
    return {one["id"]: index.recall(one["question"], now=one["at"], k=DEPTH) for one in asked}


def _uses(store: LabelledStore, index: LiveIndex) -> list[pl.DataFrame]:
    """Return the events of asking every second question, and of marking the first answer to it helpful."""
    events: list[pl.DataFrame] = []
    for question in store.questions:
        if question["gold"] and asked_before(question):
            found = index.recall(question["question"], now=question["at"], k=DEPTH)
            gold = found.filter(pl.col("memory_id").is_in(_gold(question)))["memory_id"].to_list()
            asked, number = {**question, "text": question["question"]}, len(events)
            events += replay.access_events(asked, found, number)
            for memory in gold[:1]:
                marked = {"memory_id": memory, "payload": {"helpful": True}}
                subject = f"{number} {question['id']} {memory}"
                row = replay.event_row(EventType.FEEDBACK, asked, subject, marked, 10**7 + number)
                events.append(ledger_events.frame([row]))
    return events


def _answered(store: LabelledStore, night: Night, policy: Policy) -> pl.DataFrame:
    """Return the events of answering the pairs that a language model would be asked about, by the labels."""
    of_run = night.tables
    compared = change_detection.compare(
        memories=night.after["memories"],
        enrichment=of_run["enrichment"],
        vectors=of_run["vectors"],
        policy=policy.model_copy(update={"llm_model": "labels"}),
        as_of=night.at,
        plan_id="",
        recorded=of_run["pair_readings"],
        sentences=of_run["core_sentences"],
    )
    statements = compared.fact_changes.select("memory_id", "other_id", "statement").unique(["memory_id", "other_id"])
    possible = compared.possible.filter(~pl.col("decided"))
    queue = questions_of_runs.ranked(possible, night.after["memories"], of_run["core_sentences"])
    asked = queue.head(store.turns.height).join(statements, on=["memory_id", "other_id"], how="left")
    relation = [label(store, older, newer) for older, newer in asked.select("memory_id", "other_id").iter_rows()]
    told = asked.with_columns(relation=pl.Series(relation, dtype=pl.String))
    partial = pl.col("relation") == "partial"
    told = told.filter(~partial | pl.col("statement").is_not_null())
    told = told.with_columns(statement=pl.when(partial).then("statement"))
    rows: list[tuple[Any, ...]] = []
    for row in told.select("memory_id", "other_id", "relation", "statement").iter_rows(named=True):
        payload = {"target_id": row["memory_id"], "relation": row["relation"], "statement": row["statement"]}
        fields = {"memory_id": row["other_id"], "payload": payload | {"answered_by": "agent"}}
        subject, at = f"{row['memory_id']} {row['other_id']}", night.at + timedelta(hours=1)
        rows.append(replay.event_row(EventType.RESOLVED, {"at": at}, subject, fields, 10**8 + len(rows)))
    return ledger_events.frame(rows)


def label(store: LabelledStore, older: str, newer: str) -> str:
    """Return the answer that the labels give about two memories."""
    labels = {"update": "update", "weak update": "partial", "duplicate": "repeat", "weak duplicate": "repeat"}
    labels |= {"contradiction": "conflict", "weak contradiction": "conflict"}
    pair, either = (older, newer), in_order(older, newer)
    return next((answer for kind, answer in labels.items() if {pair, either} & store.relations[kind]), "none")


def asked_before(question: Mapping[str, Any]) -> bool:
    """Return whether a question is among those asked before the run of `half used`: odd numbers."""
    return int(re.sub(r"\D", "", question["id"])) % 2 == 1


def _gold(question: Mapping[str, Any]) -> list[str]:
    return sorted({memory for group in question["gold"] for memory in group})


# --- figures


def questions(outcome: Outcome) -> pl.DataFrame:
    """Score every question of an outcome.

    Returns:
        store, question, qtype, asked_before, confident (see `recall/rank/confidence`); of questions with gold: rank (of
        the first gold among ten, else null), hit (any gold among ten), mrr, says (the shown text of a gold among ten
        still holds the answer; null if none was found); of those with an outdated value: fresh_first (the gold ranks
        before it); unmarked: a closed memory or sentence, or a summary that quotes one, is shown without a mark;
        untrue_mark: one of the first three is marked as outdated or contradicted by a memory that, by the labels, does
        neither.
    """
    true_marks = _true_marks(outcome.store)
    stands_for = standing(outcome.memories)
    texts = dict(outcome.memories.select("memory_id", "content").iter_rows())
    closed = set(outcome.memories.filter(pl.col("closed_by").is_not_null())["memory_id"])
    members = {row[0]: row[1] or () for row in outcome.memories.select("memory_id", "members").iter_rows()}
    ended = closed_sentences(outcome.memories)["sentence"].to_list()
    rows = []
    for question in outcome.store.questions:
        found = outcome.results[question["id"]].to_dicts()
        ids = [stands_for[row["memory_id"]] for row in found]
        row = {
            "store": outcome.store.name,
            "question": question["id"],
            "qtype": question["qtype"],
            "asked_before": asked_before(question),
            "confident": bool(found) and found[0]["confidence"] >= CONFIDENT,
            "untrue_mark": any(
                in_order(row["memory_id"], other) not in true_marks
                for row in found[:_MARKED]
                for other in {*(row["outdated_by"] or ()), *(row["conflicts"] or ())}
            ),
            "unmarked": any(
                row["current"] is not False
                and (
                    row["memory_id"] in closed
                    or any(name in closed and texts[name][:25] in row["text"] for name in members[row["memory_id"]])
                    or any(sentence in row["text"].replace(f"{sentence} [outdated", "") for sentence in ended)
                )
                for row in found
            ),
        }
        if question["gold"]:
            row |= _ranks(question, found, ids)
        rows.append(row)
    return pl.DataFrame(rows, schema=_QUESTIONS)


_QUESTIONS: Final = {
    "confident": pl.Boolean(),
    "store": pl.String(),
    "question": pl.String(),
    "qtype": pl.String(),
    "asked_before": pl.Boolean(),
    "unmarked": pl.Boolean(),
    "untrue_mark": pl.Boolean(),
    "rank": pl.Int64(),
    "hit": pl.Float64(),
    "mrr": pl.Float64(),
    "says": pl.Float64(),
    "fresh_first": pl.Float64(),
}


def _true_marks(store: LabelledStore) -> set[Pair]:
    """Return the pairs of which one may be marked as outdated or contradicted by the other."""
    kinds = ("update", "weak update", "contradiction", "weak contradiction")
    return {in_order(*pair) for kind in kinds for pair in store.relations[kind]}


def _ranks(
    question: Mapping[str, Any], found: Sequence[Mapping[str, Any]], ids: Sequence[frozenset[str]]
) -> dict[str, Any]:
    def first(wanted: Iterable[str]) -> int | None:
        return next((place for place, names in enumerate(ids, 1) if names & set(wanted)), None)

    gold = set(_gold(question))
    new, old = first(gold), first(question["stale"])
    row: dict[str, Any] = {"rank": new, "hit": float(new is not None), "mrr": 1 / new if new else 0.0}
    if question.get("answer") and new is not None:
        shown = [row["text"] for row, names in zip(found, ids, strict=True) if names & gold]
        row["says"] = float(any(re.search(question["answer"], text, re.IGNORECASE) for text in shown))
    if question["stale"]:
        row["fresh_first"] = float(new is not None and (old is None or new < old))
    return row


def loses_answer(store: LabelledStore, memory_id: str, text: str, shown: str) -> bool:
    """Return whether the shown part of a gold's text lacks an answer that the text holds."""
    answers = [one["answer"] for one in store.questions if one.get("answer") and memory_id in _gold(one)]
    held = [answer for answer in answers if re.search(answer, text, re.IGNORECASE)]
    return any(not re.search(answer, shown, re.IGNORECASE) for answer in held)


def relations(outcome: Outcome) -> dict[str, tuple[int, int]]:
    """Count the right ones among the decisions of a run: figure to (right, of)."""
    run, wanted = outcome.decided, outcome.store.relations
    updates = wanted["update"]
    pairs = frozenset(in_order(*pair) for pair in updates)
    any_update = pairs | frozenset(in_order(*pair) for pair in wanted["weak update"])
    duplicates = wanted["duplicate"]
    any_duplicate = duplicates | wanted["weak duplicate"]
    contradictions = wanted["contradiction"] | wanted["weak contradiction"]
    closed = frozenset(in_order(*pair) for pair in run.closed | run.partly_closed)
    right = len(run.closed & updates) + len(run.partly_closed & (updates | wanted["weak update"]))

    def share(right: frozenset[Pair], of: frozenset[Pair]) -> tuple[int, int]:
        return len(right & of), len(of)

    return {
        "closings right": (right, len(run.closed) + len(run.partly_closed)),
        "updates found": share(closed | run.may_update, pairs),
        "MAY_UPDATE right": share(any_update, run.may_update),
        "duplicates found": share(run.merged | run.may_repeat, duplicates),
        "duplicates merged": share(run.merged, duplicates),
        "merges right": share(any_duplicate, run.merged),
        "MAY_REPEAT right": share(any_duplicate, run.may_repeat),
        "contradictions found": share(run.contradicts, contradictions),
        "CONTRADICTS right": share(contradictions, run.contradicts),
    }


def losses(outcome: Outcome) -> dict[str, int]:
    """Count outdated memories kept, unmarked, without their correction, and facts of which both copies are gone.

    What is merged is there as long as the merged memory is.
    """
    live = set(outcome.memories.filter(pl.col("lifecycle").is_in(LIVE))["memory_id"])
    merged = outcome.memories.filter(
        pl.col("superseded_kind") == "summary", pl.col("superseded_by").is_in(sorted(live))
    )
    live |= set(merged["memory_id"])
    ended = set(outcome.memories.filter(pl.col("valid_until").is_not_null())["memory_id"])
    wanted = outcome.store.relations
    return {
        "outdated without correction": sum(
            old in live and new not in live and old not in ended for old, new in wanted["update"]
        ),
        "both copies lost": sum(one not in live and other not in live for one, other in wanted["duplicate"]),
        "trimmed": outcome.memories.filter(pl.col("trimmed").is_not_null(), pl.col("lifecycle").is_in(LIVE)).height,
    }


def tokens_share(outcome: Outcome) -> float:
    """Return the tokens of all live memories as a share of what was stored."""
    live = outcome.memories.filter(pl.col("lifecycle").is_in(LIVE))
    text = live.select(pl.coalesce("trimmed", "content")).to_series()
    return float(count_tokens(text).sum()) / float(count_tokens(outcome.store.turns["content"]).sum())


def baseline_hits(store: LabelledStore) -> pl.DataFrame:
    """Return whether BM25 over the stored texts finds a gold among ten: question, hit."""
    records = store.turns.select("id", text=pl.concat_str("speaker", "content", separator=": ", ignore_nulls=True))
    asked = [question for question in store.questions if question["gold"]]
    queries = pl.DataFrame({"id": [one["id"] for one in asked], "text": [one["question"] for one in asked]})
    found = dict(bm25_baseline.results(records, queries, depth=DEPTH).group_by("query_id").agg("id").iter_rows())
    hits = [float(bool(set(found.get(one["id"], ())) & set(_gold(one)))) for one in asked]
    return pl.DataFrame({"question": queries["id"], "hit": hits})
