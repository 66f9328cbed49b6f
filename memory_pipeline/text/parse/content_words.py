"""Meanings: what a text says, word by word, without the ways of saying it.

A *meaning* is a word after contractions are spelled out, inflections and synonyms are made one, the past is marked
(`+ed`) and pronouns are reduced to persons; articles and fillers have none. Two wordings of one fact have the same
meanings. What is not here: which differences of meaning matter (`differences`), topic words (`tokens`) and numbers,
dates and names as facts (`facts`).
"""

from functools import lru_cache
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en.lexicon import DATE_WORDS
from memory_pipeline.text.parse.facts import asks, statements
from memory_pipeline.text.parse.tokens import fold, is_common, split, stem

PAST: Final = "+ed"
"""Mark of the past, and of the participle."""
BREAK: Final = "ǂ"
"""End of a sentence; a letter, so that it is cut out like a word."""
NOT: Final = "not"
"""What every negator means."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS: Final = (
    r"by the way|(?:just )?so you know|i mean|to be (?:honest|fair|clear)|for the record|guess what|of course",
    r"(?:as|like) i (?:said|mentioned|told you|was saying)(?: before| earlier)?|as you (?:may |might |already )*know",
    r"in case you(?:'re| are| were)? wonder(?:ing|ed)?|in case you missed it|for what it's worth|believe it or not",
    r"(?:i )?(?:just |also |only )*want(?:ed)? to (?:say|mention|tell you|let you know|share|note|add)(?: that)?",
    r"(?:i )?(?:just )?(?:thought|figured) (?:i'd|i would|i should) (?:say|mention|share|add)(?: that)?",
    r"(?:i )?(?:just |also |only )*(?:have to|must|should|gotta) (?:say|mention|admit)(?: that)?|let me tell you",
    r"(?:a )?(?:quick |small |friendly |side )?(?:note|reminder|update|heads up)(?: to self)?(?: that\b| *[:,-])",
    r"(?:please )?(?:note|remember|recall|keep in mind) that|it(?:'s| is) worth (?:noting|mentioning) that",
    r"(?:it )?turns out(?: that)?|once again|at the moment|right now|these days|as of now|at this point|at present",
    r"kind of|sort of|a (?:little )?bit|a little|as well|or something|and stuff|and so on|if you ask me|in fact",
    r"in my opinion|after all|in short|long story short|anymore|any longer",
    r"did (?:you|i) (?:know|mention|tell you)(?: that)?|(?:believe|trust) (?:you )?me|i (?:can )?tell you",
    r"(?:i )?hope (?:you(?:'re| are)|all is|everything is|this finds you)(?: doing)? (?:well|fine|good|great|ok|okay)",
)
"""Phrases that announce or soften what is said, and say nothing themselves."""

_PHRASES: Final = (
    (rf"\b(?:{'|'.join(_FILLERS)})(?:\b|$|\s)", " "),
    (r"(?:'ve|'s| have| has) got\b", " have"),
    (r"\byou know([,.!?]|$)", "$1"),
    (r"^(?:no|nope|nah)[,.!]+ ", " "),
    (r"\bno longer\b", "not"),
    (r"\bused to\b", "formerly"),
    (r"\b(?:a lot|lots|plenty|loads|tons) of\b", "many"),
    (r"\bthinking (?:about|of)\b", "considering"),
    (r"\b(?:would|'d) (?:like|love) to\b", " want to"),
    (r"\btak(e|ing|es) part in\b", "join$1"),
    (r"\btook part in\b", "joined"),
    (r"\bin order to\b", "to"),
    (r"(\d)(?:st|nd|rd|th)\b", "$1"),
    (r"(\d)(\p{L})", "$1 $2"),
    (r"[.!?;\n]+(?:\s|$)", f" {BREAK} "),
)
"""Rewritings of folded text, in order; the last ones part figures from their units and mark the ends of sentences."""

_RESPELLED: Final = dict(
    pair.split("=")
    for pair in _set("""
    an=a im=i'm ive=i've
    dont=don't doesnt=doesn't didnt=didn't cant=can't wont=won't isnt=isn't wasnt=wasn't cannot=can't
    youre=you're theyre=they're gonna=going wanna=want gotta=must mum=mom mummy=mom cos=because cuz=because
    been=be being=be am=be is=be are=be has=have having=have does=do doing=do
    """)
)
_CLITICS: Final = {"n't": (NOT,), "'m": ("be",), "'re": ("be",), "'ve": ("have",), "'ll": ("will",), "'d": ("would",)}
_STUMPS: Final = {"ca": "can", "wo": "will", "sha": "shall"}
_BE_AFTER: Final = _set("he she it that there here what who where how this")
"""Words after which 's stands for "is", not for a possessor."""

