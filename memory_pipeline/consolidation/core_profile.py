"""Selects the facts that profile a user in core memory: identity, health, instructions, preferences, current projects.

It takes sentences that state something lasting (`text.score.core_facts`) and are still true. Not here: how blocks are
filled and worded (`core_memory`), and what stands against a fact (`core_doubts`).
"""

from datetime import datetime, timedelta
from typing import Final

import polars as pl

from memory_pipeline.consolidation import core_doubts, core_sentences, whereabouts
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.core_doubts import LINE, LINKED
from memory_pipeline.consolidation.ownership import OWNER
from memory_pipeline.schemas import INSTANT
from memory_pipeline.text import credentials
from memory_pipeline.text.lang.en.core_cues import BEGINS, PLACEHOLDER
from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, STOP_WORDS
from memory_pipeline.text.parse import dates, tokens
from memory_pipeline.text.parse import facts as facts_of_texts
from memory_pipeline.text.parse.speakers import USERS, by_assistant
from memory_pipeline.text.score import core_facts, sections

NAMES: Final = (
    sections.IDENTITY,
    sections.HEALTH,
    sections.INSTRUCTION,
    sections.PREFERENCE,
    sections.PROJECT,
)
"""The blocks, in the order in which they are filled."""
_PROFILE: Final = NAMES.index(sections.IDENTITY)
PROJECT_DAYS: Final = 90
"""Age in days after which a project no longer counts as current."""
PASSING_DAYS: Final = 45
"""Age in days after which what holds for days or weeks may be outdated."""
LEAST_IMPORTANCE: Final = 0.2
"""Minimum importance of a memory that is worth reading before every session."""
WHOLE_FROM: Final = 2.0
"""Harm, 0..3, from which a matter of health or safety never lacks room. What may do less harm competes with others, or
door codes leave no room for who the user is."""
MOST_CHARACTERS: Final = 200
"""Longest memory that is taken whole because an agent marked it as core or a preference."""
LEAST_NAMED: Final = 3
"""Minimum number of a profile's notes that begin with the name of the person it is about."""
MAIN_SHARE: Final = 0.15
"""Minimum share of a profile's notes that begin with the name of the person it is about."""

_FIRM_DOUBT: Final = 0.35
"""Minimum confidence of a doubt (`core_doubts.LEAST`) about what holds for years and about an instruction."""
_NAME: Final = r"\p{Lu}[\p{L}-]+"
_FIRST_NAME: Final = rf"^({_NAME})"
_NO_NAMES: Final = STOP_WORDS | frozenset(COMMON_WORDS[0])

