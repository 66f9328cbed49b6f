"""Tells whom a statement is about, and whether two statements are about different people or things.

"Emil is allergic to shellfish" and "Hana is allergic to penicillin" neither repeat nor change each other, and neither
do "my locker is 12" by one speaker and by another. The subject is read from how a statement begins: a name, "I", "my
sister", "Emil's teacher", "the user". "I" by a speaker, "the user" and the speaker's name are one subject. What begins
in another way has no known subject and differs from nothing.
English only. Not here: numbered things (`numbered_things`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.text.compare.relation_reading import Reading
from memory_pipeline.text.embed.thesaurus import thesaurus
from memory_pipeline.text.lang.en.kinship import RELATIONS
from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, STOP_WORDS
from memory_pipeline.text.lang.en.rarity import is_common
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.parse.speakers import USERS
from memory_pipeline.text.parse.tokens import content_stems

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

_OWNER: Final = "@user"
"""The person whose memory it is, where no speaker is named."""
_BRIEF: Final = 8
"""Maximum number of words of a statement whose subject may be left out."""
_INTRODUCTION: Final = re.compile(r"^\W*(?P<first>[^\W\d_]+)[^,.;:!?]{0,30}, ")
_WORD: Final = r"[^\W_]+(?:['\u2019.-][^\W_]+)*"
_TITLE: Final = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Aunt|Uncle)\.? +)?"
_ONE: Final = re.compile(rf"{_TITLE}(?P<name>{_WORD})")
_SPEAKER: Final = re.compile(r"(?:i|i['\u2019](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
_USER: Final = re.compile(r"(?:the +)?user(?P<owns>['\u2019]s)?\b", re.IGNORECASE)
_MY: Final = re.compile(r"my +", re.IGNORECASE)
_RELATIVE: Final = re.compile(
    rf"(?:[^\W\d_]+ +){{0,2}}?(?P<relation>{RELATIONS})\b(?P<owns>['\u2019]s)?,? *(?P<name>[^\W\d_]+)?", re.IGNORECASE
)
_AND: Final = re.compile(r"(?: *, *| +and +| *& *)")
_OF: Final = re.compile(r"(?:the|a|an) (?:[^\W\d_]+ ){1,4}?of (?=my |[^\W\d_a-z])", re.IGNORECASE)
_IDENTITY: Final = re.compile(
    r" +(?:is|are|was|became|becomes)(?: now)? +(?:the|my|our|a|an|[^\W_]+['\u2019]s)\b", re.IGNORECASE
)
_OPEN: Final = re.compile(
    r"(?:the|a|an|this|that|these|those|there|it|its|he|she|they|his|her|their|we|our|you|your|one|some|all|both|each"
    r"|every|no|if|when|who|what|where|how|why|please|let['\u2019]?s)\b",
    re.IGNORECASE,
)
_THIRD: Final = re.compile(r"\W*(?:he|she|they|his|her|their)\b", re.IGNORECASE)
_ALIASES: Final = (
    rf"(?i:\bmy (?:\w+ )?)(?P<relation>(?i:{RELATIONS})),? (?P<name>\p{{Lu}}[\p{{L}}\p{{M}}]+)",
    rf"(?P<name>\p{{Lu}}[\p{{L}}\p{{M}}]+),? (?:is )?my (?:\w+ )?(?P<relation>(?i:{RELATIONS}))\b",
)
_OWN_NAME: Final = r"(?:(?i:\bmy|\buser's) name is|(?i:\bcall me)|^I am|^I'm) (?P<name>\p{Lu}[\p{L}\p{M}]+)\b"


@dataclass(frozen=True, slots=True, eq=False)
class Subjects:
    """Whom statements are about.

    Attributes:
        columns: the word for each person or thing.
        holders: [statements, people and things] 1 for each that it may be about.
        mentioned: the same, and 1 for each that it names anywhere.
        known: the statement begins with whom it is about.
        named: it names them; otherwise it gives a relation ("my sister") whose name nobody has said.
        implied: it is one short sentence that begins with what is said of its speaker ("Locker 112"), not of whom.
        own: it is about its speaker.
        speaker: number of its speaker, -1 for none.
    """

    columns: list[str]
    holders: sparse.csr_array
    mentioned: sparse.csr_array
    known: Mask
    named: Mask
    implied: Mask
    own: Mask
    speaker: Rows

    def names(self, row: int) -> list[str]:
        """Return the words for whom a statement is about."""
        held = self.holders.indices[self.holders.indptr[row] : self.holders.indptr[row + 1]]
        return [self.columns[place] for place in held.tolist()]

    def differ(self, older: Rows, newer: Rows) -> Mask:
        """Return whether the statements of each pair are surely about different people or things."""
        holders, mentioned = self.holders, self.mentioned
        shared = _dot(holders[older], mentioned[newer]) + _dot(mentioned[older], holders[newer]) > 0
        known, alike = self.known[older] & self.known[newer], self.named[older] == self.named[newer]
        own = self.own[older] | self.own[newer]
        one, other = self.speaker[older], self.speaker[newer]
        apart = (one >= 0) & (other >= 0) & (one != other)
        unsaid = (self.implied | self.own)[older] & (self.implied | self.own)[newer]
        result: Mask = (known & ~shared & (alike | own)) | (apart & unsaid)
        return result


def read(reading: Reading) -> Subjects:
    """Read whom the statements of memories are about.

    A statement of several sentences is about the subjects of all of them. Cost: about 30 µs per statement.
    """
    statements = reading.statements
    text, memory = statements["text"], statements["memory"]
    speakers = [_first_name(name) for name in reading.memories["speaker"].to_list()]
    profile = statements["profile_id"].to_list()
    speaker = _named_owner(profile, [speakers[place] for place in memory.to_list()])
    aliases = _aliases(text, speaker, profile)
    holders: list[set[str]] = [set() for _ in range(len(text))]
    first_known, implied = np.zeros(len(text), dtype=np.bool_), np.zeros(len(text), dtype=np.bool_)
    open_ended = np.zeros(len(text), dtype=np.bool_)
    seen: set[int] = set()
    capital = _capitalised(text)
    for row, sentence in split_sentences(text).select("row", "sentence").iter_rows():
        found = list(_subjects(sentence, speaker[row], capital))
        open_ended[row] |= not found and not _THIRD.match(sentence)
        if row not in seen:
            first_known[row] = bool(found)
            implied[row] = not found and _is_implied(sentence)
            seen.add(row)
        else:
            implied[row] = False
        holders[row].update(found)
    own_rows = np.zeros(len(text), dtype=np.bool_)
    named = np.zeros(len(text), dtype=np.bool_)
    cells: list[tuple[int, tuple[int, str]]] = []
    for row, about in enumerate(holders):
        every = set(about)
        for holder in about:
            every |= aliases.get((profile[row], holder), set())
        own_rows[row] = speaker[row] in about or _OWNER in about
        named[row] = any("." not in holder for holder in every)
        cells += [(row, (profile[row], holder)) for holder in every]
    columns = {key: place for place, key in enumerate(sorted({key for _, key in cells}))}
    words = _words(statements["low"], profile)
    named_anywhere = [*cells, *((row, key) for row, key in words if key in columns)]
    holding, mentioned = (
        sparse.csr_array(
            (np.ones(len(of)), ([row for row, _ in of], [columns[key] for _, key in of])),
            shape=(len(text), max(len(columns), 1)),
        )
        for of in (cells, named_anywhere)
    )
    known = first_known & ~open_ended
    return Subjects(
        [name for _, name in columns],
        holding,
        mentioned,
        known,
        named,
        implied,
        own_rows,
        statements["speaker"].to_numpy(),
    )


def _dot(one: sparse.csr_array, other: sparse.csr_array) -> NDArray[np.float64]:
    return np.asarray(one.multiply(other).sum(axis=1)).ravel()


def _words(low: pl.Series, profile: list[int]) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield the row of each word of folded statements, and the word with its profile."""
    for row, found in enumerate(low.str.extract_all(r"[\p{L}\p{M}]+").to_list()):
        for word in set(found):
            yield row, (profile[row], word)


