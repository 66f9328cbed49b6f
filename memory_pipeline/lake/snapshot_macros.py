"""Table macros of a snapshot: questions that people ask in SQL, such as `FROM explain('m1')`.

DuckDB 1.0 must be able to run them: `if()`, for instance, is stored by DuckDB 2.0 in a form that older versions cannot
read, so conditions are `CASE` expressions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memory_pipeline.consolidation.scoring import POWER
from memory_pipeline.schemas import ScoredMemories


@dataclass(frozen=True)
class Macro:
    """One table macro."""

    signature: str
    """How it is called; the argument `profile` limits it to one tenant, since several may use the same id."""
    description: str
    query: str

    @property
    def name(self) -> str:
        """Name of the macro."""
        return self.signature.partition("(")[0]


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _in_utc(instant: str) -> str:
    """Return SQL for an instant that reads the same in every session: as a text it is UTC, without a zone."""
    return f"make_timestamp(epoch_us({instant}))"


_SIMILAR_TO: Final = """
WITH asked AS (
  SELECT m.profile_id, v.model, v.vector FROM memories m JOIN vectors v USING (profile_id, content_hash)
  WHERE m.memory_id = id AND (profile IS NULL OR m.profile_id = profile)
), measured AS (
  SELECT v.profile_id, v.content_hash, v.model, list_cosine_similarity(v.vector, a.vector) AS similarity
  FROM vectors v JOIN asked a USING (profile_id, model)
)
SELECT m.profile_id, s.model, m.memory_id, s.similarity, m.lifecycle, m.content
FROM measured s JOIN memories m USING (profile_id, content_hash)
WHERE m.memory_id <> id AND m.lifecycle <> 'deleted' AND NOT isnan(s.similarity)
QUALIFY k >= row_number() OVER (
  PARTITION BY m.profile_id, s.model ORDER BY s.similarity DESC, m.created_at, m.memory_id
)
ORDER BY m.profile_id, s.model, s.similarity DESC, m.created_at, m.memory_id"""

_EXPLAIN_RUN: Final = """
SELECT d.profile_id, d.plan_id, d.ordinal, d.action, d.memory_id, d.target_id, d.rule, d.reason, d.before, d.after,
  d.reverted
FROM decisions d LEFT JOIN consolidation_runs r USING (profile_id, plan_id)
WHERE (starts_with(d.plan_id, plan) OR r.run_id = plan) AND (profile IS NULL OR d.profile_id = profile)
ORDER BY d.profile_id, d.seq, d.plan_id, d.ordinal"""

_LIFECYCLE_CHANGES: Final = """
SELECT h.profile_id, h.memory_id, h.changed_at, h.from_lifecycle, h.to_lifecycle, h.action, h.rule, h.reason,
  h.target_id, h.plan_id, m.content
FROM lifecycle_history h JOIN memories m USING (profile_id, memory_id)
WHERE h.changed_at > since::TIMESTAMPTZ AND h.changed_at <= until::TIMESTAMPTZ
  AND (profile IS NULL OR h.profile_id = profile)
