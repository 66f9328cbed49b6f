"""Replaces the ids of erased people by salted hashes: in the columns of events, in decisions and in scopes of runs.

An id is replaced where it is the user's, and where a session, agent or instance is named after it. The ids of other
people stay, also where they contain it, and what those said, texts, tags and metadata, is theirs.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from memory_pipeline.ledger import payloads
from memory_pipeline.ledger.redaction import DOCUMENTS, IDS

PREFIX: Final = "erased-"
"""Beginning of what stands for the id of an erased person."""

_HEX: Final = 32
"""Digits of a hash that follow."""
_LONGEST: Final = 256
"""Characters of an id."""


@dataclass(frozen=True)
class People:
    """The people who are erased in a profile."""

    ids: tuple[str, ...]
    salt: bytes
    others: tuple[str, ...] = ()
    """Ids of the people who stay: none of them changes where it contains one of `ids`, as `ana-maria` does `ana`."""

    def stand_in(self, person: str) -> str:
        """Return what replaces a person's id; it depends on the salt, so that nobody can compute it from the id."""
        return f"{PREFIX}{payloads.digest(person, salt=self.salt)[:_HEX]}"

    @cached_property
    def stand_ins(self) -> dict[str, str]:
        """What replaces each id."""
        return {person: self.stand_in(person) for person in self.ids}

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        """Pattern of the ids within other ids, and of what stays there: not as a part of a longer word."""
        if not self.ids:
            return None
        staying = (
            other for other in self.others if other not in self.stand_ins and any(id_ in other for id_ in self.ids)
        )
        longest = sorted({*self.ids, *staying}, key=len, reverse=True)
        words = [rf"{PREFIX}[0-9a-f]{{{_HEX}}}", *map(re.escape, longest)]
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})(?![^\W_])")

    def renamed(self, value: str) -> str:
        """Return an id, such as that of a session, without the ids of people."""
        if self._named is None:
            return value
        new = self._named.sub(lambda found: self.stand_ins.get(found.group(), found.group()), value)
        return new if len(new) <= _LONGEST else self.stand_in(value)

    def scope(self, value: str) -> str:
        """Return the scope of a run, such as `user:ana`, without the ids of people."""
        kind, colon, name = value.partition(":")
        return f"{kind}:{self.renamed(name)}" if colon else value

    def positions(self, events: pl.DataFrame) -> set[int]:
        """Return the positions of events (table `events` of the profile) that name one of the people in their ids."""
        if not self.ids:
            return set()
        known = {name: events[name].drop_nulls().unique() for name in IDS}
        named = {name: [value for value in values if self.renamed(value) != value] for name, values in known.items()}
        naming = pl.any_horizontal(pl.col(name).is_in(values) for name, values in named.items())
        return set(events.filter(naming.fill_null(value=False))["seq"])

    def columns(self, row: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the ids of an event without those of people."""
        return {name: None if row[name] is None else self.renamed(row[name]) for name in IDS}

    def payload(self, text: str) -> str:
        """Return the payload of an event about something else, with the scope of a run without the ids of people."""
        document = json.loads(text)
        if not isinstance(scope := document.get("scope"), str) or self.scope(scope) == scope:
            return text
        return payloads.canonical_json(document | {"scope": self.scope(scope)})

    def decisions(self, rows: Iterable[Mapping[str, Any]], changed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the decisions that change: those of `changed`, and those of `rows` whose documents name one."""
        latest = {row["decision_id"]: row for row in changed}
        for row in rows if self.ids else ():
            present = latest.get(row["decision_id"], row)
            new = {name: self._document(present[name]) for name in DOCUMENTS}
            if any(new[name] != present[name] for name in DOCUMENTS):
                latest[row["decision_id"]] = {**present, **new}
        return list(latest.values())

    def _document(self, text: str) -> str:
        document = json.loads(text)
        new = document | {name: self.renamed(document[name]) for name in IDS if isinstance(document.get(name), str)}
        return text if new == document else payloads.canonical_json(new)

    def telling(self, profiles: Collection[str]) -> frozenset[str]:
        """Return what names the people in logs: ids that are no plain word and no name of a profile.

        Others are named by scopes of runs and addresses of requests.
        """
        whole = {person for person in self.ids if re.search(r"[\W_\d]", person) and person not in profiles}
        words = set(self.ids) - whole
        return frozenset(whole).union(*({f"user:{person}", f"user_id={person}"} for person in words))
