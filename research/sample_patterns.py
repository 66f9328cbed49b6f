"""Sentences of the sample generator: patterns with slots, such as {who} or {act}, written for this project.

Here: what can be said alone, and what belongs together. Not here: what fills the slots (`sample_words.py`), how the
patterns are drawn (`sample.py`). A slot with a 2 is filled with another word than the slot without.
"""

from typing import Final

PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "Context": (
        "{who} managed to {act} {detail}, and now {outcome}.",
        "{who} asked me to {act} before {date}.",
        "{who} keeps the {thing} at {place} and lends it out {time}.",
        "{who} paid {num} euros for the {thing} at {place}.",
        "On {date} {who} wants to {act} {detail}.",
        "{place} closes at {hour}, so {who} fetches the {thing} {time}.",
        "{who} learned to {act} from {who2} in {city}.",
        "The warranty on the {thing} from {place} runs out on {date}.",
        "It took {who} {num} minutes to {act} {detail}.",
        "{who} once spent {few} weeks in {city} to {act}.",
        "Two of the {num} people at {place} had tried to {act} {detail}.",
        "The {thing} is broken again; {who} will bring it to {place} {time}.",
        "{who} told me that {outcome} at {place}, {time}.",
        "{who} knows {job} in {city} who can {act} {detail}.",
    ),
    "Preference": (
        "I would rather {act} than {act2} when {who} visits.",
        "{who} prefers to {act} {detail}.",
        "My favourite {thing} is the one from {place}; any other feels clumsy.",
        "I like to {act} {time}, never in a hurry.",
        "For {who} the {thing} matters more than the {thing2}, because {outcome}.",
        "Please never {act} without asking {who} first.",
        "{who} cannot stand it when people {act} {time}.",
        "Given the choice, {who} drinks {drink} and lets others {act}.",
    ),
    "Decision": (
        "We decided to {act} {detail}, because {outcome}.",
        "Agreed with {who}: first {act}, then {act2}.",
        "After a long talk {who} and I will drop the {thing} and {act} instead.",
        "I chose the {thing} from {place} over the {thing2}; {num} euros was the limit.",
        "From {date} on we {act} {detail}, and {who} pays for the {thing}.",
        "{who} made the call: no more {thing} at {place} until {date}.",
        "The team of {project} voted to {act} rather than {act2}.",
    ),
    "Insight": (
        "I realised that if you {act} {detail}, {outcome}.",
        "The reason why {outcome} is simple: we {act} {detail}.",
        "Lesson from {who}: {act} before you {act2}.",
        "The {thing} was never the problem; {outcome} once you {act}.",
        "Since we {act} {detail}, {outcome}, which surprised even {who}.",
        "What {who} showed in {city}: to {act} costs little, and {outcome}.",
    ),
    "Pattern": (
        "Whenever we {act} {detail}, {outcome}.",
        "Every time {who} and {who2} {act}, they end up at {place}.",
        "In weeks when I {act}, I sleep better and forget about the {thing}.",
        "As soon as {who} picks up the {thing}, {outcome}.",
        "Most requests to {act} arrive from {city} and {time}.",
    ),
    "Habit": (
        "Every {weekday} I {act} {detail}.",
        "{who} and I {act} each {weekday} at {hour}.",
        "Before breakfast I check the {thing}, then {act}.",
        "{who} always takes the {thing} along to {place}.",
        "{time} {who} and {who2} {act} {detail}.",
    ),
    "Style": (
        "When writing about the {thing}, keep it short and name {who} last.",
        "Use plain words for the {thing}; {who} in {city} dislikes jargon.",
        "Answer {who} with bullet points whenever the question is how to {act}.",
    ),
    "Chat": (
        "Morning! Did {first} ever {act}?",
        "Haha, that {thing} story made my day, {first}.",
        "Thanks, see you at {place}!",
        "Good luck, hope you get to {act} soon.",
        "How was {city}, by the way?",
        "Hi {first}, long time no see, how is the {thing}?",
        "That sounds lovely. Tell me more about {place}.",
        "Oh no, not the {thing} again!",
        "Wow, so {outcome}? Amazing.",
        "Sorry, I was busy trying to {act}. Where were we?",
        "Sure, say hello to {first} from me.",
        "Ok, talk to you {time}.",
        "Did you sleep well after you tried to {act2}?",
        "I feel {mood} today, {first}, what about you?",
        "You are right, {first}, that is funny.",
        "Have a nice {weekday} and enjoy the {drink}!",
        "Do you still have the {thing} from {place}?",
        "Great to hear that {outcome}, {first}!",
        "Let us catch up {time}, maybe over some {drink}.",
        "Is it true that {first} moved away?",
    ),
}
"""Sentences by type of memory."""

