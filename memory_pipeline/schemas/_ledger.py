"""Tables of the ledger: events, payloads, profiles, decisions, runs, reverts and dead letters."""

import dataframely as dy

from memory_pipeline.schemas.columns import count, instant, number, profile, share, text

_SCOPE = (
    "What the run could decide about: all; recent: only sessions touched since the last reflection; or one user, "
    "agent, session or tag, such as user:ana."
)


class Events(dy.Schema):
    """Typed copy of the ledger, one row per event and memory that it names."""

    seq = dy.Int64(primary_key=True, min=1, description="Ledger position of the event.")
    ordinal = dy.Int64(
        primary_key=True, min=0, description="Position of the memory within the event (an access names many)."
    )
    event_id = text("Idempotency key of the event.")
    profile_id = dy.String(min_length=1, description="Tenant that owns the row.")
    event_type = text("Type of the event, such as memory.stored.")
    occurred_at = instant("When it happened (valid time).")
    recorded_at = instant("When the ledger recorded it.")
    session_id = text("Session in which it happened.", nullable=True)
    agent_id = text("Agent that wrote it.", nullable=True)
    user_id = text("Person whom the agent served.", nullable=True)
    instance_id = text("Process that wrote it.", nullable=True)
    parent_event_id = text("Event that caused it.", nullable=True)
    memory_id = text("Memory it is about.", nullable=True)
    content = text("Text of a stored or updated memory.", nullable=True)
    speaker = text("Who said it.", nullable=True)
    memory_type = text(
        "Type that the agent gave: Decision, Insight, Pattern, Preference, Style, Habit, Context or Memory.",
        nullable=True,
    )
    category = text("Category that the agent gave: episodic, semantic, procedural, opinion or core.", nullable=True)
    importance = share("Importance that the agent gave, 0..1.", nullable=True)
    importance_hint = share("The agent's hint at the importance, 0..1.", nullable=True)
    confidence = share("Confidence that the agent gave, 0..1.", nullable=True)
    valid_from = instant("Start of the fact's validity.", nullable=True)
    valid_until = instant("End of the fact's validity (exclusive).", nullable=True)
    protected = dy.Bool(nullable=True, description="Whether the agent protected the memory; null if it did not say.")
    protected_reason = text("Reason that the agent gave for protecting it.", nullable=True)
    tags = dy.List(dy.String(), nullable=True, description="Tags that the agent gave.")
    metadata = text("Anything else that the agent attached, as JSON.", nullable=True)
    source = text("Where the memory came from.", nullable=True)
    target_id = text("Target of an asserted link, or the older memory of an answer.", nullable=True)
    edge_type = text("Type of an asserted link.", nullable=True)
    edge_kind = text("Subtype of an asserted link.", nullable=True)
    weight = share("Weight of an asserted link, 0..1.", nullable=True)
    relation = text(
        "Answer on how the memory relates to the target: update, partial, repeat, conflict, none or open.",
        nullable=True,
    )
    statement = text("Sentences of the target that an answer ends, one per line.", nullable=True)
    answered_by = text("Who gave an answer: owner, agent or model.", nullable=True)
    query = text("Query of the recall that accessed the memory.", nullable=True)
    rank = dy.Int64(nullable=True, min=0, description="Rank of the memory in that recall's answer, from 1.")
    score = number("Score of the memory in that answer, by the ranking of the recall.", nullable=True)
    unsure = dy.Bool(nullable=True, description="Whether perhaps no memory of that answer answers the query.")
    expanded = dy.Bool(nullable=True, description="Whether the recall reached the memory only over an association.")
    times = dy.Int64(
        nullable=True, min=1, description="How many accesses the row stands for, the last of them dated; null: one."
    )
    helpful = dy.Bool(
        nullable=True, description="Feedback: helpful counts as an access, not helpful lowers the confidence."
    )
    erased_at = instant(
        "When the event's content was erased; a memory that it stored is erased with it.", nullable=True
    )


class Payloads(dy.Schema):
    """Original payloads of old events, moved here from the ledger's database."""

    profile_id = profile()
    seq = dy.Int64(primary_key=True, min=1, description="Ledger position of the event.")
    payload = text("Payload of the event, as canonical JSON.")


