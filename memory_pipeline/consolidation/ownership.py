"""Whose memory a profile is: tells what its owner said from what others said.

The owner of a profile is whom the setting `owner` names; else the speaker whose name is the user's id; else the first
speaker of the ledger that is no program. In a shared profile every user has an owner of their own. What has no speaker,
or one named after a role ("user"), is the owner's: agents note what they were told. Positions in the ledger never
change, so a late import does not change who the owner is. Not here: what follows from it for core memory
(`core_profile`) and for relations of facts (`change_detection`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.speakers import USERS, by_assistant

OWNER: Final = ""
"""Voice of the owner."""
_PERSON: Final = ["profile_id", "user_id"]


def voices(memories: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return who speaks in each memory: `OWNER` for its owner, else the name of the speaker, folded.

    Args:
        memories: profile_id, user_id, speaker, kind and seq of all memories of the profiles.
        policy: the setting `owner`.

    Cost: a sort of the speakers.
    """
    name = _folded("speaker")
    heard = memories.with_columns(name=name, user=_folded("user_id"))
    people = heard.filter(pl.col("name").is_not_null(), ~by_assistant(pl.col("name")), ~_by_role("name"))
    if policy.owner is not None:
        owners = heard.select(_PERSON).unique().with_columns(owner=pl.lit(policy.owner.strip().casefold()))
    else:
        owners = (
            people.filter(pl.col("kind") == ORIGINAL)
            .sort(pl.col("name") != pl.col("user"), "seq", "name", nulls_last=True)
            .group_by(_PERSON, maintain_order=True)
            .agg(owner=pl.col("name").first())
        )
    voiced = heard.join(owners, on=_PERSON, how="left", nulls_equal=True, maintain_order="left")
    own = pl.col("name").is_null() | _by_role("name") | pl.col("name").eq_missing(pl.col("owner"))
    return voiced.select(pl.when(own).then(pl.lit(OWNER)).otherwise("name").alias("voice")).to_series()


def _folded(column: str) -> pl.Expr:
    """Return names without differences in case, in the form of letters and in the spaces around them."""
    return pl.col(column).str.normalize("NFKC").str.strip_chars().str.to_lowercase()


def _by_role(column: str) -> pl.Expr:
    return pl.col(column).is_in(sorted(USERS)).fill_null(value=False)
