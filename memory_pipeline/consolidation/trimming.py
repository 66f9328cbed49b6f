"""Trims memories to a token budget: selects the sentences that recall still shows, and the memories that stay.

A trimmed memory stays: its content and index words do not change, only the text that recall returns. Not here: in which
order memories are kept (`keeping`), how a text is split (`text/parse/clauses`), what a clause and a sentence are worth
(`text/score/clause_value`, `worth`), and how a trim takes effect (`decision_rows`, `lifecycle`).
"""

from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import languages, worth
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.keeping import ODDS, OUTDATED, Rank, chats
from memory_pipeline.consolidation.scoring import bars_supersession
from memory_pipeline.consolidation.state.decision_json import BUDGET
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import LIVE, TABLES, Action, Enrichment, Frame, Memories
from memory_pipeline.settings import Policy
from memory_pipeline.text.lang.en.kept_words import DEPENDS, HOLDS, PERSONS
from memory_pipeline.text.parse import entities
from memory_pipeline.text.parse.tokens import content_stems, count_tokens, fold, one_line
from memory_pipeline.text.score import clause_value

_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
"""Priorities of pieces: required, optional by rank and worth, and summaries that repeat their members (all or none)."""
_LONG: Final = 3
"""Minimum number of sentences of a text that may be trimmed; a shorter one stays whole or leaves."""
_WHOLE: Final = 4
"""Minimum words of a sentence that stands alone; shorter ones echo the one before or follow an abbreviation."""
_LINE: Final = 8
"""Tokens that a memory costs its reader beside its text (day, mark): a word or two are not worth much a token."""
_EMPTY: Final = 1.5
"""Value below which a sentence says nothing that anyone may ask for, whatever it denies or supposes."""


