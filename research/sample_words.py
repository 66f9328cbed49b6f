"""Vocabulary of the sample generator, written for this project: names, places, things and activities.

Not here: sentences (`sample_patterns.py`) and the generation of stories (`sample.py`).
"""

from dataclasses import dataclass
from typing import Final


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split("|"))


@dataclass(frozen=True)
class Domain:
    """One part of life: phrases that fit any pattern with the slot of that name."""

    act: tuple[str, ...]
    """Verb phrases in their base form."""
    thing: tuple[str, ...]
    detail: tuple[str, ...]
    """How, where or when something is done."""
    outcome: tuple[str, ...]
    """Clauses that say what came of it."""


def _domain(act: str, thing: str, detail: str, outcome: str) -> Domain:
    return Domain(_phrases(act), _phrases(thing), _phrases(detail), _phrases(outcome))


DOMAINS: Final = (
    _domain(
        "prune the apple trees | sow carrots between the onions | mulch the rose bed | build a raised bed | water "
        "the tomatoes | divide the peonies | compost the hedge clippings | graft an old pear | net the cherries | "
        "weed the gravel path | plant garlic | repot the lemon tree",
        "hedge trimmer | greenhouse | rain barrel | seed catalogue | wheelbarrow | cold frame | trellis | garden hose",
        "before the first frost | along the south wall | with a sharp spade | after heavy rain | under the old "
        "walnut | in the shady corner | at dawn | with bone meal",
        "the slugs stay away | the harvest doubles | the soil stays moist for days | the blossoms last longer | "
        "the neighbours ask for cuttings | nothing rots in the shed | the bees come back | the lawn recovers",
    ),
    _domain(
        "bake sourdough | pickle cucumbers | roast coffee | cure salmon | fold dumplings | reduce the stock | "
        "temper chocolate | ferment chilli paste | grind spices | stretch pizza dough | poach eggs | candy orange "
        "peel",
        "cast iron pan | pasta machine | pressure cooker | spice rack | bread oven | carving knife | mortar | "
        "waffle iron",
        "with smoked salt | overnight in the fridge | on a low flame | without any sugar | for the whole street | "
        "from a handwritten recipe | in duck fat | with toasted cumin",
        "the crust turns crisp | the kitchen smells of cardamom | nobody leaves leftovers | the sauce splits less "
        "often | the dough rises evenly | the guests want seconds | the bitterness fades | dinner is ready by "
        "seven",
    ),
    _domain(
        "run hill repeats | stretch both hamstrings | swim two kilometres | lift the heavy kettlebell | sign up "
        "for the half marathon | foam roll the calves | pace the last mile | skip rope | row intervals | track "
        "the resting pulse | climb the indoor wall | taper before race day",
        "running watch | yoga mat | rowing machine | knee brace | protein powder | swimming cap | gym card | treadmill",
        "around the reservoir | barefoot on grass | in the freezing rain | with a slow warm-up | at lunchtime | "
        "after physiotherapy | on an empty stomach | with the running club",
        "the shin pain disappears | recovery takes half as long | the pulse drops by ten | motivation lasts all "
        "month | sleep gets deeper | the finish line feels close | the old injury stays quiet | breathing becomes "
        "easier",
    ),
    _domain(
        "refactor the billing module | cache the search results | profile the slow query | delete dead feature "
        "flags | write integration tests | pin the compiler version | split the monolith | rotate the access keys "
        "| review the merge request | document the public interface | migrate the job queue | trace the memory "
        "leak",
        "build server | staging cluster | linter | message broker | feature flag | test suite | debugger | code "
        "generator",
        "behind a feature flag | in one atomic commit | with property tests | on the release branch | before code "
        "freeze | during the on-call week | without downtime | in a pair session",
        "the build turns green | latency halves | reviewers stop complaining | deployments take four minutes | "
        "the pager stays silent | flaky tests vanish | the error budget recovers | onboarding gets simpler",
    ),
    _domain(
        "backfill the warehouse tables | deduplicate the customer rows | chart weekly churn | forecast the demand "
        "| label the survey answers | join the telemetry streams | sample the click logs | publish the revenue "
        "dashboard | validate the schema | archive cold partitions | rank the anomalies | reconcile the ledgers",
        "dashboard | notebook | query planner | column store | data catalogue | sampling script | lineage graph | "
        "pivot table",
        "for the quarterly review | on the anonymised extract | with a rolling window | in the nightly batch | "
        "against last year's baseline | per region | with a fixed seed | from raw exports",
        "the totals finally agree | seasonality becomes visible | outliers explain themselves | the report loads "
        "instantly | finance trusts the figures | null values drop to zero | sampling bias shrinks | storage "
        "costs fall",
    ),
    _domain(
        "book the night train | pack a single rucksack | renew the passport | hike to the mountain hut | rent a "
        "canoe | cross the border by ferry | learn to read the tide table | exchange some currency | pitch the "
        "tent | photograph the lighthouse | camp by the fjord | visit the old observatory",
        "sleeping bag | rail pass | guidebook | head torch | travel adapter | folding map | water filter | suitcase",
        "in the shoulder season | via the coastal route | with hand luggage only | during the monsoon | on the "
        "slow ferry | over the high pass | without a reservation | with a local guide",
        "the crowds thin out | the fare costs half | jet lag hardly shows | the view opens up | the luggage "
        "arrives first | the hostel upgrades the room | every connection works | blisters heal quickly",
    ),
    _domain(
        "sand the staircase | plaster the hallway | insulate the attic | rewire the cellar lights | tile the "
        "shower | hang the oak door | strip the wallpaper | level the kitchen floor | replace the gutter | paint "
        "the window frames | fix the dripping tap | seal the balcony",
        "belt sander | spirit level | paint roller | cordless drill | stepladder | circuit tester | tile cutter | "
        "caulking gun",
        "with lime plaster | room by room | after the inspection | using reclaimed timber | over the long weekend "
        "| with two coats of primer | under the landlord's supervision | before the movers come",
        "the draught stops | heating bills shrink | the damp patch dries | doors close without a squeak | the "
        "echo vanishes | the inspector signs off | dust gets everywhere | the room looks larger",
    ),
    _domain(
        "rehearse the string quartet | tune the upright piano | transcribe the guitar solo | record a demo | "
        "restring the mandolin | sight-read the chorale | practise scales | arrange the folk song | mix the drum "
        "track | memorise the cadenza | sing the alto part | oil the valves",
        "metronome | music stand | loop pedal | violin bow | mixing desk | songbook | amplifier | tuning fork",
        "at half tempo | in the village church | with the sheet music closed | for the summer concert | through "
        "headphones | in the key of D | after choir practice | with a click track",
        "the intonation settles | the audience hums along | the rhythm locks in | stage fright fades | the chords "
        "ring longer | the left hand relaxes | the recording sounds warm | the conductor nods",
    ),
    _domain(
        "conjugate irregular verbs | read a Portuguese novel | shadow the news podcast | write flash cards | swap "
        "lessons online | translate song lyrics | roll the letter R | keep a diary in Welsh | drill the tones | "
        "label the furniture | watch films with subtitles | order food in Greek",
        "grammar book | phrase list | dictionary app | vocabulary box | language exchange | accent trainer | "
        "workbook | podcast",
        "for fifteen minutes | on the commute | out loud | with a native speaker | without looking anything up | "
        "before the oral exam | in the evening class | by spaced repetition",
        "new words stick | mistakes become funny | the accent softens | small talk flows | the examiner smiles | "
        "reading speed doubles | idioms make sense | confidence grows",
    ),
    _domain(
        "rebalance the pension fund | cancel the unused insurance | file the tax return | open a savings account "
        "| pay off the car loan | track grocery spending | split the utility bill | freeze the credit card | "
        "negotiate the mortgage rate | budget for the roof | claim travel expenses | donate to the shelter",
        "tax software | savings plan | receipt folder | credit card | insurance policy | spreadsheet | standing "
        "order | piggy bank",
        "before the fiscal year ends | in equal instalments | with an adviser | through the mobile bank | to the "
        "last cent | from the joint account | after the pay rise | with a paper trail",
        "interest payments shrink | the refund arrives early | nothing is overdue | the emergency fund grows | "
        "the auditor finds nothing | fees disappear | the budget balances | surprises cost less",
    ),
    _domain(
        "interview the candidates | draft the job advert | run the retrospective | mentor the interns | rotate "
        "the team leads | write the onboarding guide | schedule one-to-ones | cap the meeting length | survey the "
        "staff | plan the offsite | delegate the vendor calls | review the salaries",
        "org chart | meeting room | hiring rubric | whiteboard | handbook | shared calendar | name badge | "
        "suggestion box",
        "with a clear agenda | in small groups | without slides | across both offices | before the probation ends "
        "| over a walk | with anonymous votes | in the first week",
        "people speak up | turnover slows | decisions take a day | newcomers feel at home | the calendar empties "
        "| misunderstandings shrink | the offers get accepted | feedback becomes honest",
    ),
    _domain(
        "walk the greyhound | vaccinate the kittens | clean the aquarium | train the parrot | brush the pony | "
        "trim the rabbit's claws | foster a stray | weigh the puppy | change the cat litter | build an aviary | "
        "socialise the terrier | feed the hedgehogs",
        "dog lead | cat flap | feeding bowl | travel crate | fish tank | saddle | chew toy | scratching post",
        "with dried liver | before the vet opens | in the back yard | twice a day | without raising the voice | "
        "on the beach | during fireworks | using a clicker",
        "the barking stops | the fur shines | the vet looks pleased | the neighbours relax | the tail never rests "
        "| shedding slows | appetite returns | the old cat purrs",
    ),
    _domain(
        "develop black and white film | shoot the harbour | edit the wedding album | calibrate the monitor | scan "
        "old negatives | frame the portrait | borrow a macro lens | light the studio | print on cotton paper | "
        "crop the skyline | catch the blue hour | back up the raw files",
        "tripod | light meter | zoom lens | darkroom | memory card | reflector | camera bag | photo printer",
        "with natural light | from a low angle | in the drizzle | at f eight | against the sun | with a long "
        "exposure | through the shop window | at the fish market",
        "the grain looks gentle | the colours match the print | faces stay sharp | the gallery calls back | "
        "shadows keep detail | the client picks three | the horizon is straight | noise disappears",
    ),
    _domain(
        "carve a spoon | turn a walnut bowl | sharpen the chisels | glue the chair leg | plane the table top | "
        "cut dovetails | oil the cutting board | build a bookcase | varnish the canoe | sketch the cabinet | "
        "steam the ash strips | salvage the floorboards",
        "workbench | hand plane | band saw | wood lathe | clamp | mallet | marking gauge | dust extractor",
        "from green birch | with linseed oil | along the grain | in the shared workshop | with Japanese saws | to "
        "a tenth of a millimetre | without screws | from storm wood",
        "the joint holds | the grain glows | splinters are history | the drawer slides | the shavings curl | the "
        "legs stop wobbling | the finish dries clear | the apprentice beams",
    ),
    _domain(
        "sort the recycling | coach the junior team | run the book fair | repair donated bicycles | staff the "
        "food bank | paint the youth club | drive the meals round | translate for newcomers | plant street trees "
        "| teach chess | collect winter coats | count the ballots",
        "donation box | minibus | community hall | first aid kit | notice board | raffle | soup kettle | megaphone",
        "on Saturday mornings | for the whole district | with the scouts | despite the storm | in three shifts | "
        "before the elections | beside the library | with borrowed tools",
        "twice as many people come | the mayor takes notice | volunteers stay longer | the shelves fill up | "
        "strangers become friends | the waste drops | children drag their parents along | the local paper writes "
        "about it",
    ),
    _domain(
        "negotiate the cloud contract | launch the newsletter | redesign the landing page | test the subject "
        "lines | sponsor the podcast | interview lapsed customers | rename the product line | print trade fair "
        "posters | segment the mailing list | film a short demo | localise the website | cut the advert budget",
        "landing page | press kit | sales funnel | price list | loyalty card | billboard | webinar | brand guide",
        "for the spring campaign | with two variants | in plain language | through local shops | before the trade "
        "fair | with customer quotes | on a tiny budget | in five languages",
        "sign-ups climb | refunds drop | the bounce rate falls | journalists call back | customers recommend us | "
        "the pipeline fills | competitors copy it | the campaign pays for itself",
    ),
    _domain(
        "see the cardiologist | take vitamin D | log the migraine | change the bandage | book the eye test | "
        "refill the inhaler | measure blood pressure | drink less coffee | get the flu jab | do the breathing "
        "exercise | avoid peanuts | elevate the ankle",
        "pill box | hearing aid | heating pad | blood test | physiotherapist | sleep diary | thermometer | "
        "prescription",
        "before breakfast | as the doctor said | with plenty of water | for six weeks | in the dark bedroom | "
        "after the operation | with a humidifier | lying down",
        "the headaches fade | the rash clears | the values normalise | fatigue lifts | the swelling goes down | "
        "the doctor is content | nights pass quietly | the dose can be halved",
    ),
    _domain(
        "help with the fractions | pack the school lunches | sew the pirate costume | meet the class teacher | "
        "read the bedtime story | organise the birthday treasure hunt | assemble the bunk bed | cycle to "
        "kindergarten | sign the permission slip | practise spelling | limit screen time | bake the bake-sale "
        "cake",
        "school bag | tricycle | picture book | night light | football kit | lunch box | science kit | pram",
        "with the twins | right after homework | in silly voices | before bath time | at the parents' evening | "
        "with stickers as a reward | on a rainy afternoon | under the kitchen table",
        "the tears dry | the teacher is impressed | bedtime gets shorter | giggling fills the house | the twins "
        "share willingly | homework takes minutes | nobody is late | the costume wins a prize",
    ),
    _domain(
        "observe the comet | align the telescope | sketch the moon craters | join the star party | log the meteor "
        "shower | polish the mirror | track the space station | measure the sky darkness | stack the exposures | "
        "print the star chart | cool the sensor | find the ring nebula",
        "star atlas | eyepiece | red torch | equatorial mount | dew heater | finder scope | planisphere | solar filter",
        "from the hill fort | after moonset | in biting cold | with ten inch optics | far from street lamps | "
        "between two clouds | with frozen fingers | under Orion",
        "the spiral arms appear | seeing improves | the batteries die | everyone gasps | the tracking holds | the "
        "dust lane shows | coffee tastes better | the sky clears suddenly",
    ),
    _domain(
        "change the winter tyres | charge the electric van | replace the brake pads | bleed the radiator | park "
        "near the depot | sell the old estate car | true the bicycle wheel | grease the chain | fit a tow bar | "
        "clean the spark plugs | patch the inner tube | wash off the road salt",
        "roof rack | torque wrench | jump leads | child seat | bike pump | wallbox | dashcam | toolbox",
        "before the inspection | at the tram depot | with the right torque | on the motorway | in the underground "
        "garage | during the strike | on cobblestones | using second-hand parts",
        "the rattling ends | range improves by a fifth | the brakes bite again | insurance gets cheaper | the "
        "gears shift smoothly | it passes the inspection | traffic matters less | the engine starts first time",
    ),
    _domain(
        "play the gambit | host the game night | paint the miniatures | solve the cryptic crossword | shuffle the "
        "deck | teach the house rules | design a puzzle hunt | adjourn the match | trade the sheep cards | roll a "
        "critical hit | analyse the endgame | repair the jigsaw",
        "chess clock | dice tower | rule book | card sleeve | score pad | puzzle box | game board | hourglass",
        "with the expansion | until midnight | by candlelight | without a timer | as a team of four | in the "
        "attic | over three evenings | for matchsticks",
        "the underdog wins | tempers stay calm | the rules finally click | nobody wants to leave | the bluff "
        "works | beginners catch up | the board gets flipped | the final round drags on",
    ),
    _domain(
        "write the opening chapter | outline the sequel | cut the prologue | submit to the magazine | proofread "
        "the appendix | interview the archivist | typeset the poems | join the critique circle | answer the "
        "editor | research lighthouse keepers | pitch the memoir | index the footnotes",
        "manuscript | typewriter | style sheet | library card | fountain pen | writing desk | contract draft | "
        "notebook",
        "in longhand | before the deadline | from the aunt's point of view | at the corner cafe | without adverbs "
        "| in the reading room | one page a day | with the door shut",
        "the voice comes alive | the plot hole closes | the publisher bites | pages pile up | rejection hurts "
        "less | the dialogue crackles | readers write letters | the ending surprises",
    ),
    _domain(
        "knit a cable jumper | dye the wool | mend the tweed coat | weave a table runner | quilt the baby blanket "
        "| hem the curtains | spin alpaca | embroider the collar | block the lace shawl | sew a zip | felt the "
        "slippers | darn socks",
        "spinning wheel | sewing machine | knitting needle | pattern book | button tin | loom | pin cushion | "
        "fabric chest",
        "with indigo | in moss stitch | from leftover yarn | by the stove | for the craft market | with double "
        "thread | without a pattern | on circular needles",
        "the seams lie flat | the colours hold | the moths stay out | the gift fits | the edges stop curling | "
        "orders come in | the sleeves match | the fabric drapes well",
    ),
    _domain(
        "install the solar panels | read the smart meter | compost the coffee grounds | test the well water | "
        "seal the window gaps | swap to a heat pump | monitor the air quality | collect rain water | switch the "
        "power supplier | lower the boiler temperature | map the bat roosts | count the butterflies",
        "heat pump | smart thermostat | water meter | bird box | solar inverter | insulation foil | weather "
        "station | log stove",
        "with the energy adviser | at the allotment | during the heat wave | on the flat roof | with a state "
        "grant | next to the old mill | all winter | for the citizen survey",
        "consumption drops by a third | the meter runs backwards | swifts return | the grid stays stable | the "
        "cellar is dry | emissions fall | the subsidy comes through | the readings make sense",
    ),
)


