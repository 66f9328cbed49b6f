"""Erases memories for good: the right to be forgotten, and the only rewrite of the ledger's history.

First, with all other writers locked out, one transaction redacts every event, decision and dead letter about the
memories and notes the work that remains. Then all derived tables are rebuilt from the redacted ledger, and every other
file that may contain the texts is removed. A crash before the transaction changes nothing; after it, `resume_erasure`
or the next erasure finishes the work.
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

from memory_pipeline.consolidation import ownership
from memory_pipeline.consolidation.state import projection
from memory_pipeline.erasure import redact_decisions, redact_files
from memory_pipeline.erasure.people import People
from memory_pipeline.erasure.quotes import readable
from memory_pipeline.erasure.receipt import NOT_COVERED, Receipt, other_questions
from memory_pipeline.erasure.scope import STORING, Scope, of_type
from memory_pipeline.lake import publishing, snapshot
from memory_pipeline.lake.policies import committed_policy
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import commits, disk, exports, payloads, redaction, references
from memory_pipeline.ledger.commits import Conflict
from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.event import COLUMNS, DEFAULT_PROFILE, Event
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.runs import commit, rebuild
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy
from memory_pipeline.text import word_cache

NO_REASON: Final = "asked for"
"""Reason recorded when the caller gives none."""

NOBODY: Final = "nobody"
"""Stands in a receipt for the owner of a memory in which no speaker is left."""

_ATTEMPTS: Final = 4


@dataclass(frozen=True, kw_only=True)
class _Pending:
    """Work that remains once the ledger is redacted; contains no erased text."""

    receipt: Receipt
    seqs: list[int]
    """Ledger positions of the redacted events."""

    def to_json(self) -> str:
        return payloads.canonical_json({"receipt": self.receipt.to_dict(), "seqs": self.seqs})

    @classmethod
    def read(cls, text: str) -> "_Pending":
        document = json.loads(text)
        return cls(receipt=Receipt.read(document["receipt"]), seqs=document["seqs"])


def erase_memories(
    lake: Lake,
    *,
    profile_id: str = DEFAULT_PROFILE,
    memory_ids: Collection[str] | None = None,
    user_id: str | None = None,
    whole_profile: bool = False,
    questions_since: datetime | None = None,
    now: datetime,
    reason: str = "",
) -> Receipt:
    """Erase memories for good, with everything derived from them anywhere in the data folder.

    Tombstones and the ids of memories and events stay, so a repeated delivery restores nothing; of a person, and of all
    people of a whole profile, the ids are replaced by salted hashes, also where a session is named after them.
    Summaries are rewritten from their remaining members. Plans made earlier are refused. Protection does not prevent an
    erasure. The receipt is empty for memories erased already. Cost: reads all events and decisions of the profile,
    repeats its last run, rewrites the profile's files and copies the ledger's database: seconds for up to 100,000
    memories.

    Args:
        memory_ids: ids of the memories; that of a summary or of merged copies stands for all of its members.
        user_id: instead: every memory stored for this person, and this person's queries.
        whole_profile: instead: every memory of the profile.
        questions_since: instead: the words of every question asked of the profile since this instant, such as that of
            an erasure, after which it is unknown which questions quote it.
        now: time of the request.
        reason: reason recorded in the ledger; it must not contain what is erased.

    Raises:
        ValueError: none or several of `memory_ids`, `user_id`, `whole_profile` and `questions_since` are set.
        UnknownMemory: the store has no such memory, person or profile; the message names no other person.
        LakeError: the store cannot be written or stayed in use; the next erasure or `resume_erasure` finishes the work.
    """
    if sum([bool(memory_ids), user_id is not None, whole_profile, questions_since is not None]) != 1:
        raise ValueError(
            "name what to erase: memory_ids, or user_id, or whole_profile, or questions_since, and only one of them"
        )
    salt = secrets.token_bytes(payloads.SALT_BYTES)
    with lake.ledger.database.erasing():
        _resume(lake)
        with lake.ledger.exclusive():
            scope = Scope(
                lake,
                profile_id,
                salt=salt,
                memory_ids=() if questions_since else memory_ids,
                user_id=user_id,
                whole=whole_profile,
                questions_since=questions_since,
            )
            if not scope.erased and not scope.quoting() and not scope.naming():
                return replace(scope.receipt(now, reason), at=scope.since() or now)
            pending = _redact(lake, scope, scope.receipt(now, reason.strip() or NO_REASON))
        return replace(_finish(lake, pending), salt=salt.hex())


def resume_erasure(lake: Lake) -> Receipt | None:
    """Finish an erasure that a crash or a busy store interrupted, or that another process executes; None without any.

    Cost without any: one query. Raises LakeError: the store cannot be written, or is still in use.
    """
    if _pending(lake) is None:
        return None
    with lake.ledger.database.erasing():
        return _resume(lake)


def _resume(lake: Lake) -> Receipt | None:
    pending = _pending(lake)
    return None if pending is None else _finish(lake, pending)


def finish_again(lake: Lake, profile_id: str, *, seqs: Collection[int], now: datetime, reason: str) -> Receipt:
    """Repeat the steps of an erasure that follow the redaction of events at `seqs`, and return a receipt.

    Raises LakeError: the store cannot be written, or is still in use.
    """
    with lake.ledger.database.erasing():
        _resume(lake)
        events = lake.events(profiles=[profile_id]).filter(of_type(EventType.ERASED))
        erased = tuple(events["memory_id"].unique().sort())
        receipt = Receipt(profile_id=profile_id, at=now, reason=reason, already=erased)
        pending = _Pending(receipt=receipt, seqs=sorted(seqs))
        with lake.ledger.writing() as transaction:
            redaction.apply(transaction, redaction.Redaction(pending=pending.to_json()))
        return _finish(lake, pending)


def pending_erasure(lake: Lake) -> Receipt | None:
    """Return the receipt of an erasure that began but is not finished; None if there is none.

    The ledger is redacted by then; published tables and other files may still contain the texts. Cost: one query.
    """
    pending = _pending(lake)
    return None if pending is None else pending.receipt


def _pending(lake: Lake) -> _Pending | None:
    """Return the remaining work of an interrupted erasure."""
    with lake.ledger.reading() as transaction:
        text = redaction.pending(transaction)
    return None if text is None else _Pending.read(text)


def new_owners(lake: Lake, profile_id: str, erased: Collection[str], policy: Policy) -> tuple[str, ...]:
    """Return whose memory a profile, or that of one of its users, would be without some memories, if not as before.

    What is erased leaves no trace, not even in whose memory it is: the owner is who would be if it had never been said.
    """
    events = lake.events(profiles=[profile_id]).filter(
        pl.col("event_type").is_in(STORING), pl.col("erased_at").is_null()
    )
    left = events.filter(~pl.col("memory_id").is_in(list(erased)))
    before, after = (projection.project(those).memories for those in (events, left))
    return _new_owners(before, after, policy)


def _new_owners(before: pl.DataFrame, after: pl.DataFrame, policy: Policy) -> tuple[str, ...]:
    return tuple(sorted(owner or NOBODY for owner in ownership.changed(before, after, policy).values()))


def _redact(lake: Lake, scope: Scope, receipt: Receipt) -> _Pending:
    """Redact the logs, while the texts still exist, and then the ledger, in one transaction."""
    ledger, profile_id, people, scopes = lake.ledger, scope.profile_id, scope.people, scope.scopes()
    salt = people.salt
    before, originals = scope.originals(erased=True), scope.originals()
    emptied, quoting = scope.emptied(), scope.quoting()
    rows = redact_files.read_events(ledger, emptied | quoting | scope.naming())
    with ledger.reading() as transaction:
        decisions, copies = redaction.decisions_of(transaction, profile_id), exports.noted(transaction, profile_id)
    policy = _policy(lake, profile_id)
    changed = redact_decisions.redact(decisions, originals, scope.erased, scope.quotes, policy, salt=salt)
    changed_decisions = people.decisions(decisions, changed.rows)
    letters = _dead_letters(lake, scope, [row for row in rows if row[0] in emptied | quoting])
    redact_files.rename_scopes(ledger, lake.store, profile_id, scopes)
    masked = redact_files.mask_logs(ledger.home, scope.quotes)
    other = redact_files.quoting_files(ledger.home, scope.quotes, ledger.database.files)
    members = {member for row in decisions if row["memory_id"] in changed.dropped for member in _members(row)}
    receipt = replace(
        receipt,
        reason=people.renamed(receipt.reason),
        remade=tuple(changed.rewritten),
        dropped=tuple(changed.dropped),
        restored=tuple(sorted(members - scope.erased)),
        blocks=tuple(changed.blocks),
        owners=_new_owners(before, originals, policy),
        events=len(emptied),
        queries=len(quoting),
        decisions=len(changed_decisions),
        dead_letters=tuple(letters),
        caches=tuple(_names(lake, masked)),
        not_covered=(
            *NOT_COVERED,
            *ledger.database.beyond_erasure,
            *lake.store.beyond_erasure,
            other_questions(profile_id, scope.known_since() or receipt.at, unspaced=scope.quotes.unspaced),
            *(f"{name}, which holds words of it" for name in _names(lake, other)),
            *(f"{path}, written from this store at {at}, which may hold it" for path, at in copies),
        ),
    )
    redacted = {row[0]: _redacted_payload(row, emptied, quoting, people, at=receipt.at) for row in rows}
    pending = _Pending(receipt=receipt, seqs=sorted(redacted))
    changes = redaction.Redaction(
        payloads=redacted,
        ids={row[0]: people.columns(dict(zip(COLUMNS, row[1:], strict=True))) for row in rows} if people.ids else {},
        scopes=scopes,
        profile_id=profile_id,
        decisions=changed_decisions,
        dead_letters=letters,
        events=list(_events(receipt, rows, salt)),
        pending=pending.to_json(),
    )
    with ledger.writing() as transaction:
        redaction.apply(transaction, changes)
    return pending


def _members(row: Mapping[str, Any]) -> list[str]:
    return list(json.loads(row["after"]).get("members", [])) if row["action"] == "summarise" else []


def _redacted_payload(
    row: tuple[Any, ...], emptied: Collection[int], quoting: Collection[int], people: People, *, at: datetime
) -> str:
    """Return an event's payload after redaction."""
    seq, event_type, payload = row[0], row[1 + COLUMNS.index("event_type")], row[-1]
    if seq not in emptied and seq not in quoting:
        return people.payload(payload)
    keep = () if seq in emptied else payloads.WORDLESS[event_type]
    return payloads.redacted(payload, salt=people.salt, at=at, keep=keep)


