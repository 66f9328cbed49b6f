"""What consolidation makes of four months of one person's memories, on one screen.

Everything shown is read from the store after a real run through Dagster; nothing is written here in advance. The
environment variable MEMORY_PIPELINE_HOME names the data folder.
"""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten, wrap
from typing import Final

import polars as pl

from memory_pipeline import MemoryClient, Settings, load_settings
from memory_pipeline.consolidation import core_memory, trimming
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import databases
from memory_pipeline.recall.models import Answer
from memory_pipeline.recall.rank.reasons import reasons
from memory_pipeline.schemas import LIVE, Action
from memory_pipeline.service import actions, cli
from memory_pipeline.service.report import many
from memory_pipeline.text import difference

HOME: Final = Path(os.environ.get("MEMORY_PIPELINE_HOME", "data"))
STORE: Final = Path(__file__).with_name("memories.jsonl")
PROFILE: Final = "nora"
NIGHT: Final = datetime(2026, 5, 1, 2, tzinfo=UTC)
"""The night after the last memory."""
QUESTION: Final = "What about the deposit for Mill Lane?"
SHARE: Final = 0.5
"""Share of the tokens that the last-but-one part keeps."""
WIDTH: Final = 100
CHANGES, PAIRS, EXAMPLES, FACTS, READ, ANSWERS = 4, 1, 2, 2, 6, 2
"""Most changes; repeats and contradictions; examples of what leaves; facts of a block of core memory, and of all;
memories of the answer."""


def quietly(*arguments: object) -> None:
    """Run a command without showing what it prints, and end with its exit status and output if it fails."""
    sys.argv = ["memory-pipeline", *map(str, arguments)]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            cli.main()
    except SystemExit as end:
        if end.code:
            sys.stdout.write(said.getvalue())
            raise


def short(text: str, width: int) -> str:
    """Return a text on one line, cut between words."""
    return shorten(text, width, placeholder=" …")


def around(old: str, new: str, *, width: int) -> tuple[str, str]:
    """Return two texts, each on one line, of long ones what is around the difference."""
    cut = ["".join(part.text for part in parts).strip() for parts in difference.parts(old, new)]
    one, other = (
        text if len(text) <= width else short(part, width) for text, part in zip((old, new), cut, strict=True)
    )
    return one, other


def said_twice(memories: pl.DataFrame, changes: pl.DataFrame) -> Iterator[str]:
    """Say what was merged: how many memories into how many, and examples; else what may be a repeat."""
    merged = memories.filter(pl.col("superseded_by").is_not_null(), superseded_kind="summary")
    groups = merged.sort("created_at").group_by("superseded_by", maintain_order=True).agg("content")
    linked = unsure(changes, memories, relation="duplicate")
    if groups.is_empty():
        likely = f"; {many(linked, 'pair')} may say the same and are linked:" if linked else ""
        yield f"SAID TWICE: nothing was sure enough to merge{likely}"
        for _, _, new, old in pairs(changes, memories, relation="duplicate", most=PAIRS).iter_rows():
            yield from both(old, new, sign="=")
        return
    more = f"; {many(linked, 'pair')} more may say the same and are linked" if linked else ""
    yield f"SAID TWICE: {many(merged.height, 'memory')} -> {groups.height}{more}"
    for first, *others in groups["content"].head(PAIRS):
        yield from both(first, others[-1], sign="=")


def unsure(changes: pl.DataFrame, memories: pl.DataFrame, *, relation: str) -> int:
    """Return how many pairs of a relation are only linked: nothing is decided, and no joint text took the place."""
    merged = memories.drop_nulls("superseded_by").select("memory_id")
    links = changes.filter(relation=relation, decided=False).join(merged, on="memory_id", how="anti")
    return links.join(merged, left_on="other_id", right_on="memory_id", how="anti").height


