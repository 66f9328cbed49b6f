"""The merge guard on near copies: texts that differ in one detail are never merged, true copies are."""

from functools import cache

import polars as pl
import pytest

from memory_pipeline import MemoryClient
from memory_pipeline.text.compare.merge_guard import disagreements
from memory_pipeline.text.parse.facts import add_facts

APART = """
The backup runs every hour. | The backup runs every two hours.
The board meets every month. | The board meets every three months.
The gym opens every day. | The gym opens every other day.
Temperature limit: >50 triggers the alarm in hall 2. | Temperature limit: <50 triggers the alarm in hall 2.
Temperature limit: >50 triggers the alarm in hall 2. | Temperature limit: 50 triggers the alarm in hall 2.
The rule says a >= b for every row. | The rule says a > b for every row.
The check is x = 5 in the config. | The check is x != 5 in the config.
I use C for the firmware of the robot arm. | I use C++ for the firmware of the robot arm.
I use C++ for the firmware of the robot arm. | I use C# for the firmware of the robot arm.
Install version 2.1 of the driver on every laptop. | Install version 2.10 of the driver on every laptop.
Section 1.1 of the contract covers the liability. | Section 1.10 of the contract covers the liability.
Upgrade Python to 3.1 on the build server today. | Upgrade Python to 3.10 on the build server today.
The release is v2.1 on all hosts. | The release is v2.10 on all hosts.
My budget is 1.500 euros for the holiday. | My budget is 1.5 euros for the holiday.
The door code of the office is 0071 for all staff. | The door code of the office is 71 for all staff.
The dose is .5 mg in the morning. | The dose is 5 mg in the morning.
The area is 10² units. | The area is 102 units.
The plot has 10 m² of grass. | The plot has 10 m³ of grass.
Add ½ cup of milk to the dough. | Add ¼ cup of milk to the dough.
The balance is −5 this month. | The balance is 5 this month.
The offset is +5 in the file. | The offset is -5 in the file.
The password of the wifi is sunflower, in small letters. | The password of the wifi is Sunflower, in small letters.
the password of the wifi is abcDEF | the password of the wifi is ABCdef
My password is sunflower. | my password is Sunflower
Wifi password: Sunflower | wifi password: sunflower
The login is "Hello" at work. | The login is "hello" at work.
Sunflower is my wifi password. | sunflower is my wifi password
the variable is called userName | the variable is called username
The disk has 10 MB free. | The disk has 10 Mb free.
The contract belongs to us. | The contract belongs to US.
I bought an Apple in the city. | I bought an apple in the city.
The result of the test was A+ according to the teacher. | The result of the test was A- according to the teacher.
My blood type is A+ according to the doctor. | My blood type is A- according to the doctor.
Our team is group A in the cup. | Our team is group B in the cup.
Room 5a is free on the second floor. | Room 5b is free on the second floor.
I 👍 the idea of moving the office to Leeds. | I 👎 the idea of moving the office to Leeds.
The rollout is done ✅ | The rollout is done ❌
Smoking on the balcony | Smoking on the balcony 🚫
We cheer for 🇩🇪 in the final. | We cheer for 🇫🇷 in the final.
Put it on the 🔴 shelf. | Put it on the 🔵 shelf.
The ticket costs 30€ per person. | The ticket costs 30$ per person.
The ticket costs A$30 per person. | The ticket costs C$30 per person.
The ticket costs ₽30 per person. | The ticket costs ₩30 per person.
The ticket costs 30 dollars per person. | The ticket costs 30 pounds per person.
The discount is 5% this week. | The discount is 5‰ this week.
The package weighs 5 kg with the box. | The package weighs 5 lb with the box.
The trip takes 5 ms on average. | The trip takes 5 s on average.
The board is 5' long on this side. | The board is 5" long on this side.
She finished the race 2nd in her group. | She finished the race 3rd in her group.
The fourth draft was accepted by the editor. | The fifth draft was accepted by the editor.
The call is on Tuesday at the office. | The call is on Thursday at the office.
The call is at 8 am in the office. | The call is at 8 pm in the office.
The call is at 10:30 in the office. | The call is at 10:13 in the office.
The shop opens at 5 pm. | The shop opens before 5 pm.
The report is due on Friday. | The report is due by Friday.
We invited 50 people to the party. | We invited over 50 people to the party.
We invited 50 people to the party. | We invited up to 50 people to the party.
We invited 50 people to the party. | We invited fewer than 50 people to the party.
Anna may open the safe in the back office. | Only Anna may open the safe in the back office.
The cat sleeps on the table. | The cat sleeps under the table.
Write to anna@example.com about it. | Write to anna@examples.com about it.
The page is at https://example.com/cars now. | The page is at https://example.com/car now.
The site is on example.com since May. | The site is on example.org since May.
Save the scan as photo.jpg in the folder. | Save the scan as picture.jpg in the folder.
Save the plan as plan.doc in the folder. | Save the plan as plan.docx in the folder.
Call get_users() in the loop. | Call get_user() in the loop.
The hosts stand in /etc/hosts on the box. | The hosts stand in /etc/host on the box.
The key is a|b in the table. | The key is a||b in the table.
Run it with -v on the host. | Run it with -V on the host.
Run it with -f on the host. | Run it with --f on the host.
Mention @lead in the note. | Mention lead in the note.
Add #include to the file. | Add include to the file.
He used the word, e.g. tea. | He used the word, i.e. tea.
The review gave it ★★★ on the site. | The review gave it ★★★★ on the site.
My locker opens with 12-34-56. | My locker opens with 12-34-65.
The commit is a1b2c3d on main. | The commit is A1B2C3D on main.
The branch is feature/login-v2 today. | The branch is feature/login_v2 today.
We need at least 5 chairs. | We need 5 chairs.
Tom is my half-brother. | Tom is my brother.
Er ist verheiratet. | Er ist unverheiratet.
Is the door locked? | The door is locked.
The house has a big garden and a small pool. | The house has a small garden and a big pool.
My car is red and my bike is blue. | My car is blue and my bike is red.
Ich wohne in Berlin und arbeite bei Siemens. | Ich wohne nicht in Berlin und arbeite bei Siemens.
Ich habe Zeit am Abend. | Ich habe keine Zeit am Abend.
Je fume depuis dix ans. | Je ne fume pas depuis dix ans.
Mi hermana vive en Madrid y trabaja de noche. | Mi hermana ya no vive en Madrid y trabaja de noche.
Bebo café por la noche. | Nunca bebo café por la noche.
Mangio carne la domenica. | Non mangio carne la domenica.
Mangio carne la domenica. | Non mangio mai carne la domenica.
Eu moro em Lisboa com a Rita. | Eu não moro em Lisboa com a Rita.
Ik woon in Utrecht bij mijn oom. | Ik woon niet in Utrecht bij mijn oom.
Mijn vader rookt in huis. | Mijn vader rookt nooit in huis.
Я живу в Москве с братом. | Я не живу в Москве с братом.
我住在北京。 | 我不住在北京。
私は東京に住んでいます。 | 私は大阪に住んでいます。
"""
COPIES = """
I love tea! | i love tea
I love tea. | I LOVE TEA
I love Berlin in the summer. | i love berlin in the summer
I live in Berlin and work for Siemens. | i live in berlin and work for siemens!
By the way, the test suite runs in 5 minutes. | The test suite runs in 5 minutes.
The meeting is at 3 PM on Tuesday. | the meeting is at 3 pm on Tuesday
The meeting is at 3PM on Tuesday. | The meeting is at 15:00 on Tuesday.
The shop opens at 09:00 every day. | The shop opens at 9:00 every day.
My rent is 1,200 euros a month. | My rent is 1200 euros a month.
The ticket was 1.50 euros. | The ticket was 1.5 euros.
The ticket was $5.00 at the door. | The ticket was $5 at the door.
The ticket was €20 at the door. | The ticket was 20 euros at the door.
The sales of our new car rose by 5% in May. | The sales of our new car rose by 5 percent in May.
My sister-in-law lives in Oslo. | My sister in law lives in Oslo.
We took a road-trip to Utah. | We took a road trip to Utah.
I don’t eat meat. | I don't eat meat.
“My dog is called Rex.” | My dog is called Rex.
My dog (Rex) loves the park. | My dog Rex loves the park.
My favourite band is **Blur**. | My favourite band is Blur.
- Buy milk and eggs. | Buy milk and eggs.
I got the job today 🎉 | I got the job today
I got the job today 👍🏽 | I got the job today 👍
I love tea ❤️ | I love tea ❤
Tom & Anna came for dinner. | Tom and Anna came for dinner.
I use C++ at work. | By the way, I use C++ at work!
Write to anna@example.com. | Please write to anna@example.com!
The docs are at https://example.com/docs/. | The docs are at https://example.com/docs
We ship version 2.10 on Friday. | On Friday we ship version 2.10.
I really do NOT like tea. | I really do not like tea.
My password is hunter2, remember it. | my password is hunter2, remember it
The trip is on Friday. | the trip is on friday
I am 30 years old. | I'm thirty years old.
I watch YouTube every evening. | i watch youtube every evening
Ich wohne in Berlin. | ich wohne in berlin!
The bug is fixed: it was the cache. | The bug is fixed. It was the cache.
私は東京に住んでいます。 | 私は東京に住んでいます！
"""


