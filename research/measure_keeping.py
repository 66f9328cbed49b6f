"""Measures core memory and a token budget on labelled episodes, a line of JSON a store, then the sums.

Run with `python research/measure_keeping.py [FILES]`, FILES being letters of `corpus/episodes` (default: k n p t).
What the reader has read is kept between runs (`tests/readings.py`). Not here: the judge of pairs (`fit_trees`), and
the quality page (`quality`).
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import corpus_files
import labelled_stores
import polars as pl
from corpus_files import Core
from labelled_stores import LabelledStore, Outcome

from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.evaluation import replay
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings.new_stores import EMBEDDER
from memory_pipeline.text.parse.tokens import count_tokens
from memory_pipeline.text.score.sections import IDENTITY, INSTRUCTION, KINDS, PREFERENCE

FILES: Final = "knpt"
"""Files that nothing which reads sentences has learned from."""
SIMPLE: Final = ("newest", "oldest", "random")
"""Simple rules for half the tokens."""
HARMFUL: Final = 2
HELD: Final = {**KINDS, IDENTITY: (*KINDS[IDENTITY], "safety")}
"""Kinds of sentences that a block holds; how something is opened, which belongs to home, is labelled as safety."""
IDLE: Final = ("opinion", "chatter", "question", "request")
DOUBTS: Final = ("maybe outdated", "disputed")
OWN: Final = ("owner", "agent")
Label = Mapping[str, str]


def measure(store: LabelledStore, core: Core | None) -> dict[str, int]:
    """Return the counts of a store."""
    policy = replay.policy_for(preset="default", embedder=EMBEDDER)
    whole = labelled_stores.run(store, policy, "consolidated")
    counts = Counter(in_core_memory(whole, core)) if core else Counter[str]()
    counts.update(asked(whole, "all"))
    half = labelled_stores.run(store, policy, "half")
    counts.update(asked(half, "half"))
    for order in SIMPLE:
        counts.update(asked(labelled_stores.simple_half(store, policy, order), f"{order} half"))
    losses = labelled_stores.losses(half)
    counts["outdated kept, ending gone"] = losses["outdated without correction"]
    counts["updates"] = len(store.relations["update"])
    counts["both copies lost"] = losses["both copies lost"]
    counts["repeats"] = len(store.relations["duplicate"])
    counts.update(harm_lost(half, core) if core else {})
    return dict(counts)


def in_core_memory(outcome: Outcome, core: Core) -> dict[str, int]:
    """Count the lines of core memory, and what of the labelled notes they show."""
    told = labels(core)
    superseded = outdated(outcome.store)
    lines = [
        (block["block"], *line)
        for block in outcome.blocks.iter_rows(named=True)
        for line in zip(block["content"].split(SEPARATOR), block["members"], strict=True)
    ]
    notes = notes_of(outcome.memories)
    shown = {note for _, _, member in lines for note in notes[member]}
    same = copies(outcome.store)
    shown |= {copy for note in shown for copy in same[note]}
    current = {note: found for note, found in told.items() if note not in superseded}
    harmful = {note for note, found in current.items() if any(harms(one) for one in found)}
    safety = {n for n in harmful if any(harms(one) and one["kind"] in ("health", "safety") for one in told[n])}
    instructions = {note for note, found in current.items() if any(instructs(one) for one in found)}
    wishes = (INSTRUCTION, PREFERENCE)
    return {
        "lines": len(lines),
        "tokens": int(count_tokens(outcome.blocks["content"]).sum()),
        "outdated, unmarked": sum(
            superseded.issuperset(notes[member]) and not any(doubt in text for doubt in DOUBTS)
            for _, text, member in lines
        ),
        "idle": sum(all(idles(one) for note in notes[member] for one in told.get(note, ())) for _, _, member in lines),
        "in a section of another kind": sum(
            all(one["kind"] not in HELD[block] for note in notes[member] for one in told.get(note, ()))
            for block, _, member in lines
        ),
        "about others, harmless": sum(
            all(one["whom"] not in OWN and not harms(one) for note in notes[member] for one in told.get(note, ()))
            for _, _, member in lines
        ),
        "wishes of others": sum(
            block in wishes and all(one["whom"] not in OWN for note in notes[member] for one in told.get(note, ()))
            for block, _, member in lines
        ),
        "harm shown": len(harmful & shown),
        "harm": len(harmful),
        "safety shown": len(safety & shown),
        "safety": len(safety),
        "instructions shown": len(instructions & shown),
        "instructions": len(instructions),
        "core shown": len(set(core.core) & shown),
        "core": len(core.core),
    }


def asked(outcome: Outcome, state: str) -> dict[str, int]:
    """Count the questions, those whose answer is among ten, and those whose current answer comes first."""
    scored = labelled_stores.questions(outcome)
    fresh, hit = scored["fresh_first"].drop_nulls(), scored["hit"].drop_nulls()
    return {
        f"{state}: hits": int(hit.sum()),
        f"{state}: questions": len(hit),
        f"{state}: fresh first": int(fresh.sum()),
        f"{state}: with an outdated value": len(fresh),
    }


def harm_lost(outcome: Outcome, core: Core) -> dict[str, int]:
    """Count the harmful current notes of which no copy is live, and the harmless ones that are."""
    live = set(outcome.memories.filter(pl.col("lifecycle").is_in(LIVE))["memory_id"])
    members = outcome.memories.filter(pl.col("memory_id").is_in(live)).explode("members")["members"].drop_nulls()
    there = live | set(members)
    same = copies(outcome.store)
    told, superseded = labels(core), outdated(outcome.store)
    harmful = [note for note, found in told.items() if note not in superseded and any(harms(one) for one in found)]
    lost = [note for note in harmful if note not in there and not same[note] & there]
    return {
        "half: harm lost": len(lost),
        "half: harm": len(harmful),
        "half: harmless kept": sum(
            note in there and all(one["harm"] == "0" for one in told.get(note, ())) for note in told
        ),
    }


def labels(core: Core) -> dict[str, list[dict[str, str]]]:
    """Return the labels of the sentences of each note, by group."""
    return {note: [corpus_files.words(one) for one in found] for note, found in core.labels.items()}


def notes_of(memories: pl.DataFrame) -> dict[str, list[str]]:
    """Return the notes that each memory stands for: itself, or those that were merged into it."""
    rows = memories.select("memory_id", "members").iter_rows()
    return {memory: members or [memory] for memory, members in rows}


def copies(store: LabelledStore) -> defaultdict[str, set[str]]:
    """Return the notes that say the same as each in other words."""
    found = defaultdict[str, set[str]](set)
    for one, other in store.relations["duplicate"]:
        found[one].add(other)
        found[other].add(one)
    return found


def outdated(store: LabelledStore) -> set[str]:
    """Return the notes that a newer one outdates as a whole."""
    return {older for older, _ in store.relations["update"]}


def harms(label: Label) -> bool:
    """Return whether a sentence does real harm if it is forgotten."""
    return label["harm"].isdigit() and int(label["harm"]) >= HARMFUL


def instructs(label: Label) -> bool:
    """Return whether a sentence is a standing instruction of the owner."""
    return label["kind"] == "instruction" and label["whom"] in OWN and label["holds"] in ("lasting", "current")


def idles(label: Label) -> bool:
    """Return whether a sentence says nothing that lasts."""
    return label["kind"] in IDLE or label["holds"] == "moment"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the files and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="?", default=FILES)
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import readings  # noqa: PLC0415 - of the tests

    readings.keep()
    given = corpus_files.labels()
    for file in options.files:
        total = Counter[str]()
        for store in corpus_files.episodes(files=(file,)):
            counts = measure(store, given.get(store.name))
            total.update(counts)
            print(store.name, json.dumps(counts), flush=True)
        print(file.upper(), json.dumps(dict(total)), flush=True)


if __name__ == "__main__":
    main()