def both(old: str, new: str, *, sign: str, before: str = "") -> Iterator[str]:
    """Return two texts below each other, the second after a sign."""
    one, other = around(old, new, width=WIDTH - 2 - len(before) - len(sign))
    yield f"{before}{' ' * len(sign)} {one}"
    yield f"{' ' * len(before)}{sign} {other}"


def pairs(changes: pl.DataFrame, memories: pl.DataFrame, *, relation: str, most: int) -> pl.DataFrame:
    """Return pairs of a relation, the surest first, each memory once a side: at, decided, old, new."""
    texts = memories.select("memory_id", "content")
    return (
        changes.filter(relation=relation)
        .sort("decided", "confidence", "at", "memory_id", descending=[True, True, False, False])
        .unique("memory_id", keep="first", maintain_order=True)
        .unique("other_id", keep="first", maintain_order=True)
        .head(most)
        .join(texts, on="memory_id", maintain_order="left")
        .join(texts.rename({"memory_id": "other_id", "content": "new"}), on="other_id", maintain_order="left")
        .select("at", "decided", "new", old=pl.coalesce("statement", "content"))
    )


def changed(changes: pl.DataFrame, memories: pl.DataFrame) -> Iterator[str]:
    """Say what is no longer as it was, and since when."""
    updates = changes.filter(relation="update")
    closed = updates.filter("decided")["memory_id"].n_unique()
    linked = unsure(changes, memories, relation="update")
    if updates.is_empty():
        yield "HAS CHANGED: nothing that the run could tell"
        return
    yield f"HAS CHANGED: {closed} closed; {linked} likely, marked with ? and only linked. The surest:"
    for at, decided, new, old in pairs(changes, memories, relation="update", most=CHANGES).iter_rows():
        yield from both(old, new, sign="->", before=f"{at:%d %b}{' ' if decided else '?'} ")


def contradicting(changes: pl.DataFrame, memories: pl.DataFrame) -> Iterator[str]:
    """Say what cannot both be true, where nothing tells which is."""
    conflicts = changes.filter(relation="conflict").height
    if not conflicts:
        yield "CONTRADICTS: nothing that the run could tell"
        return
    yield f"CONTRADICTS: {many(conflicts, 'pair')}; nobody has said which holds"
    for _, _, new, old in pairs(changes, memories, relation="conflict", most=PAIRS).iter_rows():
        yield from both(old, new, sign="<>")


def read_first(client: MemoryClient) -> Iterator[str]:
    """Say what an agent reads at the start of a session, shortened."""
    blocks = client.core_memory()
    if not blocks:
        yield "AT SESSION START an agent reads nothing yet"
        return
    facts = [(block.name, block.content.split(core_memory.SEPARATOR)) for block in blocks]
    yield f"AT SESSION START an agent reads {sum(len(own) for _, own in facts)} facts of core memory, among them:"
    first = [f"{name.replace('_', ' ')}: {fact}" for name, own in facts for fact in own[:FACTS]]
    yield from (short(line, WIDTH - 2) for line in first[:READ])


def half(settings: Settings, memories: pl.DataFrame) -> Iterator[str]:
    """Say what a budget of half the tokens would keep, from a plan that is not applied."""
    policy = settings.policy_of(PROFILE).model_copy(update={"token_budget": SHARE})
    budgeted = settings.model_copy(update={"policy": policy, "profiles": {}})
    plan = actions.dry_run(budgeted, as_of=NIGHT, profiles=[PROFILE], trigger="cli", max_archived_share=1.0)
    decisions = plan["consolidation_plan"].filter(rule=decision_json.BUDGET)
    leaving = decisions.filter(pl.col("action").is_in([*decision_json.LEAVES])).select("memory_id")
    trimmed = decisions.filter(action=Action.TRIM.value).height
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    rest = live.join(leaving, on="memory_id", how="anti")
    used = trimming.used(memories, SHARE).row(0, named=True)
    share = f"{used['budget']:,} of {used['stored']:,}"
    kept = f"{rest.height} of {live.height} memories, {trimmed} shortened"
    yield f"HALF THE TOKENS ({share}) would keep {kept}; to go, for example:"
    yield from leaving.head(EXAMPLES).join(memories, on="memory_id", maintain_order="left")["content"]


