"""Tables of the ledger: events, payloads, decisions, runs, reverts and refused events."""

import dataframely as dy

from memory_pipeline.schemas._columns import count, instant, number, profile, share, text


class Events(dy.Schema):
    """What agents wrote, one row an event and memory it names; the typed copy of the ledger."""

    seq = dy.Int64(primary_key=True, min=1, description="Position in the ledger.")
    ordinal = dy.Int64(
        primary_key=True, min=0, description="Place of the memory within the event (an access names many)."
    )
    event_id = text("Idempotency key of the event.")
    profile_id = dy.String(min_length=1, description="Tenant that owns the row.")
    event_type = text("Type of the event, such as memory.stored.")
    occurred_at = instant("When it happened (valid time).")
    recorded_at = instant("When the ledger took it.")
    session_id = text("Session in which it happened.", nullable=True)
    agent_id = text("Agent that wrote it.", nullable=True)
    user_id = text("Person the agent served.", nullable=True)
    instance_id = text("Process that wrote it.", nullable=True)
    parent_event_id = text("Event that caused this one.", nullable=True)
    memory_id = text("Memory concerned.", nullable=True)
    content = text("Text of a stored or updated memory.", nullable=True)
    speaker = text("Who said it.", nullable=True)
    memory_type = text(
        "Type as given: Decision, Insight, Pattern, Preference, Style, Habit, Context, Memory.", nullable=True
    )
    category = text("Category as given: episodic, semantic, procedural, opinion, core.", nullable=True)
    importance = share("Importance as given, 0..1.", nullable=True)
    importance_hint = share("A hint at the importance, 0..1.", nullable=True)
    confidence = share("Confidence as given, 0..1.", nullable=True)
    valid_from = instant("Since when the fact holds.", nullable=True)
    valid_until = instant("Until when the fact holds (exclusive).", nullable=True)
    protected = dy.Bool(nullable=True, description="Explicit protection, as given.")
    protected_reason = text("Why it is protected.", nullable=True)
    tags = dy.List(dy.String(), nullable=True, description="Tags as given.")
    metadata = text("Anything else the agent attached, as JSON.", nullable=True)
    source = text("Where the memory came from.", nullable=True)
    target_id = text("Other end of an asserted link.", nullable=True)
    edge_type = text("Type of an asserted link.", nullable=True)
    edge_kind = text("Kind of an asserted link.", nullable=True)
    weight = share("Weight of an asserted link, 0..1.", nullable=True)
    query = text("Query that led to an access.", nullable=True)
    rank = dy.Int64(nullable=True, min=0, description="Rank of the memory in the answer that accessed it, from 1.")
    expanded = dy.Bool(nullable=True, description="The access reached the memory only over an association.")
    helpful = dy.Bool(nullable=True, description="Feedback: helpful counts as an access, wrong lowers the confidence.")
    erased_at = instant("When what it said was erased for good; a memory stored by it is erased.", nullable=True)


class Payloads(dy.Schema):
    """What events said, word for word, moved here from the ledger's database once they are old."""

    profile_id = profile()
    seq = dy.Int64(primary_key=True, min=1, description="Position of the event in the ledger.")
    payload = text("Its payload, as canonical JSON.")


class Profiles(dy.Schema):
    """Who takes part in a run and from which state, one row a profile."""

    profile_id = profile()
    preset = text("Preset the profile's policy starts from.")
    policy_hash = text("Hash of the whole policy.")
    as_of = instant("The one clock of the run.")
    seq = count("Ledger position the run reads up to.")
    head = count("Position of the profile's last commit, revert or update; the commit is refused if it moved.")
    plan_id = text("Hash of ledger, policy, as_of and seq.")
    trigger = text("What started the run: schedule, sensor, manual, cli.")
    task = text("What the run does: full, lightweight, reflect, decay, creative, cluster, forget, promote or tick.")
    scope = text("all, or recent: only what concerns sessions touched since the last reflection.")
    since = count("Ledger position of the last committed reflection: what came later is recent.")
    caught_up = count("Ledger position of the last commit that left no memory for later; 0 without a row limit.")
    row_limit = count("Most memories that the run compares and groups, from its time budget; 0: all.")
    max_archived_share = share("Largest share of the live memories that may leave in this run.")
    retry_reverted = dy.Bool(description="Propose again what was undone.")


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
    memory_id = text("Memory concerned; the source of a link; the id of a new summary; the name of a block.")
    target_id = text("Other end: target of a link, summary that supersedes, decision that is withdrawn.", nullable=True)
    rule = text("Rule that decided.")
    reason = text("One sentence a person can read.")
    factors = text("Numbers behind it, as JSON.")
    before = text("What it changes, before, as JSON.")
    after = text("What it changes, after, as JSON: all that applying it needs.")
    signature = text("Hash of profile, action, memories, rule and texts: the same proposal, whatever the plan.")
    status = text("proposed, held (the quota holds it back) or committed.")
    as_of = instant("Clock of its run.")
    seq = count("Ledger position of the commit; 0 while it is only proposed.")


class Runs(dy.Schema):
    """What each run did for each profile."""

    profile_id = profile()
    plan_id = text("Plan.", key=True)
    run_id = text("Run that computed it.")
    task = text("full, lightweight, reflect, decay, creative, cluster, forget, promote or tick.")
    scope = text("all, or recent: only what concerned sessions touched since the last reflection.")
    trigger = text("schedule, sensor, manual or cli.")
    preset = text("Preset of the profile.")
    policy_hash = text("Hash of the policy.")
    as_of = instant("Clock of the run.")
    base_seq = count("Ledger position it read up to.")
    commit_seq = count("Position of its commit.")
    committed_at = instant("When it was committed.")
    outcome = text("committed, held or reverted.")
    memories = count("Live memories before.")
    decisions = count("Decisions committed.")
    held = count("Decisions held back by the quota.")
    duration_seconds = number("Wall time from start of the run to the commit.")


class Reverted(dy.Schema):
    """Decisions that an undo masks."""

    profile_id = profile()
    decision_id = text("The decision.", key=True)
    seq = count("Ledger position of the revert.")


class DeadLetters(dy.Schema):
    """Events that were refused, with the reason and the bytes as they came."""

    letter_id = text("SHA-256 of source and bytes.", key=True)
    received_at = instant("When it was refused.")
    origin = text("Where it came from: a file and line, an API call.")
    reason = text("What is wrong with it and how to mend it.")
    raw = dy.Binary(description="The bytes as they came.")
