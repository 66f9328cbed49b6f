"""What each page shows: one function per page, which returns the values of its template."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from itertools import islice
from typing import Any, Final

import polars as pl
from starlette.datastructures import State
from starlette.exceptions import HTTPException

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.consolidation.plans import plan_document, telling
from memory_pipeline.consolidation.state.decision_json import LEAVES
from memory_pipeline.ledger.commits import Conflict
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.recall import wording
from memory_pipeline.recall.client.explanation import Explanation
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.models import Memory, Recalled
from memory_pipeline.recall.rank.ranking import RANKINGS
from memory_pipeline.recall.rank.reasons import Reason, reasons
from memory_pipeline.recall.reviews import Pair, Review
from memory_pipeline.runs import inputs, metrics, status, undo
from memory_pipeline.schemas import LIVE, Action
from memory_pipeline.service import report_plan, report_runs, report_store
from memory_pipeline.service.choices import KEYS
from memory_pipeline.service.profile_choice import stored_profiles
from memory_pipeline.service.ui import charts
from memory_pipeline.service.ui.sign_in import SignedIn
from memory_pipeline.settings import load
from memory_pipeline.text import difference
from memory_pipeline.text.display import preview

NEWEST: Final = 30
"""Memories that the search page lists before anything is searched."""
SHOWN: Final = 50
"""Rows that a list of a page shows."""
CHANGES: Final = 100
"""Changes of each kind in a plan that are shown."""
NIGHTS: Final = 60
"""Runs that the chart of what faded shows."""
FADING: Final = (*LEAVES, Action.SUPERSEDE.value, Action.CLOSE.value, Action.TRIM.value)
"""Decisions after which a recall no longer returns a memory, or not in full."""
LINKS: Final = {
    "MAY_UPDATE": "may replace, or be replaced by",
    "MAY_REPEAT": "may say the same as",
    "CONTRADICTS": "contradicts",
    "FOLLOWS": "said before or after",
    "CAUSED_BY": "caused by, or causes",
    "REFERENCES": "about the same names",
    "SIMILAR_TO": "very similar to",
    "ASSOCIATED": "related to",
    "COACTIVATED": "recalled together with",
    "REINFORCES": "strengthens, or is strengthened by",
    "SHORTCUT": "often needed with",
    "DISCOVERED": "found to be related to",
    "SUMMARIZES": "summarises, or is summarised by",
}
"""What a link between two memories says, by its type."""
GONE: Final = "(erased or deleted)"


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A request of a browser that has signed in, about one profile."""

    state: State
    """State of the application: lake, clients, runs, slots."""
    signed_in: SignedIn
    profile_id: str
    asked: Mapping[str, str]
    """Query parameters, or fields of the form, without those left blank."""
    zone: tzinfo
    """Time zone of the reader."""

    @property
    def admin(self) -> bool:
        """Whether the token is an administrator's."""
        return self.signed_in.grant.profile_id is None


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A memory of an answer, as the search shows it."""

    memory: Recalled
    reasons: list[Reason]
    newer: list[tuple[str, str]]
    """Id and text of the memories that ended or may have outdated it."""
    against: list[tuple[str, str]]
    """Id and text of those that contradict it."""
    allowed: bool
    """Whether the token may open it."""


def search(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Show the answer to a query with the reasons of each score, or the newest memories. Records no access."""
    asked = visit.asked
    options: dict[str, Any] = {
        "k": _count("k", asked.get("k", "10")),
        "deep": "deep" in asked,
        "current": "current" in asked,
        "ranking": asked.get("ranking", RANKINGS[0]),
        "as_of": asked.get("as_of"),
    }
    shown: dict[str, Any] = {"query": asked.get("q", ""), "options": options, "rankings": RANKINGS}
    shown |= {"others": _others(visit), "also": asked.get("also"), "states": wording.STATES}
    if "q" not in asked:
        newest = memory.list(limit=NEWEST, deep=options["deep"], current=options["current"])
        return shown | {"answer": None, "newest": newest, "confident": None}
    answer = memory.recall(asked["q"], **options, profiles=_searched(visit), record=False)
    text = text_of(memory)
    hits = [
        Hit(
            memory=hit,
            reasons=reasons(hit.parts),
            newer=_named(hit, [hit.closed_by] if hit.closed_by else hit.outdated_by, hit.newer_text, visit, text),
            against=_named(hit, hit.conflicts, hit.conflict_text, visit, text),
            allowed=visit.signed_in.grant.allows(hit.profile_id),
        )
        for hit in answer
    ]
    why = wording.REARRANGED if answer.rearranged else None
    return shown | {"answer": hits, "newest": (), "confident": answer.confident, "order": why}