_SILENT: Final = _set("""
the this that these those it its itself there of s just really so very also too quite actually basically literally
honestly oh ooh wow hey hi hello hiya yeah yes yep yup okay um uh hmm haha lol btw fyi anyway please truly totally
absolutely definitely simply indeed currently presently nowadays ever can any anything anyone anybody such
which who whom whose additionally moreover furthermore
""")
"""Words without a meaning of their own: determiners, intensifiers, interjections."""

SOFT: Final = _set(
    "a well pretty right even still super own rather now then already yet here ok fine else again thing stuff"
)
"""Words that often mean nothing, and something where they stand in the slot of another word ("well" for "badly")."""

_PERSONS: Final = {
    word: person
    for person, members in {
        "i": "i me my mine myself",
        "we": "we us our ours ourselves",
        "you": "you your yours yourself yourselves",
        "he": "he him his himself",
        "she": "she her hers herself",
        "they": "they them their theirs themselves",
    }.items()
    for word in members.split()
}
_NEGATORS: Final = _set("not no never none nobody nothing nowhere neither non")

LINKS: Final = {
    word: link
    for link, members in {
        "to": "to towards toward",
        "from": "from",
        "in": "in at inside within",
        "on": "on upon onto",
        "off": "off",
        "up": "up",
        "down": "down",
        "into": "into",
        "out": "out outside",
        "over": "over",
        "under": "under beneath underneath",
        "above": "above",
        "below": "below",
        "before": "before prior",
        "after": "after following",
        "since": "since",
        "until": "until till",
        "during": "during while",
        "with": "with alongside",
        "without": "without",
        "for": "for",
        "against": "against",
        "by": "by via per",
        "about": "about around approximately roughly regarding circa",
        "through": "through across",
        "between": "between among amongst",
        "and": "and plus",
        "but": "but though although however",
        "or": "or nor",
        "because": "because as",
        "when": "when whenever",
        "than": "than",
    }.items()
    for word in members.split()
}
"""Prepositions and conjunctions: they place what is said."""

OPPOSITES: Final = frozenset(
    frozenset(pair.split("/"))
    for pair in _set("""
    to/from before/after with/without for/against up/down over/under above/below into/out in/out on/off and/or
    since/until until/from is/was does/did
    """)
)
"""Links and auxiliaries that exclude each other in one slot."""

_IRREGULAR: Final = {
    form: base
    for base, forms in (
        pair.split("=")
        for pair in _set("""
        be=was,were become=became begin=began,begun bite=bit,bitten blow=blew,blown break=broke,broken bring=brought
        build=built burn=burnt buy=bought catch=caught choose=chose,chosen come=came deal=dealt dig=dug do=did,done
        draw=drew,drawn dream=dreamt drink=drank,drunk drive=drove,driven eat=ate,eaten fall=fell,fallen feed=fed
        feel=felt fight=fought find=found fly=flew,flown forget=forgot,forgotten forgive=forgave,forgiven
        freeze=froze,frozen get=got,gotten give=gave,given go=went,gone grow=grew,grown hang=hung have=had hear=heard
        hide=hid,hidden hold=held keep=kept know=knew,known lead=led learn=learnt leave=left lend=lent lose=lost
        make=made mean=meant meet=met pay=paid ride=rode,ridden ring=rang,rung rise=rose,risen run=ran say=said
        see=saw,seen seek=sought sell=sold send=sent shake=shook,shaken shoot=shot show=shown sing=sang,sung
        sink=sank,sunk sit=sat sleep=slept speak=spoke,spoken spend=spent spill=spilt stand=stood steal=stole,stolen
        swim=swam,swum take=took,taken teach=taught tear=tore,torn tell=told think=thought throw=threw,thrown
        understand=understood wake=woke,woken wear=wore,worn win=won write=wrote,written
        """)
    )
    for form in forms.split(",")
}
"""Past forms and participles that do not end in -ed."""

_WHOLE: Final = {
    "have": "have", "had": "have+ed", "hardly": "hardly", "barely": "hardly", "scarcely": "hardly", "nearly": "almost",
    "lately": "recent", "shortly": "soon", "likely": "likely", "huge": "big", "lovely": "lovely",
}  # fmt: skip
"""Words whose stem would be another word's."""

