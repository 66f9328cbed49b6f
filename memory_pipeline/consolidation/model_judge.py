"""Lets a language model judge pairs of memories: builds the requests, and decides which verdicts are accepted.

Pairs are asked in batches and looked up one by one: a pair is named by a hash of both texts, speakers and days, so that
a verdict is found whatever batch it was asked in, and no pair is asked twice. A verdict is accepted only if it names a
pair that was asked about, and if the words that it quotes as outdated occur in the older text and those that outdate
them in the newer. The model's verdicts are then combined with what the rules found (`overlaid`). Not here: how a model
is asked (`model_prompts`), and the judge by rules (`change_detection`, `text.compare`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from memory_pipeline.consolidation import model_prompts, questions
from memory_pipeline.consolidation.model_prompts import NOT_JSON, REQUESTS
from memory_pipeline.llm.protocol import Outcome
from memory_pipeline.schemas import LIVE, TABLES, Frame, Memories
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare.judge import ASIDE
from memory_pipeline.text.parse import clauses, facts, tokens

PURPOSE: Final = "relation"
"""Purpose of a request about pairs."""
PAIRS_AT_ONCE: Final = 10
"""Pairs in one request: their verdicts fit into the default length of an answer."""
RELATIONS: Final = {
    "same": "duplicate",
    "update": "update",
    "partial": "update",
    "conflict": "conflict",
    "different": "unrelated",
}
"""What the model may answer, and the relation that it means (`text.compare.judge.RELATIONS`)."""
LEFT_OUT: Final = "left out of the answer"
TWICE: Final = "two verdicts on one pair"
MISQUOTED: Final = "quotes what the text does not say"
"""Reasons why a verdict is refused."""

DECIDED: Final = 0.95
"""Minimum confidence of an update that closes what it outdates."""
UNSURE: Final = 0.6
"""Confidence of a relation that the model names without being sure: the share of such updates that are right by the
labels (`research/README.md`). It links, and decides nothing."""

_ENDS: Final = ["profile_id", "memory_id", "other_id"]
_NAME_DIGITS: Final = 12
_PAIR: Final = ("older_text", "older_speaker", "older_day", "newer_text", "newer_speaker", "newer_day")
_PROMPT: Final = """\
You keep the notes of an assistant in order. Each line below is a pair of notes, the older and the newer one, each \
with the day on which it was said. For every pair, say how the newer note relates to the older one:
- "same": both state the same fact, perhaps in other words or at another length, and differ in nothing that matters.
- "update": what the older note states no longer holds, because the newer one gives the same thing of the same subject \
another value, corrects it, says or shows that it has ended, or tells how what the older one left open, planned, \
missed or waited for turned out.
- "partial": as "update", but only a part of the older note no longer holds; the rest of it still does.
- "conflict": both cannot be true, and nothing says that one of them is the newer state of things.
- "different": anything else. Two facts about one subject are different, and so are two events, measurements of two \
days, a second thing of a kind beside the first, an exception for once, what somebody else says or supposes, and a new \
plan, offer or question beside what still holds.

{care}

----- {mark}
{material}
----- {mark}

