"""Tells what is no note in the workspace of a personal agent (OpenClaw): its own files, and transcripts of sessions.

Not here: how Markdown is read (`markdown_text`), and what becomes of it (`markdown`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from memory_pipeline.interop.markdown_blocks import Unit
from memory_pipeline.interop.markdown_text import Note

_WORKSPACE: Final = frozenset({"agents.md", "soul.md"})
"""Files that stand together in a workspace, which is no project."""
_OWN: Final = _WORKSPACE | {"identity.md", "tools.md", "heartbeat.md", "boot.md", "bootstrap.md", "dreams.md"}
"""Files of a workspace that tell the agent what it is and does, and its diary of what it made of its notes."""
_SKILLS: Final = frozenset({"skills", "canvas"})
"""Folders of a workspace that hold no memory."""
_SESSION: Final = re.compile(r"Session: ([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) UTC")
_ABOUT: Final = re.compile(r"\*\*(Session Key|Session ID|Source)\*\*: *(.*)")
_TURN: Final = re.compile(r"(user|assistant): *(.*)")
_USER: Final = "user"


def of_agent(files: Iterable[str]) -> set[str]:
    """Return the files of workspaces that are the agent's own: what instructs it, and its diary."""
    named = [PurePosixPath(file) for file in files]
    together = dict[PurePosixPath, set[str]]()
    for at in named:
        together.setdefault(at.parent, set()).add(at.name.lower())
    workspaces = {parent for parent, found in together.items() if found >= _WORKSPACE}

    def own(at: PurePosixPath) -> bool:
        beside = at.parent in workspaces and at.name.lower() in _OWN
        return beside or any(above.name in _SKILLS and above.parent in workspaces for above in at.parents)

    return {str(at) for at in named if own(at)}


def turns(note: Note) -> tuple[Note, int]:
    """Return the transcript of a session with a unit for each turn of the person, and how many parts are the agent's.

    Any other note stays as it is.
    """
    about = {found[1]: found[2] for unit in note.units if (found := _ABOUT.fullmatch(unit.text))}
    if "Session Key" not in about:
        return note, 0
    began = next((found for unit in note.units for one in unit.heading if (found := _SESSION.fullmatch(one))), None)
    fields = {"session_id": about.get("Session ID")} | ({"occurred_at": f"{began[1]}T{began[2]}Z"} if began else {})
    role, agents, kept = "", 0, list[Unit]()
    for unit in note.units:
        if _ABOUT.fullmatch(unit.text):
            continue
        for said in _turns(unit):
            turn = _TURN.match(said.text)
            role = turn[1] if turn else role
            if role and role != _USER:
                agents += 1
                continue
            text = said.text[turn.start(2) :] if turn else said.text
            known = {**said.fields, **fields} | ({"speaker": _USER} if role else {})
            kept.append(
                replace(said, text=text, heading=(), tags=(), fields=known, written=said.text if turn else None)
            )
    return replace(note, units=tuple(kept)), agents


def _turns(unit: Unit) -> Iterator[Unit]:
    """Yield the turns of a paragraph, each of which begins a line; a unit of other lines than the file stays."""
    lines = unit.text.split("\n")
    if unit.after - unit.line != len(lines):
        yield unit
        return
    starts = [0, *(at for at, line in enumerate(lines) if at and _TURN.match(line))]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield replace(unit, text="\n".join(lines[start:end]), line=unit.line + start, after=unit.line + end)
