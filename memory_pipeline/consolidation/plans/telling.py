"""Tells a plan by what it does to memories: repeats that become one, facts that changed, what leaves, and so on.

Decisions that people see as one belong to one row: a merge with all that it replaces, links of several kinds between
two memories, a closing with the links of its pair. Pure. Not here: how a row looks (`service/report_plan`,
`service/ui`), where two texts differ (`text/difference`), and leaving rows out (`leaving_out`).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import core_memory, questions, whereabouts
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges.edge_rows import PROPOSED
from memory_pipeline.consolidation.state import answers
from memory_pipeline.consolidation.state.decision_json import LEAVES, does
from memory_pipeline.schemas import Action
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.parse.tokens import count_tokens

SIDE: Final = pl.List(pl.Struct({"memory_id": pl.String, "day": pl.String, "text": pl.String}))
"""Texts on one side of a change, each with its memory and the day it was said; a text that the plan writes has no day,
and what no memory says has neither."""

TOLD: Final = pl.Schema(
    {
        "profile_id": pl.String(),
        "group": pl.String(),
        "row_id": pl.String(),
        "memory_ids": pl.List(pl.String),
        "decision_ids": pl.List(pl.String),
        "older": SIDE,
        "newer": SIDE,
        "confidence": pl.Float64(),
        "why": pl.String(),
        "tokens": pl.Int64(),
        "held": pl.Boolean(),
    }
)
"""One row per change that people see as one, in the order in which it is told. `row_id` is the id of its leading
decision; `memory_ids` are those of its texts, or the name of a block; `older` and `newer` are what stood before and
what stands then, `tokens` what a recall no longer shows."""

_GROUPS: Final = {
    "changed": ("{} fact changed", "{} facts changed"),
    "merged": ("{members} repeats -> {}", "{members} repeats -> {}"),
    "conflicts": ("{} conflict to look at", "{} conflicts to look at"),
    "may_have_changed": ("{} fact may have changed", "{} facts may have changed"),
    "may_repeat": ("{} possible repeat", "{} possible repeats"),
    "same_words": ("{} memory in the words of another stays", "{} memories in the words of others stay"),
    "deleted": ("{} is deleted, {tokens} tokens", "{} are deleted, {tokens} tokens"),
    "left": ("{} leaves, {tokens} tokens", "{} leave, {tokens} tokens"),
    "shortened": ("{} is shortened, {tokens} tokens less", "{} are shortened, {tokens} tokens less"),
    "summarised": ("{} summary written", "{} summaries written"),
    "core": ("{} part of core memory rewritten", "{} parts of core memory rewritten"),
    "promoted": ("{} memory strengthened", "{} memories strengthened"),
    "related": ("{} related pair linked", "{} related pairs linked"),
    "unlinked": ("{} link removed", "{} links removed"),
    "taken_back": ("{} earlier decision taken back", "{} earlier decisions taken back"),
    "deferred": ("{} waits for the next run", "{} wait for the next run"),
}
"""Groups in the order in which they are told, each with its headline for one row and for several."""

GROUPS: Final = tuple(_GROUPS)

QUIET: Final = ("promoted", "related", "unlinked", "taken_back", "deferred")
"""Groups that change neither a text nor what holds: they are told in one line."""

UNSURE: Final = ("conflicts", "may_have_changed", "may_repeat")
"""Groups of what may be so; in the others the run is sure enough to decide."""

_LINKS: Final = {
    PROPOSED["conflict"]: "conflicts",
    PROPOSED["update"]: "may_have_changed",
    PROPOSED["duplicate"]: "may_repeat",
}
"""Group of each kind of link that says how two facts relate; any other only says that two memories are related."""

_PAIRED: Final = (Action.CLOSE.value, Action.LINK.value, Action.PRUNE.value)
"""Actions about two memories."""

_OF_ACTION: Final = {
    **dict.fromkeys(LEAVES, "left"),
    Action.DELETE.value: "deleted",
    Action.SUPERSEDE.value: "merged",
    Action.SUMMARISE.value: "summarised",
    Action.CLOSE.value: "changed",
    Action.LINK.value: "related",
    Action.PRUNE.value: "unlinked",
    Action.TRIM.value: "shortened",
    Action.PROMOTE.value: "promoted",
    Action.COMPILE.value: "core",
    Action.WITHDRAW.value: "taken_back",
    Action.DEFER.value: "deferred",
}
"""Group of each action; that of links also depends on their kind, that of summaries on whether they replace."""

_WHY: Final = {
    "changed": "The newer says how it is now; the older stays, marked as no longer true.",
    "conflicts": "Perhaps only one can be true, and nothing says which; recall says so where that is likely enough.",
    "may_have_changed": "The newer may replace the older; both stay, and recall shows the newer first.",
    "may_repeat": "Both may say the same; both stay until somebody says so.",
    "same_words": "No run merges what is protected or core, of another day, or from another place.",
    "summarised": "A text about all of them; they stay as they are.",
    "core": "What an agent reads at the start of every conversation.",
    "related": "They are about related things; finding one helps to find the other.",
    "unlinked": "The link has faded, or no longer holds.",
    "taken_back": "An earlier run decided this at the same instant; it no longer applies.",
    "deferred": "The time of the run was up; it comes first next time.",
}
"""Why a row of each group is there; rows of the other groups have the reason of their decision."""

_BY_RULE: Final = {
    answers.RULE: "Somebody said so in the review.",
    "copy_of_closed": "It repeats what was already known to be no longer true.",
    "ended": "The newer says that it is over; the older stays, marked as no longer true.",
    "replaced_by_summary": "An earlier joint text gives way to the new one.",
}
_RISES: Final = ("tier", "lifecycle", "category")
"""What a promotion raises."""
_SENTENCES: Final = "Only these sentences are no longer true; the rest of the memory stays."
_REORDERED: Final = "The same facts, with other days, marks or in another order."
_SAME_WORDS: Final = "The same words again; one text stands for all."
_EITHER: Final = "Perhaps they say the same, perhaps one denies the other; both stay until somebody says which."
_OTHER_WORDS: Final = "They say the same; one text stands for all."


def rows(plan: pl.DataFrame) -> pl.DataFrame:
    """Return decisions with the row of the told plan that each belongs to, in the order in which they are told.

    Added are `row_id` and `group` of the row, and `part`, the group that a decision would be in alone. The leading
    decision of each row is its first.
    """
    by = ["profile_id", "unit"]
    lead = ("place", ~does(Action.SUMMARISE), "ordinal")
    named = plan.with_columns(part=_part(plan), unit=_unit(plan)).with_columns(
        place=pl.col("part").replace_strict({name: place for place, name in enumerate(GROUPS)}, return_dtype=pl.Int64)
    )
    leading = (
        named.sort(*by, *lead)
        .select(*by, "place", "ordinal", row_id="decision_id", group="part")
        .unique(by, keep="first", maintain_order=True)
    )
    told = named.join(leading, on=by, suffix="_of_row")
    order = ("profile_id", "place_of_row", "ordinal_of_row", "row_id", *lead)
    return told.sort(*order).select(*plan.columns, "row_id", "group", "part")


def tell(plan: pl.DataFrame, memories: pl.DataFrame, zone: tzinfo = UTC) -> pl.DataFrame:
    """Return a plan, or rows of the table `decisions`, as people read it (`TOLD`), with days in a time zone.

    Memories are those of the same profiles, before the plan or after it. Cost: linear in the plan.
    """
    texts = _Texts(plan, memories, zone)
    grouped = groupby(rows(plan).iter_rows(named=True), itemgetter("profile_id", "row_id"))
    told = pl.DataFrame([_told([*own], texts) for _, own in grouped], schema=TOLD, orient="row")
    place = pl.col("group").replace_strict({name: place for place, name in enumerate(GROUPS)}, return_dtype=pl.Int64)
    return told.sort("profile_id", place, maintain_order=True)


def tell_answers(said: pl.DataFrame, memories: pl.DataFrame, zone: tzinfo) -> pl.DataFrame:
    """Return what answers (`answers.standing`) have ended, as decisions are told (`TOLD`)."""
    ending = said.filter(pl.col("relation").is_in(answers.CLOSING)).sort("at")
    closings = ending.select(
        *KEY,
        target_id="other_id",
        decision_id="event_id",
        action=pl.lit(Action.CLOSE.value),
        rule=pl.lit(answers.RULE),
        reason=pl.lit(""),
        status=pl.lit("applied"),
        before=pl.lit("{}"),
        after=pl.struct("statement").struct.json_encode(),
        factors=pl.lit("{}"),
        ordinal=pl.int_range(pl.len()),
    )
    return tell(closings, memories, zone)


def headlines(told: pl.DataFrame) -> pl.DataFrame:
    """Return what a told plan does to each profile, a line a group: `profile_id`, `group`, `rows`, `headline`."""
    counts = told.group_by("profile_id", "group", maintain_order=True).agg(
        rows=pl.len().cast(pl.Int64),
        members=pl.col("older").list.len().sum(),
        tokens=pl.col("tokens").sum(),
    )
    lines = [
        _GROUPS[row["group"]][row["rows"] != 1].format(
            f"{row['rows']:,}", members=f"{row['members']:,}", tokens=f"{row['tokens']:,}"
        )
        for row in counts.iter_rows(named=True)
    ]
    return counts.select("profile_id", "group", "rows", headline=pl.Series(lines, dtype=pl.String))


def summary(told: pl.DataFrame) -> list[str]:
    """Return what a plan does to all its profiles, a line a group; the quiet groups are the last line together."""
    lines = headlines(told)
    loud = lines.filter(~pl.col("group").is_in(QUIET))["headline"].to_list()
    return [*loud, *filter(None, [quiet(lines)])]


def confidence(row: Mapping[str, Any]) -> str | None:
    """Return how sure a told row is, in words: "95% sure" of what is decided, "59% likely" of what may be so."""
    if row["confidence"] is None:
        return None
    return f"{row['confidence']:.0%} {'likely' if row['group'] in UNSURE and row['confidence'] < 1 else 'sure'}"


def quiet(lines: pl.DataFrame) -> str | None:
    """Return the quiet groups of what `headlines` returns as one line; None if there are none."""
    parts = lines.filter(pl.col("group").is_in(QUIET))["headline"].to_list()
    return f"behind the scenes: {', '.join(parts)}" if parts else None


def _part(plan: pl.DataFrame) -> pl.Expr:
    """Return the group that each decision would be in alone."""
    replacing = plan.filter(does(Action.SUPERSEDE)).select("profile_id", memory_id="target_id")
    merges = plan.filter(does(Action.SUMMARISE)).join(replacing, on=KEY, how="semi")["decision_id"]
    kind = pl.col("after").str.json_path_match("$.edge_type")
    # A contrast that `creative` finds is a remark on two decisions, and has no effect.
    contrast = pl.col("after").str.json_path_match("$.kind") == "contrast"
    return (
        pl.when(does(Action.LINK) & ~contrast.fill_null(value=False))
        .then(kind.replace_strict(_LINKS, default=_OF_ACTION[Action.LINK], return_dtype=pl.String))
        .when(pl.col("decision_id").is_in(merges.implode()))
        .then(pl.lit("merged"))
        .otherwise(pl.col("action").replace_strict(_OF_ACTION, return_dtype=pl.String))
    )


def _unit(plan: pl.DataFrame) -> pl.Series:
    """Return what people see as one with each decision: a merge, two memories, or the decision itself."""
    into = plan.filter(does(Action.SUPERSEDE)).select(*KEY, into="target_id").unique(KEY)
    ends = (
        plan.select("profile_id", "memory_id", "target_id", "action", "decision_id")
        .join(into, on=KEY, how="left", maintain_order="left")
        .join(
            into.rename({"memory_id": "target_id", "into": "other_into"}),
            on=["profile_id", "target_id"],
            how="left",
            maintain_order="left",
        )
    )
    pair = pl.concat_str(
        pl.min_horizontal("memory_id", "target_id"), pl.max_horizontal("memory_id", "target_id"), separator="\x1f"
    )
    paired = pl.col("action").is_in(_PAIRED)
    return ends.select(
        pl.when(does(Action.SUMMARISE))
        .then("memory_id")
        .when(does(Action.SUPERSEDE))
        .then("target_id")
        .when(paired & (pl.col("into") == pl.col("other_into")))  # two memories that the plan makes one
        .then("into")
        .when(paired & pl.col("target_id").is_not_null())
        .then(pair)
        .otherwise("decision_id")
    ).to_series()


class _Texts:
    """What the memories of a plan say, as people read it."""

    def __init__(self, plan: pl.DataFrame, memories: pl.DataFrame, zone: tzinfo) -> None:
        """Read the texts of the memories that a plan names; who said them, where a profile has several speakers."""
        several = memories.group_by("profile_id").agg(several=pl.col("speaker").drop_nulls().n_unique() > 1)
        members = pl.col("after").str.json_decode(pl.Struct({"members": pl.List(pl.String)})).struct.field("members")
        ids = pl.concat(
            [
                plan.select(KEY),
                plan.select("profile_id", memory_id="target_id"),
                plan.filter(does(Action.SUMMARISE)).select("profile_id", memory_id=members).explode("memory_id"),
            ]
        )
        named = memories.join(ids.drop_nulls(), on=KEY, how="semi").join(several, on="profile_id")
        day = pl.coalesce("said_at", "created_at").dt.convert_time_zone(str(zone)).dt.strftime("%Y-%m-%d")
        costs = named.select(count_tokens(named["content"]).alias("tokens")).to_series()
        self._known = {
            (row["profile_id"], row["memory_id"]): row
            for row in named.with_columns(day=day, tokens=costs).iter_rows(named=True)
        }

    def side(self, profile_id: str, memory_id: str | None, text: str | None = None) -> dict[str, str | None] | None:
        """Return the day and the text of a memory, or another text in its place; None if it is not known.

        Behind a text that is shown with the day of its file stands that it is.
        """
        row = self._known.get((profile_id, memory_id or ""))
        if row is None:
            return None if text is None else {"memory_id": memory_id, "day": None, "text": text}
        metadata = json.loads(row["metadata"]) if row["metadata"] else None
        shown = whereabouts.below(whereabouts.shown_path(metadata), row["content"] if text is None else text)
        who = f"{row['speaker']}: " if row["several"] and row["speaker"] else ""
        return {"memory_id": memory_id, "day": row["day"], "text": whereabouts.noted(f"{who}{shown}", metadata)}

    def since(self, profile_id: str, side: Mapping[str, str | None]) -> tuple[datetime, int]:
        """Return from when on the memory of a side holds, and its place in the ledger: what a run calls older."""
        row = self._known[profile_id, side["memory_id"] or ""]
        return row["valid_from"] or row["said_at"] or row["created_at"], row["seq"]

    def content(self, profile_id: str, side: Mapping[str, str | None]) -> str:
        """Return the text of the memory of a side, without who said it."""
        return str(self._known[profile_id, side["memory_id"] or ""]["content"])

    def tokens(self, profile_id: str, memory_id: str) -> int:
        """Return the tokens of a memory's text; 0 if it is not known."""
        row = self._known.get((profile_id, memory_id))
        return 0 if row is None else row["tokens"]


