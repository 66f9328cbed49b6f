"""What a fact in a model's words may not change of the sentences that it is taken from."""

import pytest

from memory_pipeline.text.compare.restating import CONDITION, ELSEWHERE, ORDER, POLARITY, STANCE, TENSE, fault

TURNED = [
    ("Marek might sell the boat in May.", "Marek sells the boat in May.", STANCE),
    ("We will paint the fence in June.", "We painted the fence in June.", STANCE),
    ("Ilse said that the valve is tight.", "The valve is tight.", STANCE),
    ("I dreamt that Ilse won the cup and Marek sang.", "Marek sang.", STANCE),
    ("I hope the parcel arrives on Friday.", "The parcel arrives on Friday.", STANCE),
    ("Ilse used to live in Delft.", "Ilse lives in Delft.", STANCE),
    ("Marek wants to buy the mill.", "Marek buys the mill.", STANCE),
    ("When it snows, Ilse walks Marek home.", "Ilse walks Marek home.", CONDITION),
    ("The bridge is open while they paint.", "The bridge is open.", CONDITION),
    ("I do not like figs and dates.", "I like dates.", POLARITY),
    ("Ilse lived in Delft.", "Ilse lives in Delft.", TENSE),
    ("The mill is closed.", "The mill was closed.", TENSE),
    ("Ilse owes Marek 20 euros.", "Marek owes Ilse 20 euros.", ORDER),
    ("Marek lent me a ladder.", "I lent Marek a ladder.", ORDER),
    ("Ilse called Marek.", "Marek called.", ORDER),
    ("I take 5 mg in the morning and 10 mg at night.", "I take 10 mg in the morning and 5 mg at night.", ORDER),
]
SAME = [
    ("When it snows, Ilse walks Marek home.", "Ilse walks Marek home when it snows."),
    ("On Monday Ilse leaves for Delft.", "Ilse leaves for Delft on Monday."),
    ("I fixed the sink, but if it drips again call Marek.", "I fixed the sink."),
    ("I like figs but not dates.", "I like figs."),
    ("I like figs but not dates.", "I do not like dates."),
    ("Ilse's going to paint the fence in June.", "Ilse will paint the fence in June."),
    ("Ilse does not glaze and she rents in Porto.", "Ilse rents in Porto."),
]


@pytest.mark.parametrize(("sentence", "fact", "reason"), TURNED)
def test_a_turned_sentence_is_noticed(sentence, fact, reason):
    assert fault(fact, [sentence], [0]) == reason


@pytest.mark.parametrize(("sentence", "fact"), SAME)
def test_a_sentence_may_be_cut_and_reordered(sentence, fact):
    assert fault(fact, [sentence], [0]) is None


@pytest.mark.parametrize(
    ("sentences", "own", "fact", "reason"),
    [
        (["Ilse is allergic to nuts.", "Marek likes the sea."], 0, "Marek is allergic to nuts.", ELSEWHERE),
        (["Ilse came on 3 May.", "Marek leaves on 9 May."], 0, "Ilse came on 9 May.", ELSEWHERE),
        (["Ilse rents a kiln in Porto.", "She does not glaze."], 1, "Ilse does not glaze.", None),
        (["Ilse rents a kiln in Porto.", "She does not glaze."], 1, "Porto does not glaze.", ELSEWHERE),
        (["Ilse met Marek.", "She owes him 20 euros."], 1, "Marek owes Ilse 20 euros.", ELSEWHERE),
    ],
)
def test_names_and_figures_stay_with_their_sentence(sentences, own, fact, reason):
    assert fault(fact, sentences, [own]) == reason