_SYNONYMS: Final = """
buy purchase; begin start commence; finish complete; big large; small little tiny; quick fast rapid; talk chat
speak; help assist aid; happy glad; sad unhappy; love adore; hate detest; car auto automobile; bike bicycle; kid child
children; mom mother; dad father daddy; grandma grandmother granny; grandpa grandfather; photo picture photograph pic;
movie film; apartment flat; holiday vacation; house home; doctor physician; company firm; shop store; phone telephone;
tv television telly; fridge refrigerator; sofa couch; trash garbage rubbish; sick ill unwell; tired exhausted; scared
afraid frightened terrified; smart clever intelligent; beautiful gorgeous; great awesome amazing fantastic
wonderful incredible excellent terrific superb fabulous; funny hilarious; difficult hard tough; easy simple; important
crucial essential vital; choose pick select; fix repair mend; make create; require need; allow permit; ask inquire;
answer reply respond; live reside dwell; move relocate; trip journey; gift present; dinner supper; favorite preferred;
many numerous; often frequently; rarely seldom; usually typically normally generally; always constantly; maybe perhaps
possibly; immediately instantly; finally eventually; error mistake; issue problem; use
utilize employ; reduce decrease lower; increase raise; remove delete; change modify alter; improve enhance; check
verify; stop cease quit resign; keep retain; gather collect; understand comprehend; husband hubby; hike
trek; terrible awful horrible; strange weird odd; rich wealthy; nearby close; entire whole; main primary principal;
wrong incorrect; brave courageous; calm peaceful; noisy loud; silent quiet; delicious tasty yummy; ocean sea; forest
woods; rug carpet; attorney lawyer; teacher instructor; author writer; song tune; grey gray; cosy cozy; program
programme; catalog catalogue; check cheque; airplane aeroplane plane; jewelry jewellery; pajamas pyjamas; defense
defence; excited thrilled; enjoy like; get receive obtain; all every each everyone everybody everything; info
information; app application; bday birthday; pc computer; uni university; prof professor; veggie vegetable; kitty cat;
doggy dog; buddy friend pal mate; couple pair; shocked stunned; rent lease; goal aim objective; last previous;
dollar buck usd; minute mins; taxi cab
"""
"""Groups of words for one thing; the first stands for all."""

_OPERATORS: Final = """
will would could might should must shall if unless almost hardly formerly want plan try intend refuse avoid pretend
stop other another former fake alleged supposed instead except without maybe consider
only less least fewer more most half old ex
say tell claim think believe hope dream guess suppose imagine doubt suspect expect promise deny seem rumor hear
"""

_PLACING: Final = """
recently finally suddenly usually often always sometimes occasionally eventually last next all if unless together alone
"""

_NUMERALS: Final = """
once twice dozen hundred thousand million billion half thirteen fourteen fifteen sixteen seventeen eighteen nineteen
twenty thirty forty fifty sixty seventy eighty ninety am pm noon midnight midday clock
"""
_MONEY: Final = "dollar euro buck usd eur gbp quid percent cent"
"""Units that are part of numbers as facts."""

_ALIKE: Final = frozenset(
    frozenset(pair.split("/"))
    for pair in _set("""
    country/county countries/counties desert/dessert desserts/deserts friend/fiend friends/fiends united/untied
    marital/martial sacred/scared casual/causal casually/causally adoption/adaption loosing/losing dinner/diner
    dinners/diners supper/super latter/later personal/personnel
    """)
)
"""Words of their own that differ by one letter."""

_AUXILIARIES: Final = {"be": "is", "be+ed": "was", "do": "does", "do+ed": "did"}
_VOWELS: Final = frozenset("aeiou")
_REMEMBERED: Final = 1 << 16
"""Words whose meaning is kept at hand."""
_TYPO_LETTERS: Final = 5
"""Shortest word in which a slip counts as mistyped rather than as another word."""


