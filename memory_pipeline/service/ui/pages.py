"""What each page shows: one function per page, which returns the values of its template.

Not here: who may see it and how it is answered (`site`), how a plan is told (`consolidation/plans/telling`), and charts
(`charts`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Any, Final

import polars as pl
from starlette.datastructures import State
from starlette.exceptions import HTTPException

from memory_pipeline.consolidation.plans import plan_document, telling
from memory_pipeline.consolidation.state.decision_json import LEAVES
from memory_pipeline.ledger.commits import Conflict
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.recall.client.explanation import Explanation
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.models import Part
from memory_pipeline.recall.rank.ranking import RANKINGS
from memory_pipeline.runs import inputs, metrics, status
from memory_pipeline.schemas import LIVE, Action
from memory_pipeline.service import report_plan
from memory_pipeline.service.profile_choice import stored_profiles
from memory_pipeline.service.ui import charts
from memory_pipeline.service.ui.sign_in import SignedIn
from memory_pipeline.settings import load

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

    @property
    def admin(self) -> bool:
        """Whether the token is an administrator's."""
        return self.signed_in.grant.profile_id is None


@dataclass(frozen=True, kw_only=True)
class Share:
    """A part of a score, and what it contributes."""

    part: Part
    share: float
    """Share of the sum of all contributions, 0..1."""


def search(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Show the answer to a query with the parts of each score, or the newest memories. Records no access."""
    asked = visit.asked
    options: dict[str, Any] = {
        "k": _count("k", asked.get("k", "10")),
        "deep": "deep" in asked,
        "ranking": asked.get("ranking", RANKINGS[0]),
        "as_of": asked.get("as_of"),
    }
    shown: dict[str, Any] = {"query": asked.get("q", ""), "options": options, "rankings": RANKINGS}
    shown |= {"others": _others(visit), "also": asked.get("also")}
    if "q" not in asked:
        newest = memory.list(limit=NEWEST, deep=options["deep"])
        return shown | {"answer": None, "newest": newest, "confident": None}
    answer = memory.recall(asked["q"], **options, profiles=_searched(visit), record=False)
    hits = [(hit, _shares(hit.parts), visit.signed_in.grant.allows(hit.profile_id)) for hit in answer]
    return shown | {"answer": hits, "newest": (), "confident": answer.confident}


def memory(visit: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Explain one memory: its state, scores, links, decisions, recalls and origin."""
    if "id" not in visit.asked:
        raise ValueError("id is missing; open a memory from the search")
    explanation = memory.explain(visit.asked["id"], visit.asked.get("as_of"))
    return {"it": explanation, "shown": SHOWN, "texts": _texts_about(memory, explanation)}


def core(_: Visit, memory: MemoryClient) -> dict[str, Any]:
    """Show the blocks of core memory."""
    return {"blocks": memory.core_memory()}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Changes of one kind in a plan."""

    name: str
    headline: str
    count: int
    rows: list[tuple[dict[str, Any], list[Any]]]
    """Told rows, each with its lines (see `report_plan.sides`)."""


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
    groups = [
        Group(
            name=name,
            headline=headline,
            count=count,
            rows=[(row, report_plan.sides(row)) for row in changes.filter(group=name).head(CHANGES).to_dicts()],
        )
        for _, name, count, headline in telling.headlines(changes).iter_rows()
    ]
    held = sum(row["status"] == "held" for row in document["plan"])
    return {"plan": document, "overtaken": None, "groups": groups, "held": held}


def runs(visit: Visit, _: MemoryClient) -> dict[str, Any]:
    """Show past runs, and the runs requested from this server."""
    mine = {visit.profile_id, *([None] if visit.admin else [])}
    requests = [row for row in visit.state.runs.statuses() if row["profile_id"] in mine]
    waiting = any(row["state"] in {"queued", "running"} for row in requests)
    return {"summary": _summary(visit), "requests": requests, "waiting": waiting, "undone": visit.asked.get("undone")}


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
    nights = rows.filter(~pl.col("reverted")).group_by(day=pl.col("as_of").dt.strftime("%Y-%m-%d")).len().sort("day")
    return {
        "rows": rows.head(SHOWN).to_dicts(),
        "count": rows.height,
        "text": text_of(memory),
        "bars": charts.bars(list(nights.tail(NIGHTS).iter_rows())),
        "days": nights.tail(NIGHTS)["day"].to_list(),
    }


def health(visit: Visit, _: MemoryClient) -> dict[str, Any]:
    """Show how the profile grows, its energy, what is due; to administrators the whole store, and its doctor."""
    lake, profiles, key = visit.state.lake, [visit.profile_id], ["profile_id", "memory_id"]
    memories = lake.read("memories", profiles=profiles)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*key, "tier")
    scored = lake.read("scored_memories", profiles=profiles, columns=[*key, "energy"])
    return {
        "summary": _summary(visit),
        "growth": charts.growth(memories),
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
    """Return the profiles to search.

    Raises:
        HTTPException: the token may not recall the other one.
    """
    also = visit.asked.get("also")
    if why := visit.signed_in.grant.refusal([] if also is None else [also]):
        raise HTTPException(403, why)
    return [visit.profile_id, *([also] if also else [])]


def _shares(parts: tuple[Part, ...]) -> list[Share]:
    """Return the parts of a score, the largest contribution first."""
    total = sum(max(0.0, part.value * part.weight) for part in parts) or 1.0
    shares = [Share(part=part, share=max(0.0, part.value * part.weight) / total) for part in parts]
    return sorted(shares, key=lambda one: -one.share)


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