def select(
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    enrichment: Frame[schemas.Enrichment],
    ranks: pl.DataFrame,
    said: pl.DataFrame,
    spare: pl.DataFrame,
    policy: Policy,
    *,
    plan_id: str,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Select what to leave out so that the live memories of a profile fit its token budget.

    Profiles within budget are unchanged. In the others, live summaries that superseded no memory, and so only repeat
    their members, leave first; then memories from the lowest rank up, and within a rank by worth per token, the older
    sides of updates and the further copies (`ranks.newer`) each before its newer side. Importance stated by agents
    scales the worth by 0.5 to 1.5. A memory without text left is archived, unless it is protected against a budget, a
    summary that superseded its members, or the last of its profile. Explicitly protected and core memories count
    towards the budget but are not touched.

    A text of three and more sentences, in a language that the rules read, may lose whole sentences, never its opening
    or one that holds a figure, a negation, a condition or by the reader a decision, nor one that a remaining sentence
    rests on (`pieces`).

    At most `spare` originals are archived, those of lowest rank and worth. The others keep what cannot be trimmed until
    a later run, even if this exceeds the budget.

    Args:
        ranks: as `keeping.ranked` returns them.
        said: what the reader says of the sentences of memories, as `worth.of_sentences` returns it.
        spare: `profile_id`, `spare`: how many originals the quota lets leave; 0 for a profile without a row.
        policy: `token_budget` (up to 1: share of the tokens of all originals ever stored in the profile; above 1:
            tokens), and what is protected.

    Returns:
        Tables `trims` and `archived_set`; `value` and `strength` are the worth per token of the best sentence. Unless a
        memory had to wait, less than one memory of the budget stays unused. For equal `spare`, the result for a smaller
        budget is contained in that for a larger one; this holds for one run and not for sequences of runs, since the
        worth of words depends on what else is left. Cost: linear, about 40 µs per memory of a profile over budget, 2 µs
        otherwise.
    """
    if policy.token_budget is None:
        return TABLES["trims"].empty(), TABLES["archived_set"].empty()
    shown = _shown(memories, scored, enrichment, ranks, policy)
    rows = shown.join(_rooms(shown, policy.token_budget), on="profile_id", maintain_order="left")
    rows = rows.filter(pl.col("live") & ~pl.col("barred")).with_row_index("row")
    if rows.is_empty():
        return TABLES["trims"].empty(), TABLES["archived_set"].empty()
    order = ordered(pieces(clause_value.values(rows), rows, said), rows)
    fits = (
        (pl.col("cost").cum_sum().over("profile_id") <= pl.col("room")) | (pl.col("priority") == _REQUIRED) | _of_last()
    )
    whole = pl.col("fits").all().over("row")
    admitted = order.with_columns(fits=fits).with_columns(
        kept=pl.col("fits") & (whole | (pl.col("priority") != _REPEATED))
    )
    remaining = _texts(admitted)
    waiting = _waiting(rows.join(remaining, on="row", how="left"), order, spare)
    least = _texts(
        admitted.join(waiting, on="row", how="semi", maintain_order="left").with_columns(kept=pl.col("base"))
    )
    final = pl.concat([remaining.join(waiting, on="row", how="anti"), least])
    after = rows.join(final, on="row", how="left", maintain_order="left").with_columns(
        waits=pl.col("row").is_in(waiting["row"].implode()), plan_id=pl.lit(plan_id)
    )
    return _trims(after), _archived(after)


def _of_last() -> pl.Expr:
    """Return whether a piece belongs to the memory that its profile keeps last, if the profile has no other left."""
    last = pl.col("row").filter(pl.col("kind") == ORIGINAL).first().over("profile_id")
    return pl.col("alone") & pl.col("base") & (pl.col("row") == last)


def _waiting(after: pl.DataFrame, order: pl.DataFrame, spare: pl.DataFrame) -> pl.DataFrame:
    """Return originals without text left that must wait for a later run: row. Those that are kept least leave first."""
    leaving = after.filter(_without_text(), pl.col("kind") == ORIGINAL).join(spare, on="profile_id", how="left")
    first = order.with_row_index("at").group_by("row").agg(pl.col("at").min())
    blank = pl.col("text").str.strip_chars() == ""  # leaves under any budget, so before all others
    least_first = leaving.join(first, on="row").sort("profile_id", blank, "at", descending=[False, True, True])
    place = pl.int_range(pl.len()).over("profile_id")
    return least_first.filter(place >= pl.col("spare").fill_null(0)).select("row")


def _without_text() -> pl.Expr:
    """Return whether a memory has no text left and need not keep any."""
    return (pl.col("left_text").fill_null("") == "") & ~pl.col("stands")


def _shown(
    memories: Frame[Memories], scored: pl.DataFrame, enrichment: Frame[Enrichment], ranks: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """Return every memory with the text it shows, its cost and its rank, by session and time."""
    replacing = memories.filter(pl.col("superseded_kind") == "summary").select("profile_id", memory_id="superseded_by")
    standing = pl.concat([replacing, scored.filter("budget_protected").select(KEY)]).unique()
    stays = pl.col("lifecycle").is_in(LIVE) & (pl.col("barred") | pl.col("stands"))
    ordered_memories = (
        memories.with_columns(judged=languages.judged(memories, enrichment))
        .join(standing.with_columns(stands=pl.lit(value=True)), on=KEY, how="left")
        .join(ranks.select(*KEY, "rank", "use", "newer", *ODDS), on=KEY, how="left")
        .join(chats(memories).with_columns(chat=pl.lit(value=True)), on="profile_id", how="left")
        .join(
            enrichment.select("profile_id", "content_hash", "question"), on=["profile_id", "content_hash"], how="left"
        )
        .sort("profile_id", "session_id", "created_at", "memory_id")
        .with_columns(
            pl.col("rank").fill_null(Rank.REST.value),
            *(pl.col(name).fill_null(0.0) for name in ("use", *ODDS)),
            barred=bars_supersession(policy),
            stands=pl.col("stands").fill_null(value=False),
            age=share_since(),
            chat=pl.col("chat").fill_null(value=False),
        )
        .with_columns(alone=~stays.any().over("profile_id"))
    )
    return priced(ordered_memories).with_columns(follows_question=clause_value.follows_question(ordered_memories))


def share_since() -> pl.Expr:
    """Return the share of the profile's memories that were stored later."""
    rank = pl.col("created_at").rank("max", descending=True).over("profile_id")
    return (rank - 1) / pl.len().over("profile_id")


def priced(memories: pl.DataFrame) -> pl.DataFrame:
    """Add what each memory shows and its cost in tokens.

    These are text (shown), live, name (of the speaker), name_cost, whole_cost (of the whole text) and tokens_before (of
    the text shown), each with the name. Cost: 2 µs per memory.
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
    """Return how much of a token budget (see `Policy.token_budget`) each profile uses.

    Columns: profile_id; stored (tokens of all originals ever stored), shown (tokens that recall shows of live memories)
    and budget, speaker names included. Cost: 2 µs per memory.
    """
    return priced(memories).group_by("profile_id").agg(_used(budget)).sort("profile_id")


def pieces(valued: pl.DataFrame, rows: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Join the clauses of texts into the pieces that may be left out one by one.

    A text of fewer than three sentences, or in a language that the rules do not read, is one piece. A longer one is
    divided into chains: a sentence with those that rest on it (`_chains`), which stay or go together. Empty
    exclamations at the end of a chain are a piece of their own that goes first. The statement that a text opens with
    says what it is about, and stays as long as the text does.

    Args:
        valued: clauses as `clause_value.values` returns them, all of each row.
        rows: the memories, by `row`: judged (whether the rules read the language of the text), age (share of the
            profile's memories that are newer), chat (several people talk in its profile) and `keeping.ODDS`.
        said: what the reader says of sentences, as `worth.of_sentences` returns it.

    Returns:
        row, place (of its first clause), clause (its text), tokens, value (of its words), worth (`worth.kept_for`),
        sentences (their number), chain, and holds: the opening, a figure, a negation, a condition, or
        by the reader a decision, an instruction or a matter of safety.
    """
    sentence = pl.col("ends").shift(1).over("row").fill_null(value=False).cast(pl.Int32).cum_sum().over("row")
    sentences = (
        valued.with_columns(sentence=sentence)
        .group_by("row", "sentence", maintain_order=True)
        .agg(pl.col("place").first(), pl.col("clause").str.join(""), pl.col("tokens", "value").sum())
    )
    sentences = _worth(sentences, rows, said)
    divisible = sentences.join(_divisible(sentences, rows), on="row", how="semi", maintain_order="left")
    flagged = _flagged(divisible)
    whole = sentences.join(divisible, on="row", how="anti", maintain_order="left")
    parts = pl.concat([flagged, whole], how="diagonal").with_columns(pl.col("chain").fill_null(0))
    essential = pl.col("opens").any() | (pl.col("holds").any() & (pl.col("value").sum() >= _EMPTY))
    return (
        parts.group_by("row", "chain", "tail", maintain_order=True)
        .agg(
            pl.col("place").first(),
            pl.col("clause").str.join(""),
            pl.col("tokens", "value", "worth").sum(),
            sentences=pl.len(),
            holds=essential.fill_null(value=False),
        )
        .drop("tail")
        .sort("row", "place")
    )


def _worth(sentences: pl.DataFrame, rows: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Add to sentences what they are worth, and whether they settle something."""
    of_row = rows.select("row", *KEY, "age", "chat", *ODDS)
    return (
        sentences.with_columns(said=one_line(pl.col("clause")))
        .join(of_row, on="row", how="left", maintain_order="left")
        .join(said, on=[*KEY, "said"], how="left", maintain_order="left")
        .select(*sentences.columns, worth=worth.kept_for(), settles=worth.settles())
    )


def _flagged(sentences: pl.DataFrame) -> pl.DataFrame:
    """Add to sentences their chain, and whether each opens its text, holds what it cannot lose, or is an empty tail."""
    low = fold(sentences["clause"])
    exclaims, asks = low.str.contains(r"!\W*$"), low.str.contains(r"\?\W*$")
    read = sentences.with_columns(
        chain=_chains(sentences, low),
        opens=(sentences["sentence"] == 0) & ~exclaims & ~asks & (sentences["value"] > clause_value.MIN_VALUE),
        holds=low.str.contains(HOLDS) | pl.col("settles"),
        exclaims=exclaims,
    )
    empty = pl.col("exclaims") & ~pl.col("holds") & (pl.col("value") < _EMPTY)
    first = pl.int_range(pl.len()) == 0
    tail = (~empty | first).cast(pl.Int8).cum_max(reverse=True).over("row", "chain") == 0
    return read.with_columns(tail=tail).drop("exclaims")


def _chains(sentences: pl.DataFrame, low: pl.Series) -> pl.Series:
    """Return the chain of each sentence: numbers of a sentence and of those after it that rest on it, by text.

    A sentence rests on the one before if it is short, starts with what that one names, refers to it or qualifies it; a
    sentence about "him" or "her" rests on the last one that names somebody, and on all between.
    """
    read = sentences.select("row", at="sentence").with_columns(
        stems=content_stems(sentences["clause"]),
        named=entities.names(sentences["clause"]).list.len() > 0,
        short=low.str.count_matches(r"[\p{L}\p{N}]+") < _WHOLE,
        depends=low.str.contains(DEPENDS),
        person=low.str.contains(PERSONS),
    )
    resumes = pl.col("stems").shift(1).list.contains(pl.col("stems").list.first()).fill_null(value=False)
    last_named = pl.when("named").then("at").forward_fill().shift(1).fill_null(0)
    previous = pl.col("at") - 1
    reach = (
        pl.when("person")
        .then(pl.min_horizontal(last_named, previous))
        .when(pl.col("short") | pl.col("depends") | resumes)
        .then(previous)
        .otherwise("at")
    )
    begins = reach.cum_min(reverse=True) >= pl.col("at")
    return read.select(begins.cast(pl.Int32).cum_sum().over("row")).to_series()


def _divisible(sentences: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that may lose sentences."""
    long = sentences.group_by("row").len().filter(pl.col("len") >= _LONG)
    return rows.filter("judged").join(long, on="row", how="semi").select("row")


def ordered(of_texts: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Order pieces so that every budget is a prefix: the order in which a growing budget admits them.

    Within a memory the pieces that hold what it cannot lose come first, then the best, none before those of its chain
    that precede it; the first carries the cost of the speaker's name. Following pieces that would raise the mean are
    merged with them into the base, which is admitted as one, so that worth per token decreases from each item to the
    next; taking items of one rank in that order is then optimal for every budget that ends at an item (the relaxed
    knapsack problem with set-up costs).

    Args:
        of_texts: pieces as `pieces` returns them; `worth` is read.
        rows: the memories, by `row`: profile_id, memory_id, created_at, kind, name_cost (tokens of the speaker's name),
            chat (several people talk in its profile), stands (must keep its base), rank (`keeping.Rank`), use (the
            square of 1 + use multiplies the worth), newer (ids of memories that it leaves before), alone (its profile
            keeps nothing else), importance_given, importance_hint, room.

    Returns:
        The pieces of each profile in order, with cost (tokens; the base's at its first piece), base, worth (per token)
        and priority: 0 required, 1 optional by rank and worth, 2 summaries that repeat their members.
    """
    of_row = pl.int_range(pl.len()).over("row")
    stated = 0.5 + pl.coalesce("importance_given", "importance_hint", 0.5)
    important = stated * (1.0 + pl.col("use")) ** 2
    weighted = of_texts.join(
        rows.select(
            *(
                "row",
                "profile_id",
                "memory_id",
                "created_at",
                "kind",
                "name_cost",
                "stands",
                "rank",
                "alone",
                "room",
                "chat",
            ),
            important=important,
        ),
        on="row",
    ).with_columns(value=pl.col("worth") * pl.col("important"), own_cost=pl.col("tokens").clip(1))
    density = (pl.col("value") * (1.0 / pl.col("own_cost"))).cum_min().over("row", "chain", order_by="place")
    best_first = weighted.with_columns(density=density).sort(
        "row", "holds", "density", "place", descending=[False, True, True, False]
    )
    costs = pl.col("own_cost").cum_sum().over("row") + pl.col("name_cost")
    beside = pl.when("chat").then(0).otherwise(_LINE)
    mean = pl.col("value").cum_sum().over("row") * (1.0 / (costs + beside))
    enough = of_row >= pl.col("holds").sum().over("row").cast(pl.Int64) - 1
    grown = best_first.with_columns(mean=pl.when(enough).then(mean).otherwise(-1.0))
    based = grown.with_columns(base=of_row <= pl.col("mean").arg_max().over("row"))
    base_cost = pl.col("own_cost").filter("base").sum().over("row") + pl.col("name_cost")
    bounds = _bounds(rows.join(based.group_by("row").agg(worth=pl.col("mean").max()), on="row"))
    repeats = (pl.col("kind") != ORIGINAL) & ~pl.col("stands")
    priority = (
        pl.when(repeats).then(_REPEATED).when(pl.col("stands") & pl.col("base")).then(_REQUIRED).otherwise(_OPTIONAL)
    )
    return (
        based.join(bounds, on="row", how="left", maintain_order="left")
        .with_columns(
            cost=pl.when(~pl.col("base")).then("own_cost").when(of_row == 0).then(base_cost).otherwise(0),
            worth=pl.when("base")
            .then(pl.col("mean").max().over("row"))
            .otherwise(pl.min_horizontal("density", pl.col("mean").max().over("row"))),
            priority=priority,
        )
        .sort(
            "profile_id",
            "priority",
            "rank",
            pl.min_horizontal("worth", "bound"),
            "created_at",
            "memory_id",
            descending=[False, False, False, True, True, True],
            maintain_order=True,
        )
    )


def _bounds(rows: pl.DataFrame) -> pl.DataFrame:
    """Return an upper bound on each memory's worth: that of the memories of its rank that it leaves before; row, bound.

    At equal worth the newer is kept first, so that no memory stays longer than one that it leaves before. Pairs are
    taken from the newest on, so that bounds reach the end of every chain in one pass.
    """
    placed = rows.sort("created_at", "memory_id").with_row_index("place")
    later = placed.select("profile_id", "rank", newer="memory_id", newer_place="place")
    pairs = placed.explode("newer").join(later, on=["profile_id", "rank", "newer"])
    in_time = pairs.filter(pl.col("place") < pl.col("newer_place")).sort("newer_place", descending=True)
    bounds = placed["worth"].to_list()
    for older, newer in in_time.select("place", "newer_place").iter_rows():
        bounds[older] = min(bounds[older], bounds[newer])
    return placed.select("row", bound=pl.Series(bounds, dtype=pl.Float64))


def _texts(order: pl.DataFrame) -> pl.DataFrame:
    """Return the text left of each memory: row, left_text, sentences, left (their number), worth (per token)."""
    return (
        order.sort("row", "place")
        .group_by("row", maintain_order=True)
        .agg(
            pl.col("clause").filter("kept").str.join("").str.strip_chars().alias("left_text"),
            pl.col("sentences").sum(),
            left=pl.col("sentences").filter("kept").sum(),
            worth=pl.col("worth").max().clip(0.0, 1.0),
        )
    )


def _trims(after: pl.DataFrame) -> pl.DataFrame:
    """Return table `trims`: memories that keep some but not all of their sentences."""
    cut = after.filter((pl.col("left_text") != "") & (pl.col("left") < pl.col("sentences")))
    return TABLES["trims"].conform(
        cut.with_columns(
            trimmed="left_text", value="worth", tokens_after=cut["name_cost"] + count_tokens(cut["left_text"])
        ).with_columns(
            reason=pl.format(
                "{} of {} sentences and {} of {} tokens stay{} worth least, and the budget is {} tokens.",
                *("left", "sentences", "tokens_after", "tokens_before"),
                pl.when("waits")
                .then(pl.lit(" until a later run; all of it is"))
                .otherwise(pl.lit("; the others were")),
                "budget",
            )
        )
    )


def _archived(after: pl.DataFrame) -> pl.DataFrame:
    """Return table `archived_set`: memories without text left that need not wait."""
    leaving = after.filter(_without_text(), ~pl.col("waits"))
    why = (
        pl.when(pl.col("kind") != ORIGINAL)
        .then(pl.lit("repeats what its members say"))
        .when(pl.col("rank").is_in(OUTDATED))
        .then(pl.lit("is outdated"))
        .when(pl.col("newer").list.len() > 0)
        .then(pl.lit("says what a newer memory may outdate or repeat, and is worth least"))
        .otherwise(pl.lit("says what is worth least"))
    )
    return TABLES["archived_set"].conform(
        leaving.with_columns(
            action=pl.lit(Action.ARCHIVE.value),
            rule=pl.lit(BUDGET),
            reason=pl.format("It {} (tokens: {}, budget: {}).", why, "tokens_before", "budget"),
            target_id=pl.lit(None, pl.String),
            strength=pl.col("worth").fill_null(0.0),
            threshold=pl.lit(None, pl.Float64),
        )
    )