ORDER BY h.profile_id, h.changed_at, h.memory_id, h.ordinal"""

_CONSTANTS: Final = {
    "strength": "VARCHAR",
    "retention_curve": "VARCHAR",
    **dict.fromkeys(
        (
            *("base_decay_rate", "access_base", "access_weight", "relationship_preservation"),
            *("importance_floor_factor", "decay_importance_threshold"),
        ),
        "DOUBLE",
    ),
}
"""Settings of which the scores are made, with the SQL type of their values."""

_SETTINGS: Final = ", ".join(
    f"max(CASE WHEN setting = {quoted(name)} THEN value END)::{kind} AS {name}_setting"
    for name, kind in _CONSTANTS.items()
)
_SCORES_AT: Final = f"""
WITH constants AS (SELECT policy_hash, {_SETTINGS} FROM run_policies GROUP BY policy_hash),
runs AS (
  SELECT profile_id, plan_id, policy_hash FROM consolidation_runs
  WHERE as_of <= instant::TIMESTAMPTZ AND outcome NOT IN ('unchanged', 'reverted')
    AND (profile IS NULL OR profile_id = profile)
  QUALIFY row_number() OVER (PARTITION BY profile_id ORDER BY as_of DESC, commit_seq DESC) = 1
), scored AS (
  SELECT h.*, c.*, (epoch_us(instant::TIMESTAMPTZ) - epoch_us(h.as_of)) / 86400000000 AS later
  FROM score_history h JOIN runs USING (profile_id, plan_id) JOIN constants c USING (policy_hash)
), aged AS (
  SELECT *, age_days + later AS age, idle_days + later AS idle,
    coalesce(importance < decay_importance_threshold_setting, false) AS frozen
  FROM scored
), factors AS (
  SELECT *,
    CASE WHEN frozen THEN greatest(age_days - idle_days, 0) ELSE age END AS age_counted,
    CASE WHEN frozen OR idle < 1 THEN 1 ELSE exp(-0.05 * idle) END AS access,
    CASE WHEN retention_curve_setting = 'power' THEN exp(-{POWER} * ln(1 + retention_rate * idle))
      ELSE exp(-retention_rate * idle) END AS curve
  FROM aged
), present AS (
  SELECT *,
    least(1, greatest(importance_floor_factor_setting * importance,
      exp(-base_decay_rate_setting * age_counted) * (access_base_setting + access_weight_setting * access)
      * (1 + relationship_preservation_setting * ln(1 + relationship_count))
      * (0.5 + importance) * (0.7 + 0.3 * confidence))) AS relevance_then,
    greatest(curve, retention_floor) AS retention_then,
    exp(-recency_rate * 24 * least(idle, age)) AS recency_then,
    energy * exp(-energy_rate * 24 * later) AS energy_then
  FROM factors
)
SELECT profile_id, memory_id, instant::TIMESTAMPTZ AS as_of,
  CASE strength_setting WHEN 'relevance' THEN relevance_then WHEN 'retention' THEN retention_then
    WHEN 'energy' THEN 1 - 1 / (1 + energy_then) ELSE (recency_then + importance) / 2 END AS strength,
  relevance_then AS relevance, retention_then AS retention, recency_then AS recency, energy_then AS energy,
  importance, age AS age_days, idle AS idle_days, plan_id, as_of AS run_as_of
