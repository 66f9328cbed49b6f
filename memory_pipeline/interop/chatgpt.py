"""Imports the data export of ChatGPT: `conversations.json`, also in numbered parts, in a ZIP file or a folder.

Of every conversation the current branch is read; custom instructions become core memories. Not here: what the
person said in voice and pictures, beyond transcripts.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import BRANCHES, OF_TOOLS, ChatTurn, conversation
from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Item, Skipped, skipped, stable_id
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, instant, listed, mapping, text
from memory_pipeline.ledger.event import Event

REMARKS: Final = "remarks and other entries beside ratings of messages"
UNTOLD: Final = "ratings of messages that were not taken"

_FILE: Final = re.compile(r"conversations(?:[-_]\d+)?\.json")
_INSTRUCTIONS: Final = ("about_user_message", "about_model_message", "user_profile", "user_instructions")


def detect(seen: Sample) -> bool:
    """Return whether a path is such an export."""
    return any(_FILE.fullmatch(Path(one.name).name) and one.has("mapping") for one in seen.heads)


def events(source: Source, path: Path, *, assistant: bool = False) -> Iterator[Item]:
    """Yield the conversations of a ZIP file, folder, or `conversations.json` itself, one held in memory at a time."""
    ratings, others = _ratings(path)
    yield from skipped(REMARKS, others)
    instructed = set[str]()

    def conversations(member: Member) -> Iterator[Item]:
        if not _FILE.fullmatch(member.base):
            return
        for origin, read in member.elements("item", "conversations.item"):
            if isinstance(read, Mapping):
                yield from _conversation(source, read, origin, ratings, instructed, assistant=assistant)
            else:
                yield source.broken(read, origin, "the conversation is not a JSON object; export it again")

    yield from source.of_files(path, conversations)
    yield from skipped(UNTOLD, len(ratings))


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
    yield from skipped(BRANCHES, others)
    for key in standing:
        yield from _instructions(source, mapping(nodes[key].get("message")), begins, origin, instructed)
    turns = [_turn(message, key, origin) for key in standing if (message := mapping(nodes[key].get("message")))]
    about, kept = {"title": read.get("title")}, set[str]()
    for item in conversation(source, turns, session=name, assistant=assistant, begins=begins, about=about):
        if isinstance(item, Event) and item.memory_id:
            kept.add(item.memory_id)
        yield item
    for turn_id in sorted(kept & ratings.keys()):
        record = source.record({"feedback": turn_id}, origin, at=begins, session_id=name)
        yield from record.rated(turn_id, "feedback", helpful=ratings.pop(turn_id))


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


def _turn(message: Mapping[str, Any], key: str, origin: str) -> ChatTurn:
    content, metadata = mapping(message.get("content")), mapping(message.get("metadata"))
    hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    elsewhere = message.get("recipient") not in (None, "all")
    of_tools = hidden or elsewhere or content.get("content_type", "text") not in ("text", "multimodal_text")
    parts = [part if isinstance(part, str) else mapping(part).get("text") for part in listed(content.get("parts"))]
    turn_id = identifier(message.get("id")) or key
    return ChatTurn(
        turn_id=turn_id,
        role=mapping(message.get("author")).get("role"),
        content=text("\n".join(part for part in parts if isinstance(part, str)) or content.get("text")),
        at=instant(message.get("create_time")),
        origin=f"{origin}:{turn_id}",
        raw=message,
        attached=0 if of_tools else sum(not isinstance(part, str) for part in parts),
        unfit=OF_TOOLS if of_tools else None,
    )


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
            yield from record.stored(stable_id(source.file_format, "instructions", found), found, payload)


def _ratings(path: Path) -> tuple[dict[str, bool], int]:
    """Return whether messages were rated as good, by message, and how much else the person wrote about them."""
    ratings, others = dict[str, bool](), 0
    for member in members(path):
        if member.base != "message_feedback.json":
            continue
        with suppress(Broken):
            for read in (mapping(one) for _, one in member.elements("item")):
                rating = read.get("rating")
                others += text(read.get("content")) not in (None, "{}")
                if (name := identifier(read.get("id"))) and rating in ("thumbs_up", "thumbs_down"):
                    ratings[name] = rating == "thumbs_up"
                else:
                    others += 1
    return ratings, others