def _capitalised(text: pl.Series) -> frozenset[str]:
    """Return the words that are written with a capital within a sentence, in lower case."""
    return frozenset(
        text.str.extract_all(r"\p{Ll},? \p{Lu}[\p{L}\p{M}]+")
        .explode()
        .drop_nulls()
        .str.extract(r"(\p{Lu}.*)")
        .str.to_lowercase()
    )


def only_subject(reading: Reading, about: Subjects, older: Rows, newer: Rows) -> Mask:
    """Return whether the statements of each pair have nothing but their subject in common: they say unrelated things.

    Cost: about 20 µs per statement that is in a pair.
    """
    rows, place = np.unique(np.concatenate([older, newer]), return_inverse=True)
    stems = [frozenset(found) for found in content_stems(reading.statements["low"].gather(rows)).to_list()]
    names = [frozenset(stem(key) for key in about.names(row)) for row in rows.tolist()]
    left, right = place[: len(older)].tolist(), place[len(older) :].tolist()
    apart = [
        stems[one].isdisjoint(stems[other] - names[one] - names[other]) for one, other in zip(left, right, strict=True)
    ]
    close = _dot(reading.weighted[older], reading.close[newer]) + _dot(reading.close[older], reading.weighted[newer])
    result: Mask = np.array(apart, dtype=np.bool_) & (close <= 0)
    return result


