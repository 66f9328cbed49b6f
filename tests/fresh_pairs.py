"""Pairs of texts whose label is known, each worded on its own; they only measure.

`FRESH` was written before its author read the rules, `LATER` after they had been mended by it.
"""

from typing import Final

FRESH: Final = {
    "duplicate": """
The clinic opens at seven in the morning. | the clinic opens at seven in the morning
The greenhouse holds 40 seedlings. | Our greenhouse holds 40 seedlings.
The ferry leaves from pier 4. | So, the ferry leaves from pier 4.
I drive a Corolla. | I drive a Corolla, you know.
My landlord charges 900 euros a month. | My landlord charges me 900 euros a month.
The choir rehearses on Thursdays. | The choir rehearses on Thursday.
Marta coaches the under-tens. | Marta coachs the under-tens.
The museum ticket costs 12 dollars. | The museum ticket costs $12.
The warehouse is in Rotterdam. | The warehouse is in Roterdam.
I take my tablets in the evening. | I take my tabelts in the evening.
The kiln runs at 1050 degrees. | The kiln runs at 1,050 degrees.
Our mascot is called Biscuit. | Our mascot's called Biscuit.
The bill is due on the 3rd of June. | The bill is due on 3 June.
The orchestra is conducted by Lena Voss. | As I mentioned, the orchestra is conducted by Lena Voss.
I'm training for a half marathon. | I am training for a half marathon.
My gym membership is with FitHouse. | My gym membership is with FitHouse!
The parser handles 200 files per minute. | The parser handles two hundred files per minute.
Our server runs Debian 11. | Our sever runs Debian 11.
My bedtime is ten o'clock. | My bedtime is 10 o'clock.
The book club meets at Rosa's place. | The book club meets at Rosas place.
The farm has 30 goats. | The farm has thirty goats.
Ken's office is on the second floor. | Ken's office is on the 2nd floor.
My flight lands at 18:40. | My flight lands at 6:40 pm.
My daughter goes to Maple School. | My daughter gose to Maple School.
I write my novel in Scrivener. | Yep, I write my novel in Scrivener.
We're having the wedding in a barn. | We are having the wedding in a barn, haha.
The committee has nine members. | The committee has 9 members.
The store manager is Yusuf. | Yusuf is the store manager.
My favourite tea is oolong. | My favorite tea is oolong.
The password policy requires 10 characters. | The password policy reqiures 10 characters.
I pay my cleaner 15 pounds an hour. | I pay my cleaner £15 an hour.
The lighthouse tour takes 40 minutes. | The lighthouse tour takes 40 mins.
Our puppy weighs 4 kilos. | Our puppy weighs 4 kg.
The ticket is assigned to Nadia. | Btw the ticket is assigned to Nadia
The exam is in room 204. | The exam is in room 204, just so you know.
I play the oboe in the town band. | I play the obeo in the town band.
The bridge is closed for repairs. | The brigde is closed for repairs.
I'm renting a studio in Porto. | I'm rentnig a studio in Porto.
Our insurer is Baltica. | Our insurer is Baltica, fyi.
The dam project is led by Ruth Abara. | Ruth Abara leads the dam project.
The recipe needs two eggs. | The recipe needs 2 eggs.
The trial has 120 patients enrolled. | The trial has 120 patinets enrolled.
The newsletter goes out every Friday. | The newsletter goes out evry Friday.
The chess tournament starts on 9 May. | The chess tournament starts on May 9.
The recital is at 7 pm. | The recital is at 19:00.
We keep our backups on tape. | We keep our backups on tape, as you know.
I commute by train. | I comute by train.
The mayor of our town is Ingrid Holm. | Ingrid Holm is the mayor of our town.
The default branch is called master. | The default branch is called "master".
The API limit is 500 calls a day. | The API limit is 500 calls per day.
I live with two roommates. | I live with two room-mates.
My appointment with the dentist is on Tuesday. | My appointment with the dentist is on tuesday :)
I'm reading Middlemarch. | I'm currently reading Middlemarch.
My mother lives in Graz. | My mum lives in Graz.
My son wants to become a vet. | My son really wants to become a vet.
I use an inhaler twice a day. | I use an inhaler two times a day.
The company has its seat in Dublin. | The company has it's seat in Dublin.
Our choir has 24 singers. | Our choir has 24 singers!!
I'm a junior accountant. | I'm a junior acountant.
My sister studies law. | My sister studys law.
The pool is heated to 26 degrees. | The pool is heated to 26 °.
I sleep six hours a night. | I sleep six hours per night.
The drummer of our band is Kofi. | Our band's drummer is Kofi.
Our webshop ships within five days. | Our web shop ships within five days.
I'm on the basic plan. | Like I said, I'm on the basic plan.
The library card is valid until 2025. | The libary card is valid until 2025.
My car insurance expires in March. | My car insurance expires in march.
The tram stops in front of our house. | The tram stops right in front of our house.
We have a cat. | We've got a cat.
I have got two cats at home. | I have two cats at home.
The thesis deadline is 1 July. | The thesis deadline is July 1st.
The pump delivers 30 litres per minute. | The pump delivers 30 liters per minute.
The panel is chaired by Prof. Lind. | The panel is chaired by Professor Lind.
I owe Rita 200 dollars. | I owe Rita 200 bucks.
The factory employs 310 people. | The factroy employs 310 people.
I'd like my steak medium. | I would like my steak medium.
Please address me as Mrs. Bell. | Please adress me as Mrs. Bell.
The satellite orbits at 520 kilometres. | The satellite orbits at 520 km.
The dog sleeps in the kitchen. | The dog slepes in the kitchen.
The shop closes at 6 pm. | The shop closes at 6pm.
Our flagship product is the K2 drone. | Well, our flagship product is the K2 drone.
I prefer window seats. | I prefer window seats, personally.
I love running in the mornings. | I love runing in the mornings.
The boat is called Seagull. | The boat is named Seagull.
The contract runs for two years. | The contract runs for 2 years.
Tom is dating Elise. | Tom is dating Elise now, did I tell you?
My laptop has 8 GB of memory. | My laptop has 8GB of memory.
My grandmother is in hospital. | My grandmother is in the hospital.
I'm staying at the Grand until Sunday. | I'm staying at the Grand untill Sunday.
The house is painted yellow. | The house is paintd yellow.
The beehives stand behind the shed. | The beehives stand behind the shed, by the way.
Our team uses Jira. | Our team uses Jira. That's it.
The project's budget is 40,000 euros. | The budget of the project is 40,000 euros.
Lessons last 45 minutes. | Lesons last 45 minutes.
My savings goal is 5,000 dollars. | My savings goal is $5,000.
The test suite has 812 tests. | The test suite has 812 tests in it.
My visa is valid for 30 days. | My visa is valid for thirty days.
My shoe size is 37. | My shoe size is 37. Okay?
Ana is the goalkeeper. | Ana is the goalkeepr.
I do yoga three times a week. | I do yoga 3 times a week.
The captain of the team is Rafa. | The team's captain is Rafa.
Our meeting is set for half past two. | Our meeting is set for 2:30.
I drink three cups of coffee a day. | I drink three cups of cofee a day.
The vineyard covers 12 hectares. | The vineyard covers twelve hectares.
The file format version is 1.4. | Note: the file format version is 1.4.
I have never been to Iceland. | I've never been to Iceland.
I don't eat shellfish. | I do not eat shellfish.
She's afraid of heights. | She is afraid of heights.
I can't find my passport. | I cannot find my passport.
It was raining when we landed in Cork. | It was rainning when we landed in Cork.
I bought the lamp at a flea market. | I bought the lamp at a flea markte.
Do you know a good dentist in Lyon? | Do you know a good dentist in Lyon??
I need help sorting my stamps. | I need help with sorting my stamps.
My neighbour breeds canaries. | My neighbor breeds canaries.
My cousin restores old clocks. | My cousin restores old clcoks.
We hiked along the ridge for five hours. | We hiked along the ridge for 5 hours.
Grandpa repaired the gate last Friday. | Last Friday Grandpa repaired the gate.
In 2012 I moved to Malta. | I moved to Malta in 2012.
On Sundays we bake bread. | We bake bread on Sundays.
The judge dismissed the case. | The case was dismissed by the judge.
Leo built the treehouse. | The treehouse was built by Leo.
My knee hurts when I climb stairs. | When I climb stairs my knee hurts.
I lost my umbrella on the bus. | Ugh, I lost my umbrella on the bus.
The soup was far too salty. | The soup was way too salty.
I graduated from the academy in 2009. | I gradauted from the academy in 2009.
We adopted a greyhound. | We adopted a grayhound.
The exhibit features Roman coins. | The exhibit features Roman conis.
I repaired my bike with Sam. | I repaired my bike together with Sam.
My aunt owns a vineyard near Siena. | My aunt owns a vinyard near Siena.
I fell asleep during the film. | I fell asleep during the movie.
I started learning Welsh in January. | I began learning Welsh in January.
I want to buy a kayak. | I want to purchase a kayak.
My kids adore pancakes. | My children adore pancakes.
The concert was awesome. | The concert was amazing.
The stall sells honey and wax candles. | The stall sells wax candles and honey.
I speak Polish and Czech. | I speak Czech and Polish.
It's Ada's birthday tomorrow. | Tomorrow is Ada's birthday.
I have an appointment at 9:00. | I have an appointment at 9.
I gave Tim the keys. | I gave the keys to Tim.
He sent me a postcard from Fiji. | He sent a postcard from Fiji to me.
The bus was 20 minutes late. | The bus was twenty minutes late.
We need 1.5 litres of milk. | We need one and a half litres of milk.
The rope is half a metre long. | The rope is 50 cm long.
Our cellar flooded last winter. | Our celler flooded last winter.
I found a wallet in the park. | I found a wallet in the park earlier, it was in the park.
The actor forgot his lines. | The actor forgot his liens.
The lecture begins at quarter past three. | The lecture begins at 3:15.
The pot is made of clay. | That pot is made of clay.
I joined a rowing club in Hull. | I joined a rowing clubb in Hull.
I ordered the blue curtains. | I've ordered the blue curtains.
""",
    "update": """
The clinic opens at seven in the morning. | Starting next Monday the clinic opens at eight in the morning.
Our vet is Dr. Halloran. | Our vet is Dr. Osei now, Dr. Halloran retired.
The greenhouse holds 40 seedlings. | The greenhouse now holds 65 seedlings.
The ferry leaves from pier 4. | Heads up, the ferry leaves from pier 7 these days.
I drive a Corolla. | I traded the Corolla in and drive a Leaf now.
My landlord charges 900 euros a month. | My landlord put the rent up, he charges 980 euros a month from May on.
The choir rehearses on Thursdays. | From now on the choir rehearses on Tuesdays.
Marta coaches the under-tens. | Marta doesn't coach the under-tens any more, Piotr took over.
Our bakery uses rye flour from Dahl Mills. | Our bakery has switched to rye flour from Ferris Mills.
The museum ticket costs 12 dollars. | The museum ticket went up to 15 dollars.
The warehouse is in Rotterdam. | The warehouse was relocated to Antwerp.
I take my tablets in the evening. | My doctor told me to take my tablets in the morning instead.
The kiln runs at 1050 degrees. | Correction: the kiln runs at 1100 degrees.
Our mascot is called Biscuit. | We renamed our mascot, it's called Waffle now.
The bill is due on the 3rd of June. | The due date of the bill was pushed to the 17th of June.
The orchestra is conducted by Lena Voss. | Since this season the orchestra has been conducted by Tariq Amin.
I'm training for a half marathon. | I upgraded my goal: I'm training for a full marathon now.
My gym membership is with FitHouse. | I left FitHouse, and my gym membership is with Ironworks now.
The parser handles 200 files per minute. | After the rewrite the parser handles 750 files per minute.
Our server runs Debian 11. | We upgraded our server and it runs Debian 12 now.
My bedtime is ten o'clock. | Lately my bedtime is eleven o'clock.
The book club meets at Rosa's place. | The book club meets at the library instead of Rosa's place now.
The farm has 30 goats. | We sold a few, so the farm has 22 goats now.
Ken's office is on the second floor. | Ken's office has moved to the fifth floor.
I am allergic to nothing. | It turns out I am allergic to walnuts.
My flight lands at 18:40. | My flight got delayed and lands at 20:15.
My daughter goes to Maple School. | My daughter changed schools, she goes to Hillcrest now.
The film is scheduled for release in October. | The film's release has been put back to December.
I write my novel in Scrivener. | I gave up on Scrivener and write my novel in Obsidian.
We're having the wedding in a barn. | Change of plan: we're having the wedding on a beach.
The committee has nine members. | With Ola gone, the committee is down to eight members.
The store manager is Yusuf. | There's a new store manager, Petra.
My favourite tea is oolong. | My favourite tea isn't oolong any longer, it's rooibos.
The password policy requires 10 characters. | As of today, the password policy requires 14 characters.
I pay my cleaner 15 pounds an hour. | I gave my cleaner a raise, I pay her 18 pounds an hour now.
The lighthouse tour takes 40 minutes. | They shortened it: the lighthouse tour takes 30 minutes now.
The lake is frozen. | The lake has thawed.
Our puppy weighs 4 kilos. | Our puppy has grown to 7 kilos.
The ticket is assigned to Nadia. | The ticket was reassigned to Oskar.
The exam is in room 204. | The exam was moved to room 311.
My brother is single. | My brother got engaged.
I have a beard. | I shaved off my beard.
I play the oboe in the town band. | I quit the town band.
The bridge is closed for repairs. | The bridge has reopened.
The order is still pending. | The order has been shipped.
I'm renting a studio in Porto. | I bought a flat in Porto and moved out of the studio.
Our insurer is Baltica. | We cancelled with Baltica and our insurer is Nordia now.
The dam project is led by Ruth Abara. | Ruth Abara handed the dam project over to Felix Stone.
The recipe needs two eggs. | I changed the recipe, it needs three eggs.
The trial has 120 patients enrolled. | The trial is now up to 148 enrolled patients.
My phone number ends in 4471. | I got a new phone number, it ends in 9023.
The newsletter goes out every Friday. | The newsletter will go out every other Wednesday from now on.
The chess tournament starts on 9 May. | They postponed the chess tournament to 16 May.
The recital is at 7 pm. | The recital has been brought forward to 6 pm.
We keep our backups on tape. | We have stopped keeping our backups on tape and put them in cloud storage.
I eat meat. | I've become a vegetarian.
I commute by train. | I don't commute by train anymore, I cycle.
The mayor of our town is Ingrid Holm. | Sven Dahl has replaced Ingrid Holm as the mayor of our town.
The default branch is called master. | The default branch has been renamed to main.
The API limit is 500 calls a day. | The API limit was lowered to 300 calls a day.
I live with two roommates. | One of them moved out, so I live with one roommate now.
My appointment with the dentist is on Tuesday. | My appointment with the dentist was rescheduled for Friday.
I'm reading Middlemarch. | I finished Middlemarch and I'm reading Dracula now.
My mother lives in Graz. | My mother has moved from Graz to Linz.
My son wants to become a vet. | My son has changed his mind and wants to become a baker.
I use an inhaler twice a day. | I'm down to using the inhaler once a day.
The garden party is on Saturday the 12th. | Because of the rain the garden party will be on Saturday the 19th instead.
The company has its seat in Dublin. | The company has moved its seat to Cork.
Our choir has 24 singers. | Four people joined and our choir has 28 singers now.
I'm a junior accountant. | I got promoted to senior accountant.
My sister studies law. | My sister dropped law and studies medicine now.
The pool is heated to 26 degrees. | Since last week the pool has been heated to 28 degrees.
The train to Bergen departs from platform 2. | Attention: the train to Bergen will depart from platform 5 today instead.
I sleep six hours a night. | These days I sleep eight hours a night.
The conference hotel is the Astoria. | The Astoria fell through, so the conference hotel is the Meridian.
The drummer of our band is Kofi. | Kofi left, the drummer of our band is Jun now.
Our webshop ships within five days. | Our webshop now ships within two days.
I'm on the basic plan. | I upgraded from the basic plan to the premium plan.
The library card is valid until 2025. | I renewed the library card and it's valid until 2028 now.
The museum is free on Mondays. | The museum used to be free on Mondays, now it is free on Wednesdays.
The lead singer is Mo. | Mo is no longer the lead singer, Tess is.
My car insurance expires in March. | My car insurance was extended and expires in September.
The tram stops in front of our house. | The tram no longer stops in front of our house.
We have a cat. | Sadly our cat passed away, so we have no cat now.
I smoke. | I've quit smoking.
The thesis deadline is 1 July. | I got an extension, the thesis deadline is 1 September.
Our coach is Bill. | Bill was sacked and our coach is Amara now.
The pump delivers 30 litres per minute. | With the new motor the pump delivers 45 litres per minute.
My password manager is LockBox. | I migrated from LockBox to KeyNest.
The panel is chaired by Prof. Lind. | The panel is now chaired by Prof. Okafor.
I owe Rita 200 dollars. | I paid Rita back a part, so I owe her 80 dollars now.
The factory employs 310 people. | After the layoffs the factory employs 240 people.
I'd like my steak medium. | Actually, make my steak well done.
Please address me as Mrs. Bell. | Please address me as Ms. Carter from now on.
Remind me to water the ferns on Sunday. | Remind me to water the ferns on Wednesday instead.
My watch is ten minutes fast. | I fixed my watch, it's on time now.
The satellite orbits at 520 kilometres. | The satellite has been lowered and orbits at 480 kilometres.
The dog sleeps in the kitchen. | Nowadays the dog sleeps in the hallway.
My piano lessons are with Mrs. Quill. | I have a new piano teacher, my lessons are with Mr. Roe now.
The shop closes at 6 pm. | The shop has changed its hours and closes at 8 pm.
Our flagship product is the K2 drone. | Our flagship product is the K3 drone as of this spring.
I prefer window seats. | I used to prefer window seats, but I prefer aisle seats now.
I love running in the mornings. | I've come to hate running in the mornings.
The boat is called Seagull. | We repainted the boat and gave it a new name, Heron.
The sermon is at St. Anne's. | The sermon will be at St. Paul's instead.
I'm vegan. | I'm not vegan anymore.
The hiking group has its base camp at 2,100 metres. | The hiking group shifted its base camp to 2,600 metres.
The contract runs for two years. | We renegotiated, the contract runs for three years now.
The score is 2 to 1. | The score is now 2 to 2.
Tom is dating Elise. | Tom and Elise broke up.
The reactor is offline. | The reactor is back online.
My laptop has 8 GB of memory. | I upgraded my laptop to 32 GB of memory.
My grandmother is in hospital. | My grandmother came home from hospital yesterday.
The vacancy is open. | The vacancy has been filled.
I'm staying at the Grand until Sunday. | I extended my stay at the Grand until Tuesday.
The house is painted yellow. | We had the house repainted, it's white now.
The roof leaks. | The roof was repaired and doesn't leak anymore.
The beehives stand behind the shed. | We moved the beehives to the orchard.
Our team uses Jira. | Our team ditched Jira for Linear.
The project's budget is 40,000 euros. | The project's budget was cut to 32,000 euros.
Lessons last 45 minutes. | As of September lessons last 60 minutes.
My savings goal is 5,000 dollars. | I raised my savings goal to 6,500 dollars.
The test suite has 812 tests. | The test suite has grown to 934 tests.
The cottage has no internet. | The cottage finally has internet.
My visa is valid for 30 days. | In fact my visa is valid for 90 days.
The meeting with the notary takes place in his office. | The meeting with the notary takes place online after all.
My shoe size is 37. | My feet grew, my shoe size is 38 now.
Ana is the goalkeeper. | Ana plays in midfield now and Bea is the goalkeeper.
The parcel is at the depot. | The parcel is on its way to you now.
I can't swim. | I've learned to swim.
I have never eaten oysters. | I ate oysters for the first time last night.
I'm unemployed. | I found a job at a nursery.
The radio station broadcasts on 98.3. | The radio station has moved to 101.7.
The council meets twice a month. | The council now meets only once a month.
My physiotherapist is Hannah. | I switched physiotherapists, mine is Noor now.
I want to paint the kitchen green. | On second thought, I want to paint the kitchen grey.
Our budget for the trip is 2,000 dollars. | We bumped our budget for the trip to 2,400 dollars.
I do yoga three times a week. | I've cut back to doing yoga once a week.
The translator uses a dictionary of 20,000 words. | The translator's dictionary has since grown to 26,000 words.
The moderator of the forum is Zed. | Zed stepped down and Ivy became the moderator of the forum.
The supplier delivers on Mondays and Thursdays. | The supplier only delivers on Mondays now.
The apartment is on the market for 310,000. | They dropped the price of the apartment to 295,000.
The next show is in Leeds. | The next show got moved to York.
The captain of the team is Rafa. | The new captain of the team is Emil.
Our meeting is set for half past two. | Our meeting has been shifted to half past four.
I drink three cups of coffee a day. | I've gone down to one cup of coffee a day.
The plane seats 180 passengers. | Sorry, I misspoke: the plane seats 150 passengers.
The vineyard covers 12 hectares. | The vineyard expanded and covers 15 hectares now.
The file format version is 1.4. | The file format version was bumped to 2.0.
My curfew is nine o'clock. | My parents agreed to a later curfew, it's ten o'clock now.
""",
    "contradiction": """
I have visited the Acropolis. | I have never been to the Acropolis.
I've run a marathon before. | I have never run a marathon.
Nobody in our family plays an instrument. | My family is full of people who play instruments, my dad plays cello.
I don't own a bicycle. | I ride my own bicycle on weekends.
I have two sisters. | I'm an only child.
I've never used Terraform. | I wrote the whole deployment in Terraform last year.
I grew up in Norway. | I didn't grow up in Norway.
I attended the launch party. | I wasn't at the launch party.
My father was a sailor. | My father was never a sailor.
I speak Portuguese. | I don't speak a word of Portuguese.
I've read all the Harry Potter books. | I haven't read any Harry Potter book.
I signed the lease in person. | I never signed the lease.
We met at a wedding. | We did not meet at a wedding.
I have seen Casablanca at least five times. | I've never watched Casablanca.
I enabled encryption on the disks. | I never enabled encryption on the disks.
I've implemented the payment webhook. | I have not implemented any payment webhook.
I have never broken a bone. | I broke my arm when I was eight.
I have never flown. | I flew to Chile in 2019.
I always pay on time. | I have never paid on time.
I sent the invoice to Mr. Pell. | I did not send Mr. Pell an invoice.
I have a degree in chemistry. | I never got a degree.
I hate mushrooms. | I love mushrooms.
I can play the violin. | I can't play the violin.
I've never met Professor Ito. | I met Professor Ito at a workshop in Kobe.
I have no children. | My daughter turned five.
I took the photo myself. | I didn't take the photo.
I've never had a speeding ticket. | I got a speeding ticket in 2015.
I have set up the firewall. | I haven't set up a firewall.
The museum was built in 1901. | The museum was built in 1923.
My grandfather was born in Kraków. | My grandfather was born in Gdańsk.
The accident happened on a Sunday. | The accident happened on a Friday.
The tower is 80 metres tall. | The tower is 95 metres tall.
Columbus is buried in Seville. | Columbus is buried in Santo Domingo.
I was born in 1988. | I was born in 1991.
The statue is made of bronze. | The statue is made of marble.
My wedding was in June. | My wedding was in August.
Her maiden name is Sorel. | Her maiden name is Dupont.
The letter was written by Keats. | The letter was written by Shelley.
The first train ran in 1844. | The first train ran in 1851.
We won the final 3 to 1. | We lost the final.
I've integrated Stripe in the shop. | I've never integrated Stripe in the shop.
I wrote unit tests for the parser. | I never wrote unit tests for the parser.
I've tried skydiving. | I have never tried skydiving.
My uncle has never left Peru. | My uncle worked in Spain for ten years.
I deployed the model to production. | The model has never been deployed to production.
I've worked with Kafka for years. | I've never worked with Kafka.
I've never been married. | My ex-wife and I divorced in 2010.
I do not drink alcohol. | I had a glass of wine at dinner, like every evening.
I've never asked for a refund. | I asked for a refund in April.
I have already submitted the tax form. | I haven't submitted the tax form.
I talked to the plumber. | I never talked to the plumber.
The soup contains dairy. | The soup contains no dairy.
Bats are mammals. | Bats are not mammals.
The road is paved. | The road isn't paved.
I locked the door. | I didn't lock the door.
There were survivors. | There were no survivors.
The witness saw the car. | The witness didn't see the car.
Ravi finished the puzzle alone. | Ravi never finished the puzzle.
Tina enjoys opera. | Tina can't stand opera.
I like horror movies. | I dislike horror movies.
The door opens inward. | The door opens outward.
The patient has a fever. | The patient has no fever.
The shop accepts credit cards. | The shop doesn't accept credit cards.
I've cleaned the gutters. | I never cleaned the gutters.
I have used GraphQL in several projects. | I've never used GraphQL in any project.
I have never failed an exam. | I failed two exams in my first year.
I've visited every state of India. | I've never set foot in India.
I received the parcel. | I never received the parcel.
My mother taught me to knit. | My mother never taught me to knit.
I have attended a session with the career coach. | I haven't attended any session with the career coach.
I've written a will. | I have never written a will.
I planted the tulips. | I did not plant any tulips.
My dog is afraid of thunder. | My dog is not afraid of thunder.
I have worked as a lifeguard. | I have never worked as a lifeguard.
I added caching to the endpoint. | I've never added caching to the endpoint.
I have a driving licence. | I don't have a driving licence.
I know how to ski. | I don't know how to ski.
I've never owned a pet. | I had a tortoise for fifteen years.
I sold my first painting in Vienna. | I have never sold a painting.
I agreed to the terms. | I never agreed to the terms.
I watered the basil. | I have not watered the basil.
I was at home all evening. | I went to the cinema that evening and wasn't at home.
We have never been to a casino. | We went to a casino in Monaco.
Our school has a swimming pool. | Our school has no swimming pool.
I completed the safety course. | I never completed the safety course.
I've been vaccinated against rabies. | I have never been vaccinated against rabies.
I wear contact lenses. | I've never worn contact lenses.
I fixed the memory leak. | I never fixed the memory leak.
I've camped in Yosemite. | I have never camped in Yosemite.
I configured the load balancer myself. | I have never configured a load balancer.
My brother served in the navy. | My brother never served in the navy.
The house has a basement. | The house doesn't have a basement.
I met the deadline. | I missed the deadline.
I passed the bar exam. | I failed the bar exam.
I remember my first day at school. | I don't remember my first day at school at all.
The report mentions asbestos. | The report does not mention asbestos.
Nobody came to the reading. | Forty people came to the reading.
I trust the new surveyor. | I do not trust the new surveyor.
I've spoken with the tenants. | I have never spoken with the tenants.
I have experience with welding. | I have no experience with welding.
There is a bakery on our street. | There is no bakery on our street.
I've taken part in a hackathon. | I've never taken part in a hackathon.
I painted the fence. | I never painted the fence.
I have never cooked a turkey. | I cooked a turkey for twelve people last Christmas.
I've never written poetry. | I wrote poetry all through college.
I have never been stung by a bee. | A bee stung me when I was six.
I've never tasted durian. | I tasted durian in Bangkok and liked it.
I've never spoken in public. | I spoke in public at the town hall in March.
I haven't booked the hotel. | I booked the hotel in February.
We never had a contract with Bolt Logistics. | We signed a contract with Bolt Logistics in 2020.
I have never held a newborn. | I held my newborn niece in May.
I've never seen snow. | I saw snow in the Alps as a child.
I have never used a sewing machine. | I used a sewing machine to make my prom dress.
I've never given blood. | I gave blood at the Red Cross in spring.
I have never sung karaoke. | I sang karaoke at Mia's birthday.
I never learned to drive. | I learned to drive at seventeen.
I don't have any tattoos. | I have a tattoo of an anchor on my wrist.
I never kept a diary. | I kept a diary as a teenager.
I haven't chosen a thesis topic. | I chose my thesis topic back in May.
I don't eat fish. | I eat fish twice a week.
I never eat breakfast. | I eat breakfast every day at seven.
I never swim in the sea. | I swim in the sea every summer.
I've never won anything. | I won a toaster in a raffle.
The lake has no fish. | There are fish in the lake.
The bridge has never been closed. | The bridge was closed in 1997.
The tool has no telemetry. | The tool collects telemetry.
The vendor has never missed a delivery. | The vendor missed a delivery in October.
The firm never made a profit. | The firm made a profit in 2021.
My cousin doesn't know Berlin. | My cousin knows Berlin like the back of his hand.
No one has climbed that peak. | Two Swiss climbed that peak in 1953.
Wheat does not grow here. | Wheat grows here.
I refused the offer. | I accepted the offer.
I told Hugo about the surprise. | I didn't tell Hugo about the surprise.
My boss approved my leave. | My boss rejected my leave.
Ines remembered to bring the keys. | Ines forgot to bring the keys.
The window was open at the time. | The window was shut at the time.
The suspect is left-handed. | The suspect is right-handed.
The vase is empty. | The vase is full of lilies.
The water is safe to drink. | The water is unsafe to drink.
The trail is easy. | The trail is anything but easy.
The castle lies north of the river. | The castle lies south of the river.
I have got a dishwasher. | I haven't got a dishwasher.
Our plane arrived on time. | Our plane didn't arrive on time.
I've hardly ever been ill. | I have been ill very often.
I was the one who called the police. | I wasn't the one who called the police.
My team used Scala for the pipeline. | My team never used Scala for the pipeline.
I have set foot on Antarctica. | I never set foot on Antarctica.
I have tuned the piano. | I've never tuned the piano.
I borrowed money from my aunt. | I never borrowed money from my aunt.
I've driven across Texas. | I have never driven across Texas.
""",
    "unrelated": """
The clinic opens at seven in the morning. | The pharmacy now opens at eight in the morning.
Our vet is Dr. Halloran. | Our dentist is Dr. Osei now.
The greenhouse holds 40 seedlings. | The balcony now holds 12 seedlings.
The ferry leaves from pier 4. | The ferry arrives at pier 7.
I drive a Corolla. | My wife drives a Leaf now.
My landlord charges 900 euros a month. | My garage costs 98 euros a month from May on.
The choir rehearses on Thursdays. | The choir performs on Sundays.
Marta coaches the under-tens. | Marta also coaches the under-twelves.
The bakery sells rye bread. | The bakery sells croissants too.
The museum ticket costs 12 dollars. | The museum's audio guide costs 5 dollars.
The warehouse is in Rotterdam. | The new office is in Antwerp.
I take my tablets in the evening. | I take my vitamins in the morning.
The kiln runs at 1050 degrees. | The oven runs at 220 degrees.
Our mascot is called Biscuit. | Our neighbour's cat is called Waffle now.
The gas bill is due on the 3rd of June. | The water bill is due on the 17th of June.
The orchestra is conducted by Lena Voss. | The youth choir is now conducted by Tariq Amin.
I ran a half marathon in April. | I ran a full marathon in September.
My sister's gym is FitHouse. | My gym is Ironworks now.
The parser handles 200 files per minute. | The indexer now handles 750 files per minute.
Our web server runs Debian 11. | Our mail server runs Debian 12 now.
My bedtime is ten o'clock. | I get up at seven o'clock these days.
The book club meets at Rosa's place. | The knitting circle meets at the library now.
The farm has 30 goats. | The farm has 12 hens now.
Ken's office is on the second floor. | Mila's office has moved to the fifth floor.
I am allergic to cats. | I am allergic to walnuts as well.
My flight to Rome lands at 18:40. | My flight back lands at 20:15.
My daughter goes to Maple School. | My son goes to Hillcrest now.
The first film came out in October. | The sequel has been put back to December.
I write my novel in Scrivener. | I write my invoices in Excel now.
We visited Lisbon in 2018. | We visited Madrid in 2020.
I ate soup on Monday. | I ate salad on Tuesday.
My favourite tea is oolong. | My favourite cake is rooibos cheesecake now.
My favourite tea is oolong. | My mother's favourite tea is rooibos.
The password needs 10 characters. | The username needs 5 characters as of today.
I pay my cleaner 15 pounds an hour. | I pay my gardener 18 pounds an hour now.
The lighthouse tour takes 40 minutes. | The cave tour takes 30 minutes now.
Our puppy weighs 4 kilos. | The suitcase weighs 7 kilos.
The printer ticket is assigned to Nadia. | The scanner ticket was reassigned to Oskar.
The history exam is in room 204. | The maths exam was moved to room 311.
My brother is single. | My cousin got engaged.
I play the oboe. | I also play the piano now.
I scored 72 percent on the first quiz. | I scored 85 percent on the second quiz.
In the algebra test I got 14 of 20 right. | In the geometry test I got 17 of 20 right.
What is 30 percent of 90? | What is 40 percent of 120?
The probability of two heads is 0.25. | The probability of three heads is 0.125.
I walked 5 km today. | I walked 8 km today.
I spent 40 dollars on groceries yesterday. | I spent 25 dollars on books last week.
Lunch cost 12 euros. | Dinner cost 31 euros.
I have a meeting with Ole on Tuesday. | I have a meeting with Ines on Friday.
The meeting on Tuesday is in room 4. | The meeting on Friday is in room 9.
I bought a lamp. | I bought a rug.
I like jazz. | I like blues, too.
I know Python. | I've started learning Rust.
I have been to Kenya. | I have never been to Ghana.
I have never been to Kenya with my kids. | I went to Kenya in my twenties.
My aunt never learned to swim. | I learned to swim at seven.
I haven't read Emma yet. | I read Persuasion last summer.
I can't play the violin. | I can play the trumpet.
I don't eat pork. | I eat beef now and then.
I never drink coffee after noon. | I drink coffee every morning.
I didn't sleep well on Monday. | I slept well on Wednesday.
We did not win in 2019. | We won in 2022.
Nobody came to the rehearsal. | Many people came to the concert.
I have no brothers. | I have two sisters.
There is no bakery on our street. | There is a butcher on our street.
I hate mushrooms. | I love aubergines.
The red vase is empty. | The blue vase is full.
My left knee hurts. | My right knee doesn't hurt.
My old flat had a balcony. | My new flat has no balcony.
Last year the farm made a loss. | This year the farm made a profit.
In winter the lake is frozen. | In summer the lake is warm.
The upstairs window was open. | The kitchen window was shut.
The bridge at Dorn is closed for repairs. | The bridge at Kell has reopened.
My first order is still pending. | My second order has been shipped.
The recipe needs two eggs. | The recipe needs 300 grams of flour.
The trial has 120 patients. | The trial has 9 doctors.
Sales in March were 4,000 units. | Sales in April were 5,200 units.
The temperature on Monday was 12 degrees. | The temperature on Thursday was 19 degrees.
On day one we hiked 14 kilometres. | On day two we hiked 22 kilometres.
Episode 3 lasts 42 minutes. | Episode 4 lasts 51 minutes.
Chapter 2 has 30 pages. | Chapter 5 has 44 pages.
Player one has 12 points. | Player two now has 15 points.
Sara is 34. | Jonas is 36 now.
Sara was 20 in 2010. | Sara was 25 in 2015.
I slept six hours on Friday night. | I slept eight hours on Saturday night.
The train to Bergen departs from platform 2. | The train to Oslo will depart from platform 5 instead.
Our webshop ships to Spain within five days. | Our webshop now ships to Malta within nine days.
I'm on the basic plan. | My boss is on the premium plan now.
My library card is valid until 2025. | My passport is valid until 2031.
The museum is free on Mondays. | The zoo is free on Wednesdays.
The lead singer is Mo. | The bass player is Tess now.
My car insurance expires in March. | My car inspection is due in September.
I want a house by the sea. | I want a dog someday.
I plan to visit Peru. | I plan to visit Bolivia after that.
I have a cat. | I adopted a second cat.
I have a son. | I have a daughter as well.
We grow beans. | We've begun growing peas.
The pump delivers 30 litres per minute. | The tank holds 450 litres now.
Rita owes me 200 dollars. | I owe Hal 80 dollars now.
The factory employs 310 people. | The head office employs 24 people.
Remind me to water the ferns on Sunday. | Remind me to call Dad on Wednesday.
The dog sleeps in the kitchen. | The cat sleeps in the hallway nowadays.
The shop closes at 6 pm. | The shop opens at 8 am now.
The shop closes at 6 pm on weekdays. | The shop closes at 4 pm on Saturdays.
I prefer window seats on planes. | I prefer aisle seats at the theatre.
I love running. | I've come to hate cycling.
The sermon on Easter is at St. Anne's. | The sermon on Whitsun is at St. Paul's.
The home team scored twice. | The away team scored once.
My laptop has 8 GB of memory. | My laptop has a 512 GB disk.
My laptop has 8 GB of memory. | My desktop now has 32 GB of memory.
The house is yellow. | The garage is white now.
The roof leaks. | The tap doesn't leak anymore.
Our team uses Jira for tickets. | Our team uses Slack for chat now.
The travel budget is 4,000 euros. | The marketing budget was cut to 3,200 euros.
I like your new haircut. | Thanks, I like it too.
How was your trip to Nice? | It was lovely, we swam every day.
I might move to Graz. | I might move to Linz.
If it rains we meet at Rosa's. | If it is sunny we meet at the park.
Suppose the car goes 60 km an hour. | Suppose the train goes 90 km an hour.
Should I paint the kitchen green? | Should I paint the bathroom grey instead?
The weather is dreadful. | My knitting is going well.
I finished Middlemarch. | I finished Dracula.
I watched Alien with Theo. | I watched Heat with Dora.
Theo liked Alien. | Dora didn't like Heat.
Theo liked Alien. | Dora didn't like Alien.
My mother lives in Graz. | My father has moved to Linz.
My mother was born in Graz. | My mother lives in Linz now.
I grew up in Norway. | I live in Denmark now.
I worked for Fenwick in 2008. | I work for Adler now.
My first car was a Corolla. | My second car was a Leaf.
Her first name is Ines. | Her last name is Sorel.
The hotel has 80 rooms. | The hotel has 3 restaurants.
The hotel in Bern has 80 rooms. | The hotel in Basel has 60 rooms now.
The statue in the park is made of bronze. | The fountain in the park is made of marble.
The north tower is 80 metres tall. | The south tower is 95 metres tall.
Hugo was born in 1988. | Ines was born in 1991.
The war began in 1914. | The war ended in 1918.
The first edition appeared in 1844. | The second edition appeared in 1851.
I submitted the tax form. | I haven't submitted the visa form.
Use two spaces in the YAML files. | Use four spaces in the Python files.
The staging server listens on port 8080. | The production server listens on port 9090 now.
The search endpoint returns 20 items. | The export endpoint returns 500 items now.
The timeout for reads is 5 seconds. | The timeout for writes is 10 seconds now.
I do yoga on Tuesdays. | I do pilates on Thursdays now.
I gave Tim the keys. | I gave Lea the map.
We planted ten apple trees. | We planted four pear trees.
The gift for Ana cost 30 dollars. | The gift for Bea cost 45 dollars.
My aunt sent me a scarf. | My uncle sent me a book.
I need to renew my passport. | I renewed my gym membership.
The soup was salty. | The dessert wasn't sweet.
The moon is full tonight. | We have a barbecue tonight.
""",
}
LATER: Final = {
    "duplicate": """
The tannery pays its apprentices 11 euros an hour. | The tannery pays it's apprentices 11 euros an hour.
The telescope is pointed at Vega. | The telescpoe is pointed at Vega.
Lena's tutor is Mr. Abbas. | By the way, Lena's tutor is Mr. Abbas.
The rehearsal begins at 18:00. | The rehearsal begins at 6 pm.
I keep bees on the balcony. | I keep bees on my balcony.
My editor wants 300 pages. | My editor watns 300 pages.
The database is hosted in Frankfurt. | The databse is hosted in Frankfurt.
The band has five members. | The band has 5 members.
The treasurer of the club is Ada. | The club's treasurer is Ada.
We use paper tickets. | We use paper tickets, fyi.
The drill uses a 12 volt battery. | The drill uses a 12-volt battery.
My cousin is studying in Leuven. | My cousin studies in Leuven.
I have slept in an igloo. | I've slept in an igloo once.
The chapel has a bell. | The chpael has a bell.
I own a typewriter. | I own a typewirter.
The valve was open. | Yes, the valve was open.
I paid the fine. | I paid the fine, believe me.
Our patrol meets at the old mill. | Our patrol meets at the old mill!
My neighbour drives a taxi. | My neighbor drives a cab.
I weigh 90 kilos. | I weigh ninety kilos.
""",
    "update": """
The tannery pays its trainees 11 euros an hour. | From April on the tannery pays its trainees 13 euros an hour.
Our minister preaches in Welsh. | Our minister now preaches in English instead of Welsh.
The telescope is pointed at Vega. | The telescope has been turned to Altair.
Lena's tutor is Mr. Abbas. | Lena's tutor is Ms. Farrow these days.
The reservoir stands at 62 percent. | Actually, the reservoir stands at 71 percent.
The rehearsal begins at 18:00. | The rehearsal has been pushed back to 19:30.
I keep bees on the balcony. | I no longer keep bees.
My editor wants 300 pages. | My editor wants 250 pages now.
The bus fare is 2 dollars. | They raised the bus fare to 2.50 dollars.
Our patrol meets at the old mill. | Until further notice our patrol meets at the chapel.
The database is hosted in Frankfurt. | We migrated, the database is hosted in Paris now.
Nurse Kim handles my file. | Nurse Adele has taken over my file from Nurse Kim.
My neighbour drives a taxi. | My neighbour gave up driving a taxi.
The band has five members. | Since Lou joined, the band has six members.
The bakery opens on Sundays. | The bakery doesn't open on Sundays anymore.
My favourite poet is Rilke. | My favourite poet has become Szymborska.
The pilot episode airs on 4 May. | The pilot episode will air on 11 May after all.
I weigh 90 kilos. | I've lost some weight and weigh 84 kilos.
The treasurer of the club is Ada. | Boris was elected as the new treasurer of the club.
We use paper tickets. | We replaced the paper tickets with wristbands.
The drill uses a 12 volt battery. | Correction, the drill uses an 18 volt battery.
My cousin is studying in Leuven. | My cousin transferred and is studying in Ghent.
The gallery shows Dutch masters. | As of this month the gallery shows Japanese prints.
I want the chicken. | Hold on, I'd rather have the trout instead of the chicken.
My physio session is on Monday. | My physio session got shifted to Thursday.
""",
    "contradiction": """
I have slept in an igloo. | I have never slept in an igloo.
The chapel has a bell. | The chapel has no bell.
I've interviewed the governor. | I never interviewed the governor.
Otto was born in Trieste. | Otto was born in Rijeka.
I repaired the sluice. | I did not repair the sluice.
My aunt has never sailed. | My aunt sailed around Corsica in 1999.
The novel was written by Ostrov. | The novel was written by Maurer.
We have never lost a parcel. | We lost a parcel in 2021.
I've configured single sign-on. | I haven't configured single sign-on.
I own a typewriter. | I've never owned a typewriter.
The fountain is made of granite. | The fountain is made of sandstone.
Nobody in my team knows Fortran. | Half of my team knows Fortran.
I can juggle. | I can't juggle.
The valve was open. | The valve was closed.
I've performed in Verona. | I have never performed in Verona.
I have never used a loom. | I used a loom at school.
The judge granted the motion. | The judge did not grant the motion.
My twin has been to Seoul. | My twin has never been to Seoul.
I paid the fine. | I never paid the fine.
There is a lift in the building. | There is no lift in the building.
""",
    "unrelated": """
The tannery pays its apprentices 11 euros an hour. | The sawmill now pays its apprentices 13 euros an hour.
Lena's tutor is Mr. Abbas. | Lena's driving teacher is Ms. Farrow now.
The rehearsal begins at 18:00. | The concert now begins at 20:00.
My editor wants 300 pages. | My agent now wants 40 percent.
The band has five members. | The band now has three roadies.
I bought a kettle. | Now I also bought a toaster.
My favourite poet is Rilke. | My favourite painter is Klee now.
I painted the hall white. | I've now painted the cellar grey.
The tower in Pisa leans. | The tower in Bologna leans, too.
I have never slept in an igloo. | I slept in a yurt.
Otto was born in Trieste. | Otto now lives in Rijeka.
I did not repair the sluice. | I repaired the gate.
The chapel has no bell. | The cathedral has a bell.
My left ear rings. | My right ear doesn't ring.
The bus fare is 2 dollars. | The tram fare went up to 3 dollars.
The reservoir stands at 62 percent. | Attendance now stands at 71 percent.
I got 7 of 10 in the spelling bee. | I got 9 of 10 in the reading test now.
Room 12 is booked on Friday. | Room 14 is now booked on Saturday.
Our minister preaches in Welsh. | Our organist now plays in Cardiff.
Nurse Kim handles my file. | Nurse Adele now handles Peter's file.
""",
}
