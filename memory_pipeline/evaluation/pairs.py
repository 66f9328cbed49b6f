"""Reports what a run decides or links for given pairs of texts, and reads and writes them as JSON lines."""

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.conversations import TURNS
from memory_pipeline.evaluation.decided_pairs import Pair, decided
from memory_pipeline.evaluation.simulation import simulate
from memory_pipeline.schemas import INSTANT

OUTCOMES: Final = {
    "merged": "duplicate",
    "closed": "update",
    "partly closed": "update",
    "MAY_UPDATE": "update",
    "CONTRADICTS": "contradiction",
    "MAY_REPEAT": "duplicate",
    "nothing": "unrelated",
}
"""What a run may do with two texts (merge them, close the older or a sentence of it, link the two, or nothing), most
consequential first, and the label that it stands for."""
_NOTHING: Final = "nothing"

_SIDES: Final = ("first", "second")
_TAGS: Final = (
    ("first", "second"),
    ("a", "b"),
    ("older", "newer"),
    ("original", "updated"),
    ("old", "new"),
    ("left", "right"),
    ("before", "after"),
    ("1", "2"),
    ("one", "two"),
)
"""Prefixes or suffixes that distinguish the fields of the two texts."""
_TEXTS: Final = ("text", "content", "sentence", "statement", "memory")
_TIMES: Final = ("at", "time", "timestamp", "created_at", "date", "day")
_SPEAKERS: Final = ("speaker", "author", "role")
_LISTS: Final = ("texts", "pair", "contents", "sentences", "statements", "memories")
_EXAMPLE: Final = '{"first": "I live in Oslo.", "second": "I moved to Rome."}'
_MOST_FAULTS: Final = 10
"""Faulty lines that are listed; the rest are counted."""
_LABELLED: Final = {
    "outcome": pl.String(),
    "label": pl.String(),
    "confidence": pl.Float64(),
    "reason": pl.String(),
    "later": pl.String(),
}
_MERGED: Final = "One memory stands for both."
_KNOWN: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "line": pl.Int64,
    "first": pl.String,
    "second": pl.String,
    "first_at": INSTANT,
    "second_at": INSTANT,
    "first_speaker": pl.String,
    "second_speaker": pl.String,
    "fields": pl.String,
}
_DAY: Final = timedelta(days=1)
_BEGINNING: Final = datetime(2025, 1, 1, tzinfo=UTC)


def label(pairs: pl.DataFrame) -> pl.DataFrame:
    """Report what one run of the preset `default` does with the two texts of each pair in a store of all texts.

    A text without an instant is dated a day after the text before it. A repeated text of the same speaker and instant
    is the same memory. `pairs` are those of `parse`.

    Returns:
        `pairs` with outcome (one of `OUTCOMES`), label (what the outcome stands for), confidence (of the judge, 0..1;
        null if it gave none), reason (a sentence) and later (first or second: the newer memory). Confidence and reason
        are null if the run did nothing. Cost: that of a run, seconds and about 2 ms per pair.
    """
    turns, ids = _store(pairs)
    last: datetime = max(turns["at"].to_list())
    events = replay.stored(turns)
    policy = replay.policy_for(preset="default")
    done = next(simulate(lambda _: events, policy, [last + _DAY], max_archived_share=1.0))
    run = decided(turns["id"], done.after["memories"], done.after["association_edges"])
    by_outcome = (run.merged, run.closed, run.partly_closed, run.may_update, run.contradicts, run.may_repeat)
    said = {
        frozenset((older, newer)): (confidence, reason)
        for older, newer, confidence, reason in done.tables["fact_changes"]
        .select("memory_id", "other_id", "confidence", "reason")
        .iter_rows()
    }
    at = dict(turns.select("id", "at").iter_rows())
    rows = []
    for one, other in ids:
        found = (name for name, of in zip(OUTCOMES, by_outcome, strict=False) if of & {(one, other), (other, one)})
        outcome = next(found, _NOTHING)
        about = said.get(frozenset((one, other)), (None, _MERGED if outcome == "merged" else None))
        confidence, reason = (None, None) if outcome == _NOTHING else about
        later = "first" if at[one] > at[other] else "second"
        rows.append((outcome, OUTCOMES[outcome], confidence, reason, later))
    return pairs.hstack(pl.DataFrame(rows, schema=_LABELLED, orient="row"))


def _store(pairs: pl.DataFrame) -> tuple[pl.DataFrame, list[Pair]]:
    """Return the texts of all pairs as turns, and the ids of the two of each pair."""
    turns: dict[tuple[Any, ...], dict[str, Any]] = {}
    ids, last = [], _BEGINNING
    for row in pairs.iter_rows(named=True):
        first = row["first_at"] or (row["second_at"] or last + 2 * _DAY) - _DAY
        last = row["second_at"] or first + _DAY
        keys = [(row[side], row[f"{side}_speaker"], row[f"{side}_at"], 0) for side in _SIDES]
        if keys[0] == keys[1]:
            keys[1] = (*keys[1][:-1], 1)
        for index, (key, at) in enumerate(zip(keys, (first, last), strict=True), 1):
            turn = {"id": f"{row['line']}.{index}", "at": at, "speaker": key[1], "content": key[0]}
            turns.setdefault(key, turn)
        ids.append((turns[keys[0]]["id"], turns[keys[1]]["id"]))
    return pl.DataFrame(list(turns.values()), schema=TURNS), ids


