"""Tables of what a run proposes."""

import dataframely as dy

from memory_pipeline.schemas.columns import count, instant, number, profile, share, text, words


class Promotions(dy.Schema):
    """Memories that this run promotes, with the reason; null means unchanged."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    tier = text("New tier: short_term or long_term.", nullable=True)
    at = instant("When the tier changes.", nullable=True)
    energy = number("Energy at that instant.", nullable=True)
    lifecycle = text("New lifecycle: warm.", nullable=True)
    category = text("New category: core.", nullable=True)
    rule = text("energy, session_end, used or core; several are joined by a plus sign.")
    reason = text("The promotion in one sentence.")
    rules = words("Rule of each change, in the order tier, lifecycle, category.")
    reasons = words("Reason for each change, in the same order.")
    plan_id = text("Plan the row belongs to.")


class Deferred(dy.Schema):
    """Memories that a run left out to stay within its time budget; the next run takes them first."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    place = count("Place in the queue, from 0: longest waiting, then most important, then most accessed first.")
    plan_id = text("Plan the row belongs to.")


class Judgements(dy.Schema):
    """What the judge found in the memories of a profile; the next run takes it over if it would read the same.

    Else it takes over what the trees said of those pairs in which they would read the same.
    """

    profile_id = profile()
    read = text("Digest of all that the judge read: memories, policy, fitted models, and the program itself.")
    made_by = text(
        "Digest of the name of the judge and the program itself; null if an earlier version made the row.",
        nullable=True,
    )
    pairs = dy.List(
        dy.Struct(
            {
                "older": count("Place of the older memory among those compared, by start of validity, from 0."),
                "newer": count("Place of the newer memory."),
                "relation": text("As in fact_changes, before a language model is asked; else unrelated."),
                "confidence": share("Confidence in the relation."),
                "statement": text("As in fact_changes.", nullable=True),
                "attribute": text("As in fact_changes.", nullable=True),
                "value": text("As in fact_changes.", nullable=True),
                "other_value": text("As in fact_changes.", nullable=True),
                "rule": text("Rule that found it."),
                "reason": text("The relation in one sentence."),
            }
        ),
        description="Pairs whose relation is likely enough to be of use, by older and newer.",
    )
    asked = dy.List(
        dy.Int64(), description="Fingerprints of what trees were asked of pairs, in ascending order, each once."
    )
    answered = dy.List(dy.Float64(), description="The answers: five numbers each, in the same order.")


class ChangeOdds(dy.Schema):
    """How likely a memory is to change, or to be changed or repeated by, another; under a token budget only.

    A budget keeps first what is likely to be the present state of things; the odds decide and link nothing.
    """

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    updates = share("Highest confidence that it changes what an older memory states; 0 if below .15.")
    outdated = share("Highest confidence that a newer memory changes what it states; 0 if below .15.")
    repeats = share("Highest confidence that another memory states the same; 0 if below .15.")
    plan_id = text("Plan the row belongs to.")


class Rests(dy.Schema):
    """Profiles in which the clock alone decides nothing for some days; while left alone, no run computes them."""

    profile_id = profile()
    until = instant("Instant up to which that was found.")
    plan_id = text("Plan the row belongs to.")


class FactChanges(dy.Schema):
    """Pairs of memories about the same fact: the newer updates, contradicts or repeats what the older states."""

    profile_id = profile()
    memory_id = text("The older memory.", key=True)
    other_id = text("The newer memory.", key=True)
    relation = text(
        "update (the newer holds from its time on), conflict (they cannot both hold), duplicate (both say the same), "
        "doubt (an update too unsure to link the two: the older ranks lower in an answer, and core memory leaves the "
        "older out, unless it is an instruction or a lasting condition) or aside (the newer only plans, supposes, "
        "reports or asks something of the kind: it ranks behind the older in an answer about what holds)."
    )
    decided = dy.Bool(
        description="Whether the relation is sure enough to close or merge; if not, the plan links the two."
    )
    confidence = share("Confidence in the relation.")
    statement = text(
        "What the newer memory outdates: sentences of the older memory as written, one per line; null: all of it.",
        nullable=True,
    )
    subject = text("Subject of the fact.", nullable=True)
    attribute = text("Attribute of the subject.", nullable=True)
    value = text("Value that the older memory states.", nullable=True)
    other_value = text("Value that the newer memory states.", nullable=True)
    similarity = dy.Float32(nullable=True, description="Cosine of the two.")
    at = instant("Instant from which the newer one holds.")
    rule = text("Rule that detected it, such as changed_value, ended or likely.")
    reason = text("The change in one sentence.")
    plan_id = text("Plan the row belongs to.")


class ArchivedSet(dy.Schema):
    """Memories that leave the live set in this run, with the reason."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    action = text("supersede, delete, archive, expire, cold or stub.")
    rule = text("Rule behind it, such as archive_threshold.")
    reason = text("The reason in one sentence.")
    target_id = text("Summary that replaces it.", nullable=True)
    strength = share("Its strength.", nullable=True)
    threshold = share("Threshold that its strength fell below.", nullable=True)
    plan_id = text("Plan the row belongs to.")


class Trims(dy.Schema):
    """What recall shows of memories from this run on, to fit the token budget."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    trimmed = text("Sentences that remain; null restores the full text.", nullable=True)
    content_hash = text("Hash of the full text, as in memories; the row applies to this text only.")
    tokens_before = count("Tokens that recall showed before, with the speaker's name.")
    tokens_after = count("Tokens that recall shows from this run on.")
    value = share("Value of the words that remain, 0..1.")
    reason = text("The trim in one sentence.")
    plan_id = text("Plan the row belongs to.")