def _told(own: Sequence[Mapping[str, Any]], texts: _Texts) -> dict[str, Any]:
    """Return the told row of decisions, the leading one first."""
    lead = own[0]
    profile_id, group = lead["profile_id"], lead["group"]
    before, after, factors = (_fields(lead[name]) for name in ("before", "after", "factors"))
    older, newer = ([side for side in sides if side] for sides in _sides(lead, own, before, after, texts))
    if group == "may_repeat" and len({side["text"] for side in older + newer}) == 1:
        group = "same_words"
    ids = dict.fromkeys(side["memory_id"] for side in older + newer if side["memory_id"])
    tokens = None
    if group in ("left", "deleted"):
        tokens = texts.tokens(profile_id, lead["memory_id"])
    elif group == "shortened":
        tokens = (factors.get("tokens_before") or 0) - (factors.get("tokens_after") or 0)
    return {
        "profile_id": profile_id,
        "group": group,
        "row_id": lead["row_id"],
        "memory_ids": [*ids] or [lead["memory_id"]],
        "decision_ids": [row["decision_id"] for row in own],
        "older": older,
        "newer": newer,
        "confidence": factors.get("confidence") if lead["action"] in _PAIRED and group != "same_words" else None,
        "why": _why(
            {**lead, "group": group}, after, older, sure=factors.get("confidence"), changed=bool(older or newer)
        ),
        "tokens": tokens,
        "held": lead["status"] == "held",
    }


