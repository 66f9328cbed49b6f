"""Enrichment: language, keywords, facts, gist and importance of each text, in one table.

Each row depends on its own text alone, so that enriching new texts equals enriching all again. Not here: vectors
(`embed/embedding`).
"""

from typing import Final

import polars as pl

from memory_pipeline.schemas import PARSER, TABLES, Lifecycle
from memory_pipeline.text.lang.ascii_patterns import suited
from memory_pipeline.text.lang.en.lexicon import FIRST_PERSON
from memory_pipeline.text.lang.identification import identify
from memory_pipeline.text.parse import facts, tokens
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.score import importance

KEYWORDS: Final = 8
GIST_LENGTH: Final = 160
"""Longest gist, in characters; shorter texts are their own gist."""
_CHUNK: Final = 50_000
"""Texts enriched at once: bounds the scratch memory."""
_FIRST_PERSON: Final = rf"(?-u:\b)(?:{'|'.join(sorted(FIRST_PERSON))})(?-u:\b)"
_UNIT: Final = r"^[\p{Latin}\p{Greek}\p{Cyrillic}]{1,2}$"
"""A unit or an abbreviation, which is not a keyword; in scripts without spaces a word may have one letter."""
_THREE_WORDS: Final = r"[\p{L}\p{N}][^\p{L}\p{N}]+[\p{L}\p{N}']+[^\p{L}\p{N}]+[\p{L}\p{N}]"
_MARKUP: Final = " \t\r*#>|`_-•"


def texts(memories: pl.DataFrame) -> pl.DataFrame:
    """Return distinct texts of memories, one row per profile and text, sorted by key.

    The columns are profile_id, content_hash, speaker, content (to read) and embedded (text to embed). Stubs are left
    out, since they hold only the beginning of their text.
    """
    return (
        memories.filter(pl.col("lifecycle") != Lifecycle.STUB.value)
        .sort("profile_id", "content_hash", "memory_id")
        .unique(["profile_id", "content_hash"], keep="first", maintain_order=True)
        .select("profile_id", "content_hash", "speaker", "content", embedded=pl.coalesce("index_text", "content"))
    )


def enrich(texts: pl.DataFrame) -> pl.DataFrame:
    """Enrich texts with language, keywords, facts, gist and rule importance: rows of `enrichment`.

    Takes profile_id, content_hash and content; duplicates are ignored. Cost: about 80 s for a million short texts on
    one core.
    """
    distinct = texts.select("profile_id", "content_hash", "content").unique(["profile_id", "content_hash"])
    chunks = [_enrich(chunk) for chunk in distinct.iter_slices(_CHUNK)]
    return TABLES["enrichment"].conform(pl.concat(chunks)) if chunks else TABLES["enrichment"].empty()


def _enrich(chunk: pl.DataFrame) -> pl.DataFrame:
    content = chunk["content"].fill_null("")
    languages = identify(content)
    features, terms = _features(content, languages)
    keywords = (
        terms.filter(pl.col("form").str.contains(r"^\p{L}") & ~pl.col("form").str.contains(_UNIT))
        .sort("row", pl.col("count") * pl.col("rarity"), "form", descending=[False, True, False])
        .group_by("row", maintain_order=True)
        .agg(pl.col("form").head(KEYWORDS).alias("keywords"))
    )
    return chunk.hstack(features).with_columns(
        tokens.align_rows(keywords, len(chunk))["keywords"],
        tokens.count_tokens(content).alias("tokens"),
        languages,
        parser=pl.lit(PARSER),
        gist=_gists(content, languages),
    )


def _features(content: pl.Series, languages: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return facts and rule importance of each text, and its distinct stems: row, form, count, rarity, small_talk.

    The form of a stem is the word of the text that has it most often.

    Only what a text states is counted; questions count in a text that only asks.
    """
    low = tokens.fold(content)
    statements = facts.without_questions(low)
    stated = statements.str.contains(suited(_THREE_WORDS, statements))
    only_asks = facts.are_questions(low) & ~(low.str.contains("?", literal=True) & stated)
    terms = (
        tokens.occurrences(statements.zip_with(~only_asks, low), languages)
        .filter(~pl.col("stop"))
        .group_by("row", "term", "form")
        .agg(pl.len().alias("count"), pl.col("rarity").min(), pl.col("small_talk").max())
        .sort("row", "term", "count", "form", descending=[False, False, True, False])
        .group_by("row", "term", maintain_order=True)
        .agg(pl.col("count").sum(), pl.col("form").first(), pl.col("rarity").min(), pl.col("small_talk").max())
    )
    sums = terms.group_by("row").agg(
        pl.col("rarity").sum().alias("mass"),
        ((pl.col("count") * pl.col("small_talk")).sum() * (1.0 / pl.col("count").sum())).alias("small_talk"),
    )
    features = facts.extract(content, low, languages).hstack(tokens.align_rows(sums, len(content)).drop("row"))
    scored = features.with_columns(
        statements.str.contains(_FIRST_PERSON).alias("first_person"),
        only_asks.alias("only_asks"),
    )
    return scored.select(*features.columns[:5], rule_importance=importance.rule()), terms


def _gists(content: pl.Series, languages: pl.Series) -> pl.Series:
    """Return one line per text: the text itself, or the most important sentence of a long one, truncated at a word."""
    lines = content.str.replace_all(r"\s+", " ").str.strip_chars(" ")
    rows = pl.int_range(len(content), dtype=pl.UInt32, eager=True)
    long = lines.str.len_chars() > GIST_LENGTH
    if not long.any():
        return lines
    long_rows = rows.filter(long)
    split = split_sentences(content.gather(long_rows), languages.gather(long_rows))
    sentences = (
        split.select(row=long_rows.gather(split["row"]), gist="sentence")
        .with_columns(_clip(pl.col("gist").str.replace_all(r"\s+", " ").str.strip_chars(_MARKUP)))
        .filter(pl.col("gist").str.contains(r"[\p{L}\p{N}]"))
    )
    best = (
        sentences.hstack(_features(sentences["gist"], languages.gather(sentences["row"]))[0].select("rule_importance"))
        .sort("row", "rule_importance", descending=[False, True], maintain_order=True)
        .unique("row", keep="first", maintain_order=True)
        .select("row", "gist")
    )
    return (
        pl.DataFrame({"row": rows, "line": lines})
        .join(best, on="row", how="left", maintain_order="left")
        .select(pl.coalesce("gist", _clip(pl.col("line"))))
        .to_series()
    )


def _clip(line: pl.Expr) -> pl.Expr:
    """Return a line of at most GIST_LENGTH characters, cut between words where possible."""
    length = GIST_LENGTH - 1
    between_words = line.str.extract(rf"^(.{{0,{length - 1}}}\S)\s").str.strip_chars_end(",;:- ")
    cut = pl.concat_str(pl.coalesce(between_words, line.str.slice(0, length)), pl.lit("…"))
    return pl.when(line.str.len_chars() <= GIST_LENGTH).then(line).otherwise(cut)
