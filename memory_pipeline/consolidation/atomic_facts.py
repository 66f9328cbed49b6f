"""Splits entries that make several statements into atomic, dated facts worded by a language model.

A fact is a memory of the kind `fact` with one member, the entry that states it. The entry stays as it is. A fact lasts
only while its entry is live and unchanged, and while no newer memory changes what the fact says. An answer is accepted
as a whole or not at all: every sentence of the entry must be accounted for, and no fact may add, lose or reverse
anything (see `split`). Not here: how a model is asked (`model_prompts`), and summaries of several memories
(`summaries/`).
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory_pipeline import schemas
from memory_pipeline.consolidation import model_prompts, whereabouts
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.model_prompts import NOT_ASKED, NOT_JSON, REQUESTS
from memory_pipeline.consolidation.state import derived_ids
from memory_pipeline.consolidation.state.folding import FACT, ORIGINAL
from memory_pipeline.consolidation.summaries import faithfulness, support
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame, Memories
from memory_pipeline.settings import Policy
from memory_pipeline.text import content_hash
from memory_pipeline.text.compare import restating
from memory_pipeline.text.lang import identification
from memory_pipeline.text.parse import clauses, dates, facts, tokens
from memory_pipeline.text.score import commands

PURPOSE: Final = "facts"
"""Purpose of a request to split an entry."""
MOST_TOKENS: Final = 300
"""Longer entries stay whole: their facts would not fit into the default length of an answer."""
UNACCOUNTED: Final = "a sentence unaccounted for"
BOTH: Final = "a sentence both used and left out"
NO_SENTENCE: Final = "a sentence that the entry does not have"
REPEATED: Final = "a fact stated twice"
BROKEN: Final = "a fact of several lines"
INSTRUCTED: Final = "an instruction that the entry does not give"
DATE: Final = "a date that the entry does not state"
"""Reasons why an answer is refused."""

_ID_DIGITS: Final = 32
_REASONS: Final = {name: pl.String() for name in (*KEY, "reason")}
_PROMPT: Final = """\
Split this note into atomic facts. The line below holds the day on which it was said, who said it, and its sentences \
by number.

{care}

----- {mark}
{material}
----- {mark}

Each fact is one short sentence that states one thing and can be understood alone: put the name in place of a pronoun, \
and the calendar date in place of words such as yesterday. Otherwise keep the words of the note, and every name, \
number, date, negation and condition in it. Whoever speaks stays "I". Add nothing, judge nothing, leave nothing out.
Answer with a JSON object alone and nothing around it:
{{"facts": [{{"sentences": [the numbers of the sentences that it is taken from], "fact": the sentence, "date": the day \
on which it happened or from which it holds, as YYYY-MM-DD, if the note states it, else null}}], "left_out": [the \
numbers of the sentences that state no fact, such as greetings and questions]}}"""


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    sentences: Annotated[list[int], Field(min_length=1)]
    fact: Annotated[str, Field(min_length=1)]
    date: date | None


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    facts: list[_Fact]
    left_out: list[int]


FACTS: Final = pl.Schema(
    {
        "profile_id": pl.String(),
        "memory_id": pl.String(),
        "fact": pl.String(),
        "date": pl.Date(),
        "sentences": pl.List(pl.String),
        "refused": pl.String(),
    }
)
"""What a model made of entries: one row per fact, or one with the reason why an answer was refused."""


def entries(memories: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the originals that a model may split, oldest first: live, not too long, and of at least two sentences.

    They must be in a language whose negations and dates can be read, since answers are checked against them, and must
    not instruct a model. Under a token budget there are none, since facts repeat their entries.
    """
    if policy.llm_model is None or not policy.split_entries or policy.token_budget is not None:
        return memories.clear().with_columns(sentences=pl.lit(None, pl.List(pl.String)))
    live = memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("kind") == ORIGINAL).sort("profile_id", "seq")
    short = live.filter(
        (tokens.count_tokens(live["content"]) <= MOST_TOKENS) & ~commands.commands_a_model(live["content"])
    )
    sentences = pl.Series("sentences", _sentences(short["content"]), dtype=pl.List(pl.String))
    several = short.with_columns(sentences).filter(pl.col("sentences").list.len() > 1)
    languages = several.select("profile_id", identification.identify(several["content"]))
    return several.filter(identification.judged(languages))


