"""What an erasure reaches: the memories of a profile that are to be erased, and where events name or quote them."""

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.state import projection
from memory_pipeline.erasure.people import PREFIX, People
from memory_pipeline.erasure.quotes import Quotes
from memory_pipeline.erasure.receipt import Receipt
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import redaction
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.validation_errors import CORRECT_PROFILE, nearest, shown
from memory_pipeline.schemas import EventType

STORING: Final = (EventType.STORED.value, EventType.UPDATED.value)
"""Types of the events that hold texts of memories."""


class Scope:
    """The memories to erase in one profile, and where they are quoted; read while other writers are locked out."""

    def __init__(
        self,
        lake: Lake,
        profile_id: str,
        *,
        salt: bytes,
        memory_ids: Collection[str] | None,
        user_id: str | None,
        whole: bool,
        questions_since: datetime | None = None,
    ) -> None:
        self.profile_id, self.user_id, self.whole = profile_id, user_id, whole
        self._questions_since = questions_since
        self.events = lake.events(profiles=[profile_id])
        known = _people(self.events)
        erased = known if whole else tuple(person for person in known if person == user_id)
        self.people = People(erased, salt, others=known)
        self._runs = lake.ledger.runs([profile_id])
        stored = self.events.filter(pl.col("event_type") == EventType.STORED.value)
        if self.events.is_empty():
            raise UnknownMemory(f"profile_id {shown(profile_id)} is unknown; {CORRECT_PROFILE}")
        if user_id is not None and not self.people.ids:
            raise UnknownMemory(
                f"user_id {shown(user_id)} has no memory in profile {profile_id!r} and asked nothing there; correct "
                "it, unless that person was erased before: then nothing is left to do"
            )
        requested = set(requested_ids(lake, profile_id, stored, memory_ids, user_id))
        erased_before = stored.filter(pl.col("erased_at").is_not_null(), pl.col("memory_id").is_in(sorted(requested)))
        self.already = set(erased_before["memory_id"])
        self._since = erased_before["erased_at"].max()
        self.erased = requested - self.already
        self._named = pl.col("memory_id").is_in(sorted(self.erased)).fill_null(value=False)
        quotes = Quotes.of(self._texts(self._named), [*self._texts(~self._named), *self._labels(~self._named)])
        self.quotes = replace(quotes, ids=self.people.telling(lake.ledger.profiles()["profile_id"].to_list()))

    def since(self) -> datetime | None:
        """Return when the latest of the memories already erased was erased."""
        return self._since if isinstance(self._since, datetime) else None

    def known_since(self) -> datetime | None:
        """Return when the first of the memories to erase became known; None if none is to be erased."""
        instants = self.events.filter(self._named).select(pl.min_horizontal("occurred_at", "recorded_at").min())
        first = instants.item()
        return first if isinstance(first, datetime) else None

    def receipt(self, now: datetime, reason: str) -> Receipt:
        """Return the receipt with the fields that are known before the erasure."""
        return Receipt(
            profile_id=self.profile_id,
            at=now,
            reason=reason,
            erased=tuple(sorted(self.erased)),
            already=tuple(sorted(self.already)),
            same_text=tuple(self._same_text()),
            people=tuple(self.people.stand_ins.values()),
        )

    def emptied(self) -> set[int]:
        """Return positions of events that lose all content: about the memories, or without content otherwise."""
        target = pl.col("target_id").is_in(sorted(self.erased)).fill_null(value=False)
        about = (self._named | target) & ~of_type(EventType.ACCESSED, EventType.ERASED)
        session = of_type(EventType.SESSION_STARTED, EventType.SESSION_ENDED) & self._quotes()
        return set(self.events.filter(about | session, pl.col("erased_at").is_null())["seq"])

    def quoting(self) -> set[int]:
        """Return positions of events about other memories whose query or metadata quotes these or is the person's.

        Empty if nothing is erased, except for questions selected by their time.
        """
        if not self.erased and not self.people.ids:
            return set(questions(self.events, self._questions_since)["seq"]) if self._questions_since else set()
        kinds = of_type(EventType.ACCESSED, EventType.LINKED, EventType.FEEDBACK)
        has_text = pl.any_horizontal(pl.col("query", "metadata").is_not_null())
        named = of_type(EventType.ACCESSED) & self._named
        return set(self.events.filter(kinds & has_text & (named | self._quotes()))["seq"]) - self.emptied()

    def scopes(self) -> dict[str, str]:
        """Return new scopes of runs by their old ones, where these name an erased person."""
        known = self._runs["scope"].unique().sort().to_list()
        return {old: new for old in known if (new := self.people.scope(old)) != old}

    def naming(self) -> set[int]:
        """Return positions of events that name an erased person."""
        commits = self._runs.filter(pl.col("scope").is_in(list(self.scopes())))["commit_seq"]
        return self.people.positions(self.events).union(commits)

    def originals(self, *, erased: bool = False) -> pl.DataFrame:
        """Return the table `memories` of the remaining originals; with `erased`, as it was before this erasure."""
        remaining = self.events.filter(
            pl.col("event_type").is_in(STORING), ~self._named | erased, pl.col("erased_at").is_null()
        )
        return projection.project(remaining).memories

    def _quotes(self) -> pl.Expr:
        """Return whether an event quotes an erased text in query or metadata, or is the erased person's."""
        if self.whole:
            return pl.lit(value=True)
        of_person = pl.lit(value=False) if self.user_id is None else pl.col("user_id").eq_missing(self.user_id)
        quoting = [self.quotes.in_questions(self.events[name]) for name in ("query", "metadata")]
        return of_person | pl.any_horizontal(*(pl.lit(mask) for mask in quoting))

    def _texts(self, which: pl.Expr) -> Iterator[str]:
        events = self.events.filter(pl.col("event_type").is_in(STORING), which)
        for name in ("content", "metadata", "protected_reason"):
            yield from events[name].drop_nulls().unique()

    def _labels(self, which: pl.Expr) -> Iterator[str]:
        """Yield what else memories have in words, which decisions about them repeat."""
        events = self.events.filter(pl.col("event_type").is_in(STORING), which)
        yield from events["tags"].explode().drop_nulls().unique()
        for name in ("speaker", "source", *redaction.IDS):
            yield from events[name].drop_nulls().unique()

    def _same_text(self) -> list[str]:
        """Return remaining memories with exactly the text of an erased one."""
        stored = self.events.filter(pl.col("event_type").is_in(STORING), pl.col("content").is_not_null())
        erased = stored.filter(self._named).select("content").unique()
        same = stored.filter(~self._named).join(erased, on="content", how="semi")
        return same["memory_id"].unique().sort().to_list()


