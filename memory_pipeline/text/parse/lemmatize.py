"""Lemmatizes texts: returns the lemmas of each text, with its negations and its mood.

Not here: lemmas of single words (`lang/en/lemmas`), which differences between two texts matter (`compare/merge_guard`),
keywords (`tokens`) and facts (`facts`).
"""

from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import form_for
from memory_pipeline.text.lang.en.lemmas import (
    AUXILIARIES,
    FUNCTION_LEMMAS,
    NOT,
    PAST,
    PERSONS,
    SENTENCE_END,
    lemmas,
    split_clitic,
)
from memory_pipeline.text.parse.facts import are_questions, without_questions
from memory_pipeline.text.parse.tokens import fold, tokenize

_HEDGES: Final = (
    r"by the way|(?:just )?so you know|i mean|to be (?:honest|fair|clear)|for the record|guess what|of course",
    r"(?:as|like) i (?:said|mentioned|told you|was saying)(?: before| earlier)?|as you (?:may |might |already )*know",
    r"in case you(?:'re| are| were)? wonder(?:ing|ed)?|in case you missed it|for what it's worth|believe it or not",
    r"(?:i )?(?:just |also |only )*want(?:ed)? to (?:say|mention|tell you|let you know|share|note|add)(?: that)?",
    r"(?:i )?(?:just )?(?:thought|figured) (?:i'd|i would|i should) (?:say|mention|share|add)(?: that)?",
    r"(?:i )?(?:just |also |only )*(?:have to|must|should|gotta) (?:say|mention|admit)(?: that)?|let me tell you",
    r"(?:a )?(?:quick |small |friendly |side )?(?:note|reminder|update|heads up)(?: to self)?(?: that\b| *[:,-])",
    r"(?:please )?(?:note|remember|recall|keep in mind) that|it(?:'s| is) worth (?:noting|mentioning) that",
    r"(?:it )?turns out(?: that)?|as well|if you ask me|in fact|in my opinion|after all|in short|long story short",
    r"anymore|any longer|many thanks|thank you(?: (?:so|very) much)?|thanks(?: a lot)?",
    r"did (?:you|i) (?:know|mention|tell you)(?: that)?|(?:believe|trust) (?:you )?me|i (?:can )?tell you",
    r"(?:i )?hope (?:you(?:'re| are)|all is|everything is|this finds you)(?: doing)? (?:well|fine|good|great|ok|okay)",
)
"""Phrases that announce or stress a statement without saying anything themselves."""

_REWRITES: Final = (
    (rf"\b(?:{'|'.join(_HEDGES)})(?:\b|$|\s)", " "),
    (r"[\x{fe0e}\x{fe0f}]", ""),
    (r"(?:'ve|'s| have| has) got\b", " have"),
    (r"\byou know([,.!?]|$)", "$1"),
    (r"^(?:no|nope|nah)[,.!]+ ", " "),
    (r"^(?:good )?(?:morning|afternoon|evening)(?: (?:all|everyone|everybody|team))?[,.!]+ ", " "),
    (r"\bno longer\b", "not"),
    (r"\bused to\b", "formerly"),
    (r"\b(?:a lot|lots|plenty|loads|tons) of\b", "many"),
    (r"\bthinking (?:about|of)\b", "considering"),
    (r"\b(?:would|'d) (?:like|love) to\b", " want to"),
    (r"\btak(e|ing|es) part in\b", "join$1"),
    (r"\btook part in\b", "joined"),
    (r"\bin order to\b", "to"),
    (r"(\d)(?:st|nd|rd|th)\b", "$1"),
    (r"(\d)(\p{L})", "$1 $2"),
    (r"[.!?;\n]+(?:\s|$)", f" {SENTENCE_END} "),
)
"""Rewrites of folded text, in order; the last ones split figures from their units and mark the ends of sentences."""


