"""Selects the facts that profile a user in core memory: identity, health, instructions, preferences, current projects.

It takes sentences that state something lasting (`text.score.core_facts`) and are still true. Not here: how blocks are
filled and worded (`core_memory`).
"""

from collections.abc import Container, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import polars as pl

from memory_pipeline.consolidation import currency
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import INSTANT, TABLES
from memory_pipeline.settings import program
from memory_pipeline.text.lang.en.core_cues import BEGINS, ENDS, OWN_NAME, PLACEHOLDER
from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, STOP_WORDS
from memory_pipeline.text.parse import dates, tokens
from memory_pipeline.text.parse import facts as facts_of_texts
from memory_pipeline.text.parse.speakers import by_assistant
from memory_pipeline.text.score import core_facts

NAMES: Final = (
    core_facts.IDENTITY,
    core_facts.HEALTH,
    core_facts.INSTRUCTION,
    core_facts.PREFERENCE,
    core_facts.PROJECT,
)
"""The blocks, in the order in which they are filled."""
PROJECT_DAYS: Final = 90
"""Age in days after which a project no longer counts as current."""
LEAST_IMPORTANCE: Final = 0.2
"""Minimum importance of a memory that is worth reading before every session."""
SAME: Final = 0.5
"""Minimum share of the shorter fact's content words that two facts about the same thing have in common."""
LEAST_SHARED: Final = 2
MOST_COMPARED: Final = 40
"""Maximum number of facts of a block that are compared with one another; many more than fit into it."""
MOST_CHARACTERS: Final = 200
"""Longest memory that is taken whole because an agent marked it as core or a preference."""
ALIKE: Final = 5
"""Number of first letters that the nouns of an ended thing and of a fact have in common: renewal, renew."""
MAIN_SHARE: Final = 0.15
"""Minimum share of a profile's notes that begin with the name of the person it is about."""

_FIRST_PERSON: Final = r"(?i)(?-u:\b)(?:i|i'm|i've|i'd|me|my|mine|we|we're|our|user|user's)(?-u:\b)"
_FIRST_NAME: Final = r"^(\p{Lu}[\p{L}-]+)"
_NAMED: Final = r"(?:^[^:.]+: |[\p{Ll},;] )\p{Lu}[\p{L}-]+"
"""A capitalised word inside a sentence, with the end of the word before it, or after the name of the speaker."""
_DAY_NAME: Final = r"(?i)^(?:mon|tues|wednes|thurs|fri|satur|sun)days?$"


_TEXT: Final = ["profile_id", "content_hash"]
_SENTENCE: Final = ("place", "sentence", "section", "commands", "lasting", "leans", "of_user")
_COLUMNS: Final = ("place", "memory_id", "text", "about", "lasting", "importance", "access_count", "created_at")
_LINE: Final = pl.col("content").str.replace_all(r"\s+", " ").str.strip_chars()
_DOUBTED, _LINKED, _CLOSED = range(3)
"""How certain it is that a statement no longer holds: more likely than not, enough for a link, decided."""


class _Fact(NamedTuple):
    """A fact beside those that it is compared with; `place` is its row, `dose` the medicine if it gives a dose."""

    place: int
    profile_id: str
    block: int
    memory_id: str
    at: datetime
    words: frozenset[str]
    dose: str | None


