"""Languages: identified once, read with their own words, and judged only where the rules know them."""

from datetime import timedelta

import frames
import polars as pl
import pytest

from memory_pipeline.consolidation import change_detection, keeping, languages, scoring, trimming, worth
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import parse
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich
from memory_pipeline.text.embed import embedding
from memory_pipeline.text.lang.identification import SURE, identifier, identify, identify_one, judged, of_profiles
from memory_pipeline.text.lang.registry import PACKS, pack
from memory_pipeline.text.parse import facts, tokens

STORES = {
    "de": (
        [
            "Meine Schwester Annika wohnt seit dem Frühjahr in Rostock.",
            "Ich vertrage keine Milch, davon bekomme ich Bauchschmerzen.",
            "Das Fahrrad steht im Keller hinter der Waschmaschine.",
            "Der Zahnarzttermin ist am Donnerstag um halb neun.",
            "Unsere Katze heißt Pünktchen und frisst nur Huhn.",
            "Die Häuser am Hafen werden im Herbst gestrichen.",
        ],
        [
            ("Wo wohnen meine Schwestern?", 0),
            ("Welche Lebensmittel vertrage ich nicht?", 1),
            ("Wo sind die Fahrräder?", 2),
            ("Welches Haus wird gestrichen?", 5),
        ],
    ),
    "es": (
        [
            "Mi hermana Pilar vive en Cádiz desde la primavera.",
            "No tolero la leche, me sienta mal al estómago.",
            "La bicicleta está en el trastero, detrás de la lavadora.",
            "La cita con el dentista es el jueves a las ocho y media.",
            "Nuestra gata se llama Motita y solo come pollo.",
            "Las casas del puerto se pintarán en otoño.",
        ],
        [
            ("¿Dónde viven mis hermanas?", 0),
            ("¿Qué alimentos no tolera?", 1),
            ("¿Dónde están las bicicletas?", 2),
            ("¿Qué casa van a pintar?", 5),
        ],
    ),
    "ja": (
        [
            "妹の美咲は春から仙台に住んでいます。",
            "牛乳を飲むとお腹が痛くなります。",
            "自転車は地下室の洗濯機の後ろにあります。",
            "歯医者の予約は木曜日の八時半です。",
            "うちの猫の名前はモモで、鶏肉しか食べません。",
            "港の家は秋にペンキを塗ります。",
        ],
        [
            ("妹はどこに住んでいますか？", 0),
            ("飲むと痛くなるものは？", 1),
            ("自転車はどこですか？", 2),
            ("ペンキを塗る家はどれ？", 5),
        ],
    ),
}


def store(texts):
    return frames.memories(
        {"memory_id": f"m{index}", "content": text, "created_at": frames.ago(50 - index)}
        for index, text in enumerate(texts)
    )


def enriched(memories):
    return enrich.enrich(enrich.texts(memories))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The ferry leaves at nine and the tickets are in my bag.", "en"),
        ("Die Fähre fährt um neun und die Karten sind in meiner Tasche.", "de"),
        ("El barco sale a las nueve y los billetes están en mi bolso.", "es"),
        ("Le bateau part à neuf heures et les billets sont dans mon sac.", "fr"),
        ("Il traghetto parte alle nove e i biglietti sono nella mia borsa.", "it"),
        ("De veerboot vertrekt om negen uur en de kaartjes zitten in mijn tas.", "nl"),
        ("渡轮九点开，票在我的包里。", "zh"),
        ("フェリーは九時に出ます。切符は鞄の中です。", "ja"),
        ("배는 아홉 시에 떠난다.", "ko"),
        ("Паром отходит в девять.", "ru"),
        ("My friend 美咲 lives by the harbour and keeps two cats.", "en"),
        ("ok", None),
        ("17:30", None),
        ("", None),
        (None, None),
    ],
)
def test_a_text_tells_its_language_or_leaves_it_open(text, language):
    assert identify(pl.Series([text], dtype=pl.String)).to_list() == [language]


def test_texts_are_identified_together_as_one_by_one():
    texts = [text for said, _ in STORES.values() for text in said]
    texts += [part for text in texts for part in (text[:7], text[:19], text.upper(), "42", "")] * 2
    together = identify(pl.Series(texts)).to_list()
    assert together == [identify(pl.Series([text]))[0] for text in texts]
    assert together == [identify_one(text) for text in texts]
    asked = identifier()
    for text, code in zip(texts, together, strict=True):
        if text.isascii() and any(map(str.isalpha, text)):
            found, confidence = asked.classify(text)
            assert code == (found if confidence >= SURE else None), text


def test_what_is_open_is_read_in_the_language_of_its_profile():
    known = pl.DataFrame(
        {"profile_id": ["a", "a", "a", "b", "b", "c"], "language": ["de", "de", None, "en", None, None]},
        schema={"profile_id": pl.String, "language": pl.String},
    )
    assert of_profiles(known).to_list() == ["de", "de", "de", "en", "en", None]
    assert judged(known).to_list() == [False, False, False, True, True, True]