class Profiles(dy.Schema):
    """Profiles that take part in a run, one row each, with the state that they start from."""

    profile_id = profile()
    preset = text("Preset on which the profile's policy is based.")
    policy_hash = text("Hash of the whole policy.")
    as_of = instant("Clock of the run.")
    seq = count("Ledger position up to which the run reads.")
    head = count("Ledger position of the profile's last commit, revert or update; if it moves, the commit is refused.")
    plan_id = text("Hash of ledger, policy, as_of and seq.")
    trigger = text("What started the run: schedule, sensor, manual or cli.")
    task = text(
        "Task of the run: full, lightweight, reflect, decay, creative, cluster, forget, promote, reembed or tick."
    )
    scope = text(_SCOPE)
    since = count("Ledger position of the last committed reflection; later events are recent.")
    caught_up = count("Ledger position of the last commit that deferred no memory; 0 without a row limit.")
    row_limit = count("Maximum number of memories that the run compares and groups, from its time budget; 0: no limit.")
    max_archived_share = share("Largest share of the live memories that may leave the live set in this run.")
    retry_reverted = dy.Bool(description="Whether the run may propose again what was undone.")


class Decisions(dy.Schema):
    """Proposed or committed changes, one row each; a plan is the rows of one plan_id."""

    profile_id = profile()
    decision_id = text("Hash of plan and signature.", key=True)
    plan_id = text("Plan it belongs to.")
    ordinal = count("Order of application within the plan.")
    action = text(
        "withdraw, link, prune, summarise, supersede, close, trim, delete, archive, expire, cold, stub, promote, "
        "compile or defer."
    )
    memory_id = text("Memory it is about; for a link the source, for a summary its new id, for a block its name.")
    target_id = text(
        "Target of a link, summary that supersedes, or decision that is withdrawn; null otherwise.", nullable=True
    )
    rule = text("Rule behind the decision.")
    reason = text("The decision in one sentence.")
    factors = text("Numbers on which the decision is based, as JSON.")
    before = text("State before the change, as JSON.")
    after = text("State after the change, with all that applying it needs, as JSON.")
    signature = text("Hash of profile, action, memories, rule and texts; the same for equal proposals of any plan.")
    status = text("proposed, held (by the quota) or committed.")
    as_of = instant("Clock of its run.")
    seq = count("Ledger position of the commit; 0 while it is only proposed.")


class ConsolidationPlan(Decisions):
    """Decisions that a run proposes, one row each."""


class Runs(dy.Schema):
    """Committed runs, one row per run and profile."""

    profile_id = profile()
    plan_id = text("Plan that was committed.", key=True)
    run_id = text("Run that computed it.")
    task = text("full, lightweight, reflect, decay, creative, cluster, forget, promote, reembed or tick.")
    scope = text(_SCOPE)
    trigger = text("schedule, sensor, manual or cli.")
    preset = text("Preset of the profile.")
    policy_hash = text("Hash of the policy.")
    as_of = instant("Clock of the run.")
    base_seq = count("Ledger position up to which it read.")
    commit_seq = count("Ledger position of its commit.")
    committed_at = instant("When it was committed.")
    outcome = text("committed, unchanged (only the clock had moved: nothing was published), held or reverted.")
    memories = count("Number of live memories before the run.")
    decisions = count("Number of decisions committed.")
    held = count("Number of decisions held back by the quota.")
    duration_seconds = number("Wall time from the start of the run to the commit.")
    version = text("Version of this program that committed it; empty for versions that did not record it.")


class Reverted(dy.Schema):
    """Decisions that were undone."""

    profile_id = profile()
    decision_id = text("The decision.", key=True)
    seq = count("Ledger position of the revert.")


class DeadLetters(dy.Schema):
    """Events that were refused, with the reason and the original bytes."""

    letter_id = text("SHA-256 of source and bytes.", key=True)
    received_at = instant("When it was refused.")
    origin = text("Where it came from: a file and line, or an API call.")
    reason = text("What is wrong with it and how to correct it.")
    raw = dy.Binary(description="The bytes as received.")
    noise = dy.Bool(description="Whether it is a valid event of a text that is no memory; else it was refused.")
