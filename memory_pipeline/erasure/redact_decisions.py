"""Remaking: decisions that told of erased memories, worded anew from what is left, or without their words.

A summary keeps its id and its remaining members, and is worded anew by the rules from these; with fewer than two left
it goes, and its members stand for themselves again. A core memory block loses the facts that go. All else that was
decided about an erased memory keeps its place and loses what it said, and is in force no longer.
What is not here: which memories are erased, and how the ledger is rewritten (`erasure/erase.py`).
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import core_memory
from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.groups.strategies import KINDS, SUCCESSORS
from memory_pipeline.consolidation.summaries import extracts
from memory_pipeline.erasure.quotes import MASK, Traces
from memory_pipeline.ledger import payloads
from memory_pipeline.schemas import Action
from memory_pipeline.settings import Policy
from memory_pipeline.text import content_hash, enrich

FEWEST: Final = 2
"""Members that a summary needs."""

DOCUMENTS: Final = ("factors", "before", "after")
"""Columns of a decision that hold JSON."""

Row = dict[str, Any]
Document = dict[str, Any]

_WORDLESS: Final = (Action.LINK.value, Action.PRUNE.value, Action.DEFER.value)
"""Decisions that name ids and numbers only; there are many of them."""

_WORDED_ONCE: Final = (Action.TRIM.value, Action.CLOSE.value)
"""Decisions that repeat the words of the text they are about, and hold for that text alone."""


@dataclass(frozen=True)
class Remade:
    """Decisions as they are to stand."""

    rows: list[Row]
    """Those that change: profile_id, decision_id, signature, reason and `DOCUMENTS`."""
    remade: list[str]
    """Summaries that are worded anew."""
    dropped: list[str]
    """Summaries that go, since fewer than two of their members are left."""
    blocks: list[str]
    """Core memory blocks that lost facts."""


def remake(
    decisions: Sequence[Row],
    originals: pl.DataFrame,
    erased: Collection[str],
    traces: Traces,
    policy: Policy,
    *,
    salt: bytes,
) -> Remade:
    """Return how the decisions of one profile stand without some memories.

    Args:
        decisions: rows of the ledger's table, held ones included.
        originals: table `memories` of the profile's originals that stay.
        erased: ids of the memories that go.
        traces: what betrays their texts.
        policy: how the profile words its summaries and blocks.
        salt: of the digests that stand for what is gone.

    Cost: reads every decision of the profile; wording as in `wording.extracts`.
    """
    documents = [_documents(row) for row in decisions]
    members = _members(decisions, documents)
    left = {summary: [one for one in own if one not in erased] for summary, own in members.items()}
    touched = {summary for summary, own in left.items() if len(own) < len(members[summary])}
    dropped = {summary for summary in touched if len(left[summary]) < FEWEST}
    shorter = {summary: left[summary] for summary in touched - dropped}
    summaries = _summaries(shorter, _kinds(decisions, documents), originals, policy)
    work = _Work(set(erased) | dropped, summaries, _lines(originals, summaries), traces, policy, salt)
    changed = [
        new for row, said in zip(decisions, documents, strict=True) if (new := work.rewritten(row, said)) is not None
    ]
    blocks = {row["memory_id"] for row in changed if row["action"] == Action.COMPILE.value}
    return Remade(changed, sorted(summaries), sorted(dropped), sorted(blocks))


@dataclass(frozen=True)
class _Work:
    gone: set[str]
    """Erased memories and dropped summaries."""
    summaries: Mapping[str, Document]
    """What the remade summaries say now."""
    lines: Mapping[str, str]
    """Memories that stay, each on one line."""
    traces: Traces
    policy: Policy
    salt: bytes

    def rewritten(self, row: Row, said: Mapping[str, Document]) -> Row | None:
        """Return a decision as it is to stand; None if it may stay as it is."""
        if payloads.ERASED in said["after"]:
            return None
        if row["action"] == Action.COMPILE.value:
            return self._block(row, said)
        ends = {row["memory_id"], row["target_id"]}
        if ends & self.gone or (row["action"] in _WORDED_ONCE and ends & self.summaries.keys()):
            return self._silent(row)
        if row["memory_id"] in self.summaries and row["action"] == Action.SUMMARISE.value:
            return self._summary(row, said)
        if row["memory_id"] in self.summaries and row["action"] == Action.WITHDRAW.value:
            return row | self._mute(row, "reason", "before")
        return None if row["action"] in _WORDLESS else self._quoting(row)

    def _quoting(self, row: Row) -> Row | None:
        if not any(self.traces.in_text(row[name]) for name in ("reason", *DOCUMENTS)):
            return None
        if self.traces.in_text(row["after"]):
            return self._silent(row)
        return row | self._mute(row, "reason", "factors", "before")

    def _silent(self, row: Row) -> Row:
        """The decision without anything it said; it is in force no longer (see `projection.unmasked`)."""
        return row | self._mute(row, "signature", "reason", *DOCUMENTS)

    def _mute(self, row: Row, *names: str) -> Row:
        digests = {name: payloads.digest(row[name], salt=self.salt) for name in names}
        documents = {
            name: payloads.canonical_json({payloads.ERASED: stands})
            for name, stands in digests.items()
            if name in DOCUMENTS
        }
        return digests | documents | ({"reason": MASK} if "reason" in names else {})

    def _summary(self, row: Row, said: Mapping[str, Document]) -> Row:
        news = self.summaries[row["memory_id"]]
        size = len(news["members"])
        factors = said["factors"] | ({"size": size} if "size" in said["factors"] else {})
        factors.pop("fallback", None)
        return row | {
            "reason": f"One {said['after']['kind']} stands for {size} memories.",
            "factors": payloads.canonical_json(factors | {"compiled_by": core_memory.RULES}),
            "after": payloads.canonical_json(said["after"] | news),
        }

    def _block(self, row: Row, said: Mapping[str, Document]) -> Row | None:
        new = {name: said[name] for name in ("before", "after")}
        stale = {name for name, block in new.items() if self._tells(block)}
        if not stale:
            return None
        change = self._mute(row, "before") if "before" in stale else {}
        if "after" in stale:
            change |= {"signature": payloads.digest(row["signature"], salt=self.salt)}
            change |= {"after": payloads.canonical_json(new["after"] | self._compiled(new["after"]))}
        return row | change

    def _tells(self, block: Document) -> bool:
        named = set(block.get("members") or ())
        return bool(named & (self.gone | self.summaries.keys())) or self.traces.in_text(block.get("content"))

    def _compiled(self, block: Document) -> Document:
        """A block from the facts that stay: as they stood in it, where it can be told which was whose."""
        named = list(block.get("members") or ())
        facts = (block.get("content") or "").split(core_memory.SEPARATOR)
        told = len(facts) == len(named) and block.get("compiled_by") == core_memory.RULES
        members, content = list[str](), ""
        for place, memory_id in enumerate(named):
            stands = told and memory_id not in self.summaries
            fact = facts[place] if stands else self.lines.get(memory_id, "")
            longer = core_memory.SEPARATOR.join((content, fact)) if content else fact
            fits = fact and len(longer) <= self.policy.block_char_limit
            if memory_id in self.gone or not fits or self.traces.in_text(fact):
                continue
            members.append(memory_id)
            content = longer
        return {"members": members, "content": content, "compiled_by": core_memory.RULES}


def _documents(row: Row) -> dict[str, Document]:
    return {name: json.loads(row[name]) for name in DOCUMENTS}


def _made(decisions: Sequence[Row], documents: Sequence[Mapping[str, Document]]) -> Iterator[tuple[str, Document]]:
    """Yield summaries with what the decision for them says."""
    for row, said in zip(decisions, documents, strict=True):
        if row["action"] == Action.SUMMARISE.value and "members" in said["after"]:
            yield row["memory_id"], said["after"]


def _members(decisions: Sequence[Row], documents: Sequence[Mapping[str, Document]]) -> dict[str, list[str]]:
    return {summary: list(said["members"]) for summary, said in _made(decisions, documents)}


def _kinds(decisions: Sequence[Row], documents: Sequence[Mapping[str, Document]]) -> dict[str, str]:
    return {summary: said["kind"] for summary, said in _made(decisions, documents)}


def _summaries(
    left: Mapping[str, list[str]], kinds: Mapping[str, str], originals: pl.DataFrame, policy: Policy
) -> dict[str, Document]:
    """What summaries say of the members they have left."""
    if not left:
        return {}
    named = pl.DataFrame(
        [(summary, kinds[summary], member) for summary, own in left.items() for member in own],
        schema={"summary_id": pl.String, "kind": pl.String, "memory_id": pl.String},
        orient="row",
    )
    members = (
        named.join(originals.drop("kind", "members"), on="memory_id")
        .with_columns(supersedes=pl.col("kind").is_in(SUCCESSORS))
        .sort("summary_id", "created_at", "memory_id")
    )
    told = enrich.enrich(enrich.texts(originals.join(members, on="memory_id", how="semi")))
    facts = told.select("content_hash", "tokens", *extracts.FACTS)
    ordered = lineage.without_shared_speaker(members).join(facts, on="content_hash", how="left")
    versions = ordered.with_columns(whole=pl.col("kind") == KINDS["near_duplicates"])
    texts = extracts.extracts(versions, joined=policy.summary_text == "concat").select(
        "summary_id", "content", "index_text"
    )
    spoken = {summary: (content, index_text) for summary, content, index_text in texts.iter_rows()}
    return {
        summary: _worded(*spoken[str(summary)], _inherited(own)) | {"members": sorted(left[str(summary)])}
        for (summary,), own in members.partition_by("summary_id", as_dict=True).items()
    }


def _worded(content: str, index_text: str, own: Document) -> Document:
    hashed = content_hash.content_hash(own.get("speaker"), content)
    return own | {"content": content, "index_text": index_text, "content_hash": hashed}


def _inherited(own: pl.DataFrame) -> Document:
    """Protection and validity, and of what took their place who said it and when, from the members that are left."""
    ends = own["valid_until"].unique()
    reasons = own.filter("protected")["protected_reason"].drop_nulls()
    until = ends[0] if len(ends) == 1 else None
    first = own["valid_from"].min()
    return {
        "protected": bool(own["protected"].any()),
        "protected_reason": reasons[0] if len(reasons) else None,
        "valid_from": payloads.written(first) if isinstance(first, datetime) else None,
        "valid_until": payloads.written(until) if until else None,
        **(_voice(own) if own["supersedes"][0] else {}),
    }


def _voice(own: pl.DataFrame) -> Document:
    said = own.group_by("summary_id", maintain_order=True).agg(*lineage.voice()).row(0, named=True)
    return {name: said[name] for name in lineage.VOICE} | {"said_at": payloads.written(said["said_at"])}


def _lines(originals: pl.DataFrame, summaries: Mapping[str, Document]) -> dict[str, str]:
    texts = dict(originals.select("memory_id", "content").iter_rows())
    for summary, said in summaries.items():
        speaker = said.get("speaker")
        texts[summary] = f"{speaker}: {said['content']}" if speaker else said["content"]
    return {memory_id: " ".join(text.split()) for memory_id, text in texts.items()}
