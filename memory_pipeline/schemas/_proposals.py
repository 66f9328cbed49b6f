"""Tables of what a run proposes."""

import dataframely as dy

from memory_pipeline.schemas._columns import count, instant, number, profile, share, text


class Promotions(dy.Schema):
    """What rises in this run, and why; null means unchanged."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    tier = text("New tier: short_term or long_term.", nullable=True)
    at = instant("When the tier changes.", nullable=True)
    energy = number("Energy at that instant.", nullable=True)
    lifecycle = text("warm.", nullable=True)
    category = text("core.", nullable=True)
    rule = text("energy, session_end, used, core; several are joined by a plus sign.")
    reason = text("One sentence a person can read.")
    plan_id = text("Plan the row belongs to.")


class Deferred(dy.Schema):
    """Memories that a run's time budget left out; they come first in the next one."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    place = count("Place in the order of work: longest waiting, then most important, then most accessed; from 0.")
    plan_id = text("Plan the row belongs to.")


class FactChanges(dy.Schema):
    """Pairs of memories of which the newer states another value of the same fact."""

    profile_id = profile()
    memory_id = text("The older memory.", key=True)
    other_id = text("The newer memory.", key=True)
    relation = text("update (the newer holds from its time on) or conflict (both stand).")
    subject = text("What the fact is about.", nullable=True)
    attribute = text("Which fact of it.", nullable=True)
    value = text("Value that the older states.", nullable=True)
    other_value = text("Value that the newer states.", nullable=True)
    similarity = dy.Float32(nullable=True, description="Their cosine.")
    at = instant("Since when the newer holds.")
    rule = text("What gave it away, such as changed_value, negation or no_longer.")
    reason = text("One sentence a person can read.")
    plan_id = text("Plan the row belongs to.")


class ArchivedSet(dy.Schema):
    """What leaves the live set in this run, and why."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    action = text("supersede, delete, archive, expire, cold or stub.")
    rule = text("Rule that decided, such as archive_threshold.")
    reason = text("One sentence a person can read.")
    target_id = text("Summary that takes its place.", nullable=True)
    strength = share("Its score.", nullable=True)
    threshold = share("The threshold it fell below.", nullable=True)
    plan_id = text("Plan the row belongs to.")


class Trims(dy.Schema):
    """What recall shows of memories from this run on, so that they fit the token budget."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    trimmed = text("The clauses that are left; null gives the whole text back.", nullable=True)
    content_hash = text("The whole text, as in memories: for another text the row says nothing.")
    tokens_before = count("Tokens that recall showed before, with the speaker's name.")
    tokens_after = count("Tokens that it shows from now on.")
    value = share("What the words that are left are worth, 0..1.")
    reason = text("One sentence a person can read.")
    plan_id = text("Plan the row belongs to.")
