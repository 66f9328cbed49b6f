"""One run as a chain of stages over several profiles, each under its own policy.

What is not here: the stages themselves (`stages`), reading or keeping tables (`lake/`), and what starts a run (`jobs/`,
`sensors/`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar, cast

import polars as pl

from memory_pipeline.consolidation import stages
from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.stages import STATE, Frames, Turn
from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.settings import Policy

R = TypeVar("R", bound=pl.DataFrame | Frames)

TASKS: Final[dict[str, frozenset[Action]]] = {
    "full": frozenset(Action),
    "reflect": frozenset({Action.LINK, Action.SUMMARISE, Action.SUPERSEDE, Action.CLOSE, Action.DEFER}),
    "lightweight": frozenset({Action.PRUNE, Action.COMPILE}),
    "decay": frozenset({Action.PRUNE, Action.EXPIRE}),
    "creative": frozenset({Action.LINK, Action.CLOSE, Action.DEFER}),
    "cluster": frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.DEFER}),
    "forget": frozenset({Action.TRIM, Action.DELETE, Action.ARCHIVE, Action.EXPIRE, Action.COLD, Action.STUB}),
    "promote": frozenset({Action.PROMOTE}),
    "tick": frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.COLD, Action.STUB, Action.PROMOTE, Action.DEFER}),
}
"""What each task may decide; every task scores, and finds what its decisions can use."""


@dataclass(frozen=True)
class Kept:
    """What was published last, for stages whose results no decision of a run can use.

    Attributes:
        profiles: those of which a run stands; of others everything is made.
        read: the last rows of a table of such profiles.
    """

    profiles: frozenset[str] = frozenset()
    read: Callable[[str, Sequence[str]], pl.DataFrame] = lambda name, _: TABLES[name].empty()


def each(
    profiles: pl.DataFrame,
    policies: Mapping[str, Policy],
    stage: Callable[..., R],
    *frames: pl.DataFrame,
    kept: Kept | None = None,
) -> R:
    """Apply `stage` once for each policy in play and put the results together.

    Args:
        profiles: who takes part; `policy_hash` says under which policy.
        policies: the policies by hash.
        stage: takes a turn and `frames`, and returns one table or several.
        frames: tables with a `profile_id`; a stage sees only the rows of its own profiles.
        kept: what stands in for the results of a stage that the task has no use for; default: every stage is run.
    """
    results = []
    known = next((one for one in STAGES if one.function is stage), None)
    for (policy_hash, plan_id, as_of, task, scope), group in profiles.group_by(
        ["policy_hash", "plan_id", "as_of", "task", "scope"], maintain_order=True
    ):
        policy = policies[str(policy_hash)]
        turn = Turn(policy=policy, as_of=as_of, plan_id=str(plan_id), actions=TASKS[str(task)], scope=str(scope))
        own = group.select("profile_id")
        if kept and known and not turn.actions & known.serves:
            old = own.filter(pl.col("profile_id").is_in(list(kept.profiles)))
            rows = tuple(kept.read(name, old["profile_id"].to_list()) for name in known.gives)
            results.append(rows[0] if len(rows) == 1 else rows)
            own = own.join(old, on="profile_id", how="anti")
        if own.height:
            results.append(stage(turn, *(frame.join(own, on="profile_id", how="semi") for frame in frames)))
    if not results:
        turn = Turn(policy=Policy(), as_of=datetime.min.replace(tzinfo=UTC), plan_id="")
        return stage(turn, *(frame.clear() for frame in frames))
    parts = [(result,) if isinstance(result, pl.DataFrame) else result for result in results]
    whole = tuple(pl.concat(part) for part in zip(*parts, strict=True))
    return cast("R", whole[0] if isinstance(results[0], pl.DataFrame) else whole)


def participants(
    policies: Mapping[str, Policy],
    *,
    ledger_digest: str,
    as_of: datetime,
    seq: int,
    heads: Mapping[str, int],
    since: Mapping[str, int],
    task: str = "full",
    scope: str = "all",
    trigger: str = "manual",
    caught_up: Mapping[str, int] | None = None,
    row_limits: Mapping[str, int] | None = None,
    max_archived_share: float | None = None,
    retry_reverted: bool = False,
) -> pl.DataFrame:
    """Return the table `profiles`: who takes part, from which state, under which policy.

    Args:
        policies: policy of each profile that takes part.
        ledger_digest: digest of what agents wrote up to `seq`.
        as_of: the one clock.
        seq: ledger position to read up to.
        heads: last commit of each profile.
        since: position up to which each profile was reflected on.
        task: what may be decided.
        scope: all, or recent: only what concerns sessions touched since the last reflection, as a reflection does.
        trigger: what started the run.
        caught_up: position of the last commit that left no memory of a profile for later; read with row limits.
        row_limits: most memories of a profile that the run compares and groups; default: all.
        max_archived_share: quota instead of the policy's.
        retry_reverted: propose again what was undone.
    """
    rows = [
        {
            "profile_id": profile_id,
            "preset": policy.preset,
            "policy_hash": policy.digest,
            "as_of": as_of,
            "seq": seq,
            "head": heads.get(profile_id, 0),
            "plan_id": planning.plan_id(ledger_digest, policy.digest, as_of, seq),
            "trigger": trigger,
            "task": task,
            "scope": "recent" if task == "reflect" else scope,
            "since": since.get(profile_id, 0) if task == "reflect" or scope == "recent" else 0,
            "caught_up": (caught_up or {}).get(profile_id, 0),
            "row_limit": (row_limits or {}).get(profile_id, 0),
            "max_archived_share": policy.max_archived_share if max_archived_share is None else max_archived_share,
            "retry_reverted": retry_reverted,
        }
        for profile_id, policy in sorted(policies.items())
    ]
    return TABLES["profiles"].conform(pl.DataFrame(rows, schema=TABLES["profiles"].empty().schema))


@dataclass(frozen=True)
class Stage:
    """One stage of a run: its function, the tables it takes and gives, and the decisions that can use what it finds."""

    function: Callable[..., pl.DataFrame | Frames]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    serves: frozenset[Action] = frozenset(Action)


STAGES: Final = (
    Stage(stages.project, ("events", "decisions", "reverted"), STATE),
    Stage(stages.enrich, ("memories", "enrichment", "vectors"), ("enrichment", "vectors")),
    Stage(
        stages.derive,
        ("memories", "enrichment", "vectors", "accesses", "decided_edges"),
        ("derived_edges",),
        serves=stages.JOINED,
    ),
    Stage(
        stages.measure,
        ("memories", "enrichment", "derived_edges", "decided_edges", "accesses"),
        ("memory_importance",),
    ),
    Stage(stages.score, ("memories", "memory_importance", "decided_edges", "derived_edges"), ("scored_memories",)),
    Stage(stages.defer, ("profiles", "memories", "memory_importance", "decisions", "reverted"), ("deferred",)),
    Stage(
        stages.compare,
        ("memories", "deferred", "enrichment", "vectors", "decided_edges", "derived_edges"),
        ("fact_changes",),
        serves=frozenset({Action.LINK, Action.CLOSE}),
    ),
    Stage(
        stages.discover,
        (
            "memories",
            "deferred",
            "scored_memories",
            "decided_edges",
            "derived_edges",
            "vectors",
            "accesses",
            "tier_changes",
            "fact_changes",
        ),
        ("proposed_edges",),
    ),
    Stage(stages.associate, ("decided_edges", "derived_edges", "proposed_edges", "accesses"), ("association_edges",)),
    Stage(
        stages.cluster,
        ("memories", "deferred", "scored_memories", "enrichment", "vectors", "association_edges"),
        ("clusters", "cluster_members", "merge_refusals"),
        serves=frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.ARCHIVE}),
    ),
    Stage(
        stages.summarise,
        ("clusters", "cluster_members", "memories", "scored_memories", "enrichment", "completions"),
        ("summaries",),
    ),
    Stage(
        stages.promote,
        ("memories", "scored_memories", "events", "accesses", "tier_changes", "association_edges", "fact_changes"),
        ("promotions",),
    ),
    Stage(
        stages.forget,
        (
            "profiles",
            *("memories", "decided_edges", "accesses", "tier_changes"),
            "scored_memories",
            "enrichment",
            "summaries",
            "clusters",
            "cluster_members",
            "fact_changes",
            "promotions",
            "deferred",
            "decisions",
            "reverted",
        ),
        ("archived_set", "trims"),
    ),
    Stage(
        stages.compile_blocks,
        (
            "profiles",
            *STATE,
            "scored_memories",
            "enrichment",
            "completions",
            "summaries",
            "archived_set",
            "fact_changes",
            "promotions",
            "decisions",
            "reverted",
        ),
        ("proposed_blocks",),
    ),
    Stage(
        stages.plan,
        (
            "profiles",
            *STATE,
            "summaries",
            "archived_set",
            "trims",
            "proposed_edges",
            "fact_changes",
            "promotions",
            "proposed_blocks",
            "deferred",
            "decisions",
            "reverted",
        ),
        ("consolidation_plan",),
    ),
)
"""The order of a run. The asset graph says the same; a test holds the two together."""

DESCRIBING: Final = STAGES[:3]
"""What makes of the ledger the memories, what is read out of them, and what follows from that."""


def idle(task: str) -> list[Stage]:
    """Stages whose results no decision of a task can use."""
    return [stage for stage in STAGES if not stage.serves & TASKS[task]]


def run(
    tables: Mapping[str, pl.DataFrame],
    policies: Mapping[str, Policy],
    *,
    stages: Sequence[Stage] = STAGES,
    kept: Kept | None = None,
) -> dict[str, pl.DataFrame]:
    """Run the stages without Dagster: what a rebuild, an undo and a look at a past state do.

    Args:
        tables: `profiles`, `events`, `decisions`, `reverted`, `enrichment`, `vectors`, `completions`.
        policies: the policies in play, by hash.
        stages: which stages, in order; default all.
        kept: what stands in for the results of stages that the task has no use for (see `each`).

    Returns:
        The given tables, and all that the stages make.
    """
    made = dict(tables)
    for stage in stages:
        takes = (made[name] for name in stage.takes)
        results = each(made["profiles"], policies, stage.function, *takes, kept=kept)
        frames = (results,) if isinstance(results, pl.DataFrame) else results
        for name, frame in zip(stage.gives, frames, strict=True):
            table = TABLES[name]
            new = pl.concat([made[name], frame]) if table.write_mode == "appended" else frame
            made[name] = table.conform(new)
    return made