def _named(
    hit: Recalled, ids: Iterable[str], newest: str | None, visit: Visit, text: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Return id and text of memories that are named beside another; of another profile only the newest text."""
    own = hit.profile_id == visit.profile_id
    return [(one, text(one) if own else newest or one) for one in ids]


def memory(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Explain one memory: its state, scores, links, decisions, recalls and origin."""
    if "id" not in visit.asked:
        raise ValueError("id is missing; open a memory from the search")
    explanation = memory.explain(visit.asked["id"], visit.asked.get("as_of"))
    return {
        "it": explanation,
        "shown": SHOWN,
        "texts": _texts_about(memory, explanation),
        "links": _links(explanation),
        "groups": _groups(_decided(visit, explanation.memory_id)),
    }


def _links(explanation: Explanation) -> list[tuple[str, list[str], str]]:
    """Return the linked memories, the strongest link first: id, what the links say, and their figures."""
    linked: dict[str, list[Mapping[str, Any]]] = {}
    for edge in explanation.edges[:SHOWN]:
        linked.setdefault(edge["other"], []).append(edge)
    return [
        (
            other,
            [*dict.fromkeys(LINKS.get(edge["edge_type"], edge["edge_type"]) for edge in edges)],
            "; ".join(f"{edge['edge_type']}, weight {edge['weight']:.2f}, {edge['origin']}" for edge in edges),
        )
        for other, edges in linked.items()
    ]


def _decided(visit: Visit, memory_id: str) -> pl.DataFrame:
    """Return what was decided about a memory and is in force (`telling.TOLD`)."""
    profiles = [visit.profile_id]
    about = (pl.col("memory_id") == memory_id) | (pl.col("target_id") == memory_id).fill_null(value=False)
    own = undo.in_force(visit.state.lake, profiles).filter(about)
    return telling.tell(own, visit.state.lake.read("memories", profiles=profiles), visit.zone)


def core(_: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Show the blocks of core memory, a fact a line."""
    return {"blocks": [(block, block.content.split(SEPARATOR)) for block in memory.core_memory()]}


_SUGGESTED: Final = 0.5
"""Least likelihood of an answer that the key Enter gives."""


_WRONG: Final = {
    "unmarked": "Nothing is marked: mark what no longer holds of the older memory, or say that the newer replaces it.",
    "elsewhere": "These words are not in the older memory: copy those that no longer hold exactly.",
}
"""What keeps a part from being answered."""


def asked_about(visit: Visit, memory: MemoryClient) -> Pair | None:
    """Return the pair of a visit, if it waits for an answer."""
    return next((one for one in _waiting(visit, memory) if one.pair_id == visit.asked.get("pair")), None)


def _waiting(visit: Visit, memory: MemoryClient) -> Review:
    """Return the pairs that are most worth an answer: one more than are left for later."""
    return memory.review(len(visit.signed_in.later) + 1)


def review(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Ask about the pair that is most worth an answer, of those not left for later; again where one was not clear."""
    later, pairs = visit.signed_in.later, _waiting(visit, memory)
    pair = next((one for one in pairs if one.pair_id not in later), None)
    wrong = _WRONG.get(visit.asked.get("wrong", "")) if pair and pair.pair_id == visit.asked.get("pair") else None
    shown: dict[str, Any] = {"waiting": pairs.waiting, "later": len(later), "answered": visit.asked.get("answered")}
    shown |= {"said": visit.asked.get("said"), "undone": visit.asked.get("undone"), "pair": pair, "keys": KEYS}
    shown |= {"wrong": wrong, "words": visit.asked.get("words")}
    if pair is None:
        return shown
    older, newer = difference.parts(_said(pair.older), _said(pair.newer))
    return shown | {
        "sides": (("Older", pair.older, older), ("Newer", pair.newer, newer)),
        "sentences": pair.sentences(),
        "question": pair.question(),
        "suggested": pair.relation if pair.confidence >= _SUGGESTED and not pair.either else None,
    }


def _said(memory: Memory) -> str:
    """Return what a memory says below its headings, without who said it."""
    return whereabouts.noted(whereabouts.below(memory.heading, memory.text), memory.metadata)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Changes of one kind in a plan."""

    name: str
    headline: str
    count: int
    quiet: bool
    """Whether it changes neither a text nor what holds."""
    rows: list[tuple[dict[str, Any], list[Any]]]
    """Told rows, each with its lines (see `report_plan.sides`)."""


def _groups(changes: pl.DataFrame) -> list[Group]:
    return [
        Group(
            name=name,
            headline=headline,
            count=count,
            quiet=name in telling.QUIET,
            rows=[(row, report_plan.sides(row)) for row in changes.filter(group=name).head(CHANGES).to_dicts()],
        )
        for _, name, count, headline in telling.headlines(changes).iter_rows()
    ]


def plan(visit: Visit, _: MemoryClient) -> dict[str, Any]:
    """Show the plan that this browser asked for last, as told; not once it is overtaken: it may quote the erased."""
    document = visit.signed_in.plan
    if document is None or [row["profile_id"] for row in document["profiles"]] != [visit.profile_id]:
        return {"plan": None, "overtaken": None}
    try:
        inputs.profiles_of_plan(visit.state.lake, load(visit.state.home), document)
    except (ValueError, Conflict) as overtaken:
        visit.signed_in.plan = None
        return {"plan": None, "overtaken": str(overtaken)}
    changes = plan_document.changes(document)
    held = changes.filter("held").height
    return {"plan": document, "overtaken": None, "groups": _groups(changes), "held": held}


def runs(visit: Visit, _: MemoryClient) -> dict[str, Any]:
    """Show past runs, each with what it changed, and the runs requested from this server."""
    mine = {visit.profile_id, *([None] if visit.admin else [])}
    requests = [row for row in visit.state.runs.statuses() if row["profile_id"] in mine]
    waiting = any(row["state"] in {"queued", "running"} for row in requests)
    summary = _summary(visit)
    history = summary["history"] if summary else []
    return {
        "runs": [(row, _headlines(visit, row)) for row in history],
        "requests": requests,
        "names": report_store.RUNS,
        "waiting": waiting,
        "undone": visit.asked.get("undone"),
        "not_again": undo.NOT_AGAIN.replace("`", ""),
    }


def run(visit: Visit, _: MemoryClient) -> dict[str, Any]:
    """Show what one run changed."""
    (row,) = _runs_of(visit, visit.asked.get("id", "")).to_dicts()
    return {"run": row, "names": report_store.RUNS, "groups": _groups(_changes(visit, row["run_id"]))}


def undoing(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Ask whether a run or a decision is to be undone, and show what would be taken back."""
    target = visit.asked.get("target", "")
    chosen, dependants, ended = undo.concerned(visit.state.lake, target, visit.profile_id)
    memories = visit.state.lake.read("memories", profiles=[visit.profile_id])
    return {
        "target": target,
        "run": next(iter(ended.to_dicts()), None),
        "text": None if ended.height else preview(text_of(memory)(target)),
        "groups": _groups(telling.tell(chosen, memories, visit.zone)),
        "more": telling.summary(telling.tell(dependants, memories, visit.zone)),
    }


def _runs_of(visit: Visit, run_id: str) -> pl.DataFrame:
    rows: pl.DataFrame = visit.state.lake.ledger.runs([visit.profile_id]).filter(run_id=run_id)
    if rows.is_empty():
        raise HTTPException(404, f"run {run_id!r} is not a run of profile {visit.profile_id!r}; open one from the runs")
    return rows.head(1)


def _changes(visit: Visit, run_id: str) -> pl.DataFrame:
    """Return what a run changed in the profile of a visit, and is in force (`telling.TOLD`)."""
    told = report_runs.changes_of(visit.state.lake, {"run_id": run_id}, visit.zone)
    return told.filter(profile_id=visit.profile_id)


def _headlines(visit: Visit, run: Mapping[str, Any]) -> list[str]:
    if run["outcome"] in ("reverted", "unchanged"):
        return []
    return telling.summary(_changes(visit, run["run_id"]))


def faded(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Show what was removed, replaced, ended or trimmed, latest first."""
    ledger, profiles = visit.state.lake.ledger, [visit.profile_id]
    undone = ledger.reverted().select("profile_id", "decision_id", reverted=True)
    rows = (
        ledger.decisions(profiles=profiles)
        .filter(pl.col("action").is_in(FADING))
        .join(undone, on=["profile_id", "decision_id"], how="left")
        .with_columns(pl.col("reverted").fill_null(value=False))
        .sort("seq", "ordinal", descending=[True, False])
    )
    day = pl.col("as_of").dt.convert_time_zone(str(visit.zone)).dt.strftime("%Y-%m-%d")
    nights = rows.filter(~pl.col("reverted")).group_by(day=day).len().sort("day")
    return {
        "rows": rows.head(SHOWN).to_dicts(),
        "count": rows.height,
        "ended": wording.ENDED,
        "text": text_of(memory),
        "chart": charts.bars(list(nights.tail(NIGHTS).iter_rows())),
    }


def health(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Show how the profile grows, its energy, what is due; to administrators the whole store, and its doctor."""
    lake, profiles, key = visit.state.lake, [visit.profile_id], ["profile_id", "memory_id"]
    summary = _summary(visit)
    memories = lake.read("memories", profiles=profiles)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*key, "tier")
    scored = lake.read("scored_memories", profiles=profiles, columns=[*key, "energy"])
    return {
        "summary": summary,
        "growth": charts.growth(memories, visit.zone),
        "tasks": report_store.together(summary["tasks"]) if summary else [],
        "in_use": report_store.IN_USE,
        "waiting": report_store.WAITING,
        "pairs": memory.review(1).waiting,
        "tiers": metrics.health(live.join(scored, on=key)).to_dicts(),
        "findings": _findings(visit) if visit.admin and "doctor" in visit.asked else None,
    }


def text_of(memory: MemoryClient) -> Callable[[str], str]:
    """Return a function that returns the text of a memory in any state, and reads each only once."""

    @cache
    def text(memory_id: str) -> str:
        try:
            return memory.get(memory_id).text
        except UnknownMemory:
            return GONE

    return text


def _texts_about(memory: MemoryClient, explanation: Explanation) -> dict[str, str]:
    """Return the texts of the memories that the shown rows of an explanation name."""
    text = text_of(memory)
    rows = (islice(rows, SHOWN) for rows in (explanation.edges, explanation.facts, explanation.refusals))
    return {row["other"]: text(row["other"]) for named in rows for row in named}


def _others(visit: Visit) -> list[str]:
    """Return the other profiles that the token may recall."""
    known = stored_profiles(visit.state.lake) if visit.admin else visit.signed_in.grant.reads
    return [name for name in known if name != visit.profile_id]


def _searched(visit: Visit) -> list[str]:
    also = visit.asked.get("also")
    if why := visit.signed_in.grant.refusal([] if also is None else [also]):
        raise HTTPException(403, why)
    return [visit.profile_id, *([also] if also else [])]


def _summary(visit: Visit) -> dict[str, Any] | None:
    """Return the status of the profile; None before its first memory."""
    lake = visit.state.lake
    if visit.profile_id not in stored_profiles(lake):
        return None
    return status.summary(lake, load(visit.state.home), now=datetime.now(UTC), profile_id=visit.profile_id)


def _findings(visit: Visit) -> list[Any]:
    from memory_pipeline.service import doctor  # noqa: PLC0415

    with visit.state.slots.taken(visit.signed_in.grant.token_id):
        return doctor.examine(load(visit.state.home), repair=False)


def _count(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; give a whole number") from None
