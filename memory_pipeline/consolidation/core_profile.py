"""Selects the facts that profile a user in core memory: identity, health, instructions, preferences, current projects.

It takes sentences that state something lasting (`text.score.core_facts`) and are still true. Not here: how blocks are
filled and worded (`core_memory`).
"""

from datetime import datetime, timedelta
from typing import Final

import polars as pl

from memory_pipeline.consolidation import core_sentences, currency, whereabouts
from memory_pipeline.consolidation.columns import KEY
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
MOST_QUOTED: Final = 120
"""Characters that are quoted of what contradicts a fact or may outdate it."""
LEAST_NAMED: Final = 3
"""Minimum number of a profile's notes that begin with the name of the person it is about."""
MAIN_SHARE: Final = 0.15
"""Minimum share of a profile's notes that begin with the name of the person it is about."""

_DOUBT: Final = 0.2
"""Minimum confidence of an update, too unsure for a link, that dates a line as perhaps outdated: a third of them are
right, and an outdated line without a mark does more harm than a mark too many."""
_FIRM_DOUBT: Final = 0.35
"""The same, of what holds for years and of an instruction."""
_REPEATED: Final = 0.5
"""Minimum likelihood of a repetition for which the newer fact tells the older: an unlikely one takes no fact's room."""
_LINKED: Final = 1.0
"""Confidence of an update that is linked."""
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
_LINE: Final = tokens.one_line(pl.col("content"))
_SAID: Final = pl.concat_str(
    pl.when(pl.col("voice") != OWNER).then("speaker"), _LINE, separator=": ", ignore_nulls=True
)
"""What a memory says, after the name of a speaker who is not the owner."""
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
    everything = pl.concat(
        [frame.select(*KEY, "lifecycle", "created_at", "voice", said=_SAID) for frame in (memories, others)]
    )
    present = memories.filter(~by_assistant(pl.col("speaker")))
    present = present.join(_doubted(changes, _of_whole(edges, changes), everything), on=KEY, how="left")
    present = present.join(_disputed(edges, everything), on=KEY, how="left").sort(
        "profile_id", "created_at", "memory_id"
    )
    found = _stated(present, scored, as_of, known)
    doubtful = pl.any_horizontal(pl.col("doubted_since", "disputed_by").is_not_null())
    ranked = found.sort(
        *("profile_id", "index", "introduces", doubtful, "harm", "access_count", "lasting", "importance"),
        *("created_at", "memory_id", "text"),
        descending=[False, False, True, False, *[True] * 5, False, False],
    )
    ranked = _with_repeats(_with_what_doubts(ranked, present), _likely_repeats(edges, changes))
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


def _partly(changes: pl.DataFrame) -> pl.DataFrame:
    """Return statements that a newer memory may outdate while the rest of their memory holds."""
    updates = changes.filter(pl.col("relation") == currency.UPDATE, pl.col("statement").is_not_null())
    return updates.select(*KEY, "other_id", "statement", "at")


def _doubted(changes: pl.DataFrame, edges: pl.DataFrame, everything: pl.DataFrame) -> pl.DataFrame:
    """Return what may be outdated: KEY, doubted (statements, null for all of the memory, since when, how surely, by).

    And whether somebody else than the owner says so (`foreign`). Updates too unsure for a link count too. `edges` are
    about whole memories; an archived successor still outdates one.
    """
    present = everything.filter(~pl.col("lifecycle").is_in(currency.GONE)).select(
        "profile_id", source="memory_id", at="created_at"
    )
    likely = (pl.col("relation") == "doubt") & (pl.col("confidence") >= _DOUBT)
    unsure = changes.filter(likely).select(*KEY, "statement", "at", "confidence", by="other_id")
    whole = edges.filter(pl.col("edge_type") == currency.MAY_UPDATE).join(present, on=["profile_id", "source"])
    linked = [
        _partly(changes).rename({"other_id": "by"}).select(*KEY, "statement", "at", "by"),
        whole.select("profile_id", "at", by="source", memory_id="target", statement=pl.lit(None, pl.String)).select(
            *KEY, "statement", "at", "by"
        ),
    ]
    certain = pl.concat(linked).with_columns(confidence=pl.lit(_LINKED)).select(unsure.columns)
    by_others = everything.filter(pl.col("voice") != OWNER).select("profile_id", by="memory_id", foreign=True)
    doubts = pl.concat([unsure, certain]).join(by_others, on=["profile_id", "by"], how="left", maintain_order="left")
    doubts = doubts.with_columns(pl.col("foreign").fill_null(value=False)).sort(*KEY, "at", "by")
    struct = pl.struct("statement", "at", "confidence", "by", "foreign")
    return doubts.group_by(KEY, maintain_order=True).agg(doubted=struct)