def readings(texts: pl.Series) -> pl.DataFrame:
    """Read each distinct text.

    Args:
        texts: strings; null counts as empty.

    Returns:
        content: the text.
        said: every meaning in order; parted: the same with `BREAK` after each sentence.
        meant: those that are no link, auxiliary, negator or soft word, distinct; linked: those that are.
        denials: number of negators.
        asks: the text only asks; states: it asks nothing.
        spelled: words as written, lower-case, without clitics, distinct.
        One row a distinct text, sorted. Cost: about 10 s for a million short texts.
    """
    distinct = texts.unique().sort()
    cut = pl.DataFrame(
        {"row": pl.int_range(len(distinct), dtype=pl.UInt32, eager=True), "word": split(_rewritten(distinct))}
    )
    found = cut.explode("word").drop_nulls("word")
    known = found["word"].unique().sort()
    table = pl.DataFrame(
        {
            "word": known,
            "meaning": [list(meanings(word)) for word in known],
            "spelled": [_parted(word)[0] for word in known],
        },
        schema={"word": pl.String, "meaning": pl.List(pl.String), "spelled": pl.String},
    )
    found = found.join(table, on="word", how="left", maintain_order="left")
    said = _settled(found.select("row", "word", "meaning").explode("meaning").drop_nulls("meaning"))
    linking = pl.col("meaning").is_in(sorted(UNPLACED | {NOT}))
    lists = said.group_by("row", maintain_order=True).agg(
        said=pl.col("meaning").filter(pl.col("meaning") != BREAK),
        parted=pl.col("meaning"),
        meant=pl.col("meaning").filter(~linking).unique().sort(),
        linked=pl.col("meaning").filter(linking).unique().sort(),
        denials=(pl.col("meaning") == NOT).sum().cast(pl.Int64),
    )
    spelled = found.group_by("row", maintain_order=True).agg(pl.col("spelled").unique().sort())
    return (
        pl.DataFrame([distinct.alias("content"), *_moods(distinct)])
        .with_row_index("row")
        .join(lists, on="row", how="left", maintain_order="left")
        .join(spelled, on="row", how="left", maintain_order="left")
        .drop("row")
        .with_columns(
            pl.col("said", "parted", "meant", "linked", "spelled").fill_null([]), pl.col("denials").fill_null(0)
        )
    )


def meanings(word: str) -> tuple[str, ...]:
    """What one lower-case word means: usually one meaning, two for a contraction, none for an article or a filler."""
    bare, clitic = _parted(word)
    tail = _CLITICS.get(clitic, ())
    if clitic == "'s" and bare in _BE_AFTER:
        tail = ("be",)
    if bare == BREAK:
        return (BREAK,)
    if bare in _NEGATORS:
        return (NOT, *tail)
    if bare in _PERSONS or bare in LINKS:
        return (_PERSONS.get(bare) or LINKS[bare], *tail)
    if bare in _SILENT:
        return tail
    return (bare if bare in SOFT else key(bare), *tail)


@lru_cache(maxsize=_REMEMBERED)
def key(word: str) -> str:
    """The meaning of a plain word: its stem, of the synonyms the first, marked when it stands in the past."""
    if word in _WHOLE:
        return _WHOLE[word]
    base = _IRREGULAR.get(word)
    past = PAST if base or (word.endswith("ed") and stem(word) != word) else ""
    root = _spelling(stem(base or word))
    return _SAME.get(root + past) or _SAME.get(root, root) + past


def known(word: str) -> bool:
    """Whether a lower-case word is a common one, or one that has a meaning of its own here."""
    bare = _parted(word)[0]
    given = _SILENT, SOFT, _PERSONS, LINKS, _NEGATORS, _RESPELLED, _IRREGULAR, _WHOLE, DATE_WORDS
    return is_common(bare) or any(bare in words for words in given) or key(bare).removesuffix(PAST) in _KNOWN


def alike(one: str, other: str) -> bool:
    """Whether two words look like one that was mistyped: a letter too many or too few, swapped, or another vowel."""
    short, long = sorted((one, other), key=len)
    first = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < _TYPO_LETTERS or not 0 < first < len(short) - 1 or frozenset((short, long)) in _ALIKE:
        return False
    if len(long) == len(short) + 1:
        return short[first:] == long[first + 1 :]
    swapped = long[first + 1] + long[first] + long[first + 2 :]
    vowels = short[first] in _VOWELS and long[first] in _VOWELS and short[first + 1 :] == long[first + 1 :]
    return len(long) == len(short) and (short[first:] == swapped or vowels) and short.isascii()


def _rewritten(texts: pl.Series) -> pl.Series:
    texts = fold(texts)
    for pattern, instead in _PHRASES:
        texts = texts.str.replace_all(pattern, instead)
    return texts