FIRST_NAMES: Final = _phrases(
    "Adela | Bruno | Carmen | Dario | Elif | Fritz | Greta | Hugo | Ines | Jonas | Katja | Luca | Marta | Nadia | "
    "Oskar | Paula | Rafael | Selma | Tobias | Ulla | Viktor | Wanda | Xenia | Yusuf | Zita | Amara | Benno | "
    "Clara | Dimitri | Esther | Felix | Gloria | Henrik | Ivana | Joel | Kira | Leon | Mirela | Nils | Olga | "
    "Pavel | Quentin | Rosa | Sven | Tamara | Umar | Vera | Wim | Yara | Zeno"
)
STARTS: Final = _phrases(
    "Bal | Cor | Dre | Fal | Gar | Hol | Jen | Kal | Lun | Mar | Nor | Pel | Quin | Ros | Sel | Tar | Ul | Ver | "
    "Wen | Zor | Bri | Cas | Del | Fen"
)
MIDDLES: Final = _phrases("a | e | i | o | u | an | el | im | or | us | ar | en | il | on | und | ast")
ENDS: Final = _phrases(
    "berg | dal | der | feld | gard | hart | ken | lund | mann | mer | nik | rath | sen | ski | son | strom | ter "
    "| ton | ver | wick"
)
QUARTERS: Final = ("", "Old ", "Upper ", "Lower ", "New ")
STREETS: Final = _phrases("Street | Square | Lane | Market | Quay | Hall | Bridge | Gardens | Yard | Hill")
ANIMALS: Final = _phrases(
    "Badger | Crane | Dolphin | Egret | Falcon | Gecko | Heron | Ibis | Jackdaw | Kestrel | Lynx | Marten | Newt "
    "| Otter | Puffin"
)

