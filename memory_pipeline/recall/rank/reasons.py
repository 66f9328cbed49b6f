"""Says in plain words why a memory was found: each part of a score belongs to one of four reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory_pipeline.recall.models import Part

REASONS: Final[Mapping[str, Mapping[str, str]]] = {
    "words": {
        "lexical": "has words of the question",
        "covers": "has all the words asked for",
        "window": "has the question's words, with what was said around it",
        "nearby": "stands close to words of the question",
        "topic": "belongs to a conversation about this",
        "reply": "the reply to it has words of the question",
        "answer": "answers somebody who asked this",
    },
    "meaning": {
        "related": "has words related to those of the question",
        "cosine": "means something similar",
        "gist": "is about this, with what was said around it",
        "relevance": "means something similar",
    },
    "person and time": {
        "speaker": "was said by the person in the question",
        "role": "was said by the one who is meant",
        "user": "was said by a person, not by the assistant",
        "others": "tells of somebody else",
        "dates": "mentions the day in the question",
        "said": "was said on the day in the question",
        "close": "was said near the day in the question",
        "outdated": "a newer memory says something else about this",
        "newest": "is the newest about this",
        "changing": "tells of a change",
        "succeeds": "is newer than another good answer",
        "similar": "is newer than a similar good answer",
        "similar_changing": "is newer than a similar one, and tells of a change",
        "similar_kind": "is newer than a similar one, and has what is asked for",
        "overtaken": "a newer memory has probably replaced it",
        "recency": "was said or used lately",
        "affinity": "is close to the person who asks",
    },
    "what it says": {
        "kind": "has what is asked for: a name, a number, a place, a time",
        "wish": "says what somebody wants",
        "standing": "is a rule for every answer",
        "preference": "says what somebody prefers",
        "denial": "says no to what is asked",
        "affirmation": "says yes to what is asked",
        "self": "is about the one who said it",
        "substance": "states facts rather than small talk",
        "dense": "says much in few words",
        "rarity": "has uncommon words",
        "brief": "is short",
        "importance": "is important",
        "retention": "is well remembered",
    },
}
"""The reasons, and of each the parts of a score that belong to it, in words."""

_OF: Final = {part: reason for reason, parts in REASONS.items() for part in parts}


@dataclass(frozen=True, kw_only=True)
class Reason:
    """What a reason contributes to a score."""

    name: str
    share: float
    """Share of all that speaks for the memory, 0..1."""
    parts: tuple[tuple[str, float], ...]
    """Its parts in words, each with its share; below 0 what speaks against the memory. The strongest first."""


def reasons(parts: Sequence[Part]) -> list[Reason]:
    """Group the parts of a score, the strongest reason first; reasons that contribute nothing are left out."""
    total = sum(max(0.0, part.value * part.weight) for part in parts) or 1.0
    found: dict[str, list[tuple[str, float]]] = {}
    for part in parts:
        reason = _OF[part.name]
        if share := part.value * part.weight / total:
            found.setdefault(reason, []).append((REASONS[reason][part.name], share))
    grouped = [
        Reason(
            name=name,
            share=max(0.0, sum(share for _, share in own)),
            parts=tuple(sorted(own, key=lambda one: -abs(one[1]))),
        )
        for name, own in found.items()
    ]
    whole = sum(reason.share for reason in grouped) or 1.0
    shares = [Reason(name=one.name, share=one.share / whole, parts=one.parts) for one in grouped]
    return sorted((one for one in shares if one.parts), key=lambda one: -one.share)
