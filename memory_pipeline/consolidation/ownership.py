"""Whose memory a profile is: tells what its owner said from what others said.

The owner of a profile is whom the setting `owner` names; else the speaker whose name is the user's id; else the first
speaker of the ledger, whatever they say, who is no program: named after a role, or like an agent known by then. An
agent is the owner only while nobody else has spoken. Where what has no speaker came first, the owner is who told that,
and who gives a name then is so only if it is the profile's: it may be anybody's. In a shared profile every user has an
owner of their own; of memories without a user the owner is the first speaker, or the first user's owner where a user
was there before. What has no speaker, or one named after a role ("user"), is the owner's: agents note what they were
told. Positions in the ledger never change, so neither a late import nor anything said later changes who the owner is,
and a rebuild or an undo finds the same without a note of it. Not here: what follows from it for core memory
(`core_profile`) and for relations of facts (`change_detection`).
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.speakers import USERS, by_assistant

OWNER: Final = ""
"""Voice of the owner."""
_PERSON: Final = ["profile_id", "user_id"]


def voices(memories: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return who speaks in each memory of whole profiles: `OWNER` for its owner, else the speaker's name, folded.

    Cost: a sort of the speakers.
    """
    heard = _heard(memories)
    voiced = heard.join(_owners(heard, policy), on=_PERSON, how="left", nulls_equal=True, maintain_order="left")
    own = pl.col("name").is_null() | _by_role("name") | pl.col("name").eq_missing(pl.col("owner"))
    return voiced.select(pl.when(own).then(pl.lit(OWNER)).otherwise("name").alias("voice")).to_series()


def shared(memories: pl.DataFrame) -> pl.Series:
    """Return the profiles whose live memories belong to several users."""
    users = memories.filter(pl.col("lifecycle").is_in(LIVE)).group_by("profile_id")
    several = users.agg(users=pl.col("user_id").drop_nulls().n_unique()).filter(pl.col("users") > 1)
    return several["profile_id"].sort()


def user() -> pl.Expr:
    """Return whose each memory is: its user, else the only one of its profile; null where several share it."""
    first, last = pl.col("user_id").min().over("profile_id"), pl.col("user_id").max().over("profile_id")
    return pl.coalesce("user_id", pl.when(first == last).then(first))


def changed(before: pl.DataFrame, after: pl.DataFrame, policy: Policy) -> Mapping[tuple[str, str | None], str | None]:
    """Return who owns memories of which somebody else was the owner before: profile and user, and the owner's name.

    The name is folded, None where nobody is the owner now; users of whom no memory remains have no owner to tell of.
    Takes all memories of the profiles before and after, with the columns of `voices`.
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
    agents = heard.drop_nulls("agent").group_by("profile_id", name="agent").agg(known=pl.col("seq").min())
    people = heard.filter(
        pl.col("kind") == ORIGINAL, pl.col("name").is_not_null(), ~by_assistant(pl.col("name")), ~_by_role("name")
    )
    unheard = heard.filter(pl.col("kind") == ORIGINAL, pl.col("name").is_null() | _by_role("name"))
    unheard = unheard.group_by(_PERSON).agg(unheard=pl.col("seq").min())
    agent, named = pl.col("known") <= pl.col("seq"), pl.col("name").eq_missing(pl.col("user"))
    first = (pl.col("seq") < pl.col("unheard")) & ~agent.fill_null(value=False)
    own_name = pl.col("name") == _folded("profile_id")
    candidates = (
        people.join(agents, on=["profile_id", "name"], how="left", maintain_order="left")
        .join(unheard, on=_PERSON, how="left", maintain_order="left", nulls_equal=True)
        .filter(pl.col("unheard").is_null() | named | first | own_name)
        .select(*_PERSON, "name", "seq", named=named, agent=agent)
    )
    by_user = _first(candidates.drop_nulls("user_id"), _PERSON)
    users = (
        heard.drop_nulls("user_id")
        .group_by(_PERSON)
        .agg(pl.col("user").first(), pl.col("seq").min())
        .join(by_user, on=_PERSON, how="left")
        .select(*_PERSON, "seq", name=pl.coalesce("owner", "user"), named=pl.lit(value=False), agent=pl.lit(value=None))
    )
    unnamed = pl.concat([candidates.filter(pl.col("user_id").is_null()), users], how="diagonal_relaxed")
    by_profile = _first(unnamed, ["profile_id"]).with_columns(user_id=pl.lit(None, pl.String))
    return pl.concat([by_user, by_profile.select(by_user.columns)])


def _first(candidates: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Return the name that owns the memories of each group, `owner`: one named like the user first, agents last."""
    ranked = candidates.sort(~pl.col("named"), pl.col("agent").fill_null(value=False), "seq", "name", nulls_last=True)
    return ranked.group_by(by, maintain_order=True).agg(owner=pl.col("name").first())


def _folded(column: str) -> pl.Expr:
    """Return names without differences in case, in the form of letters and in the spaces around them."""
    return pl.col(column).str.normalize("NFKC").str.strip_chars().str.to_lowercase()


def _by_role(column: str) -> pl.Expr:
    return pl.col(column).is_in(sorted(USERS)).fill_null(value=False)
