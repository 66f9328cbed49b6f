"""Trims memories to a token budget: selects the clauses that recall still shows.

A trimmed memory stays: its content and index words do not change, only the text that recall returns. Not here: how a
text is split (`text/parse/sentences`), what a clause is worth (`text/score/clause_value`), and how a trim takes effect
(`decision_rows`, `lifecycle`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation import languages
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.scoring import bars_supersession
from memory_pipeline.consolidation.state.decision_json import BUDGET
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import LIVE, TABLES, Action
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens
from memory_pipeline.text.score import clause_value

_OPEN: Final = r"[\s,;:\u2013\u2014-]+$"
"""Trailing punctuation that a clause may end with, but a text may not."""
_MARKED: Final = r"[,;:\u2013\u2014-]\s*$"
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
"""Priorities of clauses: required, optional by worth, and summaries that repeat their members (all or nothing)."""
_OMITTED: Final = "\u2026"
"""Replaces the omitted rest of a sentence and the comma before it."""


def select(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    spare: pl.DataFrame,
    policy: Policy,
    *,
    plan_id: str,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Select what to leave out so that the live memories of a profile fit its token budget.

    Profiles within budget are unchanged. In the others, live summaries that superseded no memory, and so only repeat
    their members, leave first; then the clauses of least worth per token are dropped until the rest fits. Importance
    stated by agents scales the worth by 0.5 to 1.5. A memory without clauses left is archived, unless it is protected
    against a budget or is a summary that superseded its members: then its best clause stays. Explicitly protected and
    core memories count towards the budget but are not touched.

    At most `spare` originals without clauses left are archived, those of least worth. The others keep their best clause
    until a later run, even though it exceeds the budget.

    Args:
        memories: table `memories`.
        scored: table `scored_memories`; `budget_protected` is read.
        enrichment: table `enrichment`; `question` is read: an answer to a question is worth more.
        spare: `profile_id`, `spare`: how many originals the quota lets leave; 0 for a profile without a row.
        policy: `token_budget` (up to 1: share of the tokens of all originals ever stored in the profile; above 1:
            tokens), and what is protected.
        plan_id: plan that the rows belong to.

    Returns:
        Tables `trims` and `archived_set`; `value` and `strength` are the worth per token of the best clause. Unless a
        memory had to wait, less than one clause and a speaker's name of the budget stays unused. For equal `spare`, the
        result for a smaller budget is contained in that for a larger one; this holds for one run and not for sequences
        of runs, since the worth of words depends on what else is left. Cost: linear, about 30 µs per memory of a
        profile over budget, 2 µs otherwise.
    """
    if policy.token_budget is None:
        return TABLES["trims"].empty(), TABLES["archived_set"].empty()
    shown = _shown(memories, scored, enrichment, policy)
    rows = shown.join(_rooms(shown, policy.token_budget), on="profile_id", maintain_order="left")
    rows = rows.filter(pl.col("live") & ~pl.col("barred")).with_row_index("row")
    if rows.is_empty():
        return TABLES["trims"].empty(), TABLES["archived_set"].empty()
    clauses = ordered(_whole_unless_judged(clause_value.values(rows), rows), rows)
    fits = (pl.col("cost").cum_sum().over("profile_id") <= pl.col("room")) | (pl.col("priority") == _REQUIRED)
    whole = pl.col("fits").all().over("row")
    clauses_kept = clauses.with_columns(fits=fits).with_columns(
        kept=pl.col("fits") & (whole | (pl.col("priority") != _REPEATED))
    )
    remaining = _texts(clauses_kept)
    waiting = _waiting(rows.join(remaining, on="row", how="left"), spare)
    best = _texts(
        clauses_kept.join(waiting, on="row", how="semi", maintain_order="left").with_columns(kept=pl.col("first"))
    )
    final = pl.concat([remaining.join(waiting, on="row", how="anti"), best])
    after = rows.join(final, on="row", how="left", maintain_order="left").with_columns(
        waits=pl.col("row").is_in(waiting["row"].implode()), plan_id=pl.lit(plan_id)
    )
    return _trims(after), _archived(after)