def _sides(
    lead: Mapping[str, Any],
    own: Sequence[Mapping[str, Any]],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    texts: _Texts,
) -> tuple[list[Any], list[Any]]:
    """Return what stood before a change, and what stands then."""
    profile_id, memory_id, target_id = (lead[name] for name in ("profile_id", "memory_id", "target_id"))
    text = partial(texts.side, profile_id)
    older: list[Any] = [text(memory_id)]
    newer: list[Any] = [text(target_id)]
    match lead["action"]:
        case Action.SUMMARISE:
            members = after.get("members") or [row["memory_id"] for row in own[1:]]
            older, newer = [text(member) for member in members], [text(memory_id, after.get("content"))]
            same = next(
                (side for side in older if side and texts.content(profile_id, side) == after.get("content")), None
            )
            newer = [same | {"memory_id": memory_id, "day": None}] if same else newer
        case Action.SUPERSEDE:
            older = [text(row["memory_id"]) for row in own if row["action"] == lead["action"]]
        case Action.CLOSE:
            content = texts.content(profile_id, older[0]) if older[0] else None
            older = [text(memory_id, _whole_sentences(after.get("statement"), content))]
        case Action.LINK | Action.PRUNE:
            # Links about facts lead from the newer memory to the older, others from the earlier to the later.
            ends = sorted(filter(None, older + newer), key=partial(texts.since, profile_id))
            older, newer = ends[:1], ends[1:]
        case Action.TRIM:
            newer = [text(memory_id, after["trimmed"])] if after.get("trimmed") else []
        case Action.COMPILE:
            was, now = ((fields.get("content") or "").split(core_memory.SEPARATOR) for fields in (before, after))
            older = [text(None, fact) for fact in was if fact and fact not in now]
            newer = [text(None, fact) for fact in now if fact and fact not in was]
        case Action.PROMOTE:
            newer = [text(None, ", ".join(str(after[name]) for name in _RISES if after.get(name)))]
        case Action.WITHDRAW:
            older, newer = [], []
    return older, newer


