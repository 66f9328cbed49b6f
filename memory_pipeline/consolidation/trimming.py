"""Trimming: which clauses of which memories a token budget leaves to be shown.

A memory that is trimmed stays: its content and the words of the index are untouched, only the text that recall returns
shrinks. What is not here: how a text is cut (`text/parse/sentences`), what a clause is worth
(`text/score/clause_value`), and how a trim takes effect (`deciding`, `settling`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans.decision_rows import BUDGET
from memory_pipeline.consolidation.scoring import KEY, bars_supersession
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import LIVE, TABLES, Action
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens
from memory_pipeline.text.score import clause_value

_OPEN: Final = r"[\s,;:\u2013\u2014-]+$"
"""What a clause may end with, but a text may not."""
_MARKED: Final = r"[,;:\u2013\u2014-]\s*$"
_FIRST, _NEXT, _LAST = 0, 1, 2
"""Turns of clauses: what must stay, what stays as it is worth, and summaries that repeat, whole or not at all."""
_OMITTED: Final = "\u2026"
"""Stands where the rest of a sentence is left out, in place of its comma."""


def select(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    spare: pl.DataFrame,
    policy: Policy,
    *,
    plan_id: str,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Choose what is left out so that what live memories show fits the token budget of their profile.

    Nothing changes in a profile that fits. In one that does not, live summaries that took no memory's place, which
    repeat what their members say, leave first; then the clauses that are worth least a token, from what is shown now,
    until the rest fits. What agents said to be important is worth up to half as much again, or half as much. A memory
    without a clause left is archived, but for one that is protected from a budget too, or a summary that took the place
    of its members: its best clause stays. Explicitly protected and core memories count, but are not touched.

    Of originals without a clause left no more are archived than are spare, those that are worth least. Of the others
    the best clause stays until a later run: it exceeds the budget, and nothing else makes room for it.

    Args:
        memories: table `memories`.
        scored: table `scored_memories`; `budget_protected` is read.
        enrichment: table `enrichment`; `question` is read: an answer is worth more than what nobody asked for.
        spare: `profile_id`, `spare`: how many originals the quota lets leave; none of a profile that is not there.
        policy: `token_budget` (up to 1 as a share of the tokens of all originals ever stored in a profile, above as a
            number), and what is protected.
        plan_id: plan that the rows belong to.

    Returns:
        Tables `trims` and `archived_set`: `value` and `strength` are what the best clause is worth a token. Less than
        one clause and a speaker's name of the budget stays unused, if nothing has to wait. With as many spare, the
        outcome for a smaller budget is part of that for a larger one; where runs go on from each other that holds of
        each run, not of where they end, since what words are worth depends on what else is left. Cost: linear, about
        30 µs a memory of a profile that exceeds its budget, 2 µs a memory of one that does not.
    """
    if policy.token_budget is None:
        return TABLES["trims"].empty(), TABLES["archived_set"].empty()
    shown = _shown(memories, scored, enrichment, policy)
    rows = shown.join(_rooms(shown, policy.token_budget), on="profile_id", maintain_order="left")
    rows = rows.filter(pl.col("live") & ~pl.col("barred")).with_row_index("row")
    if rows.is_empty():
        return TABLES["trims"].empty(), TABLES["archived_set"].empty()
    clauses = ordered(clause_value.values(rows), rows)
    fits = (pl.col("cost").cum_sum().over("profile_id") <= pl.col("room")) | (pl.col("turn") == _FIRST)
    whole = pl.col("fits").all().over("row")
    kept = clauses.with_columns(fits=fits).with_columns(kept=pl.col("fits") & (whole | (pl.col("turn") != _LAST)))
    texts = _texts(kept)
    waiting = _waiting(rows.join(texts, on="row", how="left"), spare)
    best = _texts(kept.join(waiting, on="row", how="semi", maintain_order="left").with_columns(kept=pl.col("first")))
    left = pl.concat([texts.join(waiting, on="row", how="anti"), best])
    after = rows.join(left, on="row", how="left", maintain_order="left").with_columns(
        waits=pl.col("row").is_in(waiting["row"].implode()), plan_id=pl.lit(plan_id)
    )
    return _trims(after), _archived(after)


def _waiting(after: pl.DataFrame, spare: pl.DataFrame) -> pl.DataFrame:
    """Originals without a clause left that have to wait for a later run: row. Those that are worth least go first."""
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
    """Whether nothing is left of a memory of which nothing has to stay."""
    return (pl.col("left_text").fill_null("") == "") & ~pl.col("stands")