def lemmatize(texts: pl.Series) -> pl.DataFrame:
    """Lemmatize each distinct text.

    Returns one row per distinct text, sorted:

    - content: the text.
    - lemmas: every lemma in order; lemmas_by_sentence: the same with `SENTENCE_END` after each sentence.
    - content_lemmas: distinct lemmas other than connectives, auxiliaries, negators and weak words; function_lemmas: the
      rest.
    - negations: number of negators.
    - asks: the text only asks; states: it contains no question.
    - words: distinct words as written, lower-case, without clitics.

    Cost: about 10 s for a million short texts.
    """
    distinct = texts.unique().sort()
    tokens = (
        pl.DataFrame(
            {"row": pl.int_range(len(distinct), dtype=pl.UInt32, eager=True), "word": tokenize(_rewrite(distinct))}
        )
        .explode("word")
        .drop_nulls("word")
    )
    vocabulary = tokens["word"].unique().sort()
    entries = pl.DataFrame(
        {
            "word": vocabulary,
            "lemma": [list(lemmas(word)) for word in vocabulary],
            "base": [split_clitic(word)[0] for word in vocabulary],
        },
        schema={"word": pl.String, "lemma": pl.List(pl.String), "base": pl.String},
    )
    tokens = tokens.join(entries, on="word", how="left", maintain_order="left")
    sequence = _resolve_auxiliaries(tokens.select("row", "word", "lemma").explode("lemma").drop_nulls("lemma"))
    is_function = pl.col("lemma").is_in(sorted(FUNCTION_LEMMAS | {NOT}))
    lists = sequence.group_by("row", maintain_order=True).agg(
        lemmas=pl.col("lemma").filter(pl.col("lemma") != SENTENCE_END),
        lemmas_by_sentence=pl.col("lemma"),
        content_lemmas=pl.col("lemma").filter(~is_function).unique().sort(),
        function_lemmas=pl.col("lemma").filter(is_function).unique().sort(),
        negations=(pl.col("lemma") == NOT).sum().cast(pl.Int64),
    )
    words = tokens.group_by("row", maintain_order=True).agg(words=pl.col("base").unique().sort())
    return (
        pl.DataFrame([distinct.alias("content"), *_moods(distinct)])
        .with_row_index("row")
        .join(lists, on="row", how="left", maintain_order="left")
        .join(words, on="row", how="left", maintain_order="left")
        .drop("row")
        .with_columns(
            pl.col("lemmas", "lemmas_by_sentence", "content_lemmas", "function_lemmas", "words").fill_null([]),
            pl.col("negations").fill_null(0),
        )
    )


def _rewrite(texts: pl.Series) -> pl.Series:
    """Fold texts and apply the rewrites."""
    texts = fold(texts)
    form = form_for(texts)
    for pattern, replacement in _REWRITES:
        texts = texts.str.replace_all(form(pattern), replacement)
    return texts


def _moods(texts: pl.Series) -> list[pl.Series]:
    """Return whether each text only asks (`asks`) and whether it contains no question (`states`)."""
    folded = fold(texts)
    has_question_mark = folded.str.contains("?", literal=True)
    questions = are_questions(folded)
    return [
        (questions & (~has_question_mark | ~without_questions(folded).str.contains(r"\p{L}"))).alias("asks"),
        (~questions & ~has_question_mark).alias("states"),
    ]


def _resolve_auxiliaries(sequence: pl.DataFrame) -> pl.DataFrame:
    """Tell auxiliaries from full verbs by the words after them.

    As an auxiliary, `have` is dropped, `be` becomes the function lemma `is` (past `was`) and `do` becomes `does` (past
    `did`).
    """
    positions = sequence["lemma"].is_in([*AUXILIARIES, "have", "have+ed"]).arg_true()
    verb = sequence["lemma"].gather(positions)
    first, second = (_word_after(sequence, positions, step) for step in (1, 2))
    is_skipped = pl.col("lemma").is_in([NOT, *sorted(set(PERSONS.values()))]).fill_null(value=False)
    following = first.select(
        pl.when(is_skipped).then(second[name]).otherwise(pl.col(name)).alias(name) for name in ("lemma", "word")
    )
    participle = pl.col("lemma").str.ends_with(PAST) | (pl.col("lemma") == "be")
    is_auxiliary = (
        pl.when(pl.col("verb").is_in(["be", "be+ed"]))
        .then(participle | pl.col("word").str.ends_with("ing"))
        .when(pl.col("verb").is_in(["do", "do+ed"]))
        .then("skipped")
        .otherwise(participle)
    )
    resolved = following.with_columns(verb.alias("verb"), first.select(is_skipped).to_series().alias("skipped")).select(
        pl.when(is_auxiliary.fill_null(value=False))
        .then(pl.col("verb").replace_strict(AUXILIARIES, default=None, return_dtype=pl.String))
        .otherwise("verb")
    )
    return sequence.select("row", sequence["lemma"].clone().scatter(positions, resolved.to_series())).drop_nulls()


def _word_after(sequence: pl.DataFrame, positions: pl.Series, step: int) -> pl.DataFrame:
    """Return the lemma and word `step` positions later in the same text; null past its end."""
    targets = (positions + step).clip(upper_bound=max(len(sequence) - 1, 0))
    same_text = (sequence["row"].gather(targets) == sequence["row"].gather(positions)) & (targets > positions)
    return sequence[targets].select(pl.when(same_text).then(pl.col("lemma", "word")))
