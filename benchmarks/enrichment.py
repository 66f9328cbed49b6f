"""Measures how fast texts are parsed: enrichment, vectors and hashes, on one core.

    python benchmarks/enrichment.py [--full]

Prints CPU seconds, texts a second and the growth from one size to the next on generated texts of about 100 characters.
The vectors are compared with scikit-learn's HashingVectorizer, the rest with a plain pass over the texts that splits
them into words by a regular expression, a limit for anything that handles each text in Python. Finally it checks that
shuffled increments give the rows of the whole.
"""

import argparse
import os
import re
import time
from collections.abc import Callable
from typing import Any

for variable in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
from sklearn.feature_extraction.text import HashingVectorizer  # noqa: E402

from memory_pipeline.text import content_hash, enrich  # noqa: E402
from memory_pipeline.text.embed import embedding  # noqa: E402
from memory_pipeline.text.parse import tokens  # noqa: E402

SIZES = (10_000, 100_000)
WHO = ("Greta", "Boris", "Farid", "Carla", "Hugo", "Elena", "Derek", "Anna", "Jonas", "Mirela")
WHERE = ("Lisbon", "Oslo", "Kyoto", "Lima", "Dublin", "Cairo", "Quito", "Turin", "Ghent", "Riga")
WHEN = ("yesterday", "last Friday", "on March 12", "in 2021", "two weeks ago", "every Monday", "at 7:30 pm", "soon")
STARTS = ("br", "kl", "tr", "v", "m", "n", "st", "pl", "gr", "d", "f", "sk")
ENDS = ("ak", "el", "im", "or", "ut", "ander", "isk", "ola", "ent", "um")
SHAPES = (
    "{who} bought a {noun} in {where} for ${n} {when} and it {verb} better than the {noun2}.",
    "We decided to {verb} the {noun} before {who} moves to {where} {when}.",
    "I prefer the {noun} over the {noun2}; {who} does not, but we {verb} {n} of them {when}.",
    "Hey {who}! That sounds amazing. How did the {noun} in {where} go?",
    "Turns out the {noun} failed because {n}% of the {noun2} were never {verb}ed {when}, {who} said.",
)


def made(n: int) -> pl.DataFrame:
    """Return texts from a few shapes and a vocabulary of made-up words whose frequencies fall as in a language."""
    rng = np.random.default_rng(n)
    coined = [a + b + c for a in STARTS for b in ENDS for c in ("", *ENDS)]
    ranks = np.minimum(rng.zipf(1.2, (n, 3)) - 1, len(coined) - 1)
    picks = rng.integers(0, 1_000_000, (n, 5))
    contents = [
        SHAPES[p[0] % len(SHAPES)].format(
            who=WHO[p[1] % 10], where=WHERE[p[2] % 10], when=WHEN[p[3] % 8], n=p[4] % 997,
            noun=coined[r[0]], noun2=coined[r[1]], verb=coined[r[2]],
        )
        for p, r in zip(picks, ranks, strict=True)
    ]  # fmt: skip
    speakers = [WHO[p[4] % 10] for p in picks]
    return pl.DataFrame({"profile_id": "p", "speaker": speakers, "content": contents}).select(
        "profile_id", content_hash.content_hashes(pl.Series(speakers), pl.Series(contents)), "speaker", "content"
    )


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def measures(texts: pl.DataFrame) -> dict[str, float]:
    """Return the CPU seconds of each part and of its peer."""
    contents = texts["content"].to_list()
    word = re.compile(r"\w+|[^\w\s]")
    peer = HashingVectorizer(n_features=384, ngram_range=(1, 2))
    parts: dict[str, Callable[[], Any]] = {
        "peer: words by re": lambda: [word.findall(content.lower()) for content in contents],
        "enrich": lambda: enrich.enrich(texts),
        "words": lambda: tokens.content_stems(texts["content"]),
        "content_hash": lambda: content_hash.content_hashes(texts["speaker"], texts["content"]),
        "peer: HashingVectorizer": lambda: peer.transform(contents).toarray().astype(np.float32),
        "embed": lambda: embedding.embed_texts(texts, "hashing"),
    }
    return {name: timed(part)[1] for name, part in parts.items()}


def check(texts: pl.DataFrame) -> None:
    """Check that increments in another order give the rows of the whole, bit for bit."""
    mixed = texts.sample(fraction=1.0, shuffle=True, seed=1)
    half = len(mixed) // 3
    for read in (enrich.enrich, lambda some: embedding.embed_texts(some, "hashing")):
        parts = pl.concat([read(mixed[:half]), read(mixed[half:])]).sort("content_hash")
        assert parts.equals(read(texts)), "an increment differs from the whole"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also a million texts")
    sizes = (*SIZES, 1_000_000) if parser.parse_args().full else SIZES
    measures(made(1_000))
    before: dict[str, float] = {}
    for n in sizes:
        texts = made(n).unique("content_hash", maintain_order=True)
        print(f"\n{len(texts):,} texts of {texts['content'].str.len_chars().mean():.0f} characters")
        found = measures(texts)
        for name, seconds in found.items():
            peer = found["peer: HashingVectorizer" if "embed" in name or "Hashing" in name else "peer: words by re"]
            growth = f"  x{seconds / before[name]:.1f} of the size before" if name in before else ""
            pace = f"{seconds:7.2f} s {len(texts) / seconds:12,.0f} texts/s"
            print(f"  {name:24} {pace} {seconds / peer:6.2f} of the peer{growth}")
        before = found
    check(made(SIZES[0]).unique("content_hash"))
    print("\nan increment equals the whole: yes")


if __name__ == "__main__":
    main()