def _first_name(speaker: str | None) -> str:
    low = (speaker or "").strip().lower()
    return _OWNER if not low or low in USERS else low.split()[0]


def _named_owner(profile: list[int], speaker: list[str]) -> list[str]:
    """Return the speakers, the user by name where a profile has just one named speaker."""
    named: dict[int, set[str]] = {}
    for one, name in zip(profile, speaker, strict=True):
        if name != _OWNER:
            named.setdefault(one, set()).add(name)
    alone = {one: next(iter(found)) for one, found in named.items() if len(found) == 1}
    return [alone.get(one, name) if name == _OWNER else name for one, name in zip(profile, speaker, strict=True)]


def _aliases(text: pl.Series, speaker: list[str], profile: list[int]) -> dict[tuple[int, str], set[str]]:
    """Return other words for the same person, by profile and word: "my sister Ada" makes the sister and Ada one."""
    result: dict[tuple[int, str], set[str]] = {}

    def same(row: int, one: str, other: str) -> None:
        result.setdefault((profile[row], one), set()).add(other)

    for pattern in (*_ALIASES, _OWN_NAME):
        found = text.str.extract_groups(pattern).struct.unnest().with_row_index("row").drop_nulls("name")
        for match in found.iter_rows(named=True):
            row, name = int(match["row"]), match["name"].lower()
            if is_common(name):
                continue
            own = speaker[row]
            other = f"{own}.{match['relation'].lower()}" if "relation" in match else own
            same(row, name, other)
            same(row, other, name)
    # A relation that two people have stands for either, but the two stay different people.
    shared = {key for key, found in result.items() if "." in key[1] and len(found) > 1}
    return {
        key: {other for other in found if (key[0], other) not in shared} if "." not in key[1] else found
        for key, found in result.items()
    }


def _subjects(sentence: str, own: str, capital: frozenset[str]) -> Iterator[str]:
    """Yield whom a sentence is about, "owner.relation" for a person without a name."""
    text = _begun(sentence)
    if of := _OF.match(text):
        text = text[of.end() :]
    if _SPEAKER.match(text):
        yield own
        return
    if user := _USER.match(text):
        yield from _related(text[user.end() :].lstrip(), own) if user["owns"] else [own]
        return
    if my := _MY.match(text):
        yield from _related(text[my.end() :], own)
        return
    while (one := _ONE.match(text)) and _is_name(one["name"]) and _is_named(one["name"], capital):
        name = one["name"].replace("\u2019", "'")
        base, rest = name.removesuffix("'s").removesuffix("'").lower(), text[one.end() :]
        while not name.endswith("'s") and (more := re.match(rf" +({_WORD})", rest)) and _is_name(more[1]):
            name, rest = more[1].replace("\u2019", "'"), rest[more.end() :]
        if name.endswith("'s"):
            yield from _related(rest.lstrip(), base)
            return
        if _IDENTITY.match(rest):
            return
        yield base
        joint = _AND.match(rest)
        if not joint:
            return
        text = rest[joint.end() :]


def _related(rest: str, owner: str) -> list[str]:
    """Return who is meant by what belongs to someone: a relative, else the owner."""
    relative = _RELATIVE.match(rest)
    if not relative:
        return [owner]
    found = [f"{owner}.{relative['relation'].lower()}"]
    if not relative["owns"] and relative["name"] and _is_name(relative["name"]):
        found.append(relative["name"].lower())
    return found


def _begun(sentence: str) -> str:
    """Return a sentence without an introduction such as "On Monday, "."""
    introduction = _INTRODUCTION.match(sentence)
    if introduction and introduction["first"].lower() in STOP_WORDS | DATE_WORDS and not _OPEN.match(sentence):
        sentence = sentence[introduction.end() :]
    return sentence.lstrip(" \t\n\"'*#>-\u2022")


def _is_name(word: str) -> bool:
    base = word.replace("\u2019", "'").removesuffix("'s").removesuffix("'")
    return base[:1].isupper() and len(base) > 1 and base.lower() not in DATE_WORDS and not is_common(base)


def _is_named(word: str, capital: frozenset[str]) -> bool:
    """Return whether the first word of a sentence is a name: no word of the thesaurus, unless used as a name."""
    low = word.lower().replace("\u2019", "'")
    return low.endswith("'s") or low in capital or stem(low) not in thesaurus().places


def _is_implied(sentence: str) -> bool:
    """Return whether a sentence is short and begins with a bare noun or verb."""
    text = _begun(sentence)
    return text[:1].isalpha() and not _OPEN.match(text) and len(text.split()) <= _BRIEF