def facts(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    edges: pl.DataFrame,
    changes: pl.DataFrame,
    *,
    as_of: datetime,
    others: pl.DataFrame,
    known: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the facts of each block, best first.

    These are left out: facts of memories that a newer one may outdate or contradicts, statements that are closed or may
    be outdated while the rest of their memory holds, what an assistant said, commands that people give each other in a
    chat, statements whose subject is named elsewhere, a job, relationship or home that its speaker ended later, what
    others undertake, and deadlines that have passed. A lasting condition of a body is left out only if it is closed or
    contradicted. What others want is a preference, not an instruction. Of facts
    about the same thing the newest is kept. Facts are ranked by use (accesses, helpful feedback), then by whether they
    are commands or about the person whom the profile is about, then by importance, then by age, newest first.

    Args:
        memories: rows of `memories` that are live, valid and no repetition of others.
        scored: table `scored_memories`.
        edges: decided and proposed edges: MAY_UPDATE, MAY_REPEAT and CONTRADICTS are read.
        changes: table `fact_changes`: which statement of a memory a MAY_UPDATE is about; without a row it is about the
            whole memory.
        as_of: instant at which projects are current.
        others: all other rows of `memories`: an archived successor still outdates a memory.
        known: table `core_sentences`: texts that need not be read again; default: none.

    Returns:
        profile_id, place (of the block in `NAMES`), memory_id, text (a sentence, or all of a short memory, on one line,
        after the name of its speaker and before the day on which it was said, since a change that no link shows stays
        unseen). Cost: that of `core_facts.core_facts` for texts that are not known, and the square of at most 200 facts
        of a profile.
    """
    everything = pl.concat([frame.select(*KEY, "lifecycle", "created_at") for frame in (memories, others)])
    whole, update = _of_whole(edges, changes), pl.col("edge_type") == currency.MAY_UPDATE
    contradicted, likely = (currency.outdated(everything, whole.filter(chosen)) for chosen in (~update, update))
    present = memories.filter(~by_assistant(pl.col("speaker"))).join(contradicted, on=KEY, how="anti")
    present = present.join(_doubted(changes, likely), on=KEY, how="left")
    present = present.sort("profile_id", "created_at", "memory_id")
    found = _stated(present, scored, as_of, known)
    ranked = found.sort(
        *("profile_id", "place", "access_count", "about", "lasting", "importance", "created_at", "memory_id", "text"),
        descending=[False, False, True, True, True, True, True, False, False],
    )
    compared = ranked.group_by("profile_id", "place", maintain_order=True).head(MOST_COMPARED)
    repeats = edges.filter(pl.col("edge_type") == "MAY_REPEAT").select("profile_id", "source", "target")
    newest = pl.Series(_newest(compared, repeats), dtype=pl.Int64)
    dated = pl.format("{} ({})", "text", pl.col("created_at").dt.date())
    return compared[newest].select("profile_id", "place", "memory_id", dated.alias("text"))


def sentences(memories: pl.DataFrame, kept: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return table `core_sentences`: the core facts that the texts of people state, whether they still hold or not.

    Args:
        memories: rows of `memories` whose texts are whole.
        kept: table `core_sentences` as any earlier run left it; default: none.
    """
    table, by = TABLES["core_sentences"], program.digest()
    texts = memories.filter(~by_assistant(pl.col("speaker"))).select(*_TEXT, "content").unique(_TEXT, keep="first")
    before = (table.empty() if kept is None else kept).filter(read=by)
    known = _texts(before).join(texts, on=_TEXT, how="semi")
    new = texts.join(known, on=_TEXT, how="anti").with_row_index("row")
    facts = core_facts.core_facts(new["content"]).group_by("row").agg(sentences=pl.struct(_SENTENCE))
    read = new.join(facts, on="row", how="left").with_columns(pl.col("sentences").fill_null([]))
    everything = pl.concat([known, read.select(known.columns).cast(known.schema)]).sort(_TEXT)
    return table.conform(
        everything.group_by("profile_id", maintain_order=True).agg(
            read=pl.lit(by), texts=pl.struct("content_hash", "sentences")
        )
    )


def _texts(known: pl.DataFrame) -> pl.DataFrame:
    """Return the texts of table `core_sentences`, a row each: profile_id, content_hash, sentences."""
    return known.select("profile_id", "texts").explode("texts").drop_nulls("texts").unnest("texts")


def _read(rows: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return what `core_facts.core_facts` returns for numbered memories, reading only texts that are not known."""
    texts = _texts(TABLES["core_sentences"].empty() if known is None else known)
    new = rows.join(texts, on=_TEXT, how="anti", maintain_order="left")
    read = core_facts.core_facts(new["content"])
    read = read.with_columns(new["row"].gather(read["row"]).alias("row"))
    found = rows.select("row", *_TEXT).join(texts, on=_TEXT).explode("sentences").drop_nulls("sentences")
    taken = found.select("row", "sentences").unnest("sentences")
    return pl.concat([read, taken.select(read.columns).cast(read.schema)]).sort("row", "place")


def _partly(changes: pl.DataFrame) -> pl.DataFrame:
    """Return statements that a newer memory may outdate while the rest of their memory holds."""
    updates = changes.filter(pl.col("relation") == currency.UPDATE, pl.col("statement").is_not_null())
    return updates.select(*KEY, "other_id", "statement")


def _doubted(changes: pl.DataFrame, likely: pl.DataFrame) -> pl.DataFrame:
    """Return what is more likely than not outdated: KEY, doubted (statements, null for all of the memory, and linked).

    Args:
        changes: table `fact_changes`; updates too unsure for a link count too.
        likely: memories that a link says are outdated as a whole.
    """
    doubts = changes.filter(pl.col("relation") == "doubt").select(*KEY, "statement", linked=pl.lit(value=False))
    links = pl.concat([_partly(changes).drop("other_id"), likely.select(*KEY, statement=pl.lit(None, pl.String))])
    everything = pl.concat([doubts, links.with_columns(linked=pl.lit(value=True))])
    return everything.group_by(KEY).agg(doubted=pl.struct("statement", "linked"))


def _of_whole(edges: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Return the edges without those that are about one statement of the older memory."""
    partly = _partly(changes).select(
        "profile_id", target="memory_id", source="other_id", edge_type=pl.lit(currency.MAY_UPDATE)
    )
    return edges.join(partly, on=["profile_id", "target", "source", "edge_type"], how="anti")


def _stated(memories: pl.DataFrame, scored: pl.DataFrame, as_of: datetime, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return the core facts that memories state, with what ranks them."""
    own = pl.col("sentence").str.contains(_FIRST_PERSON) | pl.col("sentence").str.starts_with(pl.col("name"))
    named = pl.col("sentence").str.contains(pl.col("name"), literal=True)
    about = pl.when(own | pl.col("commands")).then(2).when(named).then(1).otherwise(0)
    people = pl.col("speaker").n_unique().over("profile_id")
    current = pl.lit(as_of, dtype=INSTANT) - pl.col("created_at") <= timedelta(days=PROJECT_DAYS)
    rows = memories.with_columns(people=people).join(_main_names(memories), on="profile_id", how="left")
    rows = rows.join(scored.select(*KEY, "importance"), on=KEY, how="left", maintain_order="left").with_row_index("row")
    read = _read(rows, known)
    stated = pl.concat([read, _named_by_agents(rows, read)]).join(rows, on="row", maintain_order="left")
    of_user = pl.col("of_user") | pl.col("sentence").str.starts_with(pl.col("name")).fill_null(value=False)
    others_wish = (pl.col("section") == core_facts.INSTRUCTION) & ~of_user
    stated = stated.with_columns(section=pl.when(others_wish).then(pl.lit(core_facts.PREFERENCE)).otherwise("section"))
    project = pl.col("section") == core_facts.PROJECT
    block = pl.col("section").replace_strict({name: place for place, name in enumerate(NAMES)}, return_dtype=pl.Int32)
    heard = pl.col("speaker").is_not_null()
    needed = pl.col("lasting") | (pl.col("section") == core_facts.INSTRUCTION)
    certain = pl.col("importance_given").is_null() & needed
    least = pl.when(certain).then(0.0).otherwise(LEAST_IMPORTANCE)
    current_facts = _within_time(_still_true(stated), as_of)
    for drop_ended in (_not_ended, _not_given_up, _same_dose):
        current_facts = drop_ended(current_facts, rows)
    lasting_facts = current_facts.filter(
        pl.coalesce("importance", "importance_given", pl.lit(1.0)) >= least,
        ~(heard & pl.col("leans")),
        ~(heard & (pl.col("people") > 1) & pl.col("commands")),
        ~project | (current & of_user),
    ).with_row_index("fact")
    projects = lasting_facts.filter(project)
    overdue = projects["fact"].filter(_overdue(projects, as_of))
    told = lasting_facts.filter(~pl.col("fact").is_in(overdue.implode())).with_columns(about=about, place=block)
    return (
        _whole(told, stated)
        .with_columns(text=pl.concat_str("speaker", "sentence", separator=": ", ignore_nulls=True))
        .select("profile_id", *_COLUMNS)
    )


def _whole(told: pl.DataFrame, stated: pl.DataFrame) -> pl.DataFrame:
    """Return facts with the whole text of short memories in place of their sentences, each once.

    A sentence alone may lack what it is about, or its exception. Memories that state facts of several kinds, or of
    which a part no longer holds, are told sentence by sentence.
    """
    kinds = stated.group_by("row").agg(facts=pl.len(), kinds=pl.col("section").n_unique())
    short = _LINE.str.count_matches(core_facts.WORD) <= core_facts.MOST_WORDS
    linked = pl.col("doubted").list.eval(pl.element().struct.field("linked")).list.any().fill_null(value=False)
    holds = ~linked & (pl.col("closed_statements").list.len().fill_null(0) == 0)
    whole = short & holds & (pl.col("kinds") == 1) & (pl.len().over("row") == pl.col("facts"))
    as_written = _LINE.str.contains(pl.col("sentence"), literal=True) & ~_LINE.str.contains(PLACEHOLDER)
    return (
        told.join(kinds, on="row", how="left", maintain_order="left")
        .with_columns(sentence=pl.when(whole & as_written).then(_LINE).otherwise("sentence"))
        .unique(["row", "sentence"], keep="first", maintain_order=True)
    )


def _named_by_agents(rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return short memories that agents marked as core or a preference and in which no sentence was read as a fact."""
    core = (pl.col("category") == "core") & ~pl.col("category_inferred")
    liked = (pl.col("memory_type") == "Preference") & ~pl.col("memory_type_inferred")
    section = pl.when(core).then(pl.lit(core_facts.IDENTITY)).when(liked).then(pl.lit(core_facts.PREFERENCE))
    no = pl.lit(value=False)
    named = rows.with_columns(
        sentence=_LINE, section=section, place=pl.lit(0), lasting=core, commands=no, leans=no, of_user=~no
    )
    short = pl.col("sentence").str.len_chars() <= MOST_CHARACTERS
    named = named.filter(pl.col("section").is_not_null() & short).join(read, on="row", how="anti")
    return named.select(pl.col(name).cast(dtype) for name, dtype in read.schema.items())


def _still_true(stated: pl.DataFrame) -> pl.DataFrame:
    """Drop the statements with a sentence that a newer memory closed, or more likely than not outdates.

    A lasting condition of a body stays unless it is closed, and an instruction unless a link outdates it: leaving
    either out does more harm than repeating it.
    """
    closed = stated.select("row", sentence="closed_statements").explode("sentence").drop_nulls("sentence")
    closed = closed.select("row", over=pl.col("sentence").struct.field("sentence"), certainty=pl.lit(_CLOSED))
    doubted = (
        stated.filter(pl.col("doubted").is_not_null()).select("row", "doubted").explode("doubted").unnest("doubted")
    )
    doubted = doubted.select(
        "row",
        over=pl.col("statement").fill_null(""),
        certainty=pl.when("linked").then(pl.lit(_LINKED)).otherwise(pl.lit(_DOUBTED)),
    )
    condition = pl.col("lasting") & (pl.col("section") == core_facts.HEALTH)
    needed = (
        pl.when(condition)
        .then(_CLOSED)
        .when(pl.col("section") == core_facts.INSTRUCTION)
        .then(_LINKED)
        .otherwise(_DOUBTED)
    )
    numbered = stated.with_row_index("fact")
    outdated = (
        numbered.join(pl.concat([closed, doubted]).unique(), on="row")
        .filter(pl.col("sentence").str.contains(pl.col("over").str.strip_chars(), literal=True))
        .filter(pl.col("certainty") >= needed)
    )
    return _without(numbered, outdated).drop("place")


def _not_ended(stated: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Drop the statements about a job, a relationship, a home or an animal that ended later."""
    earnest = memories.select("profile_id", "speaker", ended_at="created_at", low=tokens.fold(memories["content"]))
    earnest = earnest.filter(core_facts.in_earnest(pl.col("low")))
    by = ["profile_id", "speaker", "what"]
    for ending, ended in ENDS:
        ends = earnest.with_columns(what=pl.col("low").str.extract(ending)).drop_nulls("what")
        last = ends.group_by(by).agg(pl.col("ended_at").max())
        matched = stated.with_columns(what=tokens.fold(stated["sentence"]).str.extract(ended))
        stated = (
            matched.join(last, on=by, how="left", nulls_equal=True, maintain_order="left")
            .filter(pl.col("ended_at").is_null() | (pl.col("ended_at") <= pl.col("created_at")))
            .drop("what", "ended_at")
        )
    return stated


def _within_time(stated: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Drop the statements that hold for a number of days which have passed, unless they state a lasting condition."""
    over = pl.col("created_at") + pl.duration(days="days") <= pl.lit(as_of, dtype=INSTANT)
    dated = stated.with_columns(days=core_facts.spans(stated["sentence"]))
    return dated.filter(~over.fill_null(value=False) | pl.col("lasting")).drop("days")


def _not_given_up(stated: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Drop the statements about a thing that was given up or came to an end later, unless it is a lasting condition.

    What is only done or gone, such as a run or the coffee, ends no more than a project.
    """
    things = core_facts.ended_things(memories["content"])
    at = memories.select("profile_id", ended_at="created_at").with_row_index("row")
    ended = things.with_columns(pl.col("row").cast(pl.UInt32)).join(at, on="row")
    named = stated.with_row_index("fact").with_columns(said=tokens.content_stems(stated["sentence"]))
    shared = pl.col("stems").list.set_intersection("said").list.len()
    over = (
        named.filter(~(pl.col("lasting") & (pl.col("section") == core_facts.HEALTH)))
        .select("fact", "profile_id", "section", "created_at", "said", head=pl.col("said"))
        .explode("head")
        .with_columns(pl.col("head").str.head(ALIKE))
        .join(ended.with_columns(pl.col("head").str.head(ALIKE)), on=["profile_id", "head"])
        .filter(
            pl.col("ended_at") > pl.col("created_at"),
            2 * shared >= pl.col("stems").list.len(),
            ~pl.col("task") | (pl.col("section") == core_facts.PROJECT),
        )
    )
    return _without(named, over).drop("said")


def _without(numbered: pl.DataFrame, over: pl.DataFrame) -> pl.DataFrame:
    """Drop the facts, numbered by `fact`, that are over; of an introduction the name stays."""
    out = pl.col("fact").is_in(over["fact"].unique().implode())
    name = pl.col("sentence").str.extract(OWN_NAME) + "."
    kept = numbered.with_columns(sentence=pl.when(out).then(name).otherwise("sentence"))
    return kept.drop_nulls("sentence").drop("fact")


def _same_dose(stated: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Drop the statements about a medicine that was ended later or has another dose, unless it is an allergy."""
    named = stated.with_row_index("fact").with_columns(medicines=core_facts.medicines(stated["sentence"]))
    changes = memories.select(
        "profile_id", changed_at="created_at", medicines=core_facts.changed_medicines(memories["content"])
    )
    last = changes.explode("medicines").drop_nulls("medicines")
    last = last.group_by("profile_id", "medicines").agg(pl.col("changed_at").max())
    over = (
        named.filter(~pl.col("lasting"))
        .select("fact", "profile_id", "created_at", "medicines")
        .explode("medicines")
        .join(last, on=["profile_id", "medicines"])
        .filter(pl.col("changed_at") > pl.col("created_at"))
    )
    return _without(named, over).drop("medicines")


def _overdue(stated: pl.DataFrame, as_of: datetime) -> pl.Series:
    """Return whether every date that a statement names has passed; a date that began something is ignored."""
    if stated.is_empty():
        return pl.Series([], dtype=pl.Boolean)
    low = tokens.fold(stated["sentence"])
    spans = dates.resolve(facts_of_texts.extract(stated["sentence"], low)["dates"], stated["created_at"])
    over = spans.list.eval(pl.element().struct.field("end")).list.max() <= as_of
    return over.fill_null(value=False) & ~low.str.contains(BEGINS)


def _main_names(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the name that many of a profile's notes begin with: profile_id, name; no row where there is none."""
    notes = memories.filter(pl.col("speaker").is_null()).select(
        "profile_id", name=pl.col("content").str.extract(_FIRST_NAME), notes=pl.len().over("profile_id")
    )
    words = STOP_WORDS | frozenset(COMMON_WORDS[0])
    return (
        notes.filter(~pl.col("name").str.to_lowercase().is_in(words))
        .group_by("profile_id", "name")
        .agg(count=pl.len(), notes=pl.col("notes").first())
        .filter(pl.col("count") >= pl.max_horizontal(pl.lit(LEAST_SHARED + 1), MAIN_SHARE * pl.col("notes")))
        .sort("profile_id", "count", "name", descending=[False, True, False])
        .unique("profile_id", keep="first", maintain_order=True)
        .select("profile_id", "name")
    )


def _newest(rows: pl.DataFrame, repeats: pl.DataFrame) -> list[int]:
    """Return the places of the facts to keep, by profile.

    Args:
        rows: facts by profile and block, best first.
        repeats: profile_id, source and target of memories of which one may repeat the other.
    """
    words = [frozenset(stems) for stems in tokens.content_stems(rows["text"]).to_list()]
    columns = (rows[name].to_list() for name in ("profile_id", "place", "memory_id", "created_at"))
    facts = map(_Fact, range(rows.height), *columns, words, core_facts.doses(rows["text"]).to_list())
    names = {profile_id: frozenset(stems) for profile_id, stems in _names(rows).iter_rows()}
    same = {(profile_id, frozenset(pair)) for profile_id, *pair in repeats.iter_rows()}
    return [
        place
        for profile_id, own in groupby(facts, key=attrgetter("profile_id"))
        for place in _newest_of(list(own), names.get(profile_id, frozenset()), same)
    ]


def _names(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the stems of the names in the facts of each profile: profile_id, stems."""
    named = rows.select("profile_id", name=pl.col("text").str.extract_all(_NAMED)).explode("name").drop_nulls("name")
    named = named.with_columns(pl.col("name").str.extract(r"(\p{Lu}[\p{L}-]+)$"))
    named = named.filter(~pl.col("name").str.contains(_DAY_NAME))
    stems = tokens.content_stems(named["name"])
    return named.select("profile_id", stems=stems).group_by("profile_id").agg(pl.col("stems").explode().drop_nulls())


def _newest_of(facts: Sequence[_Fact], names: frozenset[str], same: Container[tuple[str, frozenset[str]]]) -> list[int]:
    """Return the places of the facts of a profile to keep: the newest about each thing, where the first of them was.

    Of facts of one instant the first is kept.
    """
    rank = {fact.place: fact.place for fact in facts}
    newest = list[_Fact]()
    for one in sorted(facts, key=lambda fact: (fact.at, -fact.place), reverse=True):
        newer = [
            other
            for other in newest
            if _alike(one.words, other.words, names, (one.dose, other.dose))
            or (one.profile_id, frozenset((one.memory_id, other.memory_id))) in same
        ]
        for other in newer:
            if other.block == one.block:
                rank[other.place] = min(rank[other.place], rank[one.place])
        if not newer:
            newest.append(one)
    return [fact.place for fact in sorted(newest, key=lambda fact: (fact.block, rank[fact.place], fact.place))]


def _alike(
    one: frozenset[str], other: frozenset[str], names: frozenset[str], medicines: tuple[str | None, str | None]
) -> bool:
    """Return whether two facts name the same people and share most of the other words of the shorter one.

    For two facts that give doses, the medicines alone decide.
    """
    if one & names != other & names:
        return False
    if None not in medicines:
        return medicines[0] == medicines[1]
    shared, least = len((one & other) - names), min(len(one - names), len(other - names))
    return one == other or (shared >= LEAST_SHARED and shared >= SAME * least)
