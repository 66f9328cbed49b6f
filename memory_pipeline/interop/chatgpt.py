"""Imports the data export of ChatGPT: `conversations.json`, also in numbered parts, in a ZIP file or a folder.

Of every conversation the current branch is read; custom instructions become core memories. Not here: what the
person said in voice and pictures, beyond transcripts.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import (
    ATTACHED,
    BRANCHES,
    EMPTY,
    OF_TOOLS,
    ChatTurn,
    conversation,
    left_out,
    speaker,
)
from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Item, Skipped, stable_id
from memory_pipeline.interop.records import Source, identifier, instant, listed, mapping, text
from memory_pipeline.interop.sampling import Sample

FORMAT: Final = "chatgpt"

REMARKS: Final = "remarks and other entries beside ratings of messages"
UNTOLD: Final = "ratings of messages that were not taken"

_FILE: Final = re.compile(r"conversations(?:[-_]\d+)?\.json")
_FEEDBACK: Final = "message_feedback.json"
_TEXTS: Final = ("text", "multimodal_text")
_INSTRUCTIONS: Final = ("about_user_message", "about_model_message", "user_profile", "user_instructions")


def detect(seen: Sample) -> bool:
    """Return whether a path is such an export."""
    return any(_FILE.fullmatch(Path(one.name).name) and one.has("mapping") for one in seen.heads)


def events(path: Path, *, recorded_at: datetime, profile: str | None = None, assistant: bool = False) -> Iterator[Item]:
    """Yield the conversations of an export, one held in memory at a time.

    Args:
        path: ZIP file, folder, or `conversations.json` itself.
    """
    source = Source(FORMAT, recorded_at, profile or FORMAT)
    ratings, others = _ratings(path)
    yield from [Skipped(REMARKS, others)] * bool(others)
    instructed = set[str]()
    for member in members(path):
        if not _FILE.fullmatch(member.base):
            continue
        try:
            for index, read in enumerate(member.elements("item", "conversations.item")):
                origin = f"{member.name}[{index}]"
                if isinstance(read, Mapping):
                    yield from _conversation(source, read, origin, ratings, instructed, assistant=assistant)
                else:
                    yield source.broken(read, origin, "the conversation is not a JSON object; export it again")
        except Broken as error:
            yield source.broken(None, member.name, str(error))
    yield from [Skipped(UNTOLD, len(ratings))] * bool(ratings)


def _conversation(
    source: Source,
    read: Mapping[str, Any],
    origin: str,
    ratings: dict[str, bool],
    instructed: set[str],
    *,
    assistant: bool,
) -> Iterator[Item]:
    if read.get("is_do_not_remember") is True:
        yield Skipped("conversations that are not to be remembered")
        return
    name = identifier(read.get("conversation_id")) or identifier(read.get("id"))
    if name is None:
        yield source.broken(read, origin, "id is missing; give each conversation its id")
        return
    nodes = {key: mapping(node) for key, node in mapping(read.get("mapping")).items()}
    standing, others = _branch(nodes, read.get("current_node"))
    begins = instant(read.get("create_time")) or instant(read.get("update_time"))
    yield from [Skipped(BRANCHES, others)] * bool(others)
    for key in standing:
        yield from _instructions(source, mapping(nodes[key].get("message")), begins, origin, instructed)
    turns = (turn for key in standing for turn in _turns(nodes[key], key, origin, assistant=assistant))
    about = {"title": read.get("title")}
    kept = set[str]()
    yield from conversation(source, _noting(turns, kept), session=name, begins=begins, about=about)
    for turn_id in sorted(kept & ratings.keys()):
        record = source.record({"feedback": turn_id}, origin, at=begins, session_id=name)
        yield from record.rated(turn_id, "feedback", helpful=ratings.pop(turn_id))


def _noting(turns: Iterator[ChatTurn | Item], kept: set[str]) -> Iterator[ChatTurn | Item]:
    for turn in turns:
        if isinstance(turn, ChatTurn):
            kept.add(str(turn.turn_id))
        yield turn


def _branch(nodes: Mapping[str, Mapping[str, Any]], current: object) -> tuple[list[str], int]:
    """Return the nodes from the root to the current one, and how many messages lie on other branches."""
    if not isinstance(current, str) or current not in nodes:
        leaves = [key for key, node in nodes.items() if not listed(node.get("children"))]
        current = max(leaves, key=lambda key: (_sent(nodes[key]), key), default=None)
    chain = list[str]()
    seen = set[str]()
    while isinstance(current, str) and current in nodes and current not in seen:
        seen.add(current)
        chain.append(current)
        current = nodes[current].get("parent")
    beside = sum(
        mapping(mapping(node.get("message")).get("author")).get("role") in ("user", "assistant")
        for key, node in nodes.items()
        if key not in seen
    )
    return chain[::-1], beside


def _sent(node: Mapping[str, Any]) -> float:
    at = instant(mapping(node.get("message")).get("create_time"))
    return at.timestamp() if at else 0.0


def _turns(node: Mapping[str, Any], key: str, origin: str, *, assistant: bool) -> Iterator[ChatTurn | Item]:
    message = mapping(node.get("message"))
    if not message:
        return
    role = mapping(message.get("author")).get("role")
    content = mapping(message.get("content"))
    metadata = mapping(message.get("metadata"))
    hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    elsewhere = message.get("recipient") not in (None, "all")
    if skipped := left_out(role, assistant=assistant):
        yield skipped
    elif hidden or elsewhere or content.get("content_type", "text") not in _TEXTS:
        yield Skipped(OF_TOOLS)
    else:
        parts = [part if isinstance(part, str) else mapping(part).get("text") for part in listed(content.get("parts"))]
        found = text("\n".join(part for part in parts if isinstance(part, str)) or content.get("text"))
        attached = sum(not isinstance(part, str) for part in parts)
        yield from [Skipped(ATTACHED, attached)] * bool(attached)
        if found is None:
            yield Skipped(EMPTY)
            return
        turn_id = identifier(message.get("id")) or key
        at = instant(message.get("create_time"))
        yield ChatTurn(turn_id, found, at, f"{origin}:{turn_id}", message, speaker(role))


def _instructions(
    source: Source, message: Mapping[str, Any], at: datetime | None, origin: str, instructed: set[str]
) -> Iterator[Item]:
    """Yield the custom instructions of a conversation that no earlier one had."""
    given = {
        **mapping(message.get("content")),
        **mapping(mapping(message.get("metadata")).get("user_context_message_data")),
    }
    for name in _INSTRUCTIONS:
        if (found := text(given.get(name))) and found not in instructed:
            instructed.add(found)
            record = source.record({name: found}, origin, at=at)
            payload = {"category": "core", "speaker": "user", "tags": ["custom instructions"]}
            yield from record.stored(stable_id(FORMAT, "instructions", found), found, payload)


def _ratings(path: Path) -> tuple[dict[str, bool], int]:
    """Return whether messages were rated as good, by message, and how much else the person wrote about them."""
    ratings, others = dict[str, bool](), 0
    for member in members(path):
        if member.base == _FEEDBACK:
            for read in _read(member):
                rating = mapping(read).get("rating")
                others += text(mapping(read).get("content")) not in (None, "{}")
                if (name := identifier(mapping(read).get("id"))) and rating in ("thumbs_up", "thumbs_down"):
                    ratings[name] = rating == "thumbs_up"
                else:
                    others += 1
    return ratings, others


def _read(member: Member) -> Iterator[Any]:
    try:
        yield from member.elements("item")
    except Broken:
        return