def _disputed(edges: pl.DataFrame, everything: pl.DataFrame) -> pl.DataFrame:
    """Return for each contradicted memory what the latest other one says, and when: KEY, disputed_by, disputed_at.

    And the same of the latest one that the owner says: own_disputed_by, own_disputed_at.
    """
    conflicts = edges.filter(pl.col("edge_type") == "CONTRADICTS", pl.col("kind").ne_missing(pl.lit("contrast")))
    other = everything.filter(~pl.col("lifecycle").is_in(currency.GONE)).select(
        "profile_id", "said", "voice", target="memory_id", disputed_at="created_at"
    )
    own = pl.col("voice") == OWNER
    told = {"disputed_by": _short("said"), "disputed_at": pl.col("disputed_at")}
    return (
        _both_ways(conflicts)
        .unique()
        .join(other, on=["profile_id", "target"])
        .sort("profile_id", "source", pl.col("disputed_at").dt.date(), "target")
        .group_by("profile_id", memory_id="source")
        .agg(
            **{name: value.last() for name, value in told.items()},
            **{f"own_{name}": value.filter(own).last() for name, value in told.items()},
        )
    )


def _short(column: str) -> pl.Expr:
    """Return what is quoted of a text."""
    text = pl.col(column)
    return pl.when(text.str.len_chars() > MOST_QUOTED).then(text.str.slice(0, MOST_QUOTED) + "…").otherwise(text)