_COLUMNS: Final = (
    *("index", "memory_id", "text", "introduces", "lasting", "harm", "importance", "access_count", "created_at"),
    *("doubted_since", "doubted_by", "disputed_by", "disputed_at", "vital", "past", "person", "project"),
    "by_file",
)
_LONGEST: Final = 10_000
"""Characters of the longest text that is looked for in another; no line of core memory is that long."""
_WISHES: Final = (sections.INSTRUCTION, sections.PREFERENCE)
"""Sections in which the owner alone speaks: nobody else's words stand there, not even as a doubt."""


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

    Nothing leaves by a doubt: a fact that a newer memory may outdate is shown with the day of that; a contradicted one
    with the other side, both after the name of whoever says so, unless it is the owner, who alone doubts an instruction
    or a preference. These are left out: statements that are closed, what an assistant said, facts about somebody
    else than the owner (but for what does real damage if it is forgotten, which is everybody's), what others instruct
    or prefer, what one speaker tells another by name to do, statements whose subject is named elsewhere (vital ones
    apart), and deadlines that have passed. Of facts in the same words the newest is kept, of what instructs or forbids
    the newest of each project. Facts are ranked by whether they say who the owner is, then who others are, whether they
    are in doubt, then (of health) by the harm if they were forgotten, by use (accesses, helpful feedback), whether they
    hold for years, importance, and age, newest first.

    Args:
        memories: rows of `memories` that are live, valid and no repetition of others, with `voice` (see `ownership`),
            `person`, the user whose section a fact belongs to, null in a profile of one user, and `project` (see
            `whereabouts`), null where a memory belongs to none.
        scored: table `scored_memories`; a memory without a row uses the importance it was stored with.
        edges: decided and proposed edges: MAY_UPDATE, MAY_REPEAT and CONTRADICTS are read.
        changes: table `fact_changes`: which statement of a memory a MAY_UPDATE is about, without a row the whole
            memory; and how likely a MAY_REPEAT is, without a row likely enough.
        others: all other rows of `memories`, with `voice`: an archived successor still outdates a memory.
        known: table `core_sentences`: texts that need not be read again; default: none.

    Returns:
        profile_id, index (of the block in `NAMES`), person, memory_id, text (a sentence, or all of a short memory, on
        one line, after the names of user and speaker), mark (when it was said, since a change that no link shows stays
        unseen, and any doubt: see `core_memory_blocks.marks`), vital (it never lacks room) and past (a newer memory
        probably outdates it). Cost: that of `core_facts.core_facts` for texts that are not known.
    """
    present = core_doubts.against(memories, edges, changes, others=others)
    present = present.filter(~by_assistant(pl.col("speaker"))).sort("profile_id", "created_at", "memory_id")
    found = _stated(present, scored, as_of, known)
    doubtful = pl.any_horizontal(pl.col("doubted_since", "disputed_by").is_not_null())
    ranked = found.sort(
        *("profile_id", "index", "introduces", doubtful, "harm", "access_count", "lasting", "importance"),
        *("created_at", "memory_id", "text"),
        descending=[False, False, True, False, *[True] * 5, False, False],
    )
    ranked = core_doubts.with_repeats(core_doubts.with_quotes(ranked, present), edges, changes)
    mark = pl.struct("by_file", "disputed_at", "disputed_by", "doubted_by", "doubted_since", said_at="created_at")
    return _once(ranked).select("profile_id", "index", "person", "memory_id", "text", "vital", "past", mark=mark)


def shown(mark: pl.Expr, zone: str = "UTC") -> pl.Expr:
    """Return what stands behind a fact: its day (or that of its file) and any doubt; null without a mark.

    `mark` is what `facts` returns, `zone` the name of the time zone of the days.
    """

    def day(name: str) -> pl.Expr:
        return mark.struct.field(name).dt.convert_time_zone(zone).dt.date()

    parts = pl.concat_str(
        day("said_at"),
        pl.when(mark.struct.field("by_file")).then(pl.lit(whereabouts.BY_FILE)),
        pl.format("maybe outdated since {}", day("doubted_since"))
        + pl.format(': "{}"', mark.struct.field("doubted_by")).fill_null(""),
        pl.format('disputed: "{}", {}', mark.struct.field("disputed_by"), day("disputed_at")),
        separator="; ",
        ignore_nulls=True,
    )
    return pl.when(mark.struct.field("said_at").is_not_null()).then(pl.format(" ({})", parts))


def _stated(memories: pl.DataFrame, scored: pl.DataFrame, as_of: datetime, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return the core facts that memories state, with what ranks them."""
    rows = memories.with_columns(talking=_talking())
    rows = rows.join(scored.select(*KEY, "importance"), on=KEY, how="left", maintain_order="left").with_row_index("row")
    # A summary of this very run has no score yet; with none it would rank first now and elsewhere in the next run.
    rows = rows.with_columns(pl.coalesce("importance", "importance_given"))
    stated = _of_owner(rows, core_sentences.read(rows, known))
    health, project = (pl.col("section") == name for name in (sections.HEALTH, sections.PROJECT))
    block = pl.col("section").replace_strict({name: index for index, name in enumerate(NAMES)}, return_dtype=pl.Int32)
    lasting = _lasting(stated, as_of)
    projects = lasting.filter(project)
    overdue = projects["fact"].filter(_overdue(projects, as_of))
    told = lasting.filter(~pl.col("fact").is_in(overdue.implode())).with_columns(
        vital=_vital(),
        past=pl.col("linked").fill_null(value=False),
        introduces=pl.when(block == _PROFILE).then(
            pl.col("introduces") * (1 + (pl.col("owner") | pl.col("named_first")))
        ),
        harm=pl.when(health).then(pl.col("harm").round()).otherwise(0.0),
        index=block,
        project=pl.when("commands").then("project"),
        by_file=whereabouts.undated().fill_null(value=False),
    )
    return (
        _whole(told, stated, known)
        .filter(~pl.col("sentence").str.contains(credentials.ANY))  # even an example of one is nothing to obey
        .with_columns(text=pl.concat_str(_attribution(), "sentence", separator=": ", ignore_nulls=True))
        .select("profile_id", *_COLUMNS)
    )


def _talking() -> pl.Expr:
    """Return the voices of the session of each memory, null without one."""
    heard = pl.col("voice").filter(pl.col("session_id").is_not_null()).unique()
    return heard.over("profile_id", "session_id", mapping_strategy="join")


def _of_owner(rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return the facts that the owner states about the owner, and those of the health of anyone who is known.

    Takes memories, with `row`, and the facts read of their sentences (`core_sentences.read`).
    """
    stated = pl.concat([read, _named_by_agents(rows, read)]).join(rows, on="row", maintain_order="left")
    stated = stated.join(_main_names(rows, stated), on="profile_id", how="left", maintain_order="left")
    first = pl.col("sentence").str.extract(_FIRST_NAME).str.to_lowercase()
    by_name = [pl.col("sentence").str.starts_with(pl.col("name"))]
    by_name += [first == pl.col(own).str.strip_chars().str.to_lowercase() for own in ("user_id", "speaker")]
    named_first = pl.any_horizontal(one.fill_null(value=False) for one in by_name)
    of_user = pl.col("of_user") | named_first | pl.any_horizontal(_marked_by_agents())
    health = (pl.col("section") == sections.HEALTH) & ~pl.col("commands")
    wish = pl.col("section").is_in(_WISHES)
    stated = stated.with_columns(
        *(pl.when(wish).then(f"own_{name}").otherwise(name).alias(name) for name in ("disputed_by", "disputed_at")),
        named_first=named_first,
    )
    known_person = first.is_in("introduced").fill_null(value=False)
    stated = stated.join(_introduced(stated), on="profile_id", how="left", maintain_order="left")
    owners = (pl.col("voice") == OWNER) & of_user
    return stated.filter((health & (of_user | known_person)) | owners).drop("introduced")


def _vital() -> pl.Expr:
    """Return whether a fact never lacks room."""
    return (pl.col("section") == sections.HEALTH) & (pl.col("harm") >= WHOLE_FROM)


def _lasting(stated: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Return the facts that are still true and worth telling, numbered as `fact`."""
    section, age = pl.col("section"), pl.lit(as_of, dtype=INSTANT) - pl.col("created_at")
    over = pl.col("created_at") + timedelta(days=PASSING_DAYS)
    doubted = pl.coalesce("doubted_since", pl.when(pl.col("passing") & (over <= as_of)).then(over))
    needed = section.is_in((sections.HEALTH, sections.INSTRUCTION))
    return (
        _still_true(stated)
        .with_columns(doubted_since=doubted)
        .filter(
            needed | (pl.col("importance_given").fill_null(1.0) >= LEAST_IMPORTANCE),
            ~(pl.col("speaker").is_not_null() & pl.col("leans")) | _vital(),
            ~((section == sections.INSTRUCTION) & _names_another()),
            (section != sections.PROJECT) | (age <= timedelta(days=PROJECT_DAYS)),
        )
        .with_row_index("fact")
    )


def _names_another() -> pl.Expr:
    """Return whether a sentence names somebody else who speaks in its session: what it says is for them."""
    names = pl.col("talking").list.join(" ").str.extract_all(core_facts.WORD)
    words = pl.col("sentence").str.to_lowercase().str.extract_all(core_facts.WORD)
    return (words.list.set_intersection(names).list.len() > 0).fill_null(value=False)


def _attribution() -> pl.Expr:
    """Return who is named before a fact: the user whose section it is, and the speaker under another name.

    A speaker named after a role ("user") is nobody else than the owner, and is not named.
    """
    low = pl.col("speaker").str.to_lowercase()
    named = low.ne_missing(pl.col("person").str.to_lowercase()) & ~low.is_in(sorted(USERS))
    return pl.concat_str("person", pl.when(named).then("speaker"), separator=", ", ignore_nulls=True).replace("", None)


def _whole(told: pl.DataFrame, stated: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return facts with the whole text of short memories in place of their sentences, each once.

    A sentence alone may lack what it is about, or its exception. Memories that state facts of several kinds, of
    which a part no longer holds, or that hold an order or a turn of a chat which is no fact, are told sentence by
    sentence.
    """
    kinds = stated.group_by("row").agg(facts=pl.len(), kinds=pl.col("section").n_unique())
    short = LINE.str.count_matches(core_facts.WORD) <= core_facts.MOST_WORDS
    doubts = pl.col("doubted").list.eval(pl.element().struct.field("confidence") == LINKED)
    holds = ~doubts.list.any().fill_null(value=False) & (pl.col("closed_statements").list.len().fill_null(0) == 0)
    whole = short & holds & (pl.col("kinds") == 1) & (pl.len().over("row") == pl.col("facts"))
    open_value = pl.any_horizontal(LINE.str.contains(pattern) for pattern in (PLACEHOLDER, credentials.ANY))
    as_written = _holds(LINE, pl.col("sentence")) & ~open_value
    return (
        told.join(kinds, on="row", how="left", maintain_order="left")
        .with_columns(whole=whole & as_written)
        .with_columns(whole=pl.col("whole") & ~pl.col("row").is_in(_with_orders(told, stated, known).implode()))
        .with_columns(sentence=pl.when("whole").then(LINE).otherwise("sentence"))
        .unique(["row", "sentence"], keep="first", maintain_order=True)
    )


def _with_orders(told: pl.DataFrame, stated: pl.DataFrame, known: pl.DataFrame | None) -> pl.Series:
    """Return the rows of memories that hold an order, or a turn of a chat, which is no fact."""
    longer = told.filter(pl.col("sentence") != LINE).unique("row", maintain_order=True)
    read = core_facts.orders(longer["content"], core_sentences.numbers(longer, known))
    ordered = read.with_columns(longer["row"].gather(read["row"]).alias("row"))
    return ordered.join(stated, on=["row", "sentence"], how="anti")["row"].unique()


def _marked_by_agents() -> tuple[pl.Expr, pl.Expr]:
    """Return whether an agent said of a memory that it is core, or a preference."""
    core = (pl.col("category") == "core") & ~pl.col("category_inferred")
    liked = (pl.col("memory_type") == "Preference") & ~pl.col("memory_type_inferred")
    return core, liked


def _named_by_agents(rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return short memories that agents marked as core or a preference and in which no sentence was read as a fact."""
    core, liked = _marked_by_agents()
    section = pl.when(core).then(pl.lit(sections.IDENTITY)).when(liked).then(pl.lit(sections.PREFERENCE))
    no = pl.lit(value=False)
    named = rows.with_columns(
        *(no.alias(name) for name in ("commands", "leans", "introduces", "passing")),
        *((~no).alias(name) for name in ("of_user", "owner")),
        sentence=LINE,
        section=section,
        place=pl.lit(0),
        lasting=core,
        harm=0.0,
    )
    short = pl.col("sentence").str.len_chars() <= MOST_CHARACTERS
    named = named.filter(pl.col("section").is_not_null() & short).join(read, on="row", how="anti")
    return named.select(pl.col(name).cast(dtype) for name, dtype in read.schema.items())


def _still_true(stated: pl.DataFrame) -> pl.DataFrame:
    """Drop the statements that are closed, and date the surest doubt about each other: `doubted_since`, `doubted_by`.

    A lasting condition of a body is doubted only by a link; what else holds for years, and an instruction, by what is
    surer than other doubts.
    """
    numbered = stated.with_row_index("fact")
    closed = numbered.select("fact", "sentence", over="closed_statements").explode("over").drop_nulls("over")
    closed = closed.with_columns(over=pl.col("over").struct.field("sentence"))
    over = closed.filter(_says_so())["fact"].unique().implode()
    kept = numbered.filter(~pl.col("fact").is_in(over)).drop("fact").with_row_index("fact")
    doubts = kept.select("fact", "sentence", "section", "lasting", "doubted").explode("doubted").drop_nulls("doubted")
    doubts = doubts.unnest("doubted").with_columns(over=pl.col("statement").fill_null(""))
    firm = pl.col("lasting") | (pl.col("section") == sections.INSTRUCTION)
    condition = pl.col("lasting") & (pl.col("section") == sections.HEALTH)
    least = pl.when(condition).then(LINKED).when(firm).then(_FIRM_DOUBT).otherwise(core_doubts.LEAST)
    enough = pl.col("confidence") >= least
    by_owner = ~(pl.col("foreign") & pl.col("section").is_in(_WISHES))
    since = (
        doubts.filter(_says_so(), enough, by_owner)
        .sort("confidence", "at", "by")
        .group_by("fact", maintain_order=True)
        .agg(
            doubted_since=pl.col("at").last(),
            doubted_by=pl.col("by").last(),
            linked=(pl.col("confidence") == LINKED).any(),
        )
    )
    return kept.join(since, on="fact", how="left", maintain_order="left").drop("fact", "place")


def _says_so() -> pl.Expr:
    """Return whether a sentence holds the words that are over."""
    return _holds(pl.col("sentence"), pl.col("over").str.strip_chars())


def _holds(text: pl.Expr, part: pl.Expr) -> pl.Expr:
    """Return whether a text holds another, of at most `_LONGEST` characters: Polars makes a pattern of each."""
    short = part.str.len_chars() <= _LONGEST
    return short & text.str.contains(pl.when(short).then(part), literal=True)


def _overdue(stated: pl.DataFrame, as_of: datetime) -> pl.Series:
    """Return whether every date that a statement names has passed; a date that began something is ignored."""
    if stated.is_empty():
        return pl.Series([], dtype=pl.Boolean)
    low = tokens.fold(stated["sentence"])
    spans = dates.resolve(facts_of_texts.extract(stated["sentence"], low)["dates"], stated["created_at"])
    over = spans.list.eval(pl.element().struct.field("end")).list.max() <= as_of
    return over.fill_null(value=False) & ~low.str.contains(BEGINS)


def _introduced(stated: pl.DataFrame) -> pl.DataFrame:
    """Return the names that a profile's sentences give when they say who somebody is: profile_id, introduced.

    What only its words tell to be about a person ("Sol can't have soy.") is one's health if it begins with such a name.
    """
    names = stated.filter("introduces").select(
        "profile_id", name=pl.col("sentence").str.extract_all(_NAME).list.eval(pl.element().str.to_lowercase())
    )
    names = names.explode("name").drop_nulls("name").filter(~pl.col("name").is_in(_NO_NAMES))
    return names.group_by("profile_id").agg(introduced=pl.col("name").unique())


def _main_names(memories: pl.DataFrame, stated: pl.DataFrame) -> pl.DataFrame:
    """Return the name of whom many of a profile's notes are about: profile_id, name; no row where there is none.

    Enough begin with it: `MAIN_SHARE` of them or, if a sentence that says who the owner is has the name,
    `LEAST_NAMED`.
    """
    introducing = stated.filter("introduces", "owner").select("profile_id", name=pl.col("sentence"))
    introduced = introducing.with_columns(pl.col("name").str.extract_all(_NAME)).explode("name").unique()
    notes = memories.filter(pl.col("speaker").is_null()).select(
        "profile_id", name=pl.col("content").str.extract(_FIRST_NAME), notes=pl.len().over("profile_id")
    )
    enough = pl.col("introduced") | (pl.col("count") >= MAIN_SHARE * pl.col("notes"))
    return (
        notes.filter(~pl.col("name").str.to_lowercase().is_in(_NO_NAMES))
        .group_by("profile_id", "name")
        .agg(count=pl.len(), notes=pl.col("notes").first())
        .join(introduced.with_columns(introduced=True), on=["profile_id", "name"], how="left")
        .with_columns(pl.col("introduced").fill_null(value=False))
        .filter((pl.col("count") >= LEAST_NAMED) & enough)
        .sort("profile_id", "introduced", "count", "name", descending=[False, True, True, False])
        .unique("profile_id", keep="first", maintain_order=True)
        .select("profile_id", "name")
    )


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """Return facts, best first, those in the same words once: the newest of them, where the first one stood."""
    said = tokens.fold(rows["text"])
    words = said.str.extract_all(core_facts.WORD).list.join(" ")
    counted = rows.with_columns(words=words, rank=pl.int_range(pl.len()))
    same = ["profile_id", "index", "project", "words"]
    newest = counted.sort("created_at", "rank", descending=[True, False]).unique(
        same, keep="first", maintain_order=True
    )
    first = counted.group_by(same).agg(pl.col("rank").min())
    return (
        newest.drop("rank")
        .join(first, on=same, nulls_equal=True, maintain_order="left")
        .sort("rank")
        .drop("words", "rank")
    )