def _why(
    lead: Mapping[str, Any], after: Mapping[str, Any], older: Sequence[Any], *, sure: float | None, changed: bool
) -> str:
    """Return in a sentence why a change is there, of which the run is so `sure`."""
    if lead["rule"] in _BY_RULE and lead["group"] in ("changed", "merged", "may_repeat"):
        return _BY_RULE[lead["rule"]]
    if lead["group"] == "merged":
        said = {side["text"] for side in older}
        return _SAME_WORDS if len(said) == 1 else _OTHER_WORDS
    if lead["group"] == "core" and not changed:
        return _REORDERED
    if lead["action"] == Action.CLOSE and after.get("statement"):
        return _SENTENCES
    if lead["group"] in UNSURE and sure == 1.0:  # somebody said so
        return str(lead["reason"])
    either = lead["group"] == "may_repeat" and questions.is_open("repeat", sure or 0.0)
    return _EITHER if either else _WHY.get(lead["group"], str(lead["reason"]))


def _whole_sentences(statement: str | None, content: str | None) -> str | None:
    """Return the sentences of a text that hold the words that ended: a person may name a few words of one."""
    if not statement or not content:
        return statement
    named = [line.strip() for line in statement.splitlines() if line.strip()]
    sentences = [one.strip() for one in split_sentences(pl.Series([content]))["sentence"]]
    if all(any(one in line for one in sentences) for line in named):
        return statement
    return " ".join(one for one in sentences if any(line in one or one in line for line in named)) or statement


def _fields(text: str) -> dict[str, Any]:
    """Return the fields of a decision."""
    return dict(json.loads(text))
