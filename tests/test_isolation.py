"""No profile changes what another one is shown: its ids, its ranking, its explanations.

That the rows of its tables stay the same is in `test_properties`.
"""

from datetime import timedelta

import homes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline import MemoryClient

said = st.lists(
    st.sampled_from(["The ferry", "Anna", "The kiln", "A blue bicycle"]).flatmap(
        lambda who: st.sampled_from(
            ["leaves at 9.", "lives in Rome.", "is at 900 degrees.", "never leaves before 10.", "moved to Porto."]
        ).map(f"{who} {{}}".format)
    ),
    min_size=1,
    max_size=6,
)
QUESTIONS = ("When does the ferry leave?", "Where does Anna live?")


def shown(home, profiles):
    """What the first profile is shown after a night: ids, ranking with its parts, core memory, explanations."""
    for profile, texts in profiles.items():
        start = homes.NIGHT - timedelta(days=9)
        instants = iter([start + timedelta(hours=index) for index in range(100)])
        with MemoryClient(home, profile_id=profile, clock=lambda instants=instants: next(instants)) as client:
            for index, text in enumerate(texts):
                client.remember(text, memory_id=f"m{index}", session_id=f"s{index % 2}", speaker="Anna")
            client.recall(texts[0])
    first = next(iter(profiles))
    for profile in reversed(profiles):
        with MemoryClient(home, profile_id=profile, clock=lambda: homes.NIGHT) as client:
            client.consolidate()
    with MemoryClient(home, profile_id=first, clock=lambda: homes.NIGHT) as client:
        answers = [client.recall(question, record=False).to_dict() for question in QUESTIONS]
        explained = [client.explain(memory.memory_id).to_dict() for memory in client.list(deep=True)]
        return answers, client.session_start("ferry").text(), [_timeless(one) for one in explained]


def _timeless(found):
    """Leave out what counts events of the whole ledger, and the ids that follow from it."""
    if isinstance(found, dict):
        left_out = {"seq", "plan_id", "run_id", "commit_seq", "decision_id", "event_id", "recorded_at"}
        return {name: _timeless(value) for name, value in found.items() if name not in left_out}
    return [_timeless(one) for one in found] if isinstance(found, list) else found


@pytest.mark.drill
@settings(max_examples=5)
@given(said, said)
def test_what_a_profile_is_shown_does_not_depend_on_another(tmp_path_factory, own, other):
    alone = shown(tmp_path_factory.mktemp("alone"), {"p": own})
    beside = shown(tmp_path_factory.mktemp("beside"), {"p": own, "q": other})
    assert beside == alone
