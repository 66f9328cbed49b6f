"""Erases memories for good: the right to be forgotten, and the only rewrite of the ledger's history.

First, with all other writers kept out, everything in the ledger that tells of the memories loses its words in one
transaction, which also says what is still to be done. Then all that was made from the ledger is made anew from what is
left of it, and every other file that may hold the words goes. A crash before that transaction leaves things as they
were, and after it `resume_erasure` goes on; so does the next erasure. What is not here: how decisions are worded anew
(`erasure/redact_decisions.py`), how files go (`erasure/redact_files.py`), and how a receipt reads
(`erasure/receipt.py`).
"""

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl
from uuid6 import uuid7

from memory_pipeline.consolidation.state import projection
from memory_pipeline.erasure import redact_decisions, redact_files
from memory_pipeline.erasure.quotes import Quotes, readable
from memory_pipeline.erasure.receipt import NOT_COVERED, Receipt
from memory_pipeline.lake import publishing, snapshot
from memory_pipeline.lake.policies import committed_policy
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import payloads, redaction, references
from memory_pipeline.ledger.commits import Conflict
from memory_pipeline.ledger.database import LakeError, UnknownMemory
from memory_pipeline.ledger.event import COLUMNS, DEFAULT_PROFILE, Event
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.ledger.validation_errors import nearest, shown
from memory_pipeline.runs import commit, rebuild
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy

__all__ = ["Receipt", "erase_memories", "pending_erasure", "resume_erasure"]

NO_REASON: Final = "asked for"
"""Reason of an erasure that was given none."""

_ATTEMPTS: Final = 4
_STORING: Final = (EventType.STORED.value, EventType.UPDATED.value)
_KEPT_FIELDS: Final = {
    EventType.ACCESSED.value: ("memory_ids", "ranks", "expanded"),
    EventType.LINKED.value: ("target_id", "edge_type", "kind", "weight"),
    EventType.FEEDBACK.value: ("helpful",),
}
"""Fields that an event about other memories keeps: everything but its texts."""


@dataclass(frozen=True, kw_only=True)
class _Pending:
    """Work that remains once the ledger is redacted; contains no erased text."""

    receipt: Receipt
    seqs: list[int]
    """Ledger positions of the redacted events."""

    def written(self) -> str:
        return payloads.canonical_json({"receipt": self.receipt.to_dict(), "seqs": self.seqs})

    @classmethod
    def read(cls, text: str) -> "_Pending":
        said = json.loads(text)
        return cls(receipt=Receipt.read(said["receipt"]), seqs=said["seqs"])


def erase_memories(
    lake: Lake,
    *,
    profile_id: str = DEFAULT_PROFILE,
    memory_ids: Collection[str] | None = None,
    user_id: str | None = None,
    whole_profile: bool = False,
    now: datetime,
    reason: str = "",
) -> Receipt:
    """Erase memories for good, with everything derived from them, wherever it is in the data folder.

    Tombstones and the ids of events stay, so that a second delivery restores nothing. Summaries are rewritten from
    their remaining members. Plans made before are refused. Protected memories are erased as well.

    Args:
        lake: the store.
        profile_id: whose memories.
        memory_ids: which memories.
        user_id: instead: every memory that was stored for this person, and the queries it asked.
        whole_profile: instead: every memory of the profile.
        now: when this is asked for.
        reason: why, as it is to stand in the ledger; keep what is erased out of it.

    Returns:
        What was touched, and what is not covered. Of memories that are erased already, that nothing was.

    Raises:
        ValueError: not exactly one of the three is given.
        UnknownMemory: it names nothing that the store has; says what is near.
        LakeError: the store cannot be written or stayed in use; the next erasure or `resume_erasure` finishes the job.

    Cost: reads all events and decisions of the profile, runs its last run again, writes the files that hold it anew,
        and copies the ledger's database: seconds up to some 100,000 memories.
    """
    if sum([bool(memory_ids), user_id is not None, whole_profile]) != 1:
        raise ValueError("name what to erase: memory_ids, or user_id, or whole_profile, and only one of them")
    resume_erasure(lake)
    salt = secrets.token_bytes(payloads.SALT_BYTES)
    with lake.ledger.exclusive():
        scope = _Scope(lake, profile_id, memory_ids=memory_ids, user_id=user_id, whole=whole_profile)
        if not scope.erased:
            return replace(scope.receipt(now, reason), at=scope.since() or now)
        pending = _redact(lake, scope, scope.receipt(now, reason.strip() or NO_REASON), salt)
    return replace(_finish(lake, pending), salt=salt.hex())


