"""Prompts for the wording of summaries and core memory blocks, and which of a model's texts are accepted.

A text is accepted only if it states what the memories state and tells its reader to do nothing; sentences that no
memory supports are removed. Not here: how a model is asked (`model_prompts`), which requests a run has and which
answers are recorded (`model_requests`), and texts by rule (`extracts`, `core_memory`).
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from memory_pipeline.consolidation import model_prompts
from memory_pipeline.consolidation.model_prompts import REQUESTS
from memory_pipeline.consolidation.summaries import faithfulness, support
from memory_pipeline.consolidation.summaries.extracts import LEAST_BUDGET
from memory_pipeline.schemas import INSTANT, Completions, Frame
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse import facts, tokens
from memory_pipeline.text.score import commands

SUMMARY: Final = "summary"
BLOCK: Final = "block"
"""Purposes of a request."""
WORDED: Final = ("user_profile", "project_context", "current_projects")
"""Core memory blocks that a model words; structured facts gain nothing by it."""
INSTRUCTS: Final = "an instruction to its reader"
"""Reason why an answer that tells its reader what to do is refused."""
_TOKENS_PER_FACT: Final = 8
"""Tokens needed to state a number, date or name; facts take precedence over the budget."""
_WORDS_PER_TOKEN: Final = 0.75
_CLUSTER: Final = ["profile_id", "cluster_id"]
_BLOCK: Final = ["profile_id", "block"]
_BREAKS: Final = r"[\p{Cc}\p{Zl}\p{Zp}\s]+"
_SUMMARY_PROMPT: Final = """\
Compress these related memories into a single concise summary that preserves all key facts.

{care}

Memories, each with the day on which it was said:
----- {mark}
{material}
----- {mark}

Write one clear paragraph of at most {most} words. Preserve specific names, dates, numbers, and preferences. Say \
nothing that the memories do not say. Answer with the paragraph alone."""
_BLOCK_PROMPT: Final = """\
Summarise these facts about {about} in one coherent paragraph, for an assistant that reads it before every session.

{care}

Facts, most important first:
----- {mark}
{material}
----- {mark}

Write at most {most} characters. Preserve specific names, dates, numbers, and preferences. Say nothing that the \
facts do not say. Answer with the paragraph alone."""
_ABOUT: Final = {
    "user_profile": "a person: traits, circumstances and preferences",
    "project_context": "what a person is working on at present",
    "current_projects": "what a person is working on at present",
}


def summary_requests(members: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Make one request per group of memories: columns of `REQUESTS`, by profile and cluster; none without a model.

    `members` has one row per group and member: profile_id, cluster_id, memory_id, created_at, speaker, content.
    """
    if policy.llm_model is None or members.is_empty():
        return REQUESTS.to_frame()
    groups = _groups(members)
    prompts = [
        model_prompts.prompt(_SUMMARY_PROMPT, _numbered(lines), most=round(_WORDS_PER_TOKEN * most))
        for lines, most in groups.select("lines", "most").iter_rows()
    ]
    return model_prompts.requests(groups.select("profile_id", subject="cluster_id"), prompts, SUMMARY, policy.llm_model)