@pytest.mark.parametrize("code", ["de", "es", "fr", "it", "zh", "ja"])
def test_a_pack_has_function_words_and_denials(code):
    known = pack(code)
    assert known.code == code
    assert not known.judges
    assert known.stop_words
    assert known.negations
    assert all(known.rarity(word, known.stem(word)) == 0 for word in known.stop_words)


@pytest.mark.parametrize("code", ["de", "es", "fr", "it"])
def test_a_pack_knows_months_weekdays_and_numbers(code):
    english = set(PACKS[code].date_words.values())
    assert {"january", "august", "december", "monday", "sunday", "yesterday"} <= english
    seven = {"de": "sieben", "es": "siete", "fr": "sept", "it": "sette"}[code]
    assert pack(code).stem(seven) == "7"


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "Häuser", "Haus"),
        ("es", "viviendo", "vivir"),
        ("fr", "l'atelier", "ateliers"),
        ("it", "dell'orologio", "orologi"),
        ("nl", "tuinen", "tuin"),
    ],
)
def test_forms_of_a_word_share_a_stem(language, one, other):
    stems = tokens.content_stems(pl.Series([one, other]), pl.Series([language, language])).to_list()
    assert stems[0] == stems[1] != []


def test_letters_of_unspaced_scripts_are_read_in_pairs():
    assert tokens.content_stems(pl.Series(["洗濯機は地下室"]), pl.Series(["ja"])).to_list() == [
        ["洗", "濯", "機", "地", "下", "室", "洗濯", "濯機", "機は", "は地", "地下", "下室"]
    ]
    assert tokens.rarities("洗濯", "ja").keys() == {"洗", "濯", "洗濯"}


@pytest.mark.parametrize("code", STORES)
def test_recall_finds_other_forms_of_the_words(code):
    texts, questions = STORES[code]
    memories = store(texts)
    vectors = embedding.embed_texts(enrich.texts(memories).with_columns(content="embedded"), "hashing")
    index = Index.build(memories, vectors, model="hashing")
    assert enriched(memories)["language"].to_list() == [code] * len(texts)
    for question, answer in questions:
        assert rank(index, question, now=frames.AS_OF, k=1)["memory_id"].to_list() == [f"m{answer}"], question


def test_an_index_that_grows_answers_as_one_built_at_once():
    memories = store([*STORES["de"][0], *STORES["ja"][0]])
    none = TABLES["vectors"].empty()
    whole = Index.build(memories, none, model="hashing")
    grown = Index.build(memories[:4], none, model="hashing").extended(memories[4:], none)
    for query in ("Wo sind die Fahrräder?", "自転車はどこですか？"):
        answers = [rank(index, query, now=frames.AS_OF)["memory_id"].to_list() for index in (whole, grown)]
        assert answers[0] == answers[1] != []


@pytest.mark.parametrize(
    ("older", "newer", "changes"),
    [
        ("The ferry leaves at 9:15.", "The ferry now leaves at 9:40.", True),
        ("Ich wohne in Rostock.", "Ich bin umgezogen, ich wohne jetzt in Kiel.", False),
        ("Vivo en Cádiz.", "Me he mudado, ahora vivo en Vigo.", False),
    ],
)
def test_only_a_language_with_rules_is_judged(older, newer, changes):
    memories = store([older, newer]).with_columns(speaker=pl.lit("user"))
    known = enriched(memories)
    assert languages.judged(memories, known).to_list() == [changes, changes]
    found = change_detection.compare(
        memories,
        known,
        TABLES["vectors"].empty(),
        Policy(),
        as_of=frames.AS_OF + timedelta(days=1),
        plan_id="plan",
    )
    assert (found.fact_changes.height > 0) is changes


@pytest.mark.parametrize(
    ("language", "text", "dates", "numbers", "negated"),
    [
        ("de", "Am 3. Juni 2025 kommen sieben Gäste, nicht acht.", ["2025-06-03"], ["7", "8"], True),
        ("es", "El 14 de marzo de 2025 compré tres sillas.", ["2025-03-14"], ["3"], False),
        ("fr", "Le 1er août 2025, je n'ai pas plongé.", ["2025-08-01"], [], True),
        ("fr", "Un rendez-vous avec ma grand-mère.", [], [], False),
        ("it", "Il 9 maggio 2025 non ho pagato trenta euro.", ["2025-05-09"], ["€30"], True),
        ("zh", "2025年6月7日我没去海边。", ["2025-06-07"], [], True),
        ("zh", "十二月三日我们去海边。", ["--12-03"], [], False),
        ("ja", "2025年6月7日に海へ行った。", ["2025-06-07"], [], False),
    ],
)
def test_dates_numbers_and_denials_are_read_in_their_language(language, text, dates, numbers, negated):
    low = tokens.fold(pl.Series([text]))
    found = facts.extract(pl.Series([text]), low, pl.Series([language])).row(0, named=True)
    assert (found["dates"], found["numbers"], found["negated"]) == (dates, numbers, negated)