def asked(client: MemoryClient, changes: pl.DataFrame) -> Iterator[str]:
    """Answer a question, and say why the first memory comes first."""
    answer = client.recall(QUESTION, k=ANSWERS, as_of=NIGHT, record=False)
    yield f"ASKED: {QUESTION}"
    yield from (memory.line(answer).removeprefix("- ") for memory in answer)
    if answer:
        yield f"why the first: {because(answer, changes)}"


def because(answer: Answer, changes: pl.DataFrame) -> str:
    """Return why a memory comes first: what it replaces, else the parts of its score that weigh most."""
    first, others = answer[0], [memory.memory_id for memory in answer[1:]]
    for older, at, decided, sure in (
        changes.filter(pl.col("relation") == "update", pl.col("other_id") == first.memory_id)
        .sort("decided", "confidence", descending=True)
        .select("memory_id", "at", "decided", "confidence")
        .iter_rows()
    ):
        which = f"number {others.index(older) + 2}" if older in others else "an older one"
        replaces = "replaces" if decided else "may replace"
        return f"it answers the question, and from {at:%d %b} on it {replaces} {which} ({sure:.0%} sure)"
    shares = (f"{reason.name} {reason.share:.0%}" for reason in reasons(first.parts))
    return f"what speaks for it: {', '.join(shares)}"


def shown(parts: Iterable[Sequence[str]]) -> None:
    """Print each part as a heading with indented lines; a long line goes on in the next one."""
    for heading, *lines in parts:
        wrapped = (row for line in lines for row in wrap(line, WIDTH - 2, subsequent_indent="    "))
        print(f"\n{short(heading, WIDTH)}", *(f"  {row}" for row in wrapped), sep="\n")


def main() -> None:
    """Fill the store, consolidate it, and show what came of it."""
    print(f"Importing four months of a made-up person into {HOME}, and consolidating them ...", flush=True)
    fresh = not databases.exists(HOME)
    quietly("init")
    if fresh:  # in a store that somebody has, commands go on as before
        quietly("config", "set", "default_profile", PROFILE)
    quietly("import", "jsonl", STORE)
    quietly("consolidate", "--profile", PROFILE, "--as-of", f"{NIGHT:%Y-%m-%dT%H:%M:%SZ}")
    quietly("check")
    settings = load_settings(HOME)
    with Lake(HOME) as lake, MemoryClient(HOME, profile_id=PROFILE, settings=settings) as client:
        memories, changes = (lake.read(name, profiles=[PROFILE]) for name in ("memories", "fact_changes"))
        run = lake.ledger.runs([PROFILE]).sort("commit_seq").row(-1, named=True)
        originals = memories.filter(kind="original").height
        print(
            f"{many(originals, 'memory')} of Nora, consolidated in {run['duration_seconds']:.0f} s; all checks passed."
        )
        shown(
            [
                tuple(said_twice(memories, changes)),
                tuple(changed(changes, memories)),
                tuple(contradicting(changes, memories)),
                tuple(read_first(client)),
                tuple(half(settings, memories)),
                tuple(asked(client, changes)),
            ]
        )
    program = Path(sys.executable).with_name("memory-pipeline")
    place = os.path.relpath(program) if program.is_relative_to(Path.cwd()) else str(program)
    where = [] if Path("data") == HOME else ["--home", str(HOME)]
    print("\nTRY NEXT")
    for words in (["recall", "When does Ida swim?"], ["review"]):
        print(f"  {shlex.join([place, *where, *words])}")
    print(f"  make ui{f' HOME_FOLDER={shlex.quote(str(HOME))}' if where else ''}")


if __name__ == "__main__":
    main()