def _events(receipt: Receipt, rows: list[tuple[Any, ...]], salt: bytes) -> Iterator[Event]:
    """Yield the events that record the erasure, one per memory."""
    digests: dict[str, dict[str, str]] = {memory_id: {} for memory_id in receipt.erased}
    kind, memory = (1 + COLUMNS.index(name) for name in ("event_type", "memory_id"))
    for row in rows:
        if row[memory] in digests:
            digests[row[memory]][f"{row[kind]} {row[0]}"] = payloads.digest(row[-1], salt=salt)
    for memory_id, by_event in digests.items():
        yield Event(
            event_id=str(uuid7()),
            profile_id=receipt.profile_id,
            event_type=EventType.ERASED,
            occurred_at=receipt.at,
            recorded_at=receipt.at,
            memory_id=memory_id,
            payload=payloads.Erased(reason=receipt.reason, digests=by_event),
        )


def _dead_letters(lake: Lake, scope: Scope, rows: list[tuple[Any, ...]]) -> list[str]:
    """Return the ids of the refused events that name or quote the memories, unless they are another profile's."""
    place = 1 + COLUMNS.index("event_id")
    names = scope.erased | {row[place] for row in rows}
    reasons = tuple(references.about(scope.profile_id, memory_id) for memory_id in scope.erased)
    letter_ids = []
    for letter in lake.ledger.dead_letters().iter_rows(named=True):
        document = _document(letter["raw"])
        owner = document.get("profile_id", DEFAULT_PROFILE if "event_type" in document else None)
        if owner is not None and owner != scope.profile_id:
            continue
        inner = document.get("payload")
        ids = [document.get("event_id"), document.get("memory_id")]
        ids += [inner.get("memory_id"), inner.get("target_id")] if isinstance(inner, dict) else []
        of_person = scope.user_id is not None and document.get("user_id") == scope.user_id
        in_scope = owner is not None and (scope.whole or of_person)
        named = any(isinstance(value, str) and value in names for value in ids) or letter["reason"].startswith(reasons)
        said = (readable(letter["raw"]), letter["reason"], letter["origin"])
        if in_scope or named or any(scope.quotes.in_text(text) or scope.quotes.names_person(text) for text in said):
            letter_ids.append(str(letter["letter_id"]))
    return letter_ids


