"""Whose memory a profile is: tells what its owner said from what others said.

The owner of a profile is whom the setting `owner` names; else the speaker whose name is the user's id; else the first
speaker of the ledger who speaks of themself: in the first person, without addressing a reader ("you"); else the first
speaker. So neither a newsletter nor a bot that greets becomes the owner by speaking first. Programs are not asked,
and speakers named like an agent's id only if there is nobody else. In a shared profile every user has an owner of their
own. What has no speaker, or one named after a role ("user"), is the owner's: agents note what they were told. Positions
in the ledger never change, so a late import does not change who the owner is, and nobody who speaks later takes over.
Not here: what follows from it for core memory (`core_profile`) and for relations of facts (`change_detection`).
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings import Policy
from memory_pipeline.text.lang.en.lexicon import ONESELF, SECOND_PERSON
from memory_pipeline.text.parse.speakers import USERS, by_assistant

OWNER: Final = ""
"""Voice of the owner."""
_PERSON: Final = ["profile_id", "user_id"]


def voices(memories: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return who speaks in each memory: `OWNER` for its owner, else the name of the speaker, folded.

    Args:
        memories: profile_id, user_id, agent_id, speaker, kind, content and seq of all memories of the profiles.
        policy: the setting `owner`.

    Cost: a sort of the speakers.
    """
    heard = _heard(memories)
    voiced = heard.join(_owners(heard, policy), on=_PERSON, how="left", nulls_equal=True, maintain_order="left")
    own = pl.col("name").is_null() | _by_role("name") | pl.col("name").eq_missing(pl.col("owner"))
    return voiced.select(pl.when(own).then(pl.lit(OWNER)).otherwise("name").alias("voice")).to_series()


def shared(memories: pl.DataFrame) -> pl.Series:
    """Return the profiles whose live memories belong to several users.

    Args:
        memories: profile_id, user_id and lifecycle.
    """
    users = memories.filter(pl.col("lifecycle").is_in(LIVE)).group_by("profile_id")
    several = users.agg(users=pl.col("user_id").drop_nulls().n_unique()).filter(pl.col("users") > 1)
    return several["profile_id"].sort()


def changed(before: pl.DataFrame, after: pl.DataFrame, policy: Policy) -> Mapping[tuple[str, str | None], str | None]:
    """Return who owns memories of which somebody else was the owner before: profile and user, and the owner's name.

    Args:
        before: all memories of the profiles, with the columns of `voices`.
        after: those that remain; users of whom none remains have no owner to tell of.
        policy: the setting `owner`.

    Returns:
        The name, folded, or None where nobody is the owner now.
    """
    owned_before = _owners(_heard(before), policy).rename({"owner": "owner_before"})
    left = after.select(_PERSON).unique().join(_owners(_heard(after), policy), on=_PERSON, how="left", nulls_equal=True)
    both = left.join(owned_before, on=_PERSON, nulls_equal=True).filter(
        pl.col("owner").ne_missing(pl.col("owner_before"))
    )
    return {(profile, user): owner for profile, user, owner in both.select(*_PERSON, "owner").sort(_PERSON).iter_rows()}


def _heard(memories: pl.DataFrame) -> pl.DataFrame:
    return memories.with_columns(name=_folded("speaker"), user=_folded("user_id"), agent=_folded("agent_id"))


def _owners(heard: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the name of the owner of each user's memories: profile_id, user_id, owner."""
    if policy.owner is not None:
        return heard.select(_PERSON).unique().with_columns(owner=pl.lit(policy.owner.strip().casefold()))
    agents = heard.select("profile_id", name="agent").drop_nulls().unique().with_columns(agents=pl.lit(value=True))
    people = heard.filter(
        pl.col("kind") == ORIGINAL, pl.col("name").is_not_null(), ~by_assistant(pl.col("name")), ~_by_role("name")
    )
    low = pl.col("content").str.to_lowercase().str.replace_all("\u2019", "'", literal=True)
    of_themself = low.str.contains(_any_of(ONESELF)) & ~low.str.contains(_any_of(SECOND_PERSON))
    return (
        people.join(agents, on=["profile_id", "name"], how="left", maintain_order="left")
        .sort(
            *(pl.col("name").ne_missing(pl.col("user")), pl.col("agents").fill_null(value=False), ~of_themself),
            *("seq", "name"),
            nulls_last=True,
        )
        .group_by(_PERSON, maintain_order=True)
        .agg(owner=pl.col("name").first())
    )


def _any_of(words: frozenset[str]) -> str:
    return rf"(?-u:\b)(?:{'|'.join(sorted(words))})(?-u:\b)"


def _folded(column: str) -> pl.Expr:
    """Return names without differences in case, in the form of letters and in the spaces around them."""
    return pl.col(column).str.normalize("NFKC").str.strip_chars().str.to_lowercase()


def _by_role(column: str) -> pl.Expr:
    return pl.col(column).is_in(sorted(USERS)).fill_null(value=False)