SERIES: Final = (
    "{who} and I met at {place} to {act} {detail}: {num} minutes, {mood}.",
    "Training log for {who}: {act} {detail} at {place}, {num} minutes, feeling {mood}.",
    "{weekday} at {place}: {who} helped us {act} {detail}, {num} euros spent, all {mood}.",
    "Status of {project}: {who} will {act} {detail}, {num} tasks left, team {mood}.",
)
"""What happens again and again, each time with other figures: memories of one topic."""

CHANGING: Final = (
    ("{who} lives in {city}.", "{who} has moved and now lives in {city}.", "city"),
    ("{who} works as {job} at {place}.", "{who} now works as {job} at {place}.", "job"),
    ("The launch of {project} is planned for {date}.", "The launch of {project} has been moved to {date}.", "date"),
    ("The flat of {who} costs {rent} euros a month.", "The flat of {who} now costs {rent} euros a month.", "rent"),
    (
        "The weekly call with {who} is on {weekday}.",
        "The weekly call with {who} is on {weekday} from now on.",
        "weekday",
    ),
    ("{who} has extension {extension}.", "{who} has a new extension: {extension}.", "extension"),
    ("The team of {project} has {few} members.", "The team of {project} has grown to {few} members.", "few"),
    (
        "{project} runs on version {version} of the engine.",
        "{project} was upgraded to version {version} of the engine.",
        "version",
    ),
    ("{who} drives {vehicle}.", "{who} sold the old one and drives {vehicle} now.", "vehicle"),
    ("{who} is learning {language}.", "{who} has switched from that and is learning {language} now.", "language"),
    ("{who} orders {drink} at {place}.", "These days {who} orders {drink} at {place}.", "drink"),
)
"""A fact, how a new value of it is told, and the slot that changes."""

CONTRADICTING: Final = (
    ("{who} eats meat.", "{who} does not eat meat."),
    ("{who} speaks {language} fluently.", "{who} does not speak {language}."),
    ("The budget for {project} was approved.", "The budget for {project} was not approved."),
    ("{who} has met {who2} in {city}.", "{who} has never met {who2} in {city}."),
    ("{who} likes to {act} {detail}.", "{who} does not like to {act} {detail}."),
    ("The {thing} at {place} works.", "The {thing} at {place} does not work."),
    ("{who} owns the {thing} at {place}.", "{who} never owned the {thing} at {place}."),
)

DISTINCT: Final = (
    ("Transferred {num} euros to {who} for the {thing} from {place}.", "num"),
    ("{who} and I {act} {detail} on {date}.", "date"),
    ("{who} picks up the {thing} at {place} at {hour}.", "hour"),
    ("Room {extension} at {place} is booked for {who} on {weekday}.", "extension"),
    ("{who} invited {who2} to {place} to {act} {detail}.", "who2"),
    ("The parcel for {project} goes to {who} in {city} {time}.", "city"),
)
"""Statements that are all true although they differ in one slot only."""

CHAIN: Final = (
    ("Context", "The {thing} failed at {place} on {date}: {who} could not {act}."),
    ("Decision", "Because the {thing} failed at {place}, we decided to {act2} {detail}."),
    ("Insight", "Since we {act2} {detail}, {outcome}; {who} is {mood}."),
)
"""Cause, decision, effect."""

OPENERS: Final = (
    "By the way, ",
    "As I said, ",
    "Just so you know, ",
    "Note: ",
    "For the record, ",
    "Reminder: ",
    "Also, ",
)
TAILS: Final = (" by the way", ", as far as I know", ", as mentioned", " indeed", ", just to be clear")
ORDINARY_STARTS: Final = {
    "After",
    "Before",
    "Every",
    "From",
    "Given",
    "In",
    "It",
    "Most",
    "On",
    "The",
    "Two",
    "We",
    "What",
    "Whenever",
}
"""First words of a sentence that are written small within one."""

REWORDINGS: Final = (
    (" managed to ", " was able to "),
    (" wants to ", " would like to "),
    (" decided to ", " chose to "),
    (", because ", ", since "),
    (" asked me to ", " has asked me to "),
    (" would rather ", " would sooner "),
    (" will ", " is going to "),
    (" cannot ", " can't "),
    ("I would ", "I'd "),
    (" prefers to ", " would rather "),
    ("We ", "All of us "),
    ("Every time ", "Each time "),
    ("Whenever ", "Each time "),
    (" told me that ", " said that "),
    (" euros ", " EUR "),
)
"""Other words for the same."""

ASKING: Final = ("What about", "Remind me of", "What did we say on", "Do you know about", "Anything on", "Where was")