def read(path: Path) -> pl.DataFrame:
    """Read a file of pairs (see `parse`); a byte-order mark and CRLF line ends are allowed.

    Raises ValueError: the file cannot be read, is not UTF-8, holds no pair, or has invalid lines.
    """
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        pairs = parse(content.decode().split("\n"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); give a file of JSON lines") from error
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        byte = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise ValueError(f"{path}: line {line}: {byte}; save the file as UTF-8 text") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if pairs.is_empty():
        raise ValueError(f"{path}: holds no pair; give two texts per line, such as {_EXAMPLE}")
    return pairs


def parse(lines: Iterable[str]) -> pl.DataFrame:
    """Parse pairs, one JSON object per line.

    The two texts have one of the usual pairs of names (a and b, first and second, older and newer, original and
    updated, text_a and text_b, text1 and text2, left and right, ...) or in one list (texts, pair); a text may be an
    object with text, at and speaker. Times (a_at, first_time, times, ...; ISO 8601 or seconds since 1970) and speakers
    (a_speaker, speakers, ...) may be missing. Empty lines are skipped.

    Returns line (number, from 1), first, second, first_at, second_at, first_speaker, second_speaker, fields (the object
    as it was given). Raises ValueError: some lines are invalid; the message lists their numbers, fields and remedies.
    """
    rows, faults = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append({"line": number, **_pair(line), "fields": line.strip()})
        except ValueError as fault:
            faults.append(f"line {number}: {fault}")
    if faults:
        more = [f"and {len(faults) - _MOST_FAULTS} more lines"] if len(faults) > _MOST_FAULTS else []
        raise ValueError("\n".join([*faults[:_MOST_FAULTS], *more]))
    return pl.DataFrame(rows, schema=_KNOWN)


def dumps(labelled: pl.DataFrame) -> Iterator[str]:
    """Yield labelled pairs as JSON lines: the original fields, then outcome, label, confidence, reason, later.

    An original field with one of these names is renamed to `given_<name>`.
    """
    for row in labelled.select("fields", *_LABELLED).iter_rows(named=True):
        original = json.loads(row.pop("fields"))
        fields = original if isinstance(original, dict) else {"texts": original}
        renamed = {f"given_{name}" if name in _LABELLED else name: value for name, value in fields.items()}
        yield json.dumps(renamed | row, ensure_ascii=False)


def _pair(line: str) -> dict[str, Any]:
    """Return the texts, times and speakers of one line."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as fault:
        raise ValueError(f"not JSON ({fault.msg} at character {fault.pos}); write one object per line") from None
    fields = {"texts": value} if isinstance(value, list) else value
    if not isinstance(fields, dict):
        raise ValueError(f"an object is needed, such as {_EXAMPLE}")  # noqa: TRY004 - of a file, not of a call
    names, tags, sides = _texts(fields)
    pair: dict[str, Any] = {}
    for at, (side, name) in enumerate(zip(_SIDES, names, strict=True)):
        inner = sides[at] if isinstance(sides[at], dict) else {}
        text = next((inner[key] for key in _TEXTS if key in inner), None) if inner else sides[at]
        if not isinstance(text, str):
            raise ValueError(f"field {name!r} is {_shown(text)}; give a text")  # noqa: TRY004 - likewise
        if not text.strip():
            raise ValueError(f"field {name!r} is empty; give a text or leave the line out")
        pair[side] = text
        pair[f"{side}_at"] = _instant(*_beside(fields, inner, _TIMES, tags, at))
        pair[f"{side}_speaker"] = _speaker(*_beside(fields, inner, _SPEAKERS, tags, at))
    return pair


def _texts(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], list[Any]]:
    """Return the names of the text fields, their distinguishing tags, and their values."""
    for name in _LISTS:
        if name in fields:
            listed = fields[name]
            if not isinstance(listed, list) or len(listed) != len(_SIDES):
                raise ValueError(f"field {name!r} is {_shown(listed)}; give a list of two texts")
            return (f"{name}[0]", f"{name}[1]"), (), listed
    half = ""
    for tags in _TAGS:
        for form in _forms(_TEXTS, bare=not tags[0].isdigit()):
            names = tuple(form.format(tag) for tag in tags)
            has = [name in fields for name in names]
            if all(has):
                return names, tags, [fields[name] for name in names]
            if any(has) and not half:
                half = f"field {names[has.index(False)]!r} is missing beside {names[has.index(True)]!r}; give both"
    raise ValueError(half or "no texts; give them as 'first' and 'second', 'a' and 'b', or as a list 'texts'")


def _forms(nouns: tuple[str, ...], *, bare: bool) -> Iterator[str]:
    """Yield the possible names of a field that belongs to one of the two texts."""
    if bare:
        yield "{}"
    for noun, form in product(nouns, ("{noun}_{{}}", "{noun}{{}}", "{{}}_{noun}")):
        yield form.format(noun=noun)


def _beside(
    fields: Mapping[str, Any], inner: Mapping[str, Any], nouns: tuple[str, ...], tags: tuple[str, ...], at: int
) -> tuple[str, Any]:
    """Return name and value of a field of one text: in its own object, by its own name, in a list, or shared."""
    names = [form.format(tag) for tag in tags[at : at + 1] for form in _forms(nouns, bare=False)]
    for source, candidates in ((inner, list(nouns)), (fields, names)):
        for name in candidates:
            if source.get(name) is not None:
                return name, source[name]
    for name in (form for noun in nouns for form in (f"{noun}s", noun)):
        value = fields.get(name)
        if isinstance(value, list):
            if len(value) != len(_SIDES):
                raise ValueError(f"field {name!r} is {_shown(value)}; give a list of two, one for each text")
            return f"{name}[{at}]", value[at]
        if value is not None and nouns is _SPEAKERS:
            return name, value
    return "", None


def _instant(name: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError(f"field {name!r} is {_shown(value)}; write an instant such as 2025-03-01T10:00:00Z")


def _speaker(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"field {name!r} is {_shown(value)}; give a name")
    return value


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:60]