def _whole_unless_judged(clauses: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the clauses, joined to one where the language of the text has no full rules: it stays whole or leaves."""
    judged = rows.filter("judged").select("row")
    whole = (
        clauses.join(judged, on="row", how="anti", maintain_order="left")
        .group_by("row", maintain_order=True)
        .agg(
            pl.col("place").first(),
            pl.col("clause").str.join(""),
            pl.col("ends").last(),
            pl.col("tokens", "value").sum(),
        )
    )
    parts = clauses.select(whole.columns).join(judged, on="row", how="semi", maintain_order="left")
    return pl.concat([parts, whole]).sort("row", "place")


def _waiting(after: pl.DataFrame, spare: pl.DataFrame) -> pl.DataFrame:
    """Return originals without a clause left that must wait for a later run: row. Those of least worth leave first."""
    gone = after.filter(_without_text(), pl.col("kind") == ORIGINAL).join(spare, on="profile_id", how="left")
    worst_first = gone.sort(
        "profile_id",
        pl.col("worth").fill_null(0.0),
        "created_at",
        "memory_id",
        descending=[False, False, True, True],
    )
    place = pl.int_range(pl.len()).over("profile_id")
    return worst_first.filter(place >= pl.col("spare").fill_null(0)).select("row")


def _without_text() -> pl.Expr:
    """Return whether a memory has no text left and need not keep any."""
    return (pl.col("left_text").fill_null("") == "") & ~pl.col("stands")


def _shown(memories: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return every memory with the text it shows and its cost, by session and time."""
    replacing = memories.filter(pl.col("superseded_kind") == "summary").select("profile_id", memory_id="superseded_by")
    standing = pl.concat([replacing, scored.filter("budget_protected").select(KEY)]).unique()
    ordered = (
        memories.with_columns(judged=languages.judged(memories, enrichment))
        .join(standing.with_columns(stands=pl.lit(value=True)), on=KEY, how="left")
        .join(
            enrichment.select("profile_id", "content_hash", "question"), on=["profile_id", "content_hash"], how="left"
        )
        .sort("profile_id", "session_id", "created_at", "memory_id")
        .with_columns(barred=bars_supersession(policy), stands=pl.col("stands").fill_null(value=False))
    )
    return priced(ordered).with_columns(follows_question=clause_value.follows_question(ordered))


def priced(memories: pl.DataFrame) -> pl.DataFrame:
    """Add what each memory shows and its cost in tokens.

    Args:
        memories: table `memories`.

    Returns:
        The memories with text (shown), live, name (of the speaker), name_cost, whole_cost (of the whole text) and
        tokens_before (of the text shown), each with the name. Cost: 2 µs a memory.
    """
    named = memories.with_columns(
        text=pl.coalesce("trimmed", "content"),
        live=pl.col("lifecycle").is_in(LIVE),
        name=pl.when(pl.col("speaker") != "").then(pl.col("speaker") + ":").otherwise(pl.lit("")),
    )
    name = count_tokens(named["name"])
    return named.with_columns(
        name_cost=name,
        whole_cost=name + count_tokens(named["content"]),
        tokens_before=name + count_tokens(named["text"]),
    )


def _rooms(shown: pl.DataFrame, budget: float) -> pl.DataFrame:
    """Return profiles over budget: profile_id, budget, and room (what protected memories leave of it), in tokens."""
    barred = pl.col("tokens_before").filter(pl.col("live") & pl.col("barred")).sum()
    used = shown.group_by("profile_id").agg(*_used(budget), barred=barred)
    over = used.filter(pl.col("shown") > pl.col("budget"))
    return over.select("profile_id", "budget", room=pl.col("budget") - pl.col("barred"))


def _used(budget: float) -> list[pl.Expr]:
    """Return tokens that a profile has stored, shows, and may show."""
    stored = pl.col("whole_cost").filter(pl.col("kind") == ORIGINAL).sum()
    limit = (stored * budget if budget <= 1.0 else pl.lit(budget)).floor().cast(pl.Int64)
    shown = pl.col("tokens_before").filter("live").sum()
    return [stored.alias("stored"), shown.alias("shown"), limit.alias("budget")]


def used(memories: pl.DataFrame, budget: float) -> pl.DataFrame:
    """Return how much of a token budget each profile uses.

    Args:
        memories: table `memories`.
        budget: as in `Policy.token_budget`.

    Returns:
        profile_id; stored (tokens of all originals ever stored), shown (tokens that recall shows of live memories) and
        budget, speaker names included. Cost: 2 µs per memory.
    """
    return priced(memories).group_by("profile_id").agg(_used(budget)).sort("profile_id")


def ordered(valued: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Order clauses so that every budget is a prefix: the order in which a growing budget admits them.

    Within a memory the best clauses come first, and the first one carries the cost of the speaker's name. Following
    clauses that would raise the mean are merged with it, so that worth per token decreases from each item to the next;
    taking items of all memories in that order is then optimal for every budget that ends at an item (the relaxed
    knapsack problem with set-up costs).

    Args:
        valued: clauses as `clause_value.values` returns them.
        rows: the memories, by `row`: profile_id, memory_id, created_at, kind, name_cost (tokens of the speaker's name),
            stands (must keep a clause), importance_given, importance_hint, room.

    Returns:
        The clauses of each profile in order, with cost (tokens), worth (per token) and priority: 0 required, 1 optional
        by worth, 2 summaries that repeat their members.
    """
    of_row = pl.int_range(pl.len()).over("row")
    important = 0.5 + pl.coalesce("importance_given", "importance_hint", 0.5)
    weighted = valued.join(
        rows.select(
            *("row", "profile_id", "memory_id", "created_at", "kind", "name_cost", "stands", "room"),
            important=important,
        ),
        on="row",
    ).with_columns(value=pl.col("value") * pl.col("important"))
    unmarked = ~pl.col("ends") & ~pl.col("clause").str.contains(_MARKED)
    best_first = weighted.with_columns(cost=(pl.col("tokens") + unmarked).clip(1)).sort(
        "row", pl.col("value") * (1.0 / pl.col("cost")), "place", descending=[False, True, False]
    )
    priced = best_first.with_columns(
        first=of_row == 0, cost=pl.col("cost") + pl.when(of_row == 0).then("name_cost").otherwise(0)
    ).with_columns(mean=pl.col("value").cum_sum().over("row") * (1.0 / pl.col("cost").cum_sum().over("row")))
    joined = of_row <= pl.col("mean").arg_max().over("row")
    repeats = (pl.col("kind") != ORIGINAL) & ~pl.col("stands")
    priority = (
        pl.when(repeats).then(_REPEATED).when(pl.col("stands") & pl.col("first")).then(_REQUIRED).otherwise(_OPTIONAL)
    )
    return priced.with_columns(
        worth=pl.when(joined)
        .then(pl.col("mean").max().over("row"))
        .otherwise(pl.col("value") * (1.0 / pl.col("cost"))),
        priority=priority,
    ).sort(
        "profile_id",
        "priority",
        "worth",
        "created_at",
        "memory_id",
        descending=[False, False, True, False, False],
        maintain_order=True,
    )


def _texts(clauses: pl.DataFrame) -> pl.DataFrame:
    """Return the text left of each memory: row, left_text, clauses, left (number of clauses), worth (per token)."""
    gap = ~pl.col("ends") & ~pl.col("kept").shift(-1).over("row").fill_null(value=True)
    piece = pl.when(gap).then(pl.col("clause").str.replace(_OPEN, "") + f"{_OMITTED} ").otherwise("clause")
    return (
        clauses.sort("row", "place")
        .with_columns(piece=piece)
        .group_by("row", maintain_order=True)
        .agg(
            pl.col("piece").filter("kept").str.join("").str.strip_chars().alias("left_text"),
            clauses=pl.len(),
            left=pl.col("kept").sum(),
            worth=pl.col("worth").max().clip(0.0, 1.0),
        )
    )


def _trims(after: pl.DataFrame) -> pl.DataFrame:
    """Return table `trims`: memories of which some but not all clauses are left."""
    cut = after.filter((pl.col("left_text") != "") & (pl.col("left") < pl.col("clauses")))
    return TABLES["trims"].conform(
        cut.with_columns(
            trimmed="left_text", value="worth", tokens_after=cut["name_cost"] + count_tokens(cut["left_text"])
        ).with_columns(
            reason=pl.format(
                "{} of {} clauses and {} of {} tokens stay{} worth least, and the budget is {} tokens.",
                *("left", "clauses", "tokens_after", "tokens_before"),
                pl.when("waits")
                .then(pl.lit(" until a later run; all of it is"))
                .otherwise(pl.lit("; the others were")),
                "budget",
            )
        )
    )


def _archived(after: pl.DataFrame) -> pl.DataFrame:
    """Return table `archived_set`: memories without a clause left that need not wait."""
    leaving = after.filter(_without_text(), ~pl.col("waits"))
    why = (
        pl.when(pl.col("kind") != ORIGINAL)
        .then(pl.lit("repeats what its members say"))
        .otherwise(pl.lit("says what is worth least"))
    )
    return TABLES["archived_set"].conform(
        leaving.with_columns(
            action=pl.lit(Action.ARCHIVE.value),
            rule=pl.lit(BUDGET),
            reason=pl.format("It {} for its {} tokens, and the budget is {} tokens.", why, "tokens_before", "budget"),
            target_id=pl.lit(None, pl.String),
            strength=pl.col("worth").fill_null(0.0),
            threshold=pl.lit(None, pl.Float64),
        )
    )