def resume_erasure(lake: Lake) -> Receipt | None:
    """Finish an erasure that a crash or a busy store interrupted; None if there is none.

    Raises:
        LakeError: the store cannot be written, or is still in use.
    """
    left = _left(lake)
    return None if left is None else _finish(lake, left)


def pending_erasure(lake: Lake) -> Receipt | None:
    """Return the erasure that has begun and is not done: what it was asked for; None if there is none.

    The ledger has lost the words by then; published tables and other files may still hold them. Cost: one look.
    """
    left = _left(lake)
    return None if left is None else left.receipt


def _left(lake: Lake) -> _Pending | None:
    """Return the remaining work of an interrupted erasure."""
    with lake.ledger.reading() as transaction:
        text = redaction.pending(transaction)
    return None if text is None else _Pending.read(text)


class _Scope:
    """What is to be erased in one profile, and where it is quoted; read while other writers are locked out."""

    def __init__(
        self, lake: Lake, profile_id: str, *, memory_ids: Collection[str] | None, user_id: str | None, whole: bool
    ) -> None:
        self.profile_id, self.user_id, self.whole = profile_id, user_id, whole
        self.events = lake.events(profiles=[profile_id])
        stored = self.events.filter(pl.col("event_type") == EventType.STORED.value)
        if self.events.is_empty():
            known = lake.ledger.profiles()["profile_id"]
            raise UnknownMemory(f"profile_id {shown(profile_id)} is unknown; {nearest(profile_id, known)}")
        wanted = set(_wanted(lake, profile_id, stored, memory_ids, user_id))
        gone = stored.filter(pl.col("erased_at").is_not_null(), pl.col("memory_id").is_in(sorted(wanted)))
        self.already = set(gone["memory_id"])
        self._since = gone["erased_at"].max()
        self.erased = wanted - self.already
        self._named = pl.col("memory_id").is_in(sorted(self.erased)).fill_null(value=False)
        self.quotes = Quotes.of(self._texts(self._named), self._texts(~self._named))

    def since(self) -> datetime | None:
        """Return when the memories that are erased already were erased."""
        return self._since if isinstance(self._since, datetime) else None

    def receipt(self, now: datetime, reason: str) -> Receipt:
        """Return the receipt as far as it is known before anything is erased."""
        return Receipt(
            profile_id=self.profile_id,
            at=now,
            reason=reason,
            erased=tuple(sorted(self.erased)),
            already=tuple(sorted(self.already)),
            same_text=tuple(self._alike()),
        )

    def silent(self) -> set[int]:
        """Return positions of events that lose all content: about the memories, or empty without their texts."""
        target = pl.col("target_id").is_in(sorted(self.erased)).fill_null(value=False)
        about = (self._named | target) & ~_is(EventType.ACCESSED, EventType.ERASED)
        session = _is(EventType.SESSION_STARTED, EventType.SESSION_ENDED) & self._quotes()
        return set(self.events.filter(about | session, pl.col("erased_at").is_null())["seq"])

    def quoting(self) -> set[int]:
        """Return positions of events about other memories whose query or metadata quotes these or is this person's."""
        kinds = _is(EventType.ACCESSED, EventType.LINKED, EventType.FEEDBACK)
        wordy = pl.any_horizontal(pl.col("query", "metadata").is_not_null())
        named = _is(EventType.ACCESSED) & self._named
        return set(self.events.filter(kinds & wordy & (named | self._quotes()))["seq"]) - self.silent()

    def originals(self) -> pl.DataFrame:
        """Return the table `memories` of the remaining originals."""
        told = self.events.filter(pl.col("event_type").is_in(_STORING), ~self._named, pl.col("erased_at").is_null())
        return projection.project(told).memories

    def _quotes(self) -> pl.Expr:
        """Whether an event of agents has a query or metadata with a trace, or is of the person that is erased."""
        if self.whole:
            return pl.lit(value=True)
        own = pl.lit(value=False) if self.user_id is None else pl.col("user_id").eq_missing(self.user_id)
        traced = [self.quotes.in_texts(self.events[name]) for name in ("query", "metadata")]
        return own | pl.any_horizontal(*(pl.lit(found) for found in traced))

    def _texts(self, which: pl.Expr) -> Iterator[str]:
        own = self.events.filter(pl.col("event_type").is_in(_STORING), which)
        for name in ("content", "metadata", "protected_reason"):
            yield from own[name].drop_nulls().unique()

    def _alike(self) -> list[str]:
        """Return remaining memories with exactly the text of an erased one."""
        told = self.events.filter(pl.col("event_type").is_in(_STORING), pl.col("content").is_not_null())
        gone = told.filter(self._named).select("content").unique()
        return told.filter(~self._named).join(gone, on="content", how="semi")["memory_id"].unique().sort().to_list()


