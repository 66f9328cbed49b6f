"""Labels groups with the few words that a person would write on the folder.

Not here: which memories belong together (`strategies`), and how keywords are found (`text.enrich`).
"""

from typing import Final

import polars as pl

from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, FIRST_PERSON, LISTS, SMALL_TALK, STOP_WORDS

LABEL_WORDS: Final = 3
"""Maximum number of words in a label."""
SHORTEST: Final = 3
"""Minimum number of letters of a word in a label; in scripts without spaces, every word qualifies."""
EVERYWHERE: Final = 0.5
"""Share of a profile's groups above which a word no longer distinguishes them."""
SHARED: Final = 2
"""Minimum number of members of a group that share each word of its label."""
FEW_GROUPS: Final = 4
"""Minimum number of groups for `EVERYWHERE` to apply."""
_WORDS: Final = LISTS.section("labels")
_NO_TOPIC: Final = (
    STOP_WORDS
    | SMALL_TALK
    | DATE_WORDS
    | FIRST_PERSON
    | _WORDS.words("past")
    | _WORDS.words("general")
    | {
        form
        for verb in _WORDS.listed("verbs")
        for stem in (verb.removesuffix("e"),)
        for form in (
            verb,
            f"{verb}s",
            f"{verb}es",
            f"{stem}ed",
            f"{stem}ing",
            f"{verb}{verb[-1]}ing",
            f"{verb}{verb[-1]}ed",
        )
    }
)
"""Function words, small talk, words of dates, and general verbs, adjectives and measures of time, in every form."""
_PAST_ENDING: Final = r"\p{L}{2}[^e]ed$"
"""The ending of English verbs in the past tense."""
_NAMED: Final = r"[\p{Ll}\p{N},;:] \p{Lu}[\p{L}]+"


def labels(members: pl.DataFrame) -> pl.DataFrame:
    """Return the label of each group: keywords that its members share, the most shared first, names capitalised.

    Words that name no topic are left out (verbs and measures of time in general use, particles), as are fragments and
    words of more than half of the profile's groups, such as the name of its owner; among equals the more informative
    word comes first. `members` has a row per group and member: profile_id, group, keywords (most informative first) and
    content. Returns group and label; no row for a group whose members share no word.
    """
    ranked = members.select(
        "profile_id", "group", "keywords", rank=pl.int_ranges(pl.col("keywords").list.len())
    ).explode("keywords", "rank")
    latin = pl.col("keywords").str.contains(r"^[\p{Latin}\p{Greek}\p{Cyrillic}]")
    topical = ~latin | (
        (pl.col("keywords").str.len_chars() >= SHORTEST)
        & ~pl.col("keywords").is_in(sorted(_NO_TOPIC))
        & ~pl.col("keywords").str.contains(_PAST_ENDING)
        & ~pl.col("keywords").str.contains(r"['\p{N}_]")
    )
    counted = (
        ranked.drop_nulls("keywords")
        .filter(topical)
        .group_by("profile_id", "group", "keywords")
        .agg(count=pl.len(), rank=pl.col("rank").sum())
    )
    groups = pl.col("group").n_unique().over("profile_id")
    common = (pl.len().over("profile_id", "keywords") > EVERYWHERE * groups) & (groups >= FEW_GROUPS)
    return (
        counted.filter(~common)
        .filter(pl.col("count") >= SHARED)
        .join(_names(members), on=["profile_id", "keywords"], how="left")
        .sort("count", "rank", "keywords", descending=[True, False, False])
        .group_by("group", maintain_order=True)
        .agg(label=pl.coalesce("name", "keywords").head(LABEL_WORDS).str.join(", "))
    )


def _names(members: pl.DataFrame) -> pl.DataFrame:
    """Return the words that have a capital inside a sentence of a profile: profile_id, keywords (lower case), name."""
    key = ["profile_id", "keywords"]
    found = members.select("profile_id", name=pl.col("content").str.extract_all(_NAMED)).explode("name")
    named = found.drop_nulls("name").with_columns(pl.col("name").str.extract(r"(\p{L}+)$"))
    lower = named.with_columns(keywords=pl.col("name").str.to_lowercase())
    return lower.sort(*key, "name").unique(key, keep="first", maintain_order=True)