NAMES: Final[dict[str, tuple[str, tuple[tuple[str, ...], ...]]]] = {
    "who": ("{} {}{}{}", (FIRST_NAMES, STARTS, MIDDLES, ENDS)),
    "place": ("{}{}{}{} {}", (QUARTERS, STARTS, MIDDLES, ENDS, STREETS)),
    "project": ("Project {}{}{} {}", (STARTS, MIDDLES, ENDS, ANIMALS)),
}
"""How people, places and projects are named: a pattern and what fills it."""

CITIES: Final = _phrases(
    "Aarhus | Bergen | Bologna | Bremen | Bruges | Cork | Dresden | Eindhoven | Fribourg | Galway | Ghent | Graz "
    "| Innsbruck | Jena | Krakow | Leiden | Leipzig | Lille | Linz | Ljubljana | Lund | Malaga | Nantes | Odense "
    "| Oulu | Padua | Porto | Riga | Seville | Sibiu | Tartu | Trieste | Turku | Utrecht | Vigo | Vilnius | "
    "Wroclaw | York | Zagreb | Zurich"
)
JOBS: Final = _phrases(
    "a baker | a bus driver | a cellist | a chemist | a court clerk | a dentist | a drone pilot | an editor | a "
    "florist | a geologist | a glazier | a harbour pilot | an illustrator | a joiner | a midwife | a nurse | an "
    "optician | a plumber | a radio host | a sound engineer | a surveyor | a tailor | a tax adviser | a "
    "translator | a vet | a welder"
)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = _phrases(
    "January | February | March | April | May | June | July | August | September | October | November | December"
)
LANGUAGES: Final = _phrases(
    "Basque | Catalan | Danish | Estonian | Finnish | Greek | Hebrew | Irish | Japanese | Korean | Latvian | "
    "Maltese | Polish"
)
DRINKS: Final = _phrases(
    "assam | chamomile | darjeeling | earl grey | fennel | genmaicha | hibiscus | jasmine | lapsang | mint | "
    "oolong | rooibos"
)
VEHICLES: Final = _phrases(
    "a blue estate car | a red cargo bike | a grey camper | a green scooter | a white hatchback | a black "
    "motorbike | a silver tandem | a yellow convertible | an orange pickup | a violet moped"
)
MOODS: Final = _phrases(
    "cheerful | exhausted | proud | a little sore | restless | relieved | quiet | hungry | in high spirits | "
    "annoyed | grateful | distracted"
)
TIMES: Final = _phrases(
    "on Monday evening | last weekend | at lunchtime | early in the morning | after work | during the holidays | "
    "on the first of the month | late at night | in the spring | around Easter | between two meetings | on the "
    "way home | over the phone | at short notice | in autumn | on Sundays | before dinner | next to the river"
)
TAGS: Final = _phrases(
    "family | finance | health | hobby | home | idea | important | later | office | people | project | travel"
)
SOURCES: Final = ("chat", "calendar", "mail", "web page", "voice note")
LINKS: Final = ("RELATES_TO", "SUPPORTS", "EXEMPLIFIES")