def questions(events: pl.DataFrame, since: datetime) -> pl.DataFrame:
    """Return the questions asked since an instant that have words (rows of the table `events`)."""
    has_text = pl.any_horizontal(pl.col("query", "metadata").is_not_null())
    asked = pl.max_horizontal("occurred_at", "recorded_at") >= since
    return events.filter(of_type(EventType.ACCESSED) & has_text & asked)


def of_type(*kinds: EventType) -> pl.Expr:
    """Return whether an event is of one of some types."""
    return pl.col("event_type").is_in([kind.value for kind in kinds])


def _people(events: pl.DataFrame) -> tuple[str, ...]:
    """Return the ids of the people whom events name, without those erased before."""
    known = events["user_id"].drop_nulls().unique().sort().to_list()
    return tuple(person for person in known if not person.startswith(PREFIX))


def requested_ids(
    lake: Lake, profile_id: str, stored: pl.DataFrame, memory_ids: Collection[str] | None, user_id: str | None
) -> Collection[str]:
    """Return the ids of the memories that an erasure names, of merged copies and summaries those of their members.

    `stored` are the events that store the profile's memories, erased ones too. Without ids, all memories are named, or
    those that were stored for a person. Raises UnknownMemory: the store has no such memory.
    """
    all_ids = stored["memory_id"].unique().sort().to_list()
    if user_id is not None:
        return stored.filter(pl.col("user_id") == user_id)["memory_id"].unique().to_list()
    if memory_ids is None:
        return all_ids
    if set(memory_ids) <= set(all_ids):
        return memory_ids
    wanted, unknown = _originals(lake, profile_id, memory_ids, all_ids)
    if not unknown:
        return wanted
    left = stored.filter(pl.col("erased_at").is_null())["memory_id"].unique().sort().to_list()
    raise UnknownMemory(
        f"memory_ids names {shown(unknown[0])}, which is unknown in profile {profile_id!r}; {nearest(unknown[0], left)}"
    )


def _originals(
    lake: Lake, profile_id: str, memory_ids: Collection[str], all_ids: Collection[str]
) -> tuple[set[str], list[str]]:
    """Return the memories that some ids stand for, summaries and merged copies for their members, and unknown ids."""
    summaries = lake.ledger.decisions(profiles=[profile_id]).filter(pl.col("action") == "summarise")
    members = {
        name: list(json.loads(after).get("members", []))
        for name, after in summaries.select("memory_id", "after").iter_rows()
    }
    known, wanted, unknown = set(all_ids), set[str](), list[str]()
    waiting, seen = sorted(memory_ids), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in known:
            wanted.add(name)
        elif members.get(name):
            waiting += members[name]
        else:
            unknown.append(name)
    return wanted, sorted(unknown)