def _shown(memories: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Every memory with what it shows and what that costs, in order of time within each session."""
    replacing = memories.filter(pl.col("superseded_kind") == "summary").select("profile_id", memory_id="superseded_by")
    standing = pl.concat([replacing, scored.filter("budget_protected").select(KEY)]).unique()
    ordered = (
        memories.join(standing.with_columns(stands=pl.lit(value=True)), on=KEY, how="left")
        .join(
            enrichment.select("profile_id", "content_hash", "question"), on=["profile_id", "content_hash"], how="left"
        )
        .sort("profile_id", "session_id", "created_at", "memory_id")
        .with_columns(barred=bars_supersession(policy), stands=pl.col("stands").fill_null(value=False))
    )
    return _priced(ordered).with_columns(asked=clause_value.asked(ordered))


def _priced(memories: pl.DataFrame) -> pl.DataFrame:
    """Add what each memory shows, whether it is live, and what its name, its whole text and what it shows cost."""
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
    """Profiles that exceed their budget: profile_id, budget, room (what of it protected memories leave), in tokens."""
    barred = pl.col("tokens_before").filter(pl.col("live") & pl.col("barred")).sum()
    used = shown.group_by("profile_id").agg(*_used(budget), barred=barred)
    over = used.filter(pl.col("shown") > pl.col("budget"))
    return over.select("profile_id", "budget", room=pl.col("budget") - pl.col("barred"))


def _used(budget: float) -> list[pl.Expr]:
    """Tokens that a profile has stored, shows, and may show."""
    stored = pl.col("whole_cost").filter(pl.col("kind") == ORIGINAL).sum()
    limit = (stored * budget if budget <= 1.0 else pl.lit(budget)).floor().cast(pl.Int64)
    shown = pl.col("tokens_before").filter("live").sum()
    return [stored.alias("stored"), shown.alias("shown"), limit.alias("budget")]


def used(memories: pl.DataFrame, budget: float) -> pl.DataFrame:
    """How much of a token budget each profile needs.

    Args:
        memories: table `memories`.
        budget: as `Policy.token_budget` says it.

    Returns:
        profile_id; stored (tokens of all originals ever), shown (of what recall shows of live memories) and budget,
        names of speakers included. Cost: 2 µs a memory.
    """
    return _priced(memories).group_by("profile_id").agg(_used(budget)).sort("profile_id")


def ordered(valued: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Put clauses in the order in which a growing budget takes them in.

    Within a memory the best come first, and the first bears the cost of the speaker's name. Clauses behind it that
    would raise the mean join it as one: worth a token then falls from each to the next, and taking clauses of all
    memories in that order is the best choice for every budget up to its last clause (a knapsack with set-up costs,
    relaxed).

    Args:
        valued: clauses as `keeping.values` gives them.
        rows: the memories, by `row`: profile_id, memory_id, created_at, kind, name_cost (tokens of the speaker's
            name), stands (it has to stay), importance_given, importance_hint, room.

    Returns:
        The clauses of each profile in order, with cost (tokens), worth (of a token) and turn: 0 for what must stay, 1
        for what stays as it is worth, 2 for summaries that repeat what their members say.
    """
    of_row = pl.int_range(pl.len()).over("row")
    important = 0.5 + pl.coalesce("importance_given", "importance_hint", 0.5)
    known = valued.join(
        rows.select(
            *("row", "profile_id", "memory_id", "created_at", "kind", "name_cost", "stands", "room"),
            important=important,
        ),
        on="row",
    ).with_columns(value=pl.col("value") * pl.col("important"))
    unmarked = ~pl.col("ends") & ~pl.col("clause").str.contains(_MARKED)
    best_first = known.with_columns(cost=(pl.col("tokens") + unmarked).clip(1)).sort(
        "row", pl.col("value") * (1.0 / pl.col("cost")), "place", descending=[False, True, False]
    )
    priced = best_first.with_columns(
        first=of_row == 0, cost=pl.col("cost") + pl.when(of_row == 0).then("name_cost").otherwise(0)
    ).with_columns(mean=pl.col("value").cum_sum().over("row") * (1.0 / pl.col("cost").cum_sum().over("row")))
    joined = of_row <= pl.col("mean").arg_max().over("row")
    repeats = (pl.col("kind") != ORIGINAL) & ~pl.col("stands")
    turn = pl.when(repeats).then(_LAST).when(pl.col("stands") & pl.col("first")).then(_FIRST).otherwise(_NEXT)
    return priced.with_columns(
        worth=pl.when(joined)
        .then(pl.col("mean").max().over("row"))
        .otherwise(pl.col("value") * (1.0 / pl.col("cost"))),
        turn=turn,
    ).sort(
        "profile_id",
        "turn",
        "worth",
        "created_at",
        "memory_id",
        descending=[False, False, True, False, False],
        maintain_order=True,
    )


def _texts(kept: pl.DataFrame) -> pl.DataFrame:
    """What is left of each memory: row, trimmed, clauses, left (how many), worth (of its best clause, a token)."""
    gap = ~pl.col("ends") & ~pl.col("kept").shift(-1).over("row").fill_null(value=True)
    piece = pl.when(gap).then(pl.col("clause").str.replace(_OPEN, "") + f"{_OMITTED} ").otherwise("clause")
    return (
        kept.sort("row", "place")
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
    gone = after.filter(_without_text(), ~pl.col("waits"))
    why = (
        pl.when(pl.col("kind") != ORIGINAL)
        .then(pl.lit("repeats what its members say"))
        .otherwise(pl.lit("says what is worth least"))
    )
    return TABLES["archived_set"].conform(
        gone.with_columns(
            action=pl.lit(Action.ARCHIVE.value),
            rule=pl.lit(BUDGET),
            reason=pl.format("It {} for its {} tokens, and the budget is {} tokens.", why, "tokens_before", "budget"),
            target_id=pl.lit(None, pl.String),
            strength=pl.col("worth").fill_null(0.0),
            threshold=pl.lit(None, pl.Float64),
        )
    )
