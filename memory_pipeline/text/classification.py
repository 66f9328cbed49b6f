"""Classification: type and category of a memory, given names in canonical form or inferred from cues in the text.

All functions work on a column, so that a fold of a million rows stays vectorised. Not here: that given
names take precedence over inferred ones (`consolidation/state/folding`).
"""

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import suited
from memory_pipeline.text.parse.facts import without_questions
from memory_pipeline.text.parse.tokens import fold

MEMORY_TYPES: Final = ("Decision", "Insight", "Pattern", "Preference", "Style", "Habit", "Context", "Memory")
CATEGORIES: Final = ("episodic", "semantic", "procedural", "opinion", "core")
FALLBACK_TYPE: Final = "Memory"
FALLBACK_CATEGORY: Final = "episodic"

_TYPE_CUES: Final = {
    "Decision": r"""
        (?:i|we|they|he|she|team)(?:'ve| have|'s| has|'d| had)? (?:finally |just |both )?(?:decided|agreed to|chose)
        (?:i|we|they|he|she|team)(?:'ve| have|'s| has|'d| had)? (?:finally |just |both )?(?:chosen|opted|settled on)
        (?:i|we|they|he|she|team)(?:'ve| have|'s| has|'d| had)? (?:resolved to|committed to|approved)
        (?:decision|verdict|agreed|decided)(?: is| was)?:
        (?:the|our|my|final) decision (?:is|was)
        (?:i'll|we'll|we will|i will|let's) go with
        made up (?:my|our|his|her|their) minds?
        it was decided
        going forward
        from now on
    """,
    "Preference": r"""
        (?:i|we|he|she|they|user|who)(?:'d| would)?(?: \w+)? prefers?
        preferred
        preference
        favou?rite
        my go-to
        (?:would|i'd) rather
        (?:i|we)(?: \w+)? (?:love|like|enjoy|hate|dislike|adore)
        (?:he|she|user|they)(?: really)? (?:loves?|likes?|hates?|enjoys?|dislikes?)
        (?:can't|cannot) stand
        not a fan of
        (?:big|huge) fan of
    """,
    "Style": r"""
        (?:writing|coding|code|communication|naming|speaking|design|teaching|house) (?:style|convention|tone)s?
        style guide
        (?:tone|wording|formatting|indentation) (?:is|should|must)
        snake_case
        camelcase
        bullet points
        (?:concise|brief|short|formal|informal|detailed|friendly) (?:answers?|repl(?:y|ies)|tone|language|messages?)
        (?:concise|brief|short|formal|informal|detailed|friendly) (?:summar(?:y|ies)|style)
        writes? in
        (?:replies|responds|answers|reply|respond|answer) (?:in|with)
    """,
    "Habit": r"""
        every (?:single )?(?:day|morning|evening|night|week|weekend|month|year)
        every (?:mon|tues|wednes|thurs|fri|satur|sun)day
        each (?:day|morning|evening|night|week)
        (?:mon|tues|wednes|thurs|fri|satur|sun)days
        daily
        routine
        habit
        usually
        on weekends
        (?:once|twice|three times|\d times) (?:a|per) (?:day|week|month)
        before (?:bed|breakfast|work)
        i always
        (?:i|we) (?:tend|like) to
    """,
    "Pattern": r"""
        whenever
        (?:every|each) time
        keeps? (?:happening|failing|breaking|crashing|coming back)
        recurring
        recurs
        repeatedly
        over and over
        pattern
        tends? to
        time and again
        again and again
        always (?:happens|fails|breaks|leads|ends)
        correlat\w+
    """,
    "Insight": r"""
        (?:i|we)(?:'ve| have)?(?: \w+)? (?:reali[sz]ed|learn(?:ed|t) that|discovered|figured out|found out|understood)
        (?:i|we)(?:'ve| have)?(?: \w+)? noticed
        turn(?:s|ed) out (?:that|to|the|it|i|we|he|she)
        it dawned on
        lessons? learned
        the lesson
        insights?
        takeaway
        the (?:key|trick|point) is
        root cause
        explains why
        which means
        the reason (?:is|was|why)
        taught me
        made me reali[sz]e
    """,
    "Context": r"""
        my name is
        (?:i|we)(?:'m| am|'re| are) (?:currently |now )?(?:working on|based in|building|using|studying|living in)
        i (?:live in|work (?:at|as|for|in))
        we use
        (?:project|app|team|service|system|repo|company) (?:uses|is|runs|has)
        currently
        deadline
        background
        environment
        runs on
        is hosted
        tech stack
        (?:i|we) have (?:a|an|two|three|four)
    """,
}
"""Cues of each type, one per line, in the order in which the types are tested."""

