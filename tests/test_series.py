"""Any number of values of one attribute: a question for now gets the newest first, one for the past does not."""

from datetime import timedelta

import frames
import pytest
import sampling

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.text.embed.embedding import embed_texts

FILLING = [
    "The kettle is new.",
    "I saw a heron by the canal.",
    "Paula sent the minutes.",
    "The printer is out of toner.",
]
STATES = [
    "open",
    "in triage",
    "assigned to Paula",
    "in progress",
    "blocked by the vendor",
    "in progress again",
    "in review",
    "back in progress",
    "in testing",
    "waiting for release",
    "released",
    "reopened",
]


def found(texts, question, k=10, fields=None, model="hashing"):
    """The contents of an answer about texts of consecutive days, other memories among them."""
    said = [text for place, text in enumerate(texts) for text in (text, FILLING[place % 4])]
    memories = frames.memories(
        {
            "memory_id": f"m{place:03}",
            "content": text,
            "created_at": frames.ago(len(said) + 1) + timedelta(days=place),
            "session_id": f"s{place}",
            "seq": place + 1,
            **((fields or {}).get(text, {})),
        }
        for place, text in enumerate(said)
    )
    index = Index.build(memories, embed_texts(memories.unique("content_hash"), model), model=model)
    answer = rank(index, question, now=frames.AS_OF, k=k)
    names = dict(memories.select("memory_id", "content").iter_rows())
    return [names[name] for name in answer["memory_id"]]


@pytest.mark.parametrize("number", sampling.first(12, 60))
@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Weight this morning: {:.1f} kg.", ["What is my weight?", "How much do I weigh now?", "weight"]),
        ("I weigh {:.1f} kg today.", ["What is my weight?", "How much do I weigh?"]),
        ("The rent is {:.0f} euros.", ["What is the rent?", "How much is the rent now?"]),
        ("Rent of the studio: {:.0f}", ["How much is the rent of the studio?", "rent studio"]),
        ("Blood pressure {:.0f}/80.", ["What is my blood pressure?", "blood pressure"]),
        ("The queue has {:.0f} open tickets.", ["How many open tickets are in the queue?"]),
    ],
)
def test_the_newest_of_any_number_of_values_comes_first(text, questions, number):
    texts = [text.format(90 + 0.7 * index) for index in range(number)]
    texts = list(dict.fromkeys(texts))
    for question in questions:
        assert found(texts, question)[0] == texts[-1]


@pytest.mark.parametrize("label", ["Ticket OPS-41 is {}.", "Ticket OPS-41: {}", "Status of OPS-41 is now {}"])
@pytest.mark.parametrize("question", ["What is the state of OPS-41?", "Where does OPS-41 stand now?", "OPS-41"])
def test_the_newest_of_states_in_words_comes_first(label, question):
    texts = [label.format(state) for state in STATES]
    assert found(texts, question)[0] == texts[-1]


def test_a_question_for_the_past_or_with_a_number_keeps_its_order():
    texts = [f"The rent is {800 + 15 * index} euros." for index in range(12)]
    assert found(texts, "What was the rent at first?")[0] != texts[-1]
    rooms = [f"Room {number} is painted green." for number in range(1, 13)]
    assert found(rooms, "Which colour is room 3?")[0] == rooms[2]


def test_what_ran_out_comes_after_what_holds():
    texts = ["The parking permit is for zone B.", "The parking permit is for zone C."]
    ended = {texts[1]: {"valid_until": frames.ago(1)}}
    for question in ("Which zone is the parking permit for?", "parking permit zone"):
        assert found(texts, question, fields=ended)[:2] == texts
        assert found(texts[::-1], question, fields=ended)[:2] == texts
    answer = found([texts[1], "The ferry leaves at noon."], "When does the ferry leave?", fields=ended)
    assert (answer[0], answer[-1], len(answer)) == ("The ferry leaves at noon.", texts[1], 4)