def _of_whole(edges: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Return the edges without those that are about one statement of the older memory."""
    partly = _partly(changes).select(
        "profile_id", target="memory_id", source="other_id", edge_type=pl.lit(currency.MAY_UPDATE)
    )
    return edges.join(partly, on=["profile_id", "target", "source", "edge_type"], how="anti")


def _stated(memories: pl.DataFrame, scored: pl.DataFrame, as_of: datetime, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return the core facts that memories state, with what ranks them."""
    current = pl.lit(as_of, dtype=INSTANT) - pl.col("created_at") <= timedelta(days=PROJECT_DAYS)
    talking = (
        pl.col("voice")
        .filter(pl.col("session_id").is_not_null())
        .unique()
        .over("profile_id", "session_id", mapping_strategy="join")
    )
    rows = memories.with_columns(talking=talking)
    rows = rows.join(scored.select(*KEY, "importance"), on=KEY, how="left", maintain_order="left").with_row_index("row")
    # A summary of this very run has no score yet; with none it would rank first now and elsewhere in the next run.
    rows = rows.with_columns(pl.coalesce("importance", "importance_given"))
    read = core_sentences.read(rows, known)
    stated = pl.concat([read, _named_by_agents(rows, read)]).join(rows, on="row", maintain_order="left")
    names = _main_names(memories, stated)
    stated = stated.join(names, on="profile_id", how="left", maintain_order="left")
    first = pl.col("sentence").str.extract(_FIRST_NAME).str.to_lowercase()
    by_name = [pl.col("sentence").str.starts_with(pl.col("name"))]
    by_name += [first == pl.col(own).str.strip_chars().str.to_lowercase() for own in ("user_id", "speaker")]
    named_first = pl.any_horizontal(one.fill_null(value=False) for one in by_name)
    health, instruction = (pl.col("section") == name for name in (sections.HEALTH, sections.INSTRUCTION))
    of_user = pl.col("of_user") | named_first | pl.any_horizontal(_marked_by_agents())
    project = pl.col("section") == sections.PROJECT
    owners = (pl.col("voice") == OWNER) & of_user
    wish = pl.col("section").is_in(_WISHES)
    stated = stated.with_columns(
        *(pl.when(wish).then(f"own_{name}").otherwise(name).alias(name) for name in ("disputed_by", "disputed_at")),
        named_first=named_first,
    )
    known_person = first.is_in("introduced").fill_null(value=False)
    stated = stated.join(_introduced(stated), on="profile_id", how="left", maintain_order="left")
    stated = stated.filter((health & ~pl.col("commands") & (of_user | known_person)) | owners).drop("introduced")
    block = pl.col("section").replace_strict({name: index for index, name in enumerate(NAMES)}, return_dtype=pl.Int32)
    heard = pl.col("speaker").is_not_null()
    over = pl.col("created_at") + timedelta(days=PASSING_DAYS)
    past = pl.col("linked").fill_null(value=False)
    vital = health & (pl.col("harm") >= WHOLE_FROM)
    lasting_facts = (
        _still_true(stated)
        .with_columns(
            doubted_since=pl.coalesce("doubted_since", pl.when(pl.col("passing") & (over <= as_of)).then(over))
        )
        .filter(
            health | instruction | (pl.col("importance_given").fill_null(1.0) >= LEAST_IMPORTANCE),
            ~(heard & pl.col("leans")) | vital,
            ~(instruction & _names_another()),
            ~project | current,
        )
        .with_row_index("fact")
    )
    projects = lasting_facts.filter(project)
    overdue = projects["fact"].filter(_overdue(projects, as_of))
    told = lasting_facts.filter(~pl.col("fact").is_in(overdue.implode())).with_columns(
        vital=vital,
        past=past,
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
    short = _LINE.str.count_matches(core_facts.WORD) <= core_facts.MOST_WORDS
    doubts = pl.col("doubted").list.eval(pl.element().struct.field("confidence") == _LINKED)
    holds = ~doubts.list.any().fill_null(value=False) & (pl.col("closed_statements").list.len().fill_null(0) == 0)
    whole = short & holds & (pl.col("kinds") == 1) & (pl.len().over("row") == pl.col("facts"))
    open_value = pl.any_horizontal(_LINE.str.contains(pattern) for pattern in (PLACEHOLDER, credentials.ANY))
    as_written = _holds(_LINE, pl.col("sentence")) & ~open_value
    return (
        told.join(kinds, on="row", how="left", maintain_order="left")
        .with_columns(whole=whole & as_written)
        .with_columns(whole=pl.col("whole") & ~pl.col("row").is_in(_with_orders(told, stated, known).implode()))
        .with_columns(sentence=pl.when("whole").then(_LINE).otherwise("sentence"))
        .unique(["row", "sentence"], keep="first", maintain_order=True)
    )


def _with_orders(told: pl.DataFrame, stated: pl.DataFrame, known: pl.DataFrame | None) -> pl.Series:
    """Return the rows of memories that hold an order, or a turn of a chat, which is no fact."""
    longer = told.filter(pl.col("sentence") != _LINE).unique("row", maintain_order=True)
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
        sentence=_LINE,
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
    least = pl.when(condition).then(_LINKED).when(firm).then(_FIRM_DOUBT).otherwise(_DOUBT)
    enough = pl.col("confidence") >= least
    by_owner = ~(pl.col("foreign") & pl.col("section").is_in(_WISHES))
    since = (
        doubts.filter(_says_so(), enough, by_owner)
        .sort("confidence", "at", "by")
        .group_by("fact", maintain_order=True)
        .agg(
            doubted_since=pl.col("at").last(),
            doubted_by=pl.col("by").last(),
            linked=(pl.col("confidence") == _LINKED).any(),
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


def _with_what_doubts(facts: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Put the words of what doubts each fact in the place of its id; none if core memory tells it anyway.

    What is told so is past, and needs room only if it is for years.
    """
    told = facts.select("profile_id", doubted_by="memory_id", told=True).unique()
    said = memories.select("profile_id", doubted_by="memory_id", said=_SAID).with_columns(said=_short("said"))
    joined = facts.join(told, on=["profile_id", "doubted_by"], how="left", maintain_order="left").join(
        said, on=["profile_id", "doubted_by"], how="left", maintain_order="left"
    )
    past = pl.col("past") & pl.col("told").fill_null(value=False)
    quoted = pl.when(pl.col("told").is_null()).then("said")
    return joined.with_columns(doubted_by=quoted, past=past, vital=pl.col("vital") & (pl.col("lasting") | ~past)).drop(
        "told", "said"
    )


def _likely_repeats(edges: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Return the linked repetitions that are likelier than not, in either direction: profile_id, source, target."""
    unlikely = (pl.col("relation") == "duplicate") & (pl.col("confidence") < _REPEATED)
    named = changes.filter(unlikely).select("profile_id", source="memory_id", target="other_id")
    return _both_ways(edges.filter(edge_type="MAY_REPEAT")).join(_both_ways(named), on=named.columns, how="anti")


def _both_ways(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of memories in both directions: profile_id, source, target."""
    ends = pairs.select("profile_id", "source", "target")
    return pl.concat([ends, ends.select("profile_id", source="target", target="source")])


def _with_repeats(facts: pl.DataFrame, repeats: pl.DataFrame) -> pl.DataFrame:
    """Count what a newer fact of the same block probably repeats among what is past: the newer one tells it.

    What never lacks room keeps it: two blood groups that are taken for a repetition are both to be read.
    """
    told = facts.filter(pl.col("doubted_since").is_null()).select("profile_id", "index", "memory_id", "created_at")
    newer = repeats.join(told.rename({"memory_id": "target", "created_at": "at"}), on=["profile_id", "target"])
    last = newer.group_by("profile_id", "index", memory_id="source").agg(pl.col("at").max())
    joined = facts.join(last, on=["profile_id", "index", "memory_id"], how="left", maintain_order="left")
    repeated = (pl.col("at") > pl.col("created_at")).fill_null(value=False) & ~pl.col("vital")
    return joined.with_columns(past=pl.col("past") | repeated).drop("at")


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
