"""The recall index beside the store: opened instead of built, never out of date, gone with what is erased."""

import shutil

import numpy as np
import pytest
import sampling

from memory_pipeline import MemoryClient, load_settings
from memory_pipeline.erasure import survivors
from memory_pipeline.lake import kept_indexes
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.index import kept_index
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.live import ledger_tail, state
from memory_pipeline.settings import Policy

pytestmark = pytest.mark.usefixtures("unpublished")

TEXTS = [
    "Ana moved to Porto in May.",
    "Ana's sister Inês studies law in Coimbra.",
    "Ana runs ten kilometres every Sunday with her friend Rui.",
    "El gato de Ana se llama Pixel.",
    "Ana paid 40 euros for the dentist on 3 March 2026.",
]
QUESTIONS = ["Where does Ana live?", "What is the cat called?", "How much was the dentist?", "Who runs with Ana?"]


@pytest.fixture(autouse=True)
def kept_from_one_on(monkeypatch):
    monkeypatch.setattr(state, "KEPT_FROM", 1)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A store whose index is kept."""
    home = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch, MemoryClient(home) as client:
        patch.setattr(state, "KEPT_FROM", 1)
        ids = [client.remember(text, session_id=f"s{number % 2}") for number, text in enumerate(TEXTS)]
        assert client.recall("Ana")
        client.update(ids[3], content="El gato de Ana se llama Tigre.")
    return home


@pytest.fixture
def home(first, tmp_path):
    return shutil.copytree(first, tmp_path, dirs_exist_ok=True)


def found(home):
    with MemoryClient(home) as client:
        return [[(one.text, one.score) for one in client.recall(question, record=False)] for question in QUESTIONS]


def kept(home):
    return sorted((home / "index").iterdir())


def drop(home):
    for file in kept(home):
        file.unlink()


def test_an_opened_index_answers_like_one_that_is_built(home, monkeypatch):
    with MemoryClient(home) as client:
        client.remember("Ana sold her car to Rui.")
        client.consolidate()
    opened = found(home)
    drop(home)
    assert found(home) == opened
    assert len(kept(home)) == 1
    monkeypatch.setattr(Index, "build", None)
    assert found(home) == opened


def test_a_written_index_is_read_back_to_the_last_array(home, tmp_path):
    with Lake(home) as lake:
        index = state.StateCache(lake, "default", Policy()).current().pool.index
    file = tmp_path / "copy.npz"
    with file.open("wb") as target:
        kept_index.write(kept_index.Kept(index, {}), target)
    again = kept_index.read(file, profile_id="default", model=index.model).index
    assert again.memories.equals(index.memories)
    assert again.passages.names.equals(index.passages.names)
    assert again.passages.languages.equals(index.passages.languages)
    for name in ("row", "tokens", "cues", "spans"):
        np.testing.assert_array_equal(getattr(again.passages, name), getattr(index.passages, name))
    np.testing.assert_array_equal(again.vectors.chunks[0], index.vectors.chunks[0])
    before = index.postings.arrays()
    assert before.keys() == again.postings.arrays().keys()
    for name, array in again.postings.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("damage", sampling.first(None, b"", b"PK\x03\x04 nothing"))
def test_a_damaged_index_is_built_anew(home, damage):
    right = found(home)
    (file,) = kept(home)
    file.write_bytes(file.read_bytes()[:-400] if damage is None else damage)
    assert found(home) == right
    assert kept_index.read(file, profile_id="default", model="hashing") is None or kept(home) == [file]


def test_the_index_of_another_profile_in_its_place_is_not_taken(home):
    right = found(home)
    (own,) = kept(home)
    with MemoryClient(home, profile_id="other") as client:
        client.remember("Ben moved to Rome.")
        assert client.recall("Ben")
    (others,) = set(kept(home)) - {own}
    own.write_bytes(others.read_bytes())
    assert found(home) == right


def test_another_embedder_has_an_index_of_its_own_and_the_old_one_goes(home):
    before = kept(home)
    (home / "memory_pipeline.toml").write_text('[policy]\nenrichments = ["keywords", "entities"]\n', "utf-8")
    found(home)
    assert len(kept(home)) == 1
    assert kept(home) != before


def test_an_erasure_removes_the_index_and_one_written_meanwhile_is_not_kept(home):
    with Lake(home) as lake:
        before = kept_indexes.erased(lake.ledger)
        (old,) = kept(home)
        text = old.read_bytes()
        with MemoryClient(home) as client:
            (dentist,) = (one.memory_id for one in client.recall("dentist", k=1))
            client.erase(dentist)
        assert list((home / "index").iterdir()) == []
        assert not kept_indexes.keep(lake.ledger, old, lambda file: file.write(text), erased=before)
        assert list((home / "index").iterdir()) == []
        assert survivors.survivors(lake) == {}
        old.write_bytes(text)
        assert survivors.survivors(lake) == {"default": [f"index {old.name}"]}
    answers = found(home)
    assert not any("dentist" in text for answer in answers for text, _ in answer)


def test_no_text_is_written_by_name_once_it_was_erased(home):
    """So a process that is killed while it writes leaves nothing of it."""
    with Lake(home) as lake, MemoryClient(home) as client:
        (old,) = kept(home)
        (dentist, other) = (one.memory_id for one in client.recall("dentist", k=2))
        before = kept_indexes.erased(lake.ledger)
        named = []

        def write(file):
            client.erase(dentist)
            file.write(b"dentist")
            file.flush()
            named.extend(kept(home))

        assert not kept_indexes.keep(lake.ledger, old, write, erased=before)
        before = kept_indexes.erased(lake.ledger)
        client.erase(other)
        assert not kept_indexes.keep(lake.ledger, old, lambda _: named.append(old), erased=before)
        assert named == []


@pytest.mark.drill
@pytest.mark.parametrize(("sign", "place", "value"), [(b"PK\x01\x02", 10, 77), (b"PK\x01\x02", 8, 1)])
def test_an_index_with_a_damaged_table_of_contents_is_built_anew(home, sign, place, value):
    right = found(home)
    (file,) = kept(home)
    content = bytearray(file.read_bytes())
    content[content.index(sign) + place] = value
    file.write_bytes(content)
    assert kept_index.read(file, profile_id="default", model="hashing") is None
    assert found(home) == right


@pytest.mark.drill
def test_opening_reads_what_the_ledger_has_since_and_nothing_else(home, monkeypatch):
    with MemoryClient(home) as client:
        client.consolidate()
    found(home)  # keeps the index of what the run published
    with monkeypatch.context() as patched:
        patched.setattr(state, "load_published", None)
        patched.setattr(Index, "build", None)
        with MemoryClient(home) as client:
            car = client.remember("Ana sold her car to Rui.")
            dentist = client.recall("dentist")[0].memory_id
            client.update(dentist, content="Ana paid 45 euros for the dentist on 3 March 2026.")
            assert client.recall("Who bought the car?", k=1)[0].memory_id == car
            assert client.recall("dentist", k=1)[0].text.startswith("Ana paid 45 euros")
        opened, used = found(home), uses(home)
        assert any("45 euros" in text for text, _ in opened[2])
    drop(home)
    assert (found(home), uses(home)) == (opened, used)


def test_of_a_new_memory_nothing_older_is_read_though_it_was_used_and_changed(home, monkeypatch):
    found(home)
    with monkeypatch.context() as patched:
        patched.setattr(ledger_tail, "tail_rows", None)
        with MemoryClient(home) as client:
            client.recall("Ana", record=False)  # opens the index, so that nothing that follows is in it
            car = client.remember("Ana sold her car to Rui.")
            assert client.recall("Who bought the car?", k=1)[0].memory_id == car
            client.update(car, content="Ana sold her car to Inês.")
        opened, used = found(home), uses(home)
    drop(home)
    assert (found(home), uses(home)) == (opened, used)


@pytest.mark.drill
def test_a_run_leaves_an_index_that_is_opened_without_folding_or_building(home, monkeypatch):
    with MemoryClient(home) as client:
        client.remember("Ana sold her car to Rui.")
        client.consolidate()
    opened = found(home)
    drop(home)
    with Lake(home) as lake:
        assert state.publish_indexes(lake, load_settings(home)) == ["default"]
    monkeypatch.setattr(Index, "build", None)
    monkeypatch.setattr(state, "load_published", None)
    assert found(home) == opened


def uses(home):
    with MemoryClient(home) as client:
        return [(one.memory_id, one.access_count, one.confidence) for one in client.list()]


def test_what_was_used_before_the_index_was_kept_counts_after_opening(home):
    with MemoryClient(home) as client:
        used = client.recall("dentist", k=1)[0].memory_id
        client.feedback(used, helpful=False)
    drop(home)
    before = uses(home)
    assert len(kept(home)) == 1
    assert uses(home) == before
    assert {name: count for name, count, _ in before}[used] >= 1


def test_the_index_of_another_course_of_the_ledger_is_not_continued(home, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "home"
    shutil.copytree(home, other)
    for place, text in ((home, "Ana bought a red kayak."), (other, "Ana bought a green tent.")):
        with MemoryClient(place) as client:
            client.remember(text)
        drop(place)
        found(place)
    (own,), (others,) = kept(home), kept(other)
    own.write_bytes(others.read_bytes())
    with MemoryClient(home) as client:
        assert client.recall("What did Ana buy?", k=1, record=False)[0].text == "Ana bought a red kayak."