def block_requests(candidates: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Make one request per core memory block that a model words, as `summary_requests` does.

    `candidates` has profile_id, block, members and content, as `core_memory.candidates` returns them.
    """
    if policy.llm_model is None:
        return REQUESTS.to_frame()
    blocks = _facts(candidates).group_by(_BLOCK, maintain_order=True).agg("content")
    prompts = [
        model_prompts.prompt(_BLOCK_PROMPT, _numbered(lines), most=policy.block_char_limit, about=_ABOUT[block])
        for block, lines in blocks.select("block", "content").iter_rows()
    ]
    return model_prompts.requests(blocks.select("profile_id", subject="block"), prompts, BLOCK, policy.llm_model)


def accepted(members: pl.DataFrame, completions: Frame[Completions], policy: Policy) -> pl.DataFrame:
    """Select the model's texts that are accepted for their groups; `members` are as for `summary_requests`.

    A text is refused if it is empty, a refusal, longer than the members allow, if it tells its reader what to do, or if
    it invents a number, a date, a name or an address. A sentence that no member supports (`support`) is removed; the
    rest must lack no number, date or name.

    Returns:
        profile_id, cluster_id, content (null if refused), fallback (the reason, else null): one row per group; none if
        no model is set.
    """
    requests = summary_requests(members, policy)
    answers = model_prompts.answers(requests, completions).rename({"subject": "cluster_id"})
    if answers.is_empty():
        return answers.select(*_CLUSTER, "content", "fallback")
    groups = _groups(members).select(*_CLUSTER, "most")
    sources = facts.add_facts(members.select(*_CLUSTER, "content", "speaker", "created_at"))
    limited = answers.join(groups, on=_CLUSTER, how="left", maintain_order="left")
    return _judged(limited.with_columns(length=tokens.count_tokens(limited["content"])), sources, _CLUSTER, whole=True)


def accepted_blocks(candidates: pl.DataFrame, completions: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Select the model's texts that are accepted for core memory blocks; `candidates` are as for `block_requests`.

    A block is a view whose memories stay, so a text may leave facts out but must not invent any. It may be as long as a
    block.

    Returns:
        profile_id, block, content (null if refused), fallback (the reason, else null): one row per block that a model
        words; none if no model is set.
    """
    requests = block_requests(candidates, policy)
    answers = model_prompts.answers(requests, completions).rename({"subject": "block"})
    if answers.is_empty():
        return answers.select(*_BLOCK, "content", "fallback")
    sources = facts.add_facts(_facts(candidates)).with_columns(speaker=pl.lit(None), created_at=pl.lit(None, INSTANT))
    limited = answers.with_columns(length=pl.col("content").str.len_chars(), most=pl.lit(policy.block_char_limit))
    return _judged(limited, sources, _BLOCK, whole=False)


def _facts(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return the facts of the blocks that a model words, one row each, in order: profile_id, block, content."""
    return (
        candidates.filter(pl.col("block").is_in(WORDED))
        .sort(_BLOCK)
        .select(*_BLOCK, pl.col("content").str.split("\n"))
        .explode("content")
        .filter(~pl.col("content").is_in(["", "---"]))
    )


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _groups(members: pl.DataFrame) -> pl.DataFrame:
    """Return one row per group: its memories as numbered lines, and the maximum number of tokens of its summary."""
    ordered = members.select(*_CLUSTER, "created_at", "memory_id", "speaker", "content").sort(
        *_CLUSTER, "created_at", "memory_id"
    )
    spoken = pl.concat_str("speaker", "content", separator=": ", ignore_nulls=True).str.replace_all(_BREAKS, " ")
    with_facts = facts.add_facts(ordered).with_columns(
        tokens.count_tokens(ordered["content"]).alias("tokens"),
        held=pl.concat_list("numbers", "dates", "entities"),
        line=pl.format("[{}] {}", pl.col("created_at").dt.to_string("%Y-%m-%d"), spoken.str.strip_chars()),
    )
    return with_facts.group_by(_CLUSTER, maintain_order=True).agg(
        lines="line",
        most=pl.max_horizontal(
            pl.lit(LEAST_BUDGET),
            pl.col("tokens").sum() // 2,
            _TOKENS_PER_FACT * pl.col("held").list.explode().n_unique(),
        ),
    )


def _judged(answers: pl.DataFrame, sources: pl.DataFrame, key: list[str], *, whole: bool) -> pl.DataFrame:
    """Accept texts that are short enough, faithful and not instructions, and give the reason for the others."""
    too_long = pl.when(pl.col("length") > pl.col("most")).then(pl.lit("too long"))
    open_answers = answers.with_columns(fallback=pl.coalesce("fallback", too_long))
    texts = open_answers.filter(pl.col("fallback").is_null())
    invented = faithfulness.unfaithful(texts, sources, on=key, whole=False)
    instructing = texts.filter(commands.instructs_reader(texts["content"])).select(*key, reason=pl.lit(INSTRUCTS))
    refused = pl.concat([instructing, invented]).unique(key, keep="first", maintain_order=True)
    supported = support.supported(texts.join(refused, on=key, how="anti", maintain_order="left"), sources, on=key)
    nonempty = supported.filter(pl.col("content") != "")
    lost = faithfulness.unfaithful(nonempty, sources, on=key) if whole else refused.clear()
    nothing_left = supported.filter(pl.col("content") == "").select(*key, "reason")
    wrong = pl.concat([refused, lost, nothing_left])
    accepted = nonempty.join(wrong, on=key, how="anti").select(*key, "content")
    return (
        open_answers.drop("content")
        .join(wrong, on=key, how="left", maintain_order="left")
        .with_columns(fallback=pl.coalesce("fallback", "reason"))
        .join(accepted, on=key, how="left", maintain_order="left")
        .select(*key, "content", "fallback")
    )
