"""A profile that a client has open: its store, settings and state, and the events that the client writes for it."""

import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.event import DEFAULT_PROFILE, Event
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client import validation
from memory_pipeline.recall.client.access_writer import AccessWriter
from memory_pipeline.recall.client.validation import check_id
from memory_pipeline.recall.live.state import State, StateCache
from memory_pipeline.recall.models import Memory
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import Settings, load


def now() -> datetime:
    """Return the current time in UTC: the default clock of a client."""
    return datetime.now(UTC)


class OpenProfile:
    """One profile of a store, open for reading and writing in the process that opened it.

    Attributes:
        profile_id: the profile.
        ids: what its events name, unless one names another: profile, session, agent and user, as far as known.
        settings: settings of the store.
        policy: settings of the profile.
        zone: time zone of the reader.
        lake: the store.
        cache: the profile's current state.
        accesses: writes the accesses of recalls.
        checked: the last pairs shown with new memories, older and newer one, by the pair's id.
    """

    def __init__(
        self, home: Path | str | None, given: Mapping[str, Any], settings: Settings | None, clock: Callable[[], Any]
    ) -> None:
        """Open the profile that the given ids name, and create the store if there is none."""
        validation.check_opening(home, settings)
        self.settings = settings or load(home)
        self._clock = clock
        ids = {"profile_id": self.settings.default_profile or DEFAULT_PROFILE}
        self.ids = ids | {name: value for name, value in given.items() if value is not None}
        self.event({"event_type": EventType.SESSION_STARTED.value, "session_id": self.ids.get("session_id", "-")})
        self.profile_id = self.ids["profile_id"]
        self.policy = self.settings.policy_of(self.profile_id)
        self.lake = Lake(Path(home or self.settings.home))
        self.zone = self.settings.zone
        self.cache = StateCache(self.lake, self.profile_id, self.policy, self.zone)
        self.accesses = AccessWriter(self.lake.ledger)
        self.checked = OrderedDict[str, tuple[str, str]]()
        self._process = os.getpid()
        self.close = weakref.finalize(self, _close, self.accesses, self.lake)

    def check(self) -> None:
        """Refuse a closed or forked client, and report failed background writes."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this client was opened by process {self._process}, before a fork; open another one in each process, "
                "and start processes with the spawn method"
            )
        if not self.close.alive:
            raise RuntimeError("this client is closed; open another one")
        self.accesses.check()

    def flush(self) -> None:
        """Write the accesses of all recalls so far."""
        self.check()
        self.accesses.flush()

    def now(self) -> datetime:
        """Return the time of the client's clock in UTC."""
        return validation.read_clock(self._clock)

    def event(self, fields: Mapping[str, Any]) -> Event:
        """Return an event that happens now, with the client's ids as defaults."""
        return validation.parse_event({**self.ids, **fields}, self.now(), self.settings)

    def given_event(self, fields: Any) -> Event:
        """Return an event that the caller wrote; refuse one that is invalid, or of another profile."""
        if not isinstance(fields, Mapping):
            raise ValueError(f"it is {shown(fields)}; give an event: a mapping")  # noqa: TRY004 - one class of error
        if (event := self.event(fields)).profile_id != self.profile_id:
            raise ValueError(
                f"profile_id is {shown(event.profile_id)}, but this client serves {shown(self.profile_id)}; leave it "
                "out, or open a client of that profile"
            )
        return event

    def answer(
        self, older: str, newer: str, relation: str, *, statement: str | None = None, answered_by: str | None = None
    ) -> Event:
        """Return the event of an answer about two memories."""
        by = answered_by or ("agent" if "agent_id" in self.ids else "owner")
        payload = {"target_id": older, "relation": relation, "statement": statement, "answered_by": by}
        return self.event({"event_type": EventType.RESOLVED.value, "memory_id": newer, "payload": payload})

    def append(self, fields: Mapping[str, Any]) -> None:
        """Append an event that happens now."""
        self.lake.ledger.append([self.event(fields)])

    def mark_session(self, kind: EventType, session_id: str | None) -> str | None:
        """Append that a session, by default the client's, starts or ends, and return it; None if there is none."""
        session = self.ids.get("session_id") if session_id is None else session_id
        if session is not None:
            self.append({"event_type": kind.value, "session_id": session})
        return session

    def write_about(self, memory_id: str, kind: EventType, payload: Mapping[str, Any]) -> Memory:
        """Append an event about an existing memory, and return the changed memory."""
        self.check()
        check_id("memory_id", memory_id)
        self.memory(memory_id)
        self.append({"event_type": kind.value, "memory_id": memory_id, "payload": payload})
        return self.memory(memory_id)

    def memory(self, memory_id: str, state: State | None = None, *, name: str = "memory_id") -> Memory:
        """Return a memory of a state, by default the current one.

        Raises UnknownMemory, with the name of the argument, if there is none of this id.
        """
        state = state or self.cache.current()
        if memory_id not in state.pool.row_ids:
            raise UnknownMemory(
                f"{name} is {shown(memory_id)}, which is not a memory of profile {self.profile_id!r}; correct the id"
            )
        return self.cache.memories(state, [memory_id])[0]


def _close(writer: AccessWriter, lake: Lake) -> None:
    try:
        writer.close()
    finally:
        lake.close()