_CATEGORY_CUES: Final = {
    "core": r"""
        my name is
        call me
        i(?:'m| am) (?:severely |deathly )?allergic
        my pronouns
        (?:always|please|must) remember (?:that )?(?:i|my|we)
        never forget(?: that)? (?:i|my|we)
        emergency contact
        my blood type
        i was born (?:in|on)
        my birthday is
    """,
    "procedural": r"""
        how to
        steps?:
        step (?:\d+|one|two|by step)
        first(?:ly)?,? .* then
        in order to
        make sure (?:to|you|that)
        (?:to|you can|just|then|always|never|must|should) (?:run|install|click|deploy|restart|configure|set|press)
        instructions?
        recipe
        procedure
        workflow
        runbook
        best practice
        preheat
        (?:git|npm) \w+
        pip install
    """,
    "opinion": r"""
        (?:i|we)(?: \w+)? (?:think|believe|feel like|feel that|prefer|love|like|enjoy|hate|dislike|guess|doubt|admire)
        in my (?:opinion|view)
        imh?o
        favou?rite
        (?:prefers?|likes?|loves?|hates?|dislikes?) \w+
        (?:over|under)rated
        best
        worst
        (?:better|worse) than
        (?:can't|cannot) stand
        (?:would|i'd) rather
        should have
    """,
    "semantic": r"""
        (?:is|are) (?:a|an|the|called|named|located|based|made|used|part|known|owned|written|in|at|from|on|\w+ed)
        (?:the|my|our|his|her|their|a|an) \w+(?: \w+){0,4} (?:is|are) \w+
        (?:lives|works|live|work|studies|teaches|speaks|owns) \w+
        (?:i|we) have (?:a|an|two|three|four|five|\d+)
        (?:i|he|she|we|they)(?:'m|'s|'re| am| is| are) (?:a|an|the|married|from|vegan|vegetarian)
        (?:has|have|uses|runs|costs|contains|supports|requires|means|equals|consists|depends|belongs) \w+
    """,
}
"""Cues of each category, one per line, in the order in which the categories are tested."""

_ONE_TIME: Final = r"""
    yesterday
    today
    tonight
    last (?:night|week|month|year|weekend|summer|winter|spring|fall|autumn|\w+day)
    ago
    recently
    this (?:morning|afternoon|evening|week|weekend|month)
    just (?:now|got|finished|came|went|had)
    earlier
    tomorrow
    next (?:week|month|year|weekend|\w+day)
    (?:went|was|were|did|had|met|saw|came|got|took|bought|made|told|said|gave)
"""
"""Cues of a one-time event, which is not a general statement."""
_MAX_CHARACTERS: Final = 400
"""Only this many first characters are searched for cues: a long text contains a cue of everything somewhere."""


def memory_type(content: pl.Series) -> pl.Series:
    """Infer the type of each text: the first of Decision, Preference, Style, Habit, Pattern, Insight, Context.

    It is the first with a cue in the text; questions are ignored. `Memory` if there is no cue, and for null.
    """
    searched = _searchable(content)
    cases = {name: _contains(searched, cues) for name, cues in _TYPE_CUES.items()}
    return searched.to_frame().select(_first_match(cases, FALLBACK_TYPE)).to_series()


def category(content: pl.Series) -> pl.Series:
    """Infer the category of each text: core, procedural, opinion or semantic by its cues, else `episodic`.

    Core is inferred only from explicit statements of importance, since core memories are never forgotten. A text about
    a one-time event is not semantic.
    """
    searched = _searchable(content)
    cases = {name: _contains(searched, cues) for name, cues in _CATEGORY_CUES.items()}
    cases["semantic"] &= ~_contains(searched, _ONE_TIME)
    return searched.to_frame().select(_first_match(cases, FALLBACK_CATEGORY)).to_series()


def canonical_type(given: pl.Expr) -> pl.Expr:
    """Return the canonical spelling of a given type; null for an unknown one, so that it is inferred."""
    return _canonical(given, MEMORY_TYPES)


def canonical_category(given: pl.Expr) -> pl.Expr:
    """Return the canonical spelling of a given category; null for an unknown one, so that it is inferred."""
    return _canonical(given, CATEGORIES)


def _canonical(names: pl.Expr, canonical_names: Iterable[str]) -> pl.Expr:
    spelling = {name.lower(): name for name in canonical_names}
    return names.str.strip_chars().str.to_lowercase().replace_strict(spelling, default=None, return_dtype=pl.String)


def _searchable(content: pl.Series) -> pl.Series:
    """Return the beginning of each text in lower case, with straight apostrophes and without questions."""
    return without_questions(fold(content.str.slice(0, _MAX_CHARACTERS)))


def _contains(texts: pl.Series, cues: str) -> pl.Expr:
    """Return whether a text contains a cue as whole words, for each of the only column of a frame."""
    pattern = rf"(?-u:\b)(?:{'|'.join(line.strip() for line in cues.strip().splitlines())})(?-u:\b)"
    return pl.first().str.contains(suited(pattern, texts))


def _first_match(cases: Mapping[str, pl.Expr], fallback: str) -> pl.Expr:
    """Return the name of the first condition that holds."""
    named = (pl.when(condition).then(pl.lit(name)) for name, condition in cases.items())
    return pl.coalesce(*named, pl.lit(fallback))
