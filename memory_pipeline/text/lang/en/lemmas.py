"""Lemmas of English words: one form for all inflections, contractions and synonyms of a word.

Beyond the base form, a lemma here merges synonyms, carries a mark of the past (`+ed`) and reduces pronouns to persons;
articles and fillers have none. Two wordings of one fact have the same lemmas. Not here: lemmas of whole texts
(`parse/lemmatize`), stems for keywords (`stemming`), and which differences in wording matter (`compare/merge_guard`).
"""

from functools import lru_cache
from typing import Final

from memory_pipeline.text.lang.en.lexicon import DATE_WORDS
from memory_pipeline.text.lang.en.stemming import stem

PAST: Final = "+ed"
"""Mark of past forms and participles."""

SENTENCE_END: Final = "ǂ"
"""End of a sentence; a letter, so that tokenization keeps it as a word."""

NOT: Final = "not"
"""Lemma of every negator."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RESPELLINGS: Final = dict(
    pair.split("=")
    for pair in _set("""
    an=a im=i'm ive=i've
    n't=not dont=don't doesnt=doesn't didnt=didn't cant=can't wont=won't isnt=isn't wasnt=wasn't cannot=can't
    youre=you're theyre=they're gonna=going wanna=want gotta=must mum=mom mummy=mom cos=because cuz=because
    been=be being=be am=be is=be are=be has=have having=have does=do doing=do
    """)
)

_CLITICS: Final = {"n't": (NOT,), "'m": ("be",), "'re": ("be",), "'ve": ("have",), "'ll": ("will",), "'d": ("would",)}

_CONTRACTED_STEMS: Final = {"ca": "can", "wo": "will", "sha": "shall"}

_BE_AFTER: Final = _set("he she it that there here what who where how this")
"""Words after which 's stands for "is" and not for a possessor."""

_EMPTY_WORDS: Final = _set("""
the this that these those it its itself there of s just really so very also too quite actually basically literally
honestly oh ooh wow hey hi hello hiya yeah yes yep yup okay um uh hmm haha lol btw fyi anyway please truly totally
absolutely definitely simply indeed ever any anything anyone anybody such
which who whom whose additionally moreover furthermore
""")
"""Words without a lemma: determiners, intensifiers, interjections."""

WEAK_WORDS: Final = _set(
    "a well pretty right even still super own rather now then already yet here ok fine else again thing stuff"
)
"""Words that are mostly empty but count where they replace another word ("well" for "badly")."""