@pytest.mark.parametrize(
    ("language", "question", "kind", "now"),
    [
        ("de", "Wo wohnt Annika jetzt?", "place", True),
        ("es", "¿Cuándo viene el dentista?", "date", False),
        ("fr", "Combien de chats a-t-elle désormais ?", "number", True),
        ("it", "Perché Luca è partito?", "reason", False),
        ("zh", "美咲现在住在哪里？", "place", True),
        ("ja", "予約はいつですか？", "date", False),
        ("en", "Where does Annika live now?", "place", True),
    ],
)
def test_a_question_in_another_language_asks_for_the_same(language, question, kind, now):
    parsed = parse(question, now=frames.AS_OF, speakers=(), language=language)
    assert (parsed.kind, parsed.now) == (kind, now)


@pytest.mark.parametrize(
    ("harms", "harmless"),
    [
        ("Ich bin allergisch gegen Penicillin.", "Wir waren gestern im Kino."),
        ("Tomo 50 mg de losartán cada mañana.", "Ayer fuimos al cine."),
        ("Il ne faut jamais laisser la grille ouverte.", "Hier nous sommes allés au cinéma."),
        ("Mio padre prende un farmaco per il cuore.", "Ieri siamo andati al cinema."),
        ("医生开的药要饭后吃。", "昨天我们去看了电影。"),
        ("卵アレルギーがあります。", "昨日映画を見ました。"),
    ],
)
def test_what_harms_when_forgotten_is_kept_in_every_language(harms, harmless):
    none = TABLES["accesses"].empty()
    ranks = keeping.ranked(
        store([harmless, harms]),
        frames.edges([]),
        TABLES["fact_changes"].empty(),
        none,
        TABLES["change_odds"].empty(),
        worth.of_sentences(store([harmless, harms])),
        as_of=frames.AS_OF,
    )
    assert ranks["rank"].to_list() == [keeping.Rank.REST, keeping.Rank.GRAVE]


NOTE = (
    "Unser Garten liegt hinter der Kirche am Bach. Im Frühling war ich dort oft mit dem Hund. "
    "Die Beete sind von meiner Tante angelegt worden. Schöne Tage waren das mit Kuchen und Kaffee."
)


def test_a_text_in_a_language_without_rules_stays_whole_or_leaves():
    memories = store([NOTE, NOTE.replace("Garten", "Acker"), "Das Boot liegt am Steg."])
    scored = scoring.score(
        memories, frames.importance(memories), frames.edges([]), Policy(), as_of=frames.AS_OF, plan_id="plan"
    )
    none = (TABLES[name].empty() for name in ("fact_changes", "accesses", "change_odds"))
    said = worth.of_sentences(memories)
    ranks = keeping.ranked(memories, frames.edges([]), *none, said, as_of=frames.AS_OF)
    spare = pl.DataFrame({"profile_id": ["p"], "spare": [10]})
    for budget in (0.3, 0.6, 0.9):
        trims, archived = trimming.select(
            memories, scored, enriched(memories), ranks, said, spare, Policy(token_budget=budget), plan_id="plan"
        )
        assert trims.is_empty()
        assert archived.height > 0


@pytest.mark.parametrize(
    ("one", "other", "days", "merged"),
    [
        ("Der Schlüssel liegt unter der Matte.", "Der Schlüssel liegt unter der Matte.", 0, True),
        ("Der Schlüssel liegt unter der Matte.", "Der Schlüssel liegt unter der Matte.", 1, False),
        ("Der Schlüssel liegt unter der Matte.", "Der Schlüssel liegt unter der Matte!", 0, False),
        ("The key is under the mat.", "The key is under the mat!", 1, True),
    ],
)
def test_of_a_language_without_rules_only_exact_copies_of_one_day_merge(one, other, days, merged):
    """What was told on two days may have happened twice; only English is read for whether it did."""
    memories = store([one, other]).with_columns(
        created_at=pl.lit(frames.ago(50)) + pl.duration(days=days) * pl.int_range(pl.len())
    )
    vectors = embedding.embed_texts(enrich.texts(memories).with_columns(content="embedded"), "hashing")
    scored = scoring.score(
        memories, frames.importance(memories), frames.edges([]), Policy(), as_of=frames.AS_OF, plan_id="plan"
    )
    found = clustering.cluster(
        memories,
        scored,
        enriched(memories),
        vectors,
        frames.edges([]),
        Policy(methods=("near_duplicates",)),
        as_of=frames.AS_OF,
        plan_id="plan",
    )
    assert found.clusters["cluster_size"].to_list() == ([2] if merged else [])