def requests(candidates: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Make one request (`REQUESTS`) per entry that `entries` returned; the subject is the hash of its text."""
    if policy.llm_model is None or candidates.is_empty():
        return REQUESTS.to_frame()
    columns = candidates.select("created_at", "speaker", "sentences").iter_rows()
    prompts = [model_prompts.prompt(_PROMPT, model_prompts.json_lines([_shown(*row)])) for row in columns]
    subjects = candidates.select("profile_id", subject="content_hash")
    return model_prompts.requests(subjects, prompts, PURPOSE, policy.llm_model)


def split(candidates: pl.DataFrame, recorded: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the facts of the entries whose recorded answer is accepted, and the reason for the others, as `FACTS`.

    An answer is refused if it is not the JSON asked for; if it leaves a sentence unaccounted for; if a fact invents a
    number, date, name or address, states a date that its sentences do not, instructs its reader in words other than
    theirs, or says what the entry does not (`support`); if a fact drops, adds or reverses what its own sentences state:
    a negation, condition, doubt, plan, report or tense, who does what to whom, or which figure belongs to what
    (`restating`); or if its facts together lack a number, date or name of the entry. An answer with a single fact gives
    no row. The candidates are as `entries` returns them, what is recorded has the columns of `completions`.
    """
    asked = requests(candidates, policy)
    if asked.is_empty():
        return FACTS.to_frame()
    rows = list[dict[str, Any]]()
    answers = model_prompts.answers(asked, recorded)
    for entry, answer in zip(candidates.iter_rows(named=True), answers.iter_rows(named=True), strict=True):
        of_entry = {"profile_id": entry["profile_id"], "memory_id": entry["memory_id"]}
        refused = answer["fallback"]
        found = None if refused else _read(answer["content"])
        if found is None:
            rows += [of_entry | {"refused": refused or NOT_JSON}] if refused != NOT_ASKED else []
        elif reason := _structure(found, len(entry["sentences"])):
            rows.append(of_entry | {"refused": reason})
        else:
            rows += [of_entry | _fact(one, entry["sentences"]) for one in found.facts if len(found.facts) > 1]
    return _faithful(pl.DataFrame(rows, schema=FACTS), candidates)


def _sentences(texts: pl.Series) -> list[list[str]]:
    """Return the sentences of each text, without surrounding white space."""
    whole = clauses.sentences(texts).with_columns(pl.col("sentence").str.strip_chars())
    by_text = whole.filter(pl.col("sentence") != "").group_by("row", maintain_order=True).agg("sentence")
    found: dict[int, list[str]] = dict(by_text.iter_rows())
    return [found.get(row, []) for row in range(len(texts))]


def _shown(day: datetime, speaker: str | None, sentences: Sequence[str]) -> dict[str, Any]:
    """Return what the model sees of an entry."""
    numbered = {str(number): sentence for number, sentence in enumerate(sentences, start=1)}
    return {"said": f"{day:%Y-%m-%d}"} | ({"speaker": speaker} if speaker else {}) | {"sentences": numbered}


def _read(content: str) -> _Answer | None:
    try:
        return _Answer.model_validate_json(content)
    except ValidationError:
        return None


def _structure(answer: _Answer, count: int) -> str | None:
    """Return what is wrong with the form of an answer about an entry of `count` sentences."""
    used = {number for one in answer.facts for number in one.sentences}
    left_out = set(answer.left_out)
    texts = [" ".join(one.fact.lower().split()) for one in answer.facts]
    faults = {
        NO_SENTENCE: not (used | left_out) <= set(range(1, count + 1)),
        BOTH: bool(used & left_out),
        UNACCOUNTED: len(used | left_out) < count,
        REPEATED: len(set(texts)) < len(texts),
        BROKEN: any(len(one.fact.splitlines()) != 1 or not one.fact.strip() for one in answer.facts),
    }
    return next((reason for reason, holds in faults.items() if holds), None)


def _fact(one: _Fact, sentences: Sequence[str]) -> dict[str, Any]:
    numbers = sorted(set(one.sentences))
    return {"fact": one.fact.strip(), "date": one.date, "sentences": [sentences[number - 1] for number in numbers]}


def _faithful(found: pl.DataFrame, candidates: pl.DataFrame) -> pl.DataFrame:
    """Refuse all facts of an entry if one of them is not what the entry states, or if together they omit something."""
    stated = found.filter(pl.col("refused").is_null()).with_columns(position=pl.int_range(pl.len()).over(KEY))
    if stated.is_empty():
        return found
    members = facts.add_facts(candidates.select(*KEY, "content", "speaker", "created_at"))
    texts = stated.select(*KEY, "position", content="fact")
    of_fact = members.join(texts.select(*KEY, "position"), on=KEY)
    invented = faithfulness.unfaithful(texts, of_fact, on=[*KEY, "position"], whole=False)
    together = texts.group_by(KEY, maintain_order=True).agg(pl.col("content").str.join(" "))
    lost = faithfulness.unfaithful(together, members, on=KEY)
    unsupported = support.supported(texts, of_fact, on=[*KEY, "position"]).drop_nulls("reason")
    turned = [_misdated(stated, candidates), _instructed(stated), _turned(stated, candidates)]
    faults = [invented, lost, *turned, unsupported]
    wrong = pl.concat(fault.select(*KEY, "reason") for fault in faults).unique(KEY, keep="first", maintain_order=True)
    accepted = found.join(wrong, on=KEY, how="anti", maintain_order="left")
    return pl.concat([accepted, wrong.rename({"reason": "refused"})], how="diagonal").sort(KEY, maintain_order=True)


def _turned(stated: pl.DataFrame, candidates: pl.DataFrame) -> pl.DataFrame:
    """Return entries with a fact that says something other than the sentences it is taken from (`restating`)."""
    entry = candidates.select(*KEY, entry="sentences")
    rows = stated.join(entry, on=KEY, maintain_order="left").select(*KEY, "fact", "entry", "sentences")
    found = [
        (profile_id, memory_id, reason)
        for profile_id, memory_id, fact, sentences, own in rows.iter_rows()
        if (reason := restating.fault(fact, sentences, [at for at, one in enumerate(sentences) if one in own]))
    ]
    return pl.DataFrame(found, schema=_REASONS, orient="row")


def _instructed(stated: pl.DataFrame) -> pl.DataFrame:
    """Return entries with a fact that tells its reader what to do and is not a sentence of the entry word for word."""
    instructing = stated.filter(commands.instructs_reader(stated["fact"]))
    numbered = instructing.select(*KEY, "sentences", words=tokens.tokenize(instructing["fact"])).with_row_index("row")
    by_sentence = numbered.explode("sentences")
    same = by_sentence.filter(by_sentence["words"] == tokens.tokenize(by_sentence["sentences"]))["row"]
    return numbered.filter(~pl.col("row").is_in(same.implode())).select(*KEY, reason=pl.lit(INSTRUCTED))


def _misdated(stated: pl.DataFrame, candidates: pl.DataFrame) -> pl.DataFrame:
    """Return entries with a fact whose date its sentences do not state."""
    dated = stated.filter(pl.col("date").is_not_null()).join(candidates.select(*KEY, "created_at"), on=KEY)
    read = facts.add_facts(dated.with_columns(content=pl.col("sentences").list.join(" ")))
    wrong = [
        (row["profile_id"], row["memory_id"], DATE)
        for row in read.iter_rows(named=True)
        if row["date"] not in _days(row)
    ]
    return pl.DataFrame(wrong, schema=_REASONS, orient="row")


def _days(row: dict[str, Any]) -> frozenset[date]:
    """Return the day of an entry, and the first day of each date or span that its sentences name."""
    day = row["created_at"].date()
    spans = (dates.span(stated, day) for stated in row["dates"])
    return frozenset([day, *(found[0] for found in spans if found is not None)])


def settled(candidates: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return the entries that have live facts: KEY."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("kind") == FACT)
    return _grouped(candidates).join(live, on=lineage.CLUSTER, how="semi").select(KEY)


def summaries(
    accepted: pl.DataFrame,
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    enrichment: Frame[schemas.Enrichment],
    changes: Frame[schemas.FactChanges],
    policy: Policy,
    *,
    plan_id: str,
) -> pl.DataFrame:
    """Return the facts to create: those that are not live yet and that no newer memory changes.

    Args:
        accepted: as `split` returns it.
        memories: table `memories`, with the entries and the live facts.
        scored: table `scored_memories` of the same state.
        changes: table `fact_changes` of the same run.
        policy: the model.

    Returns:
        Table `summaries`. A fact has the speaker, session, tags and place of its entry, and inherits from it what a
        summary inherits from its members; a date no later than the entry's day starts its validity.
    """
    named = _named(accepted, memories)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", fact_id="memory_id")
    due = named.join(_changed(named, memories, changes), on=["profile_id", "fact_id"], how="anti").join(
        live, on=["profile_id", "fact_id"], how="anti"
    )
    rated = lineage.rated(memories.join(due, on=KEY, how="semi"), scored, enrichment)
    rows = due.join(rated.drop("cluster_id", "content_hash", "members", "plan_id"), on=KEY, maintain_order="left")
    began = pl.col("date").cast(INSTANT)
    return TABLES["summaries"].conform(
        rows.with_columns(
            content_hash.content_hashes(rows["speaker"], rows["fact"]),
            summary_id="fact_id",
            kind=pl.lit(FACT),
            compiled_by=pl.lit(policy.llm_model, pl.String),
            fallback=pl.lit(None, pl.String),
            content="fact",
            index_text="fact",
            members=pl.concat_list("memory_id"),
            valid_from=pl.when(began <= pl.col("created_at")).then(began).otherwise("valid_from"),
            said_at=pl.lit(None, INSTANT),
            metadata=whereabouts.shared().over("profile_id", "fact_id"),
            protected=pl.lit(value=False),
            protected_reason=pl.lit(None, pl.String),
            replaces=pl.lit([], pl.List(pl.String)),
            supersedes=pl.lit(value=False),
            plan_id=pl.lit(plan_id),
        )
    )


def withdrawn(
    accepted: pl.DataFrame, memories: Frame[schemas.Memories], changes: Frame[schemas.FactChanges]
) -> pl.DataFrame:
    """Return live facts whose entry has left the live set, has another text, or was changed in what they state.

    Takes what `split` returns; gives profile_id, memory_id and reason, sorted.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    made = live.filter(pl.col("kind") == FACT).with_columns(entry=pl.col("members").list.first())
    if made.is_empty():
        return made.select(*KEY, reason=pl.lit(None, pl.String))
    entries_ = live.filter(pl.col("kind") == ORIGINAL).join(
        made.select("profile_id", memory_id="entry"), on=KEY, how="semi"
    )
    groups = _grouped(entries_).select(*lineage.CLUSTER)
    named = _named(accepted, memories)
    unknown = made.join(named, left_on=KEY, right_on=["profile_id", "fact_id"], how="anti").select(
        "profile_id", fact_id="memory_id", memory_id="entry", sentences=pl.lit([], pl.List(pl.String))
    )
    all_facts = pl.concat([named.select(unknown.columns), unknown])
    changed = _changed(all_facts, memories, changes).rename({"fact_id": "memory_id"})
    departed = made.join(groups, on=lineage.CLUSTER, how="anti")
    reasons = {
        "Its entry has left or says something else.": departed,
        "Something newer changes what it says.": made.join(changed, on=KEY, how="semi"),
    }
    rows = [frame.select(*KEY, reason=pl.lit(reason)) for reason, frame in reasons.items()]
    return pl.concat(rows).unique(KEY, keep="first", maintain_order=True).sort(KEY)


def _named(accepted: pl.DataFrame, memories: Frame[Memories]) -> pl.DataFrame:
    """Return the accepted facts with `fact_id` (hash of the entry, its text and the fact) and `cluster_id`."""
    facts = accepted.filter(pl.col("refused").is_null())
    groups = _grouped(memories.join(facts, on=KEY, how="semi"))
    stated = facts.join(groups, on=KEY, how="left", maintain_order="left")
    ids = [
        model_prompts.digest(f"{cluster_id}\x1f{fact}")[:_ID_DIGITS]
        for cluster_id, fact in stated.select("cluster_id", "fact").iter_rows()
    ]
    return stated.with_columns(pl.Series("fact_id", ids, dtype=pl.String))


def _grouped(entries_: pl.DataFrame) -> pl.DataFrame:
    """Return the id that groups the facts of each entry: KEY and cluster_id."""
    ids = [derived_ids.entry_id(*row) for row in entries_.select("memory_id", "content_hash").iter_rows()]
    return entries_.select(KEY).with_columns(pl.Series("cluster_id", ids, dtype=pl.String))


def _changed(named: pl.DataFrame, memories: Frame[Memories], changes: pl.DataFrame) -> pl.DataFrame:
    """Return the facts affected by the closing of their entry, or by a change or contradiction of their sentence.

    Where that sentence is unknown, or the sentences that a fact is taken from are, every fact is affected.
    """
    closed = memories.filter(pl.col("superseded_kind") == "update").select(*KEY, statement=pl.lit(None, pl.String))
    sentences = memories.select(*KEY, "closed_statements").explode("closed_statements").drop_nulls()
    ended = sentences.select(*KEY, statement=pl.col("closed_statements").struct.field("sentence"))
    relevant = changes.filter(pl.col("relation").is_in(["update", "conflict"])).select(*KEY, "statement")
    pairs = named.select("profile_id", "fact_id", "memory_id", "sentences").join(
        pl.concat([closed, ended, relevant]), on=KEY, maintain_order="left"
    )
    touched = [
        statement is None
        or not sentences
        or any(sentence in statement or statement in sentence for sentence in sentences)
        for sentences, statement in pairs.select("sentences", "statement").iter_rows()
    ]
    return pairs.filter(pl.Series(touched, dtype=pl.Boolean)).select("profile_id", "fact_id").unique()
