"""Imports the database of claude-mem: what was observed and learned in coding sessions, and what the person typed.

Each stated fact of an observation is a memory below its title; without facts its account is one. All of it belongs to
the project of its session. Not here: its vector index, and the queue of messages that it still has to read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.items import Item, Skipped, file_name, skipped
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, kind_of, label, listed, mapping, shared, text, unpacked
from memory_pipeline.ledger import foreign_sqlite

_OBSERVATIONS: Final = "observations"
_SUMMARIES: Final = "session_summaries"
_PROMPTS: Final = "user_prompts"
_DIRECTIVES: Final = "directives"
_OF_SESSION: Final = ("memory_session_id", "sdk_session_id")
"""Names that its versions gave the session of an observation."""
_ACCOUNTS: Final = ("narrative", "text", "subtitle", "title")
"""Columns that tell of an observation without facts, the fullest first."""
_LEARNED: Final = ("learned", "completed", "next_steps", "notes")
"""Columns of a summary that are memories."""
_ACTIVE: Final = "active"


def detect(seen: Sample) -> bool:
    """Return whether a path is such a database."""
    columns = set(seen.tables.get(_OBSERVATIONS, ()))
    return {"project", "type", "created_at_epoch"} <= columns and not columns.isdisjoint(_OF_SESSION)


def events(source: Source, path: Path) -> Iterator[Item]:
    """Yield observations, summaries of sessions, what the person typed, and rules of a database that may be in use."""
    return _Store(path, source).items()


class _Store:
    def __init__(self, path: Path, source: Source) -> None:
        self._path, self._source, self._name = path, source, file_name(path)

    def items(self) -> Iterator[Item]:
        sessions = [*self._rows("sdk_sessions")]
        typed_in = {row.get("content_session_id") or row.get("claude_session_id"): row for row in sessions}
        told_in = {row.get(name): row for row in sessions for name in _OF_SESSION if row.get(name)}
        for index, row in enumerate(self._rows(_OBSERVATIONS)):
            yield from self._observation(row, told_in, index)
        for index, row in enumerate(self._rows(_SUMMARIES)):
            record = self._record(row, told_in, f"{_SUMMARIES}[{index}]")
            for name in _LEARNED:
                payload: dict[str, Any] = {"tags": [name.replace("_", " ")], "metadata": {"project": _project(row)}}
                if text(row.get(name)):
                    yield from record.stored(_id(row, "summary", name), row.get(name), payload)
            left = sum(text(row.get(name)) is not None for name in ("request", "investigated"))
            yield from skipped("requests and searches in summaries", left)
        for index, row in enumerate(self._rows(_PROMPTS)):
            session = row.get("content_session_id") or row.get("claude_session_id")
            record = self._record(row, typed_in, f"{_PROMPTS}[{index}]", session=session)
            payload = {"speaker": "user", "metadata": {"project": mapping(typed_in.get(session)).get("project")}}
            yield from record.stored(_id(row, "prompt"), row.get("prompt_text"), payload)
        for index, row in enumerate(self._rows(_DIRECTIVES)):
            if row.get("status", _ACTIVE) != _ACTIVE:
                yield Skipped("rules that are no longer active")
                continue
            record = self._source.record(row, f"{self._name}:{_DIRECTIVES}[{index}]", at=row.get("created_at_epoch"))
            metadata = {"project": row.get("project")}
            payload = {"speaker": "user", "category": "core", "tags": ["rules"], "metadata": metadata}
            yield from record.stored(_id(row, "directive"), row.get("content"), payload)

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        return foreign_sqlite.rows(self._path, table, order=("id",))

    def _record(
        self, row: Mapping[str, Any], sessions: Mapping[Any, Mapping[str, Any]], origin: str, *, session: Any = None
    ) -> Record:
        """Return a record in the session that the person typed in, where the database still has it."""
        told_in = next((row.get(name) for name in _OF_SESSION if row.get(name)), session)
        known = mapping(sessions.get(told_in))
        session = known.get("content_session_id") or known.get("claude_session_id") or told_in
        at = row.get("created_at_epoch") or row.get("created_at")
        agent = row.get("agent_id")
        return self._source.record(row, f"{self._name}:{origin}", at=at, session_id=session, agent_id=agent)

    def _observation(
        self, row: Mapping[str, Any], sessions: Mapping[Any, Mapping[str, Any]], place: int
    ) -> Iterator[Item]:
        record = self._record(row, sessions, f"{_OBSERVATIONS}[{place}]")
        kind, tag = kind_of(row.get("type"))
        beside, left_out = shared(
            {name: listed(unpacked(row.get(name))) for name in ("concepts", "files_read", "files_modified")}
        )
        yield from left_out
        payload = {**kind, "tags": [*tag, *beside.pop("concepts", ())]}
        metadata = {"project": label(_project(row)), **beside}
        titled = {**metadata, "heading": label(row.get("title"))}
        facts = [found for fact in listed(unpacked(row.get("facts"))) if (found := text(fact))]
        if not facts:
            account = next((found for name in _ACCOUNTS if (found := text(row.get(name)))), None)
            about = metadata if account == text(row.get("title")) else titled
            yield from record.stored(_id(row, "observation"), account, {**payload, "metadata": about})
            return
        has_account = any(text(row.get(name)) for name in ("narrative", "text"))
        yield from skipped("accounts of observations whose facts are taken", int(has_account))
        for number, fact in enumerate(facts):
            own = replace(record, raw={"id": row.get("id"), "fact": fact})
            yield from own.stored(_id(row, "observation", str(number)), fact, {**payload, "metadata": titled})


def _id(row: Mapping[str, Any], *parts: str) -> str | None:
    number = identifier(row.get("id"))
    return None if number is None else "-".join(["claude-mem", parts[0], number, *parts[1:]])


def _project(row: Mapping[str, Any]) -> Any:
    """Return the project of a row: that into which its own was merged, such as the repository of a worktree."""
    return row.get("merged_into_project") or row.get("project")