@pytest.mark.parametrize(
    ("source", "reference", "question"),
    [
        ("Next of kin is my aunt Oda.", "Next of kin: as last year.", "Who is my next of kin?"),
        ("The gate code is 4711.", "Gate code unchanged.", "What is the gate code?"),
        ("Swim practice is on Tuesday.", "Swim practice: same as before.", "When is swim practice?"),
        ("The insurer is Northwind Mutual.", "Insurer: as in 2024.", "Who is the insurer?"),
        ("The vet for the pony is Dr Quist.", "Vet for the pony: the one we always call.", "Who is the pony's vet?"),
        ("The summer party was at the boathouse.", "Winter party: where we had the summer one.", "Winter party"),
        ("The cellar key hangs behind the stove.", "Cellar key: see further up.", "Where is the cellar key?"),
    ],
)
def test_what_only_refers_back_comes_right_behind_what_it_refers_to(source, reference, question):
    answer = found([source, "Oda likes plums.", reference], question, k=4, model="reader")
    assert answer.index(reference) == answer.index(source) + 1
    assert answer[0] == source


@pytest.mark.parametrize(
    ("text", "question", "named"),
    [
        ("{} chairs the allotment society.", "Who chairs the allotment society?", "Does Ivo chair the society?"),
        ("{} is the goalkeeper of our team.", "Who is the goalkeeper of our team?", "Is Ivo our goalkeeper?"),
        ("{} keeps the spare key", "spare key", "Ivo spare key"),
    ],
)
def test_the_newest_of_several_people_comes_first_unless_one_is_asked_about(text, question, named):
    people = [
        "Ana Brandt",
        "Boris",
        "Chloe de Witt",
        "Dmitri",
        "Edith",
        "Farah",
        "Goran",
        "Heidi",
        "Ivo",
        "Jana",
        "Lars",
    ]
    texts = [text.format(name) for name in people]
    assert found(texts, question)[0] == texts[-1]
    assert found(texts, named)[0] == text.format("Ivo")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Miete für das Atelier beträgt {} Euro.", "Wie hoch ist die Miete für das Atelier?"),
        ("Le loyer de l'atelier est de {} euros.", "Quel est le loyer de l'atelier ?"),
        ("L'affitto dello studio ammonta a {} euro.", "A quanto ammonta l'affitto dello studio?"),
    ],
)
def test_the_newest_value_comes_first_in_any_language(text, question):
    texts = [text.format(800 + 10 * place) for place in range(12)]
    assert found(texts, question)[0] == texts[-1]


@pytest.mark.parametrize(
    ("text", "values", "question"),
    [
        (
            "La contraseña del sótano es {}.",
            ("catorce", "quince", "dieciséis", "veinte", "treinta y dos", "cuarenta", "doce"),
            "¿Cuál es la contraseña del sótano?",
        ),
        (
            "Le portail du jardin est peint en {} maintenant.",
            ("rouge", "vert", "bleu ciel", "noir", "gris"),
            "De quelle couleur est le portail du jardin ?",
        ),
        ("Мой вес сегодня {} килограмм.", ("семьдесят", "семьдесят один", "шестьдесят девять"), "Какой у меня вес?"),
        ("我现在的体重是{}公斤。", ("七十一", "七十", "六十九", "六十八"), "我现在的体重是多少？"),
        (
            "Der Schlüssel vom Schuppen hängt {} neben der Tür.",
            ("links", "oben rechts", "unten"),
            "Wo hängt der Schlüssel?",
        ),
    ],
)
def test_the_newest_value_in_words_of_another_language_comes_first(text, values, question):
    texts = [text.format(value) for value in values]
    assert found(texts, question)[0] == texts[-1]


def test_a_value_that_a_question_names_keeps_its_place():
    texts = [f"Le casier de {name} est au fond du couloir." for name in ("Margaux", "Théo", "Inès", "Lucas")]
    assert found(texts, "Où est le casier de Théo ?")[0] == texts[1]
    assert found(texts, "Le casier au fond du couloir est à qui ?")[0] == texts[-1]


@pytest.mark.parametrize("question", ["How is OPS-41 doing?", "Tell me about OPS-41.", "OPS-41?"])
def test_whoever_does_not_ask_for_the_past_gets_the_newest_state(question):
    texts = [f"Ticket OPS-41 is {state}." for state in STATES]
    assert found(texts, question)[0] == texts[-1]