def _is(*kinds: EventType) -> pl.Expr:
    return pl.col("event_type").is_in([kind.value for kind in kinds])


def _wanted(
    lake: Lake, profile_id: str, stored: pl.DataFrame, memory_ids: Collection[str] | None, user_id: str | None
) -> Collection[str]:
    """Return the ids of the memories to erase.

    Raises:
        UnknownMemory: the store has no such memory or person.
        ValueError: one of the memories is a summary.
    """
    known = stored["memory_id"].unique().sort().to_list()
    if user_id is not None:
        own = stored.filter(pl.col("user_id") == user_id)["memory_id"].unique().to_list()
        if not own:
            people = stored["user_id"].drop_nulls().unique().sort()
            raise UnknownMemory(
                f"user_id {shown(user_id)} has no memory in profile {profile_id!r}; {nearest(user_id, people)}"
            )
        return own
    if memory_ids is None:
        return known
    if not (strange := sorted(set(memory_ids) - set(known))):
        return memory_ids
    decided = lake.ledger.decisions(profiles=[profile_id])
    summary = decided.filter(pl.col("action") == "summarise", pl.col("memory_id") == strange[0]).tail(1)
    members = [one for after in summary["after"] for one in json.loads(after).get("members", [])]
    if members:
        raise ValueError(
            f"memory_ids names {shown(strange[0])}, a summary, which says nothing of its own; erase its members "
            f"({', '.join(members)}), or take it back with undo"
        )
    raise UnknownMemory(
        f"memory_ids names {shown(strange[0])}, which is unknown in profile {profile_id!r}; "
        f"{nearest(strange[0], known)}"
    )