def _moods(texts: pl.Series) -> list[pl.Series]:
    low = fold(texts)
    marked = low.str.contains("?", literal=True)
    asking = asks(low)
    return [
        (asking & (~marked | ~statements(low).str.contains(r"\p{L}"))).alias("asks"),
        (~asking & ~marked).alias("states"),
    ]


def _parted(word: str) -> tuple[str, str]:
    """A word without its clitic, and the clitic."""
    word = _RESPELLED.get(word, word)
    if word.endswith("n't"):
        bare = word.removesuffix("n't")
        return _STUMPS.get(bare) or _RESPELLED.get(bare, bare), "n't"
    bare, mark, tail = word.partition("'")
    bare = _RESPELLED.get(bare, bare)
    return (bare, mark + tail) if f"{mark}{tail}" in _CLITICS or tail in {"s", ""} else (word, "")


def _spelling(root: str) -> str:
    """American spelling of a stem."""
    if len(root) <= 4:  # noqa: PLR2004
        return root
    root = root.replace("our", "or")
    root = root[:-2] + "iz" if root.endswith("is") else root[:-1] + "er" if root.endswith("tr") else root
    return root[:-1] if root.endswith("ll") else root


def _settled(said: pl.DataFrame) -> pl.DataFrame:
    """Tell auxiliaries, which help another word, from the same verbs standing for themselves, by what follows.

    Helping, `have` goes, `be` becomes the link `is` (past `was`) and `do` the link `does` (past `did`).
    """
    places = said["meaning"].is_in([*_AUXILIARIES, "have", "have+ed"]).arg_true()
    verb = said["meaning"].gather(places)
    first, second = (_following(said, places, step) for step in (1, 2))
    skipped = pl.col("meaning").is_in([NOT, *sorted(set(_PERSONS.values()))]).fill_null(value=False)
    after = first.select(
        pl.when(skipped).then(second[name]).otherwise(pl.col(name)).alias(name) for name in ("meaning", "word")
    )
    participle = pl.col("meaning").str.ends_with(PAST) | (pl.col("meaning") == "be")
    helps = (
        pl.when(pl.col("verb").is_in(["be", "be+ed"]))
        .then(participle | pl.col("word").str.ends_with("ing"))
        .when(pl.col("verb").is_in(["do", "do+ed"]))
        .then("skipped")
        .otherwise(participle)
    )
    told = after.with_columns(verb.alias("verb"), first.select(skipped).to_series().alias("skipped")).select(
        pl.when(helps.fill_null(value=False))
        .then(pl.col("verb").replace_strict(_AUXILIARIES, default=None, return_dtype=pl.String))
        .otherwise("verb")
    )
    return said.select("row", said["meaning"].clone().scatter(places, told.to_series())).drop_nulls()


def _following(said: pl.DataFrame, places: pl.Series, step: int) -> pl.DataFrame:
    """Meaning and word that many words later in the same text; null behind its end."""
    there = (places + step).clip(upper_bound=max(len(said) - 1, 0))
    same = (said["row"].gather(there) == said["row"].gather(places)) & (there > places)
    return said[there].select(pl.when(same).then(pl.col("meaning", "word")))


def _same() -> dict[str, str]:
    """Of each synonym the first of its group."""
    groups = [[key(word) for word in group.split()] for group in _SYNONYMS.split(";")]
    return {word: group[0] for group in groups for word in group[1:]}


_SAME: dict[str, str] = {}
_SAME |= _same()
key.cache_clear()
OPERATORS: Final = frozenset(key(word) + past for word in _OPERATORS.split() for past in ("", PAST))
"""Meanings that turn a fact into a wish, a doubt, hearsay, a condition or its end: on one side alone they change it."""
COUNTED: Final = frozenset(key(word) for word in _NUMERALS.split())
"""Meanings that are part of numbers, amounts and times of day, besides digits."""
DATED: Final = frozenset(key(word) for word in DATE_WORDS) - COUNTED
"""Meanings that are part of dates, besides digits."""
_KNOWN: Final = frozenset(_SAME) | frozenset(_SAME.values()) | OPERATORS | COUNTED | DATED | {*_MONEY.split()}
"""Meanings that are named in this module."""
PLACING: Final = frozenset(key(word) for word in _PLACING.split())
"""Adverbs and conjunctions that begin a phrase which may stand anywhere in a sentence."""
UNPLACED: Final = frozenset(LINKS.values()) | SOFT | {BREAK, *_AUXILIARIES.values()}
"""Meanings whose place says nothing by itself."""