def given(text):
    return [tuple(line.split(" | ")) for line in text.strip().splitlines()]


def reasons(texts):
    sides = []
    for index, side in enumerate(("left", "right")):
        known = add_facts(pl.DataFrame({"content": [pair[index] for pair in texts]}))
        unset = pl.lit(None, pl.Datetime("us", "UTC"))
        sides.append(known.with_columns(valid_from=unset, valid_until=unset).select(pl.all().name.prefix(f"{side}_")))
    found = disagreements(
        pl.concat(sides, how="horizontal").with_columns(repeated=pl.lit(value=False), told=pl.lit(value=False))
    )
    return found["reason"].to_list()


@cache
def every_reason():
    """What keeps the texts of each pair apart, and of each pair the other way round; all at once."""
    pairs = [pair[::way] for pair in given(APART) + given(COPIES) for way in (1, -1)]
    return dict(zip(pairs, reasons(pairs), strict=True))


def both_ways(one, other):
    return [every_reason()[pair] for pair in ((one, other), (other, one))]


@pytest.mark.parametrize(("one", "other"), given(APART))
def test_one_differing_fact_keeps_texts_apart(one, other):
    assert None not in both_ways(one, other)


@pytest.mark.parametrize(("one", "other"), given(COPIES))
def test_copies_that_differ_in_form_are_merged(one, other):
    assert both_ways(one, other) == [None, None]


@pytest.mark.usefixtures("unpublished")
def test_a_store_keeps_differing_texts_and_merges_copies(tmp_path):
    said = [line for pair in given(APART)[3:4] + given(COPIES)[:1] for line in pair]
    with MemoryClient(tmp_path, profile_id="u") as memory:
        for index, text in enumerate(said):
            memory.remember(text, session_id=f"s{index}")
        assert memory.consolidate().actions["supersede"] == 2  # the copies alone
        found = memory.recall("temperature limit alarm").text()
    assert all(text in found for text in said[:2])