def _redact(lake: Lake, scope: _Scope, receipt: Receipt, salt: bytes) -> _Pending:
    """Redact logs, while the texts are known, and then the ledger, in one transaction."""
    ledger, own = lake.ledger, scope.profile_id
    originals = scope.originals()
    silent, quoting = scope.silent(), scope.quoting()
    said = redact_files.written(ledger, silent | quoting)
    with ledger.reading() as transaction:
        decisions = redaction.decisions_of(transaction, own)
    changed = redact_decisions.redact(decisions, originals, scope.erased, scope.quotes, _policy(lake, own), salt=salt)
    letters = _letters(lake, scope, said)
    ours = [ledger.home / name for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.lock")]
    masked = redact_files.mask_logs(ledger.home, scope.quotes)
    other = redact_files.holding(ledger.home, scope.quotes, ours)
    members = {one for row in decisions if row["memory_id"] in changed.dropped for one in _members(row)}
    receipt = replace(
        receipt,
        remade=tuple(changed.rewritten),
        dropped=tuple(changed.dropped),
        restored=tuple(sorted(members - scope.erased)),
        blocks=tuple(changed.blocks),
        events=len(silent),
        queries=len(quoting),
        decisions=len(changed.rows),
        dead_letters=tuple(letters),
        caches=tuple(_names(lake, masked)),
        not_covered=(*NOT_COVERED, *(f"{name}, which holds words of it" for name in _names(lake, other))),
    )
    news = {row[0]: _silenced(row, silent, salt=salt, at=receipt.at) for row in said}
    pending = _Pending(receipt=receipt, seqs=sorted(news))
    changes = redaction.Redaction(
        payloads=news,
        decisions=changed.rows,
        dead_letters=letters,
        events=list(_events(receipt, said, salt)),
        pending=pending.written(),
    )
    with ledger.writing() as transaction:
        redaction.apply(transaction, changes)
    return pending


def _members(row: Mapping[str, Any]) -> list[str]:
    return list(json.loads(row["after"]).get("members", [])) if row["action"] == "summarise" else []


def _silenced(row: tuple[Any, ...], silent: Collection[int], *, salt: bytes, at: datetime) -> str:
    """Return an event's payload after redaction."""
    seq, event_type, said = row[0], row[1 + COLUMNS.index("event_type")], row[-1]
    keep = () if seq in silent else _KEPT_FIELDS[event_type]
    return payloads.redacted(said, salt=salt, at=at, keep=keep)


def _events(receipt: Receipt, said: list[tuple[Any, ...]], salt: bytes) -> Iterator[Event]:
    """Yield the events that record the erasure, one per memory."""
    digests: dict[str, dict[str, str]] = {memory_id: {} for memory_id in receipt.erased}
    kind, memory = (1 + COLUMNS.index(name) for name in ("event_type", "memory_id"))
    for row in said:
        if row[memory] in digests:
            digests[row[memory]][f"{row[kind]} {row[0]}"] = payloads.digest(row[-1], salt=salt)
    for memory_id, stands in digests.items():
        yield Event(
            event_id=str(uuid7()),
            profile_id=receipt.profile_id,
            event_type=EventType.ERASED,
            occurred_at=receipt.at,
            recorded_at=receipt.at,
            memory_id=memory_id,
            payload=payloads.Erased(reason=receipt.reason, digests=stands),
        )


def _letters(lake: Lake, scope: _Scope, said: list[tuple[Any, ...]]) -> list[str]:
    """Return the refused events that tell of the memories: by name, or by their words where no other profile's."""
    place = 1 + COLUMNS.index("event_id")
    names = scope.erased | {row[place] for row in said}
    reasons = tuple(references.about(scope.profile_id, memory_id) for memory_id in scope.erased)
    found = []
    for letter in lake.ledger.dead_letters().iter_rows(named=True):
        document = _document(letter["raw"])
        owner = document.get("profile_id", DEFAULT_PROFILE if "event_type" in document else None)
        if owner is not None and owner != scope.profile_id:
            continue
        inner = document.get("payload")
        told = [document.get("event_id"), document.get("memory_id")]
        told += [inner.get("memory_id"), inner.get("target_id")] if isinstance(inner, dict) else []
        theirs = scope.user_id is not None and document.get("user_id") == scope.user_id
        mine = owner is not None and (scope.whole or theirs)
        named = any(isinstance(one, str) and one in names for one in told) or letter["reason"].startswith(reasons)
        if mine or named or scope.quotes.in_text(readable(letter["raw"])) or scope.quotes.in_text(letter["reason"]):
            found.append(str(letter["letter_id"]))
    return found


def _document(raw: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        document = json.loads(raw)
        return document if isinstance(document, dict) else {}
    return {}


def _policy(lake: Lake, profile_id: str) -> Policy:
    """Policy of the profile's last run, as its commit keeps it; the default before the first."""
    runs = lake.ledger.runs([profile_id]).sort("commit_seq")
    if runs.is_empty():
        return Policy()
    return committed_policy(lake.ledger, runs["commit_seq"][-1])


def _finish(lake: Lake, pending: _Pending) -> Receipt:
    """Rebuild what is derived from the ledger, and remove every file that may contain erased text."""
    ledger, home, own = lake.ledger, lake.home, pending.receipt.profile_id
    rewritten = redact_files.redact_events(ledger, lake.store, pending.seqs)
    rewritten += _published(lake, own)
    rewritten += _forgotten(lake, own, pending.receipt)
    with ledger.exclusive():
        gone = redact_files.drop_versions(ledger, lake.store, oldest=ledger.position())
        caches = redact_files.drop_caches(home, lake.store)
        snapshots = redact_files.drop_snapshots(home)
    policy = _policy(lake, own)
    rebuild.enrich_missing(lake, policy, profiles=[own])
    if not ledger.shrink():
        raise LakeError(
            f"{home}: the words are out of the ledger, but pages of its old state are still being read; let other "
            "programs finish, then run `memory-pipeline doctor --repair`"
        )
    made = snapshot.publish(lake) if lake.ledger.runs().height else None
    with ledger.writing() as transaction:
        redaction.finish(transaction)
    ledger.shrink()
    return replace(
        pending.receipt,
        files_rewritten=tuple(rewritten),
        files_removed=tuple(gone),
        snapshots_removed=tuple(_names(lake, snapshots)),
        snapshot=None if made is None else str(made),
        caches=(*pending.receipt.caches, *caches),
    )


def _published(lake: Lake, profile_id: str) -> list[str]:
    """Publish the profile's tables as its last run computes them from the redacted ledger."""
    for _ in range(_ATTEMPTS):
        head = lake.ledger.heads([profile_id])[profile_id]
        standing = lake.ledger.runs([profile_id]).filter(pl.col("outcome") != "reverted")
        tables = (
            {name: TABLES[name].empty() for name in commit.PUBLISHED}
            if standing.is_empty()
            else rebuild.rebuild(lake, profile_id)
        )
        before = _seen(lake)
        with suppress(Conflict):
            publishing.replace_rows(
                lake.ledger,
                lake.store,
                profiles=pl.DataFrame({"profile_id": [profile_id], "head": [head]}),
                tables=tables,
                record=lambda transaction: {profile_id: position_in(transaction)},
            )
            return _names(lake, sorted(_seen(lake) - before))
    raise LakeError(f"{lake.home}: others committed {_ATTEMPTS} times meanwhile; run `memory-pipeline doctor --repair`")


def _seen(lake: Lake) -> set[Path]:
    return {path for name in commit.PUBLISHED for path in lake.paths(name)}


def _forgotten(lake: Lake, profile_id: str, receipt: Receipt) -> list[str]:
    """Remove what was read out of texts that no memory says any more, model answers, and the memories' past scores."""
    known = pl.concat(
        [
            lake.read("memories", profiles=[profile_id]).select("content_hash"),
            projection.project(lake.events(profiles=[profile_id])).memories.select("content_hash"),
        ]
    )["content_hash"].unique()
    own = pl.col("profile_id") == profile_id
    gone = own & pl.col("memory_id").is_in([*receipt.erased, *receipt.dropped])
    unsaid = own & ~pl.col("content_hash").is_in(known.implode())
    made = list[str]()
    for name, which in {"enrichment": unsaid, "vectors": unsaid, "completions": own, "score_history": gone}.items():
        made += redact_files.rewrite(lake.ledger, lake.store, name, which, partial(_rows_without, which))
    return made


def _rows_without(which: pl.Expr, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(~which)


def _names(lake: Lake, paths: Collection[Path]) -> list[str]:
    return [path.relative_to(lake.home).as_posix() for path in paths]