def _document(raw: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        document = json.loads(raw)
        return document if isinstance(document, dict) else {}
    return {}


def _policy(lake: Lake, profile_id: str) -> Policy:
    """Return the policy that the profile's last commit recorded; the default policy before the first."""
    runs = lake.ledger.runs([profile_id]).sort("commit_seq")
    if runs.is_empty():
        return Policy()
    return committed_policy(lake.ledger, runs["commit_seq"][-1])


def _finish(lake: Lake, pending: _Pending) -> Receipt:
    """Rebuild what is derived from the ledger, and remove every file that may contain erased text."""
    word_cache.forget()
    try:
        with explained(lake.home):
            return _cleaned(lake, pending)
    except Exception as error:  # whatever stopped it, such as a disk without a free inode: the ledger is redacted
        raise LakeError(
            f"{error}; the ledger is redacted already, finish the erasure with: memory-pipeline doctor --repair"
        ) from error


def _cleaned(lake: Lake, pending: _Pending) -> Receipt:
    ledger, home, profile_id = lake.ledger, lake.home, pending.receipt.profile_id
    rewritten = redact_files.redact_events(ledger, lake.store, pending.seqs)
    rewritten += _republish(lake, profile_id)
    rewritten += _remove_derived_rows(lake, profile_id, pending.receipt)
    with snapshot.building(home), ledger.exclusive():
        removed = redact_files.drop_versions(ledger, lake.store, oldest=ledger.position())
        caches = redact_files.drop_caches(home, lake.store, profile_id)
        snapshots = redact_files.drop_snapshots(home, lake.store)
    rebuild.enrich_missing(lake, _policy(lake, profile_id), profiles=[profile_id])
    if not ledger.database.purge():
        raise LakeError(
            f"{home}: other programs that have the ledger open still read pages of its old state; let them finish"
        )
    built = snapshot.publish(lake) if lake.ledger.runs().height else None
    with ledger.writing() as transaction:
        redaction.finish(transaction)
    ledger.database.shrink()
    return replace(
        pending.receipt,
        files_rewritten=tuple(rewritten),
        files_removed=tuple(removed),
        snapshots_removed=tuple(_names(lake, snapshots)),
        snapshot=None if built is None else str(built),
        caches=(*pending.receipt.caches, *caches),
    )


def _republish(lake: Lake, profile_id: str) -> list[str]:
    """Publish the profile's tables as its last run computes them from the redacted ledger."""
    for _ in range(_ATTEMPTS):
        head = lake.ledger.heads([profile_id])[profile_id]
        tables = (
            {name: TABLES[name].empty() for name in commit.PUBLISHED}
            if lake.ledger.runs([profile_id]).is_empty()
            else rebuild.rebuild(lake, profile_id)
        )
        before = _published(lake)
        with suppress(Conflict):
            publishing.replace_rows(
                lake.ledger,
                lake.store,
                standing=partial(commits.verify, profiles=pl.DataFrame({"profile_id": [profile_id], "head": [head]})),
                tables=tables,
                record=lambda transaction, _: {profile_id: position_in(transaction)},
            )
            return sorted(_published(lake) - before)
    raise LakeError(f"{lake.home}: other runs committed {_ATTEMPTS} times meanwhile")


def _published(lake: Lake) -> set[str]:
    return {key for name in commit.PUBLISHED for key in lake.keys(name)}


def _remove_derived_rows(lake: Lake, profile_id: str, receipt: Receipt) -> list[str]:
    """Remove enrichment and vectors of texts that no memory has now, model answers, and past scores."""
    hashes = pl.concat(
        [
            lake.read("memories", profiles=[profile_id]).select("content_hash"),
            projection.project(lake.events(profiles=[profile_id])).memories.select("content_hash"),
        ]
    )["content_hash"].unique()
    of_profile = pl.col("profile_id") == profile_id
    of_removed = of_profile & pl.col("memory_id").is_in([*receipt.erased, *receipt.already, *receipt.dropped])
    unused = of_profile & ~pl.col("content_hash").is_in(hashes.implode())
    unpaired = of_profile & ~pl.all_horizontal(pl.col("older_hash", "newer_hash").is_in(hashes.implode()))
    tables = {
        "enrichment": unused,
        "vectors": unused,
        "pair_readings": unpaired,
        "completions": of_profile,
        "verdicts": of_profile,
        "score_history": of_removed,
        "cluster_lineage": of_profile & hashes.is_empty(),
    }
    new_files = list[str]()
    for name, which in tables.items():
        new_files += redact_files.rewrite(lake.ledger, lake.store, name, which)
    return new_files


def _names(lake: Lake, paths: Collection[Path]) -> list[str]:
    return [disk.printable(path.relative_to(lake.home)) for path in paths]
