"""Pairs of texts whose label is known, made from templates of many domains: plain, chatted and inside long messages.

`TUNED` is what the rules were written against, `HELD_OUT` was written afterwards and only measures.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple


class Pair(NamedTuple):
    label: str
    first: str
    second: str
    template: str


NAMES = ("Anna", "Bruno", "Chidi", "Dalia", "Edgar", "Farah", "Goran", "Hilda", "Imran", "Joanna")
CITIES = ("Lisbon", "Nairobi", "Osaka", "Quito", "Riga", "Tallinn", "Utrecht", "Zagreb", "Denver", "Zurich")
FIRMS = ("Globex", "Initech", "Northwind", "Contoso", "Acme", "Hooli", "Vandelay", "Umbrella Media")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
DATES = ("3 March", "12 June", "June 19", "September 4", "8 October", "November 21", "May 2", "14 August")
MONTHS = ("January", "March", "April", "June", "August", "October")
HOBBIES = ("pottery", "archery", "rowing", "chess", "yoga", "salsa", "karate", "drawing")
COLOURS = ("blue", "green", "red", "purple", "orange", "teal")
FOODS = ("sushi", "lasagna", "curry", "tacos", "ramen", "paella")
TOOLS = ("Postgres", "MySQL", "Redis", "MongoDB", "Cassandra", "SQLite")
FRAMES = ("React", "Svelte", "Vue", "Angular", "Ember")
PETS = ("dog", "cat", "parrot", "hamster")
TIMES = ("9 am", "10:30 am", "noon", "2 pm", "3:15 pm", "4 pm", "6:30 pm")
KIN = ("sister", "brother", "cousin", "aunt", "uncle", "daughter", "son")
JOBS = ("nurse", "plumber", "designer", "teacher", "analyst", "chef", "pilot")
SLOTS = {
    "name": NAMES,
    "city": CITIES,
    "firm": FIRMS,
    "day": DAYS,
    "date": DATES,
    "month": MONTHS,
    "hobby": HOBBIES,
    "colour": COLOURS,
    "food": FOODS,
    "tool": TOOLS,
    "frame": FRAMES,
    "pet": PETS,
    "time": TIMES,
    "kin": KIN,
    "job": JOBS,
}
CHATTED = (
    "{x}",
    "{x}",
    "Hey! {x} How was your week?",
    "Haha, that's great to hear. {x}",
    "Oh wow, thanks for asking! {x} Talk soon!",
    "{x} Anyway, what are you up to this weekend?",
)
SPOKEN = ("{x}", "By the way, {x}", "Hey, {x}", "Oh wow, {x}", "{x} Just so you know.", "Yeah, {x}")
"""Ways of saying the same: nothing is added."""
LONG = (
    "I've been thinking about how to plan the next couple of weeks. {x} Can you suggest how I should keep my notes?",
    "Thanks for the detailed answer, that really helps. {x} Could you put together a short checklist of a few points?",
    "I'm kind of overwhelmed today, so bear with me. {x} What would be a sensible first step, and what should I avoid?",
)

TUNED = """
update | I live in {city}. | I moved to {city2} last month.
update | {name} works at {firm}. | {name} now works at {firm2} in {city}.
update | {name} works for {firm} as a {job}. | {name} left {firm} and joined {firm2}.
update | The launch is on {date}. | Moved the launch to {date2}.
update | We launch on {date}. | The launch was pushed to {date2}.
update | my favourite colour is {colour} | my favourite colour is {colour2}
update | My favorite dish is {food}. | These days my favorite dish is {food2}.
update | The database is {tool}. | The database is now {tool2}.
update | We store everything in {tool}. | We migrated from {tool} to {tool2}.
update | The database is {tool} 14. | The database is now {tool} 16.
update | The rate limit is {n} requests per minute. | We raised the rate limit to {m} requests per minute.
update | rate limit {n} | rate limit is {m} requests now
update | The API quota is {n} calls a day. | The API quota has gone up to {m} calls a day.
update | My rent is ${n}0 a month. | My rent went up to ${m}0 a month.
update | I have {n} books on my shelf. | I've got {m} books on my shelf now.
update | The meeting with {name} is on {day} at {time}. | The meeting with {name} got rescheduled to {day2} at {time}.
update | Dentist appointment on {date}. | Dentist appointment is on {date2} instead.
update | The deadline for the {hobby} report is {date}. | They extended the {hobby} report deadline to {date2}.
update | {name} is the project lead. | {name2} took over from {name} as project lead.
update | My manager is {name}. | My new manager is {name2}.
update | {name} is single. | {name} got engaged last weekend.
update | I'm on the basic plan. | I upgraded to the premium plan.
update | I drink coffee every morning. | I no longer drink coffee.
update | I go to {hobby} class every {day}. | I quit {hobby} class.
update | {name} is dating {name2}. | {name} and {name2} broke up.
update | I'm vegetarian. | I eat meat again.
update | My phone number is 555-01{n}. | My phone number changed, it's 555-02{m} now.
update | The wifi password is maple{n}. | New wifi password: cedar{m}.
update | The server runs version 2.{n}. | We upgraded the server to version 3.{m}.
update | The app is in beta. | The app is now generally available.
update | The ticket is open. | The ticket is closed now.
update | My flight leaves at {time}. | My flight was delayed and leaves at {time2} now.
update | The {hobby} lesson starts at {time}. | The {hobby} lesson starts at {time2} from next week on.
update | Test coverage is {n}%. | Test coverage has improved to {m}%.
update | I weigh {m} kilos. | I'm down to {n} kilos.
update | The office is on Main Street. | The office has moved to Station Road.
update | My {kin} lives in {city}. | My {kin} has relocated to {city2}.
update | I prefer window seats. | Actually, I prefer aisle seats now.
update | I'm planning a trip to {city} in {month}. | I cancelled the trip to {city}.
update | The subscription costs ${n} a month. | The subscription price increased to ${m} a month.
update | {name}'s email is {name}@old.example. | {name}'s new email is {name}@new.example.
update | My car is a Honda. | I sold the Honda and bought a Volvo.
update | {name} is a junior developer. | {name} got promoted to senior developer.
update | We meet every {day}. | We switched our meetings to {day2}.
update | Our team has {n} people. | Our team has grown to {m} people.
update | I use {frame} for the frontend. | I switched the frontend from {frame} to {frame2}.
update | I haven't booked the hotel in {city} yet. | I booked the hotel in {city} this morning.
update | My {kin} is in second grade. | My {kin} is in third grade now.
update | I wake up at 6 am. | I wake up at 7 am these days.
update | I'm taking 10 mg of the medication. | My doctor increased the medication to 20 mg.
update | My goal is to save ${n}00 by {month}. | I raised my savings goal to ${m}00.
update | I've completed {n} practice problems so far. | I've now completed {m} practice problems.
contradiction | I have never been to {city}. | I spent a week in {city} with {name} in 2016.
contradiction | I've never used {tool} in this project. | I set up {tool} for this project last week.
contradiction | I was born in {city}. | I was born in {city2}.
contradiction | {name}'s birthday is {date}. | {name}'s birthday is {date2}.
contradiction | I met {name} in 2011. | I met {name} in 2014.
contradiction | I paid the invoice on {day}. | I never paid the invoice.
contradiction | I attended the {hobby} workshop. | I did not attend the {hobby} workshop.
contradiction | {name} graduated from college in 2009. | {name} graduated from college in 2012.
contradiction | I have no siblings. | My brother {name} is two years older than me.
contradiction | I told {name} about the surprise. | I haven't told {name} about the surprise.
contradiction | The team won the final. | The team lost the final.
contradiction | I've never met {name}. | I had lunch with {name} on {day}.
contradiction | The company was founded in 1998. | The company was founded in 2004.
contradiction | I'm the oldest of three children. | I'm the youngest of three children.
contradiction | I have read the whole contract. | I have never read the contract.
contradiction | My {kin} is older than me. | My {kin} is younger than me.
contradiction | I signed up for the {hobby} course. | I've never signed up for any {hobby} course.
contradiction | I can't swim. | I swam across the lake last summer.
contradiction | The package arrived on {day}. | The package never arrived.
contradiction | I wrote the tests for the parser. | I have not written any tests for the parser.
contradiction | {name} approved the budget. | {name} rejected the budget.
contradiction | I grew up in {city}. | I spent my whole childhood in {city2}.
contradiction | I've always hated {food}. | I've always loved {food}.
contradiction | {name} and I have been married since 2005. | {name} and I got married in 2010.
contradiction | I locked the door. | I didn't lock the door.
contradiction | I've never fixed any bug in the login form. | I fixed the null check bug in the login form.
contradiction | I have never collaborated with {name}. | I've been collaborating with {name} on the {hobby} video.
contradiction | I don't own a {pet}. | My {pet} Miso is four years old.
contradiction | I've never taken a {hobby} lesson. | I took {hobby} lessons for three years as a child.
contradiction | I've never deployed this app. | I deployed this app to {firm} cloud on {day}.
duplicate | I live in {city}. | {city} is where I live.
duplicate | {name} works at {firm}. | {name} is employed at {firm}.
duplicate | My dog is called {name}. | I have a dog named {name}.
duplicate | The meeting is at 3 pm on {day}. | On {day} the meeting is at 15:00.
duplicate | I bought a bike on {day}. | On {day} I purchased a bicycle.
duplicate | The budget is ${n}00. | Our budget is {n}00 dollars.
duplicate | My favourite colour is {colour}. | {colour} is my favorite color.
duplicate | I really love {food}. | I love {food}!
duplicate | {name} has two kids. | {name} has 2 children.
duplicate | The invoice is due on {date}. | The invoice is due {date}.
duplicate | I'm allergic to peanuts. | I have a peanut allergy.
duplicate | I got promoted to team lead in {month}. | In {month} I was promoted to team lead.
duplicate | {name} recommended the book to me. | The book was recommended to me by {name}.
duplicate | I visited {city} last year. | Last year I visited {city}.
duplicate | My {kin} is a {job}. | My {kin} works as a {job}.
duplicate | I go running every {day} with {name}. | Every {day} I go running with {name}.
duplicate | The rate limit is {n} requests per minute. | There is a rate limit of {n} requests per minute.
duplicate | I started {hobby} in {month}. | I began {hobby} in {month}.
duplicate | I don't like {food}. | I do not like {food}.
duplicate | {name} moved to {city} in 2020. | In 2020, {name} relocated to {city}.
duplicate | I am learning {hobby} with {name}. | {name} and I are learning {hobby}.
duplicate | The train to {city} leaves at {time}. | The train to {city} departs at {time}.
duplicate | We use {tool} for the analytics service. | The analytics service uses {tool}.
duplicate | I've finished the report for {firm}. | I completed the report for {firm}.
duplicate | My {kin} lives in {city}. | My {kin} resides in {city}.
duplicate | Our {pet} is ill. | Our {pet} is sick.
duplicate | I have {n} coins in my collection. | My collection has {n} coins.
duplicate | I prefer tea over coffee. | I prefer tea to coffee.
unrelated | I live in {city}. | My {kin} lives in {city2}.
unrelated | I live in {city}. | I went to {city2} for the weekend.
unrelated | I like {food}. | I like {food2}.
unrelated | I like {food}. | I also like {food2}.
unrelated | {name} works at {firm}. | {name2} works at {firm2}.
unrelated | My favorite color is {colour}. | My favorite dish is {food}.
unrelated | The meeting with {name} is at {time}. | The meeting with {name2} is at {time2}.
unrelated | I bought {n} apples. | I bought {m} pears.
unrelated | I ran 5 km on {day}. | I ran 8 km on {day2}.
unrelated | I visited {city} in {month}. | I visited {city2} in {month2}.
unrelated | I had lunch with {name} on {day}. | I had lunch with {name2} on {day2}.
unrelated | I'm going to book the hotel in {city}. | I booked the hotel in {city}.
unrelated | I plan to visit {city} in {month}. | I visited {city} and it was lovely.
unrelated | The kitchen costs ${n}00. | The bathroom costs ${m}00.
unrelated | Sprint 1 ended on {date}. | Sprint 2 ends on {date2}.
unrelated | I like cooking. | I like cooking {food} for my friends.
unrelated | I enjoy {hobby}. | I love {hobby} and {hobby2}.
unrelated | I'm learning {hobby}. | I'm also learning {hobby2}.
unrelated | I have a dog. | I have a cat.
unrelated | I bought a {colour} jacket. | I bought a {colour2} scarf.
unrelated | I moved to {city} in 2019. | I live in {city}.
unrelated | I joined {firm} in {month}. | I work at {firm}.
unrelated | I never give up on {hobby}. | I've been giving {hobby} my best.
unrelated | I can't wait to see {name}. | I saw {name} yesterday.
unrelated | I can't stop thinking about {city}. | I think about {city} a lot.
unrelated | It's not only fun but also healthy to do {hobby}. | {hobby} is fun.
unrelated | Don't you love {food}? | I love {food}.
unrelated | You've never been to {city}, have you? | I went to {city} last year.
unrelated | {name} said she has never been to {city}. | I went to {city} with {name2}.
unrelated | [Photo: a woman holding a {colour} cup] | I don't have a {colour} cup.
unrelated | I couldn't agree more about {hobby}. | I agree that {hobby} is great.
unrelated | Never a dull moment with {name}! | {name} can be dull at the moment.
unrelated | Do you live in {city}? | I live in {city2}.
unrelated | If I got the job I would move to {city}. | I live in {city2}.
unrelated | Maybe I should switch to {frame}. | I use {frame2}.
unrelated | I never drink alcohol. | I drink green tea every morning.
unrelated | I don't like mushrooms. | I like {food}.
unrelated | I've never tried {food}. | I tried {food2} last week.
unrelated | {name}'s birthday is {date}. | {name2}'s birthday is {date2}.
unrelated | The backend uses {tool}. | The cache uses {tool2}.
unrelated | The staging rate limit is {n} requests. | The production rate limit is {m} requests.
unrelated | My laptop has 16 GB of memory. | My phone has 128 GB of storage.
unrelated | I quit {hobby}. | I joined the {hobby2} club.
unrelated | I spent {n} minutes on the essay. | I spent {m} minutes on the lab report.
unrelated | My {kin} started {hobby}. | I stopped doing {hobby}.
unrelated | I read {n} pages on {day}. | I read {m} pages on {day2}.
unrelated | I went {hobby} with {name}. | I've never gone {hobby} with {name2}.
unrelated | My flight to {city} is on {date}. | My flight to {city2} is on {date2}.
unrelated | {name} likes {food}. | {name2} doesn't like {food}.
unrelated | I have two brothers. | I have one sister.
unrelated | My old phone was {colour}. | My new laptop is {colour2}.
unrelated | I was in {city} in 2012. | I was in {city2} in 2015.
unrelated | We need milk and eggs. | We need bread and butter.
unrelated | I used to live in {city}. | I live in {city2} now.
unrelated | I was nervous before the talk. | I'm not nervous about the interview.
unrelated | The weather in {city} was terrible. | The weather in {city2} was great.
unrelated | I have a meeting at {time} with {name}. | I have a call at {time2} with {firm}.
unrelated | {name} is reading a book about {city}. | {name} is reading a book about {hobby}.
unrelated | I'm not sure whether {name} likes {food}. | {name} likes {food}.
unrelated | I don't know anyone who does {hobby}. | {name} does {hobby}.
unrelated | I didn't see {name} at the party. | I saw {name} at the gym.
unrelated | My {kin} has never been better. | My {kin} got better after the surgery.
unrelated | The {hobby} course costs ${n}. | The {hobby2} course costs ${m}.
unrelated | No worries, we can meet on {day}. | I worry about our meeting on {day}.
unrelated | I haven't seen {name} in ages. | I saw {name} on {day}.
unrelated | I wrote {n} lines of code on {day}. | I wrote {m} tests for the parser.
unrelated | I scored {n} on the math test. | I scored {m} on the history test.
unrelated | We booked a table for {n} people. | We invited {m} people to the wedding.
"""

HELD_OUT = """
update | {name}'s office is in {city}. | {name}'s office has moved to {city2}.
update | My favourite band is Blur. | My favourite band is Pulp now.
update | The standup is at {time}. | Standup moved to {time2}.
update | The store opens at 8 am. | The store now opens at 10 am.
update | I pay ${n} for the gym. | The gym put its price up to ${m}.
update | I'm reading a novel about {city}. | I gave up on the novel about {city}.
update | {name} is our treasurer. | {name2} replaced {name} as our treasurer.
update | My landlord is {name}. | {name2} is my new landlord.
update | We host the app on {firm} cloud. | We switched the app from {firm} cloud to {firm2} cloud.
update | My passport expires in {month}. | I renewed my passport, it expires in {month2} now.
update | The report is due on {date}. | The due date of the report was changed to {date2}.
update | I follow the keto diet. | I stopped following the keto diet.
update | My daughter's teacher is Ms {name}. | My daughter's new teacher is Ms {name2}.
update | I've collected {n} stamps. | I've collected {m} stamps by now.
update | The upload limit is {n} MB. | The upload limit has been increased to {m} MB.
update | The project is called {colour} Fox. | We renamed the project to {colour2} Fox.
update | I take the bus to work. | I cycle to work now.
update | {name} is unemployed. | {name} got a job at {firm}.
update | I don't speak Spanish. | I've learned to speak Spanish.
update | My brother is in hospital. | My brother was discharged from hospital.
update | The wedding is on {date}. | We postponed the wedding to {date2}.
update | I'm the goalkeeper of the team. | I'm no longer the goalkeeper of the team.
update | Our budget is ${n}00. | Our budget was cut to ${n}50.
update | I usually have porridge for breakfast. | These days I have toast for breakfast instead of porridge.
update | {name} plans to study law. | {name} changed her mind and will study medicine instead of law.
update | I live with {name}. | {name} moved out last week.
update | We play {hobby} on {day}s. | From now on we play {hobby} on {day2}s.
update | The build takes {m} minutes. | The build now takes {n} minutes.
update | I have {n} followers. | I've reached {m} followers.
update | The customer support number is 0800-{n}{m}. | The customer support number has changed to 0800-{m}{n}.
contradiction | I've never broken a bone. | I broke my arm when I was nine.
contradiction | {name} was born in 1984. | {name} was born in 1987.
contradiction | I reviewed the pull request. | I never reviewed the pull request.
contradiction | I have never worked at {firm}. | I worked at {firm} for six years.
contradiction | My grandmother died in 1999. | My grandmother died in 2006.
contradiction | I have never eaten {food}. | I ate {food} in {city} back in 2012.
contradiction | I sent the parcel to {name}. | I did not send the parcel to {name}.
contradiction | {name} attended the meeting on {day}. | {name} did not attend the meeting on {day}.
contradiction | The bridge was built in 1931. | The bridge was built in 1952.
contradiction | I've never had a pet. | I had a {pet} as a child.
contradiction | I have two sisters. | I don't have any sisters.
contradiction | I've never written a line of Rust. | I wrote a compiler in Rust.
contradiction | {name} is taller than {name2}. | {name} is shorter than {name2}.
contradiction | I backed up the database. | I never backed up the database.
contradiction | I've never used {frame}. | I built three apps with {frame}.
contradiction | The test passed. | The test failed.
contradiction | I'm an only child. | My sister is a nurse.
contradiction | I've never missed a {hobby} class. | I missed the {hobby} class on {day}.
contradiction | I was at home on {day} evening. | I wasn't at home on {day} evening.
contradiction | I've never talked to {name} about the lease. | I talked to {name} about the lease on {day}.
contradiction | {name} and {name2} met in {city}. | {name} and {name2} met in {city2}.
contradiction | I haven't enrolled in any {hobby} course. | I'm enrolled in a {hobby} course at {firm}.
duplicate | I bought a house in {city}. | I purchased a house in {city}.
duplicate | The concert starts at 8 pm. | The concert begins at 20:00.
duplicate | {name} is a vegetarian. | {name} is vegetarian.
duplicate | I started working at {firm} in {month}. | In {month} I began working at {firm}.
duplicate | My dad lives in {city}. | My father lives in {city}.
duplicate | I can't stand {food}. | I cannot stand {food}.
duplicate | We have three meetings on {day}. | On {day} we have 3 meetings.
duplicate | The photo was taken by {name}. | {name} took the photo.
duplicate | {name} told me about the {hobby} club. | {name} told me about the {hobby} club yesterday, by the way.
duplicate | I'm learning {hobby}. | I am learning {hobby}.
duplicate | I got a new sofa. | I got a new couch.
duplicate | The deadline is {date}. | {date} is the deadline.
duplicate | I spent ${n} on groceries. | I spent {n} dollars on groceries.
duplicate | My car broke down in {city}. | My automobile broke down in {city}.
duplicate | We moved here in {month}, {name} and I. | {name} and I moved here in {month}.
unrelated | {name} lives in {city}. | {name} works in {city2}.
unrelated | I like tea with milk. | I like coffee with sugar.
unrelated | The {colour} team won on {day}. | The {colour2} team lost on {day2}.
unrelated | I bought {n} candles. | I sold {m} candles.
unrelated | I have a cousin in {city}. | I have an aunt in {city2}.
unrelated | My mother's birthday is {date}. | My father's birthday is {date2}.
unrelated | I never drink coffee after noon. | I drink coffee at breakfast.
unrelated | I'm not a morning person. | I met a nice person this morning.
unrelated | We should move the meeting to {day}. | The meeting is on {day2}.
unrelated | {name} asked whether I live in {city}. | I live in {city2}.
unrelated | I can't believe {name} won! | I believe {name} deserved it.
unrelated | Nothing beats {food} on a {day}. | I had {food} on {day}.
unrelated | I might switch to {tool}. | We use {tool2}.
unrelated | My phone has {n} photos. | My camera has {m} photos.
unrelated | {name} paid ${n} for dinner. | {name2} paid ${m} for dinner.
unrelated | I want to learn {hobby}. | I'm good at {hobby2}.
unrelated | The old version had {n} bugs. | The mobile app had {m} bugs.
unrelated | I went to {city} with {name}. | I went to {city} with {name2} in {month}.
unrelated | I ate {food} yesterday. | I ate {food2} today.
unrelated | I told {name} a joke. | {name} told me a story.
unrelated | I don't have a car. | My neighbour has a car.
unrelated | It never rains in {city}. | It rained here on {day}.
unrelated | I'd never been so happy as in {city}. | I was happy in {city}.
unrelated | The {hobby} class is on {day}. | The {hobby2} class is on {day2}.
unrelated | My son is 7. | My daughter is 9.
unrelated | I wasn't sure about {firm} at first. | I'm sure about the {hobby} course.
unrelated | He didn't call back. | I called {name} back.
unrelated | Call {name} before {time}. | Call {name2} after {time2}.
unrelated | My first job was at {firm}. | My second job was at {firm2}.
unrelated | {name} has {n} points. | {name2} has {m} points.
unrelated | I'm thinking of quitting {hobby}. | I do {hobby} every {day}.
unrelated | How many people work at {firm}? | {n} people work at {firm2}.
unrelated | I prefer {food} for lunch. | I prefer {food2} for dinner.
unrelated | I booked {n} rooms in {city}. | I booked {m} seats for the opera.
unrelated | {name} thinks the meeting is on {day}. | I think {name2} is on holiday on {day2}.
unrelated | I used {tool} at {firm}. | I use {tool2} at home.
unrelated | [Image: {name} in {city}] | I have never been to {city2}.
unrelated | I saw a {colour} bird. | I saw a {colour2} bird and a {pet}.
unrelated | I have no idea where {name} lives. | {name} lives in {city}.
unrelated | That's not how {name} cooks {food}. | {name} cooks {food} often.
"""


def templates(text: str) -> list[tuple[str, str, str]]:
    rows = [line.split(" | ") for line in text.strip().splitlines()]
    return [(label.strip(), first, second) for label, first, second in rows]


def pairs(text: str, *, each: int = 6, seed: int = 1) -> Iterator[Pair]:
    """So many pairs of each template: a third plain, a third chatted, a third with a long message around the newer."""
    rng = Random(seed)
    for label, first, second in templates(text):
        for number in range(each):
            slots = _slots(rng)
            one, other = (_capital(side.format(**slots)) for side in (first, second))
            if number % 3 and label == "duplicate":
                one, other = (rng.choice(SPOKEN).format(x=_ended(side)) for side in (one, other))
            elif number % 3:
                one = rng.choice(CHATTED).format(x=one)
                other = rng.choice(CHATTED if number % 3 == 1 else LONG).format(x=_ended(other))
            yield Pair(label, one, other, f"{first} | {second}")


def _slots(rng: Random) -> dict[str, str]:
    given = {}
    for name, values in SLOTS.items():
        given[name], given[f"{name}2"] = rng.sample(values, 2)
    low, high = sorted(rng.sample(range(12, 90), 2))
    return given | {"n": str(low), "m": str(high)}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ended(text: str) -> str:
    return text if text[-1] in ".!?]" else f"{text}."
