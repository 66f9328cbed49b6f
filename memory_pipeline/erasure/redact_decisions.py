"""Redacts decisions that quote erased memories.

A summary keeps its id and its remaining members, and the rules rewrite it from these; with fewer than two left it is
removed, and its members are live again. A core memory block loses the erased facts. A memory that an erased one has
outdated stays closed. Any other decision about an erased memory keeps its place in the ledger, loses its content, and
is no longer in force.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import core_memory
from memory_pipeline.consolidation.edges.edge_rows import FACT_COMPARISON
from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.groups.strategies import KINDS, SUCCESSORS
from memory_pipeline.consolidation.summaries import extracts
from memory_pipeline.erasure.quotes import MASK, Quotes
from memory_pipeline.ledger import payloads
from memory_pipeline.ledger.redaction import DOCUMENTS
from memory_pipeline.schemas import Action
from memory_pipeline.settings import Policy
from memory_pipeline.text import content_hash, enrich

MIN_MEMBERS: Final = 2
"""Minimum number of members of a summary."""

Row = dict[str, Any]
Document = dict[str, Any]

_WORDLESS: Final = (Action.LINK.value, Action.PRUNE.value, Action.DEFER.value)
"""Actions whose decisions contain ids and numbers only, apart from links about facts; there are many of them."""

_BOUND_TO_TEXT: Final = (Action.TRIM.value, Action.CLOSE.value)
"""Actions whose decisions repeat words of a text and apply to that text only."""


@dataclass(frozen=True)
class RedactedDecisions:
    """Decisions of a profile after redaction."""

    rows: list[Row]
    """Decisions that change: profile_id, decision_id, signature, reason and `DOCUMENTS`."""
    rewritten: list[str]
    """Summaries that are rewritten."""
    dropped: list[str]
    """Summaries that are removed because fewer than two of their members remain."""
    blocks: list[str]
    """Core memory blocks that lose facts."""


def redact(
    decisions: Sequence[Row],
    originals: pl.DataFrame,
    erased: Collection[str],
    quotes: Quotes,
    policy: Policy,
    *,
    salt: bytes,
) -> RedactedDecisions:
    """Return the decisions of one profile, held ones included, without the content of some memories.

    Args:
        originals: table `memories` of the profile's remaining originals.
        quotes: words and phrases that identify the erased texts.
        policy: policy by which the profile's summaries and blocks are written.
        salt: salt of the digests that replace removed content.

    Cost: reads every decision of the profile; rewriting as in `extracts.extracts`.
    """
    documents = [{name: json.loads(row[name]) for name in DOCUMENTS} for row in decisions]
    committed = {
        row["memory_id"]: columns["after"]
        for row, columns in zip(decisions, documents, strict=True)
        if row["action"] == Action.SUMMARISE.value and "members" in columns["after"]
    }
    members = {summary: list(content["members"]) for summary, content in committed.items()}
    kinds = {summary: content["kind"] for summary, content in committed.items()}
    remaining = {summary: [one for one in ids if one not in erased] for summary, ids in members.items()}
    affected = {summary for summary, ids in remaining.items() if len(ids) < len(members[summary])}
    dropped = {summary for summary in affected if len(remaining[summary]) < MIN_MEMBERS}
    shorter = {summary: remaining[summary] for summary in affected - dropped}
    summaries = _summaries(shorter, kinds, originals, policy)
    redaction = _Redaction(erased, set(erased) | dropped, summaries, _lines(originals, summaries), quotes, policy, salt)
    changed = [
        new
        for row, columns in zip(decisions, documents, strict=True)
        if (new := redaction.redacted(row, columns)) is not None
    ]
    blocks = {row["memory_id"] for row in changed if row["action"] == Action.COMPILE.value}
    return RedactedDecisions(changed, sorted(summaries), sorted(dropped), sorted(blocks))


@dataclass(frozen=True)
class _Redaction:
    erased: Collection[str]
    """Erased memories."""
    gone: set[str]
    """Erased memories and dropped summaries."""
    summaries: Mapping[str, Document]
    """New content of the rewritten summaries."""
    lines: Mapping[str, str]
    """Texts of remaining memories, each on one line."""
    quotes: Quotes
    policy: Policy
    salt: bytes

    def redacted(self, row: Row, documents: Mapping[str, Document]) -> Row | None:
        """Return a decision after redaction; None if it does not change."""
        if payloads.ERASED in documents["after"]:
            return None
        if row["action"] == Action.COMPILE.value:
            return self._block(row, documents)
        ends = {row["memory_id"], row["target_id"]}
        if ends & self.gone or (row["action"] in _BOUND_TO_TEXT and ends & self.summaries.keys()):
            stays = self._closes_for_good(row, documents["after"])
            return self._closed(row, documents["after"]) if stays else self._emptied(row)
        if row["memory_id"] in self.summaries and row["action"] == Action.SUMMARISE.value:
            return self._summary(row, documents)
        if row["memory_id"] in self.summaries and row["action"] == Action.WITHDRAW.value:
            return row | self._digested(row, "reason", "before")
        wordless = row["action"] in _WORDLESS and documents["after"].get("algorithm") != FACT_COMPARISON
        return None if wordless else self._without_quotes(row)

    def _closes_for_good(self, row: Row, after: Document) -> bool:
        """Return whether a remaining memory stays closed although the newer one that closed it is erased.

        What was outdated does not become true again; nothing but the older text and the instant is needed for that.
        """
        closes = row["action"] == Action.CLOSE.value and row["target_id"] in self.erased
        kept = row["memory_id"] not in self.gone and row["memory_id"] not in self.summaries
        return closes and kept and not self.quotes.in_text(after.get("statement"))

    def _closed(self, row: Row, after: Document) -> Row:
        closing = payloads.canonical_json(after | {"other_hash": None})
        return row | self._digested(row, "signature", "reason", "factors") | {"after": closing}

    def _without_quotes(self, row: Row) -> Row | None:
        if not any(self.quotes.in_text(row[name]) for name in ("reason", *DOCUMENTS)):
            return None
        if self.quotes.in_text(row["after"]):
            return self._emptied(row)
        return row | self._digested(row, "reason", "factors", "before")

    def _emptied(self, row: Row) -> Row:
        """Return a decision without its content; it is no longer in force (see `projection.unmasked`)."""
        return row | self._digested(row, "signature", "reason", *DOCUMENTS)

    def _digested(self, row: Row, *names: str) -> Row:
        """Return the columns of a decision with digests in place of their content."""
        digests = {name: payloads.digest(row[name], salt=self.salt) for name in names}
        documents = {
            name: payloads.canonical_json({payloads.ERASED: digest})
            for name, digest in digests.items()
            if name in DOCUMENTS
        }
        return digests | documents | ({"reason": MASK} if "reason" in names else {})

    def _summary(self, row: Row, documents: Mapping[str, Document]) -> Row:
        content = self.summaries[row["memory_id"]]
        size = len(content["members"])
        factors = documents["factors"] | ({"size": size} if "size" in documents["factors"] else {})
        factors.pop("fallback", None)
        return row | {
            "reason": f"One text stands for {size} memories.",
            "factors": payloads.canonical_json(factors | {"compiled_by": core_memory.RULES}),
            "after": payloads.canonical_json(documents["after"] | content),
        }

    def _block(self, row: Row, documents: Mapping[str, Document]) -> Row | None:
        blocks = {name: documents[name] for name in ("before", "after")}
        stale = {name for name, block in blocks.items() if self._quotes_erased(block)}
        if not stale:
            return None
        change = self._digested(row, "before") if "before" in stale else {}
        if "after" in stale:
            change |= {"signature": payloads.digest(row["signature"], salt=self.salt)}
            change |= {"after": payloads.canonical_json(blocks["after"] | self._compiled(blocks["after"]))}
        return row | change

    def _quotes_erased(self, block: Document) -> bool:
        members = set(block.get("members") or ())
        return bool(members & (self.gone | self.summaries.keys())) or self.quotes.in_text(block.get("content"))

    def _compiled(self, block: Document) -> Document:
        """Return a block with its remaining facts, in its own wording where each fact belongs to a known member."""
        old_members = list(block.get("members") or ())
        facts = (block.get("content") or "").split(core_memory.SEPARATOR)
        aligned = len(facts) == len(old_members) and block.get("compiled_by") == core_memory.RULES
        room = max(self.policy.block_char_limit, len(block.get("content") or ""))
        old_marks = block.get("marks")
        members, marks, content = list[str](), list[Document | None](), ""
        for index, memory_id in enumerate(old_members):
            unchanged = aligned and memory_id not in self.summaries
            fact = facts[index] if unchanged else self.lines.get(memory_id, "")
            longer = core_memory.SEPARATOR.join((content, fact)) if content else fact
            fits = fact and len(longer) <= room
            if memory_id in self.gone or not fits or self.quotes.in_text(fact):
                continue
            members.append(memory_id)
            marks.append(old_marks[index] if old_marks and unchanged else None)
            content = longer
        return {
            "members": members,
            "marks": marks if old_marks else None,
            "content": content,
            "compiled_by": core_memory.RULES,
        }


def _summaries(
    remaining: Mapping[str, list[str]], kinds: Mapping[str, str], originals: pl.DataFrame, policy: Policy
) -> dict[str, Document]:
    """Return the content of summaries, rewritten from their remaining members."""
    if not remaining:
        return {}
    membership = pl.DataFrame(
        [(summary, kinds[summary], member) for summary, ids in remaining.items() for member in ids],
        schema={"summary_id": pl.String, "kind": pl.String, "memory_id": pl.String},
        orient="row",
    )
    members = (
        membership.join(originals.drop("kind", "members"), on="memory_id")
        .with_columns(supersedes=pl.col("kind").is_in(SUCCESSORS))
        .sort("summary_id", "created_at", "memory_id")
    )
    enriched = enrich.enrich(enrich.texts(originals.join(members, on="memory_id", how="semi")))
    features = enriched.select("content_hash", "tokens", *extracts.FACTS)
    ordered = lineage.without_shared_speaker(members).join(features, on="content_hash", how="left")
    versions = ordered.with_columns(whole=pl.col("kind") == KINDS["near_duplicates"])
    texts = extracts.extracts(versions, joined=policy.summary_text == "concat").select(
        "summary_id", "content", "index_text"
    )
    wording = {summary: (content, index_text) for summary, content, index_text in texts.iter_rows()}
    return {
        summary: _document(*wording[str(summary)], _inherited(group)) | {"members": sorted(remaining[str(summary)])}
        for (summary,), group in members.partition_by("summary_id", as_dict=True).items()
    }


def _document(content: str, index_text: str, inherited: Document) -> Document:
    hashed = content_hash.content_hash(inherited.get("speaker"), content)
    return inherited | {"content": content, "index_text": index_text, "content_hash": hashed}


def _inherited(members: pl.DataFrame) -> Document:
    """Return what a summary inherits: protection and validity; if it replaces its members, their origin as well."""
    ends = members["valid_until"].unique()
    reasons = members.filter("protected")["protected_reason"].drop_nulls()
    until = ends[0] if len(ends) == 1 else None
    first = members["valid_from"].min()
    return {
        "protected": bool(members["protected"].any()),
        "protected_reason": reasons[0] if len(reasons) else None,
        "valid_from": payloads.written(first) if isinstance(first, datetime) else None,
        "valid_until": payloads.written(until) if until else None,
        **(_origin(members) if members["supersedes"][0] else {}),
    }


def _origin(members: pl.DataFrame) -> Document:
    origin = members.group_by("summary_id", maintain_order=True).agg(*lineage.voice()).row(0, named=True)
    return {name: origin[name] for name in lineage.VOICE} | {"said_at": payloads.written(origin["said_at"])}


def _lines(originals: pl.DataFrame, summaries: Mapping[str, Document]) -> dict[str, str]:
    """Return the text of each original and rewritten summary on one line."""
    texts = dict(originals.select("memory_id", "content").iter_rows())
    for summary, document in summaries.items():
        speaker = document.get("speaker")
        texts[summary] = f"{speaker}: {document['content']}" if speaker else document["content"]
    return {memory_id: " ".join(text.split()) for memory_id, text in texts.items()}
