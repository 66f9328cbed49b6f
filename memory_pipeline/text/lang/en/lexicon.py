"""Word lists of English: static knowledge in place of corpus statistics.

Because rarity comes from these lists and not from other texts in the store, everything extracted from a text depends on
that text alone. Not here: stems (`stemming`), rarity (`rarity`) and lemmas (`lemmas`).
"""

from typing import Final


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _set("""
a about above after again against ago all almost along already also although always am among an and another any anyone
anything are aren't around as at away be because been before being below between both but by can can't cannot could
couldn't did didn't do does doesn't doing don't done down during each either else enough even ever every everyone
everything except few for from further get gets getting got gotten had hadn't has hasn't have haven't having he he'd
he'll he's hence her here here's hers herself him himself his how how's however i i'd i'll i'm i've if in indeed
instead into is isn't it it'd it'll it's its itself just least less let let's like lot lots many may maybe me mean
might mightn't mine more most much must mustn't my myself neither no nobody none nor not nothing now of off often oh
on once one ones only onto or other others otherwise ought our ours ourselves out over own per perhaps please quite
rather really same shall shan't she she'd she'll she's should shouldn't since so some somebody somehow someone
something sometimes somewhere soon still such than that that'd that'll that's the their theirs them themselves then
there there'd there'll there's therefore these they they'd they'll they're they've thing things this those though
through throughout thus till to together too toward towards under unless until up upon us very via was wasn't we we'd
we'll we're we've well were weren't what what's whatever when when's whenever where where's whereas wherever whether
which while who who'd who'll who's whoever whole whom whose why why's will with within without won't would wouldn't
yet you you'd you'll you're you've your yours yourself yourselves im ive dont cant wont didnt doesnt isnt wasnt thats
whats
""")
"""Function words; they carry no topic."""

SMALL_TALK: Final = _set("""
absolutely agree agreed ah aha amazing aw awesome aww awww beautiful bye cheers cool congrats congratulations cute
definitely enjoy exactly excellent excited exciting fab fabulous fantastic fun glad goodbye goodness gosh great
greetings guess haha hahaha happy hello hey heya hi hiya hmm hm honestly hope hopefully howdy incredible inspiring
interesting impressive kidding lol lovely luck lucky mm nice nope ok okay omg oops perfect please pleasure proud sorry
sounds sound super sure sweet ta thank thankful thanks thanx thx totally truly true ugh uh um anytime besides bet btw
bummer gonna gotta nah nay plus thankfully wanna woah woo woohoo yea yum welcome whoa wish wonderful wow yay yeah yep
yes yup cheer chat chatting
""")
"""Greetings, thanks, interjections and praise."""