FROM present
ORDER BY profile_id, memory_id"""  # noqa: S608 -- built from this module's constants

_STATE: Final = {
    "content": "content",
    "trimmed": "trimmed",
    "speaker": "speaker",
    "kind": "kind",
    "type": "memory_type || CASE WHEN memory_type_inferred THEN ' (inferred)' ELSE '' END",
    "category": "category || CASE WHEN category_inferred THEN ' (inferred)' ELSE '' END",
    "created": _in_utc("created_at"),
    "lifecycle": f"lifecycle || ' since ' || {_in_utc('lifecycle_since')}",
    "tier": "tier",
    "valid from": _in_utc("valid_from"),
    "valid until": _in_utc("valid_until"),
    "accesses": f"access_count || coalesce(', last ' || {_in_utc('last_accessed_at')}, '')",
    "confidence": "confidence",
    "made by": "event_id || ' at ledger position ' || seq",
    "made from cluster": "summarises_cluster_id",
    "superseded by": "superseded_by || ' (' || superseded_kind || ')'",
}
_SCORES: Final = {
    name: f"round({name}, 6) || " + quoted(" (" + (column.description or "").rstrip(".") + ")")
    for name, column in ScoredMemories.columns().items()
    if column.dtype.is_numeric()
} | {
    "age tier": "age_tier",
    "protected": "CASE WHEN is_protected THEN 'yes: ' || coalesce(protection_reason, 'no reason given') ELSE 'no' END",
}
_CENTRALITY: Final = {"centrality": "'PageRank ' || round(pagerank, 6) || ', ' || degree || ' neighbours'"}


def _unpivoted(facts: Mapping[str, str]) -> str:
    """Return SQL that turns one row into a row per fact: place, aspect, value."""
    structs = (
        f"{{place: {place}, aspect: {quoted(aspect)}, value: ({value})::VARCHAR}}"
        for place, (aspect, value) in enumerate(facts.items())
    )
    return f"unnest([{', '.join(structs)}], recursive := true)"


_ABOUT_MEMORY: Final = "WHERE memory_id = id AND (profile IS NULL OR profile_id = profile)"
_EXPLAIN: Final = f"""
WITH asked AS (SELECT * FROM memories {_ABOUT_MEMORY}),
linked AS (
  SELECT e.*, source = id AS outward, CASE WHEN source = id THEN target ELSE source END AS other,
    row_number() OVER (PARTITION BY profile_id ORDER BY weight DESC, source, target, edge_type) AS strongest
  FROM association_edges e WHERE (source = id OR target = id) AND (profile IS NULL OR profile_id = profile)
), facts(profile_id, section, place, aspect, value) AS (
  SELECT profile_id, 1, {_unpivoted(_STATE)} FROM asked
  UNION ALL
  SELECT profile_id, 1, {len(_STATE)}, 'outdated sentence', c.sentence || ' (since '
    || {_in_utc("c.valid_until")} || ', by ' || c.closed_by || ')'
  FROM (SELECT profile_id, unnest(closed_statements) AS c FROM asked)
  UNION ALL
  SELECT profile_id, 2, {_unpivoted(_SCORES)} FROM scored_memories {_ABOUT_MEMORY}
  UNION ALL
  SELECT profile_id, 3, {_unpivoted(_CENTRALITY)} FROM memory_importance {_ABOUT_MEMORY}
  UNION ALL
  SELECT profile_id, 4, 0, 'cluster', c.label || ' (' || c.method || ', ' || c.cluster_size || ' memories'
    || coalesce(', cohesion ' || round(c.cohesion, 4), '') || ') ' || cluster_id
  FROM (FROM cluster_members {_ABOUT_MEMORY}) JOIN clusters c USING (profile_id, cluster_id)
  UNION ALL
  SELECT profile_id, 5, 0, 'edges', count(*)::VARCHAR FROM linked GROUP BY profile_id
  UNION ALL
  SELECT profile_id, 5, strongest, 'edge', edge_type || coalesce(' (' || kind || ')', '')
    || CASE WHEN outward THEN ' to ' ELSE ' from ' END || other || ', weight ' || round(weight, 4) || ', ' || origin
  FROM linked WHERE strongest <= 5
  UNION ALL
  SELECT d.profile_id, 6, d.seq * 1000000 + d.ordinal, 'decision', d.action || coalesce(' ' || d.target_id, '')
    || ' by ' || d.rule || ': ' || d.reason || ' [plan ' || d.plan_id || ', ' || {_in_utc("d.as_of")}
    || CASE WHEN d.reverted THEN ', undone]' ELSE ']' END
  FROM decisions d JOIN asked a ON d.profile_id = a.profile_id
    AND (d.memory_id = id OR (d.target_id = id AND d.action IN ('link', 'prune', 'close')))
  UNION ALL
  SELECT s.profile_id, 7, 0, 'in summary', s.memory_id || ' (' || s.kind || '): ' || s.content
  FROM memories s JOIN asked a ON s.profile_id = a.profile_id AND list_contains(s.members, id)
  UNION ALL
  SELECT a.profile_id, 8, 0, 'member', m.memory_id || ': ' || m.content
  FROM (SELECT profile_id, unnest(members) AS member FROM asked) a
  JOIN memories m ON m.profile_id = a.profile_id AND m.memory_id = a.member
)
SELECT profile_id, aspect, value FROM facts WHERE value IS NOT NULL
ORDER BY profile_id, section, place, value"""  # noqa: S608 -- built from this module's constants

MACROS: Final = (
    Macro(
        "explain(id, profile := NULL)",
        "Everything known about a memory, one fact per row: state, scores with their factors, protection, clusters, "
        "edges, decisions, and its members or summary.",
        _EXPLAIN,
    ),
    Macro(
        "similar_to(id, k, profile := NULL)",
        "The k memories most similar to a memory by cosine of their vectors, per profile and model. A memory without "
        "words has no cosine and is left out.",
        _SIMILAR_TO,
    ),
    Macro(
        "explain_run(plan, profile := NULL)",
        "The decisions of a run, one per row in the order of application. `plan` is the id of a plan, a prefix of it, "
        "or the id of a run.",
        _EXPLAIN_RUN,
    ),
    Macro(
        "lifecycle_changes(since, until, profile := NULL)",
        "Every change of a memory's lifecycle after `since` and up to `until`, with the decision behind it.",
        _LIFECYCLE_CHANGES,
    ),
    Macro(
        "scores_at(instant, profile := NULL)",
        "All scores at any instant, such as a night on which nothing changed, or one to come: those of the last run "
        "that changed something by then, carried on by the formulas of the scores under the policy of that run. What "
        "was used after that run does not count. Null for runs of versions that kept no rates.",
        _SCORES_AT,
    ),
)
"""Macros of a snapshot."""
