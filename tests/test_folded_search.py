"""Words are found however their letters, accents and digits are written, and emoji are words."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_pipeline import MemoryClient

START = datetime(2026, 3, 1, tzinfo=UTC)
NOISE = [
    f"The {thing} on shelf {n} is {colour}."
    for n, (thing, colour) in enumerate(
        (thing, colour) for thing in ("kettle", "ladder", "lamp", "crate") for colour in ("green", "blue", "grey")
    )
]
SPELLINGS = [
    ("Zoë Müller keeps the spare key.", "Who is Zoe Muller?"),
    ("Zoe Muller keeps the spare key.", "Who is Zoë Müller?"),
    ("The office in Łódź closes at five.", "office in Lodz"),
    ("The office in Lodz closes at five.", "office in Łódź"),
    ("Her résumé is in the drawer.", "resume"),
    ("Her resume is in the drawer.", "résumé"),
    ("Ørsted sends the invoices.", "Orsted invoices"),
    ("Orsted sends the invoices.", "Ørsted"),
    ("The Straße behind the mill is closed.", "Strasse"),
    ("Señor Nuñez collects the eggs.", "Nunez"),
    ("Nguyễn repairs the pump.", "Nguyen"),
    ("Ｆｕｌｌ ｗｉｄｔｈ ｎｏｔｅ ４２ is pinned to the door.", "full width note 42"),
    ("The organ is repaired in May.", "Ｏｒｇａｎ"),
    ("Locker ٤٥٧ holds the drill.", "locker 457"),
    ("Locker 457 holds the drill.", "locker ४५७"),
    ("Ｔｈｅ ｐｉｎ ｏｆ ｔｈｅ ｃｏｐｉｅｒ ｉｓ ６６２０.", "copier pin"),
    ("Ｔｈｅ ｐｉｎ ｏｆ ｔｈｅ ｃｏｐｉｅｒ ｉｓ ６６２０.", "6620"),
    ("The garage code is 4821.", "٤٨٢١"),
    ("Ёлка стоит в коридоре.", "елка"),
    ("Η Αθήνα είναι ζεστή.", "Αθηνα"),
    ("Ice cream 🍦 was the reward.", "🍦"),
    ("The badge shows 👩🏽‍🚒 now.", "👩‍🚒"),
    ("The parcel came from 🇵🇱 by post.", "🇵🇱"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "query"), SPELLINGS)
def test_a_word_is_found_in_another_spelling(tmp_path, text, query):
    with MemoryClient(tmp_path, clock=lambda: START) as client:
        client.remember_many({"text": row, "occurred_at": START - timedelta(days=3)} for row in NOISE)
        wanted = client.remember(text, occurred_at=START - timedelta(days=30))
        assert client.recall(query, 1, record=False)[0].memory_id == wanted


def test_letters_that_are_others_stay_apart(tmp_path):
    with MemoryClient(tmp_path, clock=lambda: START) as client:
        client.remember("かき are sold at the market.")
        wanted = client.remember("がき is a word in the text.")
        assert client.recall("がき", 1, record=False)[0].memory_id == wanted


def test_a_speaker_is_asked_about_in_another_spelling(tmp_path):
    with MemoryClient(tmp_path, clock=lambda: START) as client:
        for speaker in ("Zoe", "Ørsted"):
            client.remember("I would rather sit at the window.", speaker=speaker, occurred_at=START - timedelta(days=9))
        for name in ("Ørsted", "Orsted"):
            assert client.recall(f"Where does {name} like to sit?", 1, record=False)[0].speaker == "Ørsted"