COMMON_WORDS: Final = (
    _set("""
say said says go went gone going goes know knew known make made making take took taken see saw seen come came coming
think thought look looked looking want wanted give gave given use used using find found tell told ask asked work
worked working works seem feel felt feeling try tried trying leave left call called need needed keep kept begin began
start started help helped show showed play run move live believe hold bring brought happen happened write wrote sit
stand lose pay meet met include continue set learn learned change lead understand watch follow stop create speak read
allow add spend grow open walk win offer remember love consider appear buy bought wait serve send sent expect build
stay fall cut reach put turn turned talk talked time year years people way day days man woman child children world
life hand part place case week weeks company system program question government number night point home water room
mother area money story fact month months right study book eye job word business issue side kind head house service
friend friends father power hour game line end member law car city name team minute idea body information back parent
face others level office door health person art war history party result morning reason research girl guy moment air
teacher force education family school good new first last long great little old big high different small large next
early young important public bad able best better second third two three four five six seven eight nine ten today
yesterday tomorrow tonight sure real far hard easy free full late whole clear recent certain possible personal red
black white
"""),
    _set("""
across act action activity actually address afternoon age agency agent agree air allow amount animal answer anyway
apply arm arrive article attack attention available baby bag ball bank bar base basic bed behind benefit beyond bill
bit blood blue board box boy break breakfast brother camera campaign cancer candidate capital card career carry catch
cause cell center central century chair chance character charge check choice choose church citizen claim class close
coach code coffee cold collection college color colour come common community compare concern condition conference
control cook cost country couple course court cover crime culture cup current customer dad dark data daughter deal
death debate decade decide decision deep degree describe design despite detail develop development die difference
difficult dinner direction director discover discuss discussion disease doctor dog dream drive drop drug east eat
economic economy effect effort election email employee energy enjoy entire environment especially establish evening
event eventually evidence exactly example executive exist experience expert explain fail fear federal feedback field
fight figure file fill film final finally financial finger finish fire firm fish floor fly focus food foot force
foreign forget form former forward friend front fund future garden gas general generation glass goal green ground
group gun hair half hang heart heat hear heavy helpful hit holiday hospital hot hotel huge human hundred husband image
imagine impact improve increase indicate individual industry inside interest international interview investment
involve item join judge jump key kid kill kitchen knowledge land language laugh lawyer lay learning legal letter lie
light likely list listen local loss lunch machine magazine main maintain major majority manage management manager mark
market marriage material matter measure media medical memory mention message method middle military million mind miss
mission model modern mom mum mouth movement movie music myself nation national natural nature near nearly necessary
network news newspaper north note notice occur offer official oil operation opportunity option order organization
outside owner page pain paint paper park partner pass past patient pattern peace performance period phone photo pick
picture piece plan plant player point police policy political poor popular population position positive practice
prepare present president pressure pretty prevent price private probably problem process produce product production
professional professor project property protect prove provide pull purpose push quality quickly quick race radio raise
range rate ready realize reality receive recently recognize record reduce reflect region relate relationship religious
remain remove report represent require resource respond response rest return reveal rich ride rise risk road rock role
rule safe save scene science scientist score sea season seat section security seek sell senior sense series serious
set share shoot shop short shot shoulder sign significant similar simple simply sing single sister site situation size
skill skin sleep smile social society soldier son song sort source south space special specific spend sport spring
staff stage standard star state statement station step store strategy street strong structure student stuff style
subject success successful suddenly suffer suggest summer support surface table task tax teach technology television
tend term test thank theory thousand threat throw top total touch tough town trade traditional training travel treat
treatment tree trial trip trouble trust truth type understanding unit usually value various victim view violence visit
voice vote wall wear weapon weather weekend weight west wide wife wind window winter wonder word worker worry yard
"""),
    _set("""
accept access accident adjust allergy analyze analyse appreciate brainstorm cherish configure count define download
fetch initialize initialise import install load log login register render schedule submit toggle tons track
unconditional validate verify veggie adorable jealous mostly somewhat account achieve adapt adventure advice advise
afford afraid aim album alive alone ambitious anniversary announce annoyed anxious apartment app appointment approach
arrange artist attend attitude aunt author avoid awake award aware background bake balance band basket bath bathroom
beach bear beat bedroom beer belong bend bike bird birth birthday bless boat bored boss bottle bottom bowl brain brand
brave bread bright browse budget bug burn bus busy button cake calm camp cancel candle captain careful cash cat
celebrate celebration chain challenge chapter chat cheap cheese chicken chill chocolate classic clean click client
climb clock clothes cloud club collect comfort comfortable comment commit commitment compete complain complete complex
computer concert confident confirm confuse connect connection consider contact content contract convince cool copy
corner correct cousin craft crazy creative credit crowd cry curious dance danger database date dear debug deadline
decorate delicious deliver depend desk destroy diet dish distance divide document double doubt draft draw dress drink
dry due duty earn earth edge edit effective emotion emotional encourage engage engine engineer enter entertain error
escape essay establish exam excite excuse exercise expand expensive explore express extra fair faith familiar famous
fan fancy farm fashion fast fat favorite favourite feature feed fence festival fit fix flat flight flow flower follow
foundation frame freedom fresh friendly fruit frustrate function gain gallery gather gentle gift glance goodbye grab
grade grandma grandpa grandmother grandfather grass grateful greet guest guide guitar gym habit handle happiness hate
heal healthy height hello hide hike hill hire hobby honest honor hurt ice ignore illness immediate implement
impossible impress inspire inspiration internet introduce invite island jacket join joke journal journey joy juice
keen kick kiss knee lab lake lamp laptop laughter launch layer lazy leader leaf league lesson library lift limit link
lip literature loan lock logic lonely loud lower loyal luck magic mail manner map mass master match meal meaning meat
meeting mental mess metal mile milk mine minor mirror mistake mix mobile mood moon motivate motivation mount mountain
mouse museum narrow neck neighbor neighbour nervous noise normal nose novel nurse object obvious ocean online opinion
organize original overcome pack panic passion passionate path pause perform perspective pet piano pink plane plate
pleased pocket poem pool post pot potential prefer pride print prize promise promote proper proposal protest purple
puzzle queen quiet quit quote rain random recipe recommend recover refer refresh regret regular relax release relief
remind rent repair repeat replace request rescue reserve respect restaurant review reward rhythm ring river roll roof
root routine row rush sad sale salt sand screen script search secret secure select self sentence separate server
session settle shape sharp shirt shoe shoulder shout shower sick sight silly silver skip sky slow smart smell smooth
snack snow soft software solution solve soul soup spirit split spot square stair stick stone storage storm straight
strange stream strength stress stretch strike string struggle stupid sugar suit sun surprise survive swim switch
symptom talent tea tear technical technique temperature text theater theatre therapy thick thin throat ticket tidy tie
tip tired title tool tooth topic tour toy traffic train transfer transport trick trigger tune tv twice ugly uncle
uniform unique university unusual update upgrade upset urban user vacation valley variety vegetable vehicle version
victory video village violin virtual vision volunteer wake warm wash waste wave wedding weird wheel wild wine wing
wise wood wound yellow yoga youth zone accomplish achievement admire advantage amaze appropriate assign assume
atmosphere attract automatic average basically bother bunch capture category character cheerful chore circle clearly
combine command communicate communication compassion component concept configuration consistent context contribute
convenient cope cozy critical currently dedicate delay dependency deploy deployment desire destination determine
device display disappoint diverse diversity dozen drama eager efficient elegant element embrace emphasis enable endure
ensure equal equipment essential estimate exhibit expectation expense expression failure feeling flexible flavor focus
format fortunate framework fulfil fulfill gear generate genre genuine goodness gradually gratitude guidance hang
harmony hectic highlight hug humor identify identity illustrate imagination immerse incorporate independent influence
ingredient initial innovative input insight instance instruct integrate intense interact interface involve landscape
layout lately magical mainly manage marathon maximum media mentor milestone minimum module monitor multiple mutual
nearby negative nope nostalgic observe obstacle opt optimize organise outcome output overall overwhelm participate
particular patience perfectly permission persevere persist plenty possibility precious precise previous priority
progress proud query rare reach react recharge recognition recommendation reference refine regardless reliable rely
reminder remote resilient resilience resource responsible responsibility result role scenario scope serene setup
similarly situation specifically stable stunning summary supportive surround sync target tasty thrill thrilled
timeline tough transform transition treasure tutorial typical ultimate unfortunately unexpected unwind upcoming valid
valuable vibe vibrant visual vital wellbeing willing workout workshop worth
"""),
)
"""Common words in three bands, from everyday to less common."""

FIRST_PERSON: Final = _set(
    "i i'd i'll i'm i've im ive me mine my myself our ours ourselves us we we'd we'll we're we've"
)
"""First-person pronouns."""

DATE_WORDS: Final = _set("""
january february march april may june july august september october november december jan feb mar apr jun jul aug sep
sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
fridays saturdays sundays mon tue tues wed thu thurs fri sat sun am pm today yesterday tomorrow tonight
""")
"""Words of dates; capitalised in English without being names."""

NAME_BEGINNINGS: Final = _set("""
aunt big black blue central club dr east golden grand great green king lady lake little lord miss mount mr mrs ms new
north prince princess prof professor queen red river royal saint silver sir south st the uncle upper west white
""")
"""Common words that begin names, as in New York."""