PERSONS: Final = {
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

CONNECTIVES: Final = {
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
"""Prepositions and conjunctions."""

OPPOSITES: Final = frozenset(
    frozenset(pair.split("/"))
    for pair in _set("""
    to/from before/after with/without for/against up/down over/under above/below into/out in/out on/off and/or
    since/until until/from is/was does/did
    """)
)
"""Connectives and auxiliaries that exclude each other in one position."""

_IRREGULAR_PAST: Final = {
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

_FIXED_LEMMAS: Final = {
    "have": "have", "had": "have+ed", "hardly": "hardly", "barely": "hardly", "scarcely": "hardly", "nearly": "almost",
    "lately": "recent", "shortly": "soon", "likely": "likely", "huge": "big", "lovely": "lovely",
}  # fmt: skip
"""Words whose stem is that of another word."""

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
"""Groups of synonyms; the first word is the lemma of all."""

_OPERATORS: Final = """
will would could might should must shall if unless almost hardly formerly want plan try intend refuse avoid pretend
stop other another former fake alleged supposed instead except without maybe consider
only less least fewer more most half old ex
say tell claim think believe hope dream guess suppose imagine doubt suspect expect promise deny seem rumor hear
"""

_OPENING_WORDS: Final = """
recently finally suddenly usually often always sometimes occasionally eventually last next all if unless together alone
"""

_NUMBER_WORDS: Final = """
once twice dozen hundred thousand million billion half thirteen fourteen fifteen sixteen seventeen eighteen nineteen
twenty thirty forty fifty sixty seventy eighty ninety am pm noon midnight midday clock
"""

_LOOKALIKES: Final = frozenset(
    frozenset(pair.split("/"))
    for pair in _set("""
    country/county countries/counties desert/dessert desserts/deserts friend/fiend friends/fiends united/untied
    marital/martial sacred/scared casual/causal casually/causally adoption/adaption loosing/losing dinner/diner
    dinners/diners supper/super latter/later personal/personnel
    """)
)
"""Pairs of words that differ by one letter and are not typos of each other."""

AUXILIARIES: Final = {"be": "is", "be+ed": "was", "do": "does", "do+ed": "did"}

_VOWELS: Final = frozenset("aeiou")

_CACHED_WORDS: Final = 1 << 16
"""Size of the cache of lemmas."""

_MIN_TYPO_LETTERS: Final = 5
"""Shortest word in which a changed letter counts as a typo rather than as another word."""


def lemmas(word: str) -> tuple[str, ...]:
    """Return the lemmas of one lower-case word: usually one, two for a contraction, none for an article or a filler."""
    base, clitic = split_clitic(word)
    expansion = _CLITICS.get(clitic, ())
    if clitic == "'s" and base in _BE_AFTER:
        expansion = ("be",)
    if base == SENTENCE_END:
        return (SENTENCE_END,)
    if base in _NEGATORS:
        return (NOT, *expansion)
    if base in PERSONS or base in CONNECTIVES:
        return (PERSONS.get(base) or CONNECTIVES[base], *expansion)
    if base in _EMPTY_WORDS:
        return expansion
    return (base if base in WEAK_WORDS else lemma(base), *expansion)


@lru_cache(maxsize=_CACHED_WORDS)
def lemma(word: str) -> str:
    """Return the lemma of a plain word: the stem of its first synonym, with `PAST` if it is a past form."""
    if word in _FIXED_LEMMAS:
        return _FIXED_LEMMAS[word]
    base = _IRREGULAR_PAST.get(word)
    past = PAST if base or (word.endswith("ed") and stem(word) != word) else ""
    root = _american_spelling(stem(base or word))
    return _FIRST_SYNONYM.get(root + past) or _FIRST_SYNONYM.get(root, root) + past


def may_be_typo(one: str, other: str) -> bool:
    """Return whether a word looks like a typo of another: a letter added, dropped or swapped, or another vowel."""
    short, long = sorted((one, other), key=len)
    first = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < _MIN_TYPO_LETTERS or not 0 < first < len(short) - 1 or frozenset((short, long)) in _LOOKALIKES:
        return False
    if len(long) == len(short) + 1:
        return short[first:] == long[first + 1 :]
    swapped = long[first + 1] + long[first] + long[first + 2 :]
    vowels = short[first] in _VOWELS and long[first] in _VOWELS and short[first + 1 :] == long[first + 1 :]
    return len(long) == len(short) and (short[first:] == swapped or vowels) and short.isascii()


def split_clitic(word: str) -> tuple[str, str]:
    """Split a word into its base and its clitic, spelled out (n't, 'll, 's); the clitic may be empty."""
    word = _RESPELLINGS.get(word, word)
    if word.endswith("n't"):
        base = word.removesuffix("n't")
        return _CONTRACTED_STEMS.get(base) or _RESPELLINGS.get(base, base), "n't"
    base, mark, tail = word.partition("'")
    base = _RESPELLINGS.get(base, base)
    return (base, mark + tail) if f"{mark}{tail}" in _CLITICS or tail in {"s", ""} else (word, "")


def _american_spelling(root: str) -> str:
    """Return the American spelling of a stem."""
    if len(root) <= 4:  # noqa: PLR2004
        return root
    root = root.replace("our", "or")
    root = root[:-2] + "iz" if root.endswith("is") else root[:-1] + "er" if root.endswith("tr") else root
    return root[:-1] if root.endswith("ll") else root


def _first_synonyms() -> dict[str, str]:
    """Map each synonym to the first of its group."""
    groups = [[lemma(word) for word in group.split()] for group in _SYNONYMS.split(";")]
    return {word: group[0] for group in groups for word in group[1:]}


_FIRST_SYNONYM: dict[str, str] = {}  # `lemma` reads it while it is being filled

_FIRST_SYNONYM |= _first_synonyms()

lemma.cache_clear()

OPERATORS: Final = frozenset(lemma(word) + past for word in _OPERATORS.split() for past in ("", PAST))
"""Lemmas that turn a fact into a wish, a doubt, hearsay, a condition or its end; if only one text has them, it states
another fact."""

NUMBER_LEMMAS: Final = frozenset(lemma(word) for word in _NUMBER_WORDS.split())
"""Lemmas that are part of numbers, amounts and times of day, besides digits."""

DATE_LEMMAS: Final = frozenset(lemma(word) for word in DATE_WORDS) - NUMBER_LEMMAS
"""Lemmas that are part of dates, besides digits."""

PHRASE_OPENERS: Final = frozenset(lemma(word) for word in _OPENING_WORDS.split())
"""Adverbs and conjunctions that open a phrase of free position in its sentence."""

FUNCTION_LEMMAS: Final = frozenset(CONNECTIVES.values()) | WEAK_WORDS | {SENTENCE_END, *AUXILIARIES.values()}
"""Lemmas whose position in a sentence carries no information of its own."""