Answer with a JSON array alone, with one object per pair and nothing around it:
{{"pair": the pair's name, "relation": "same", "update", "partial", "conflict" or "different", "sure": true if no \
careful reader could disagree, else false, "older": for an update, whole or partial, or a conflict the sentence of the \
older note that no longer holds or cannot be true beside the newer one, copied letter by letter, else "", "newer": \
likewise the words of the newer note that say so, else ""}}"""


class _Verdict(BaseModel):
    """One object of an answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    pair: str
    relation: Literal["same", "update", "partial", "conflict", "different"]
    sure: bool
    older: str
    newer: str


_ANSWER: Final = TypeAdapter(list[Any])
VERDICTS: Final = pl.Schema(
    {
        "profile_id": pl.String,
        "pair": pl.String,
        "relation": pl.String,
        "sure": pl.Boolean,
        "partial": pl.Boolean,
        "statement": pl.String,
        "value": pl.String,
        "other_value": pl.String,
        "refused": pl.String,
    }
)
"""The outcome for each pair: the relation, or why the verdict was refused."""


def named(pairs: pl.DataFrame) -> pl.DataFrame:
    """Add `pair`, the name of each pair: 12 hex digits of the SHA-256 of what the model sees of it.

    That is text, speaker (may be null) and at (instant) of each side, as `older_` and `newer_`.
    """
    days = pairs.with_columns(
        older_day=pl.col("older_at").dt.to_string("%Y-%m-%d"), newer_day=pl.col("newer_at").dt.to_string("%Y-%m-%d")
    )
    names = ["\x1f".join(part or "" for part in row) for row in days.select(_PAIR).iter_rows()]
    digests = [model_prompts.digest(name)[:_NAME_DIGITS] for name in names]
    return days.with_columns(pl.Series("pair", digests, dtype=pl.String))


def requests(pairs: pl.DataFrame, recorded: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Make requests (`REQUESTS`) for the first pairs of each profile that no answer is recorded for, in batches.

    A profile has `llm_pairs` pairs for each of its memories, those answered earlier included, wherever they are: one
    that changed five facts is asked about with five of them, and many are asked about with none. The pairs are in the
    order of asking (see `pairs`), some perhaps more than once; those already decided are not asked about. The subject
    of a request is the names of its pairs, separated by spaces.
    """
    if policy.llm_model is None or pairs.is_empty():
        return REQUESTS.to_frame()
    asked = _answered(recorded, policy).select("profile_id", pair=pl.col("subject").str.split(" ")).explode("pair")
    known = asked.unique()
    told = pairs.filter(~pl.col("decided")).unique(["profile_id", "pair"], keep="first", maintain_order=True)
    unknown = told.join(known, on=["profile_id", "pair"], how="anti", maintain_order="left").join(
        known.group_by("profile_id").agg(asked=pl.len()), on="profile_id", how="left", maintain_order="left"
    )
    left = policy.llm_pairs * pl.col("memories").cast(pl.Int64) - pl.col("asked").fill_null(0).cast(pl.Int64)
    open_pairs = unknown.filter(pl.int_range(pl.len()).over("profile_id") < left)
    rows: list[tuple[str, str]] = []
    prompts: list[str] = []
    for (profile_id,), group in open_pairs.group_by("profile_id", maintain_order=True):
        for batch in group.iter_slices(PAIRS_AT_ONCE):
            rows.append((str(profile_id), " ".join(batch["pair"])))
            prompts.append(model_prompts.prompt(_PROMPT, model_prompts.json_lines(map(_shown, batch.to_dicts()))))
    subjects = pl.DataFrame(rows, schema={"profile_id": pl.String, "subject": pl.String}, orient="row")
    return model_prompts.requests(subjects, prompts, PURPOSE, policy.llm_model)


def verdicts(pairs: pl.DataFrame, recorded: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the model's verdict on each pair that was asked, from recorded answers alone: `VERDICTS`, in their order.

    `relation` is as in `text.compare.judge`, `sure` of two that are the same only if their numbers, dates and negations
    do not differ, `partial` where only a part of the older text is outdated, `statement` the sentence of the older text
    that no longer holds (null: all of it), `value` and `other_value` the words quoted from the older and from the
    newer. Where it is `refused`, with the reason, the rules' judgement stands.
    """
    by_pair: dict[tuple[str, str], dict[str, Any]] = {}
    for profile_id, subject, content in _answered(recorded, policy).iter_rows():
        for name, verdict in _read(content, subject.split(" ")).items():
            by_pair.setdefault((profile_id, name), verdict)
    unique = pairs.unique(["profile_id", "pair"], keep="first", maintain_order=True)
    rows = [
        {"profile_id": pair["profile_id"], "pair": pair["pair"]} | _checked(by_pair[key], pair)
        for pair in unique.iter_rows(named=True)
        if (key := (pair["profile_id"], pair["pair"])) in by_pair
    ]
    found = pl.DataFrame(rows, schema=VERDICTS)
    return _unsure_of_other_facts(found, unique)


def _answered(recorded: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the recorded answers about pairs by the policy's model: profile_id, subject, content."""
    of_model = (pl.col("purpose") == PURPOSE) & (pl.col("model") == pl.lit(policy.llm_model, pl.String))
    answered = recorded.filter(of_model, pl.col("outcome") == Outcome.ANSWERED.value)
    return answered.sort("profile_id", "request_hash").select("profile_id", "subject", "content")


def _shown(pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model sees of a pair."""

    def note(side: str) -> dict[str, str]:
        speaker = pair[f"{side}_speaker"]
        fields = {"said": pair[f"{side}_day"], "speaker": speaker, "text": pair[f"{side}_text"]}
        return {name: value for name, value in fields.items() if value}

    return {"pair": pair["pair"], "older": note("older"), "newer": note("newer")}


def _read(content: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the verdict on each pair of one request, or why there is none."""
    try:
        objects = _ANSWER.validate_json(model_prompts.cleaned(content))
    except ValidationError:
        return {name: {"refused": NOT_JSON} for name in names}
    found: dict[str, dict[str, Any]] = {}
    for one in objects:
        name = str(one.get("pair")) if isinstance(one, dict) else ""
        if name not in names:
            continue
        try:
            verdict = _Verdict.model_validate(one).model_dump()
        except ValidationError:
            verdict = {"refused": NOT_JSON}
        found[name] = verdict if found.get(name, verdict) == verdict else {"refused": TWICE}
    return {name: found.get(name, {"refused": LEFT_OUT}) for name in names}


def _checked(verdict: Mapping[str, Any], pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict in terms of the judge's columns, or the reason why it is refused."""
    if refused := verdict.get("refused"):
        return {"refused": refused}
    relation = RELATIONS[verdict["relation"]]
    judged: dict[str, Any] = {
        "relation": relation,
        "sure": verdict["sure"],
        "partial": verdict["relation"] == "partial",
    }
    if relation not in {"update", "conflict"}:
        return judged
    older, newer = _words(verdict["older"]), _words(verdict["newer"])
    if not older or not newer or older not in _words(pair["older_text"]) or newer not in _words(pair["newer_text"]):
        return {"refused": MISQUOTED}
    return judged | {"statement": _sentence(pair["older_text"], older), "value": older, "other_value": newer}


def _words(text: str) -> str:
    """Return a text with single spaces, since a model may not copy line breaks as they are."""
    return " ".join(text.split())


def _sentence(text: str, quote: str) -> str | None:
    """Return the sentences of a text that contain a quote, one per line; None if they are the whole text."""
    parts = clauses.sentences(pl.Series([text], dtype=pl.String))["sentence"].to_list()
    spans = (parts[at : at + size] for size in range(1, len(parts)) for at in range(len(parts) - size + 1))
    found = next((span for span in spans if quote in _words("".join(span))), None)
    return None if found is None else "\n".join(sentence.strip() for sentence in found)


def _unsure_of_other_facts(found: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts, unsure where they call two texts the same that differ in a number or date.

    Or in a denial, unless each has words of its own: what is denied in one way is stated in another.
    """
    same = found.filter(pl.col("relation") == "duplicate").join(pairs, on=["profile_id", "pair"], maintain_order="left")
    if same.is_empty():
        return found
    sides = [facts.add_facts(same.select(content=f"{side}_text")) for side in ("older", "newer")]
    stems = [tokens.content_stems(same[f"{side}_text"]).to_list() for side in ("older", "newer")]
    differ = [
        any(_differ(older[name], newer[name]) for name in ("numbers", "dates"))
        or (older["negated"] != newer["negated"] and not _differ(*said))
        for older, newer, *said in zip(*(side.iter_rows(named=True) for side in sides), *stems, strict=True)
    ]
    doubted = same.filter(pl.Series(differ, dtype=pl.Boolean)).select("profile_id", "pair", doubted=pl.lit(value=True))
    joined = found.join(doubted, on=["profile_id", "pair"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("sure") & pl.col("doubted").is_null()).drop("doubted")


def _differ(older: Iterable[str] | None, newer: Iterable[str] | None) -> bool:
    """Return whether each side has facts of a kind that the other lacks."""
    ours, theirs = set(older or ()), set(newer or ())
    return bool(ours - theirs and theirs - ours)


def pairs(possible: pl.DataFrame, memories: Frame[Memories], sentences: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs that the model may judge, as `named`, those most worth an answer first (see `questions.ranked`).

    `possible` is as in `change_detection.Compared`, without pairs that somebody has answered. Adds `memories`, the
    number of live ones in the profile.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).group_by("profile_id").agg(memories=pl.len())
    ranked = questions.ranked(possible, memories, sentences)
    return named(ranked.join(live, on="profile_id", how="left", maintain_order="left"))


def heard(asked: pl.DataFrame, recorded: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the pairs that the model has judged, with the columns of `VERDICTS`; refused verdicts are left out."""
    accepted = verdicts(asked, recorded, policy).filter(pl.col("refused").is_null())
    return asked.join(accepted, on=["profile_id", "pair"], maintain_order="left")


def same(heard_pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of which the model is sure that both say the same: profile_id, memory_id, other_id."""
    return heard_pairs.filter("sure", pl.col("relation") == "duplicate").select(_ENDS)


def _told(changes: pl.DataFrame, heard_pairs: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the verdicts that count beside what the rules found, with their confidence `p` and whether they decide.

    One that is not sure counts where it agrees, or where the rules found no relation at all.
    """
    whole = ~pl.col("partial") | pl.col("statement").is_not_null()
    by_rules = changes.select(*_ENDS, by_rules="relation").unique(_ENDS, keep="first", maintain_order=True)
    found = pl.col("by_rules").is_not_null() & ~pl.col("by_rules").is_in(["doubt", ASIDE])
    agrees = (pl.col("by_rules") == pl.col("relation")).fill_null(value=False)
    alone = (pl.col("relation") != "unrelated") & ~found.fill_null(value=False)
    return (
        heard_pairs.join(by_rules, on=_ENDS, how="left", maintain_order="left")
        .filter(pl.col("sure") | agrees | alone)
        .select(
            *(*_ENDS, "relation", "statement", "value", "other_value", "at"),
            p=pl.when("sure").then(policy.llm_precision).otherwise(UNSURE),
            decides=pl.col("sure") & whole & (pl.col("relation") == "update"),
        )
    )


def overlaid(changes: pl.DataFrame, heard_pairs: pl.DataFrame, policy: Policy, *, plan_id: str) -> pl.DataFrame:
    """Combine the changes that the rules found with the model's verdicts (see `heard`): table `fact_changes`.

    Where both name the same relation, its confidence is that of two independent judges; where only the model names one,
    it is the policy's `llm_precision` if the model is sure, else `UNSURE`. From `DECIDED` on an update of which the
    model is sure is decided, unless it outdates a part of one sentence. Where the model is sure that there is none, a
    link that the rules found is dropped, and an update that they would decide becomes a link. Where the model was not
    asked, names another relation than the rules or none without being sure, or its verdict was refused, the rules'
    judgement stands.
    """
    told = _told(changes, heard_pairs, policy)
    both = changes.join(
        told.select(*_ENDS, "p", "decides", heard="relation"), on=_ENDS, how="left", maintain_order="left"
    )
    agreed = pl.col("heard").eq_missing(pl.col("relation"))
    combined = 1.0 - (1.0 - pl.col("confidence")) * (1.0 - pl.col("p"))
    contested = pl.col("heard").is_not_null() & ~agreed
    remaining = both.filter(~contested | pl.col("decided")).with_columns(
        confidence=pl.when(agreed).then(combined).when(contested).then(1.0 - pl.col("p")).otherwise("confidence"),
        decided=pl.when(agreed)
        .then(pl.col("decided") | (pl.col("decides") & (combined >= DECIDED)))
        .otherwise(pl.col("decided") & ~contested),
    )
    new = told.filter(pl.col("relation") != "unrelated").join(remaining, on=_ENDS, how="anti")
    by_model = new.with_columns(
        decided=pl.col("decides") & (pl.col("p") >= DECIDED),
        confidence="p",
        subject=pl.lit(None, pl.String),
        attribute=pl.lit(None, pl.String),
        similarity=pl.lit(None, pl.Float32),
        rule=pl.lit(PURPOSE),
        reason=pl.when(pl.col("relation") == "duplicate")
        .then(pl.format("{} says that both state the same.", pl.lit(policy.llm_model or "")))
        .otherwise(
            pl.format("{} says that '{}' goes against '{}'.", pl.lit(policy.llm_model or ""), "other_value", "value")
        ),
        plan_id=pl.lit(plan_id),
    )
    table = TABLES["fact_changes"]
    return table.conform(
        pl.concat([remaining.select(changes.columns), by_model.select(changes.columns)], how="vertical_relaxed")
    )
