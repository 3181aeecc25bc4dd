"""The typists' phrase-structure rules, as data.

A block `% name kind` lists the ways to say one thing. A line is `[@registers] [weight] template`, with registers p
(plain), c (casual), s (slang); the default is all. In a template:

    {x}         a slot: a function in `slots`, or another rule
    [40 ...]    optional, with that percentage
    (a|b)       one of these, with equal probability
    /           the end of a sentence

`kind` is the kind of choice (see `people`): drift or pattern (wording), shift or turn (how words continue), or same
(no difference between people).
"""

TEXT = """
% report pattern
5 {subj} [15 {adv}] {do.past} [20 {with}] [22 {at}] [45 {when.past}]
3 {when.past} {subj} [15 {adv}] {do.past} [18 {with}] [22 {at}]
@cs 2 {=i} just {do.past} [30 {with}] [20 {at}]
2 {subj} {was} {do.ing} [18 {at}] when {event.past}
3 {subj} {have} [60 (just|finally|already)] {do.pp} [18 {at}]
2 {subj} {do.past} and then {they} {do.past} [40 {when.past}]
1 {subj} {do.past} because {event.past}
2 when {subj} {do.past} [30 {when.past}] , {event.past}
1 {subj} spent {span} {do.ing} [30 {with}]
1 {name} told me [50 that] {they} {do.past} [60 {when.past}]
1 {subj} ended up {do.ing} instead of {do.ing}
1 i can't believe [30 that] {subj} {do.past} [50 {when.past}]
1 the last time {subj} {do.past} , {event.past}
1 {subj} tried to {do.base} but {down.past}
1 after {subj} {do.past} {they} {do.past}
1 {subj} {was} supposed to {do.base} {when.past} but {they} {do.past} instead
1 it took {subj.obj} {span} to {do.base}

% follow_past turn
6 {itwas} {so} {adj}
4 {thing} {was3} {so} {adj}
2 {thing} {was3} {so} {adj} but {thing} {was3} {adj.opp}
2 {thing} {was3} [40 {so}] {adj} and {thing} {was3} {adj}
1 that was the {adj.est} {noun} (i've ever had|ever)
1 {thing} {was3} (even|much|way) {adj.er} than last time
2 {they} {was} {so} {feel}
2 {s.felt}
1 {they} didn't even {do.base}
1 then {event.past}
1 next time {they} {be} going to {do.base}
1 now {they} {v.want} to {do.base} too
1 have you ever {do.pp} ?
1 did you {do.base} too ?

% felt+ shift
i loved it
we had such a good time
it was worth it
best day ever
i can't stop smiling
so proud of {them}
we laughed so much
i'd do it again

% felt- shift
never again
i hated it
what a nightmare
i'm still annoyed
what a waste of time
i nearly cried
i blame {name}
could have been worse i guess

% invite drift
@pc 4 do you want to {do.base}
@p 2 would you like to {do.base}
@pc 3 do you fancy {do.ing}
@c 3 fancy {do.ing}
@pc 3 shall we {do.base}
@cs 4 want to {do.base}
3 are you up for {do.ing}
2 how about {do.ing}
@pc 2 why don't we {do.base}
@pc 2 are you free to {do.base}
@pc 2 could we {do.base}
@s 3 you down to {do.base}
@s 2 trying to {do.base}
@s 2 who's up for {do.ing}
@p 1 i was wondering if we could {do.base}
@c 1 any chance we can {do.base}

% plan pattern
8 {=we} {invite} [18 {with}] [18 {at}] [50 {when.fut}] ?
2 {=we} let's {do.base} [30 {with}] [50 {when.fut}]
1 {=we} we should {do.base} [22 {at}] [50 {when.fut}]
1 {=i} {name} and i are {do.ing} {when.fut} , do you want to come ?
1 if {event.pres} , {=we} shall we {do.base} {when.fut} ?

% follow_fut turn
3 i heard {thing} {is3} {so} {adj}
3 {name} says {thing} {is3} {so} {adj}
2 i'm {so} {feel}
2 {s.hope}
2 {things} {are3} {so} {adj} {at}
2 {=we} we can {do.base} first
2 {=we} or we could {do.base} instead
1 {=i} i've never {do.pp} before
2 is {clock} ok for you ?
1 let me know {letmeknow}
1 bring {things} if you can
1 but {subj} {v.need} to {do.base} first
1 i hope {thing} {is3} not {adj.opp}

% hope+ shift
it's going to be so good
can't wait
so excited
it will be fun
i've been looking forward to it
fingers crossed
should be a laugh

% hope- shift
not looking forward to it
wish me luck
i'd rather stay in bed
hope it goes ok
i'm dreading it
it's going to be a long day
send help

% will drift
@pc 3 {be} going to {do.base}
@cs 3 {be} going to {do.base}
3 {be} {do.ing}
@pc 3 will {do.base}
2 {v.have} to {do.base}
2 {v.need} to {do.base}
2 {v.want} to {do.base}
@pc 1 {be} planning to {do.base}
@p 1 would like to {do.base}
@p 1 {be} hoping to {do.base}
@cs 2 {have} got to {do.base}
@c 1 {be} thinking of {do.ing}
@s 2 {be} about to {do.base}
might {do.base}
should {do.base}
can't {do.base}

% future pattern
6 {subj} {will} [18 {with}] [18 {at}] [50 {when.fut}]
3 {when.fut} {subj} {will} [18 {with}] [22 {at}]
2 as soon as {subj} {v.get} (home|there|up|paid) {they} {will}
2 i hope {subj} can {do.base} {when.fut}
2 {subj} can't wait to {do.base} [50 {when.fut}]
1 {subj} promised to {do.base} [50 {when.fut}]
1 {subj} will {do.base} before {they} {do.pres}
1 {name} asked me to {do.base} {when.fut}
1 once {subj} {have} {do.pp} , {they} {will}
1 i don't think {subj} {will} {when.fut}

% ask pattern
4 did you {=you} {do.base} [18 {with}] [50 {when.past}] ?
3 have you {=you} {do.pp} [40 yet] ?
3 how (was|is) {thing} [22 {at}] ?
2 when are you {=you} {do.ing} ?
2 are you {=you} {do.ing} [18 {with}] [50 {when.fut}] ?
2 did {subj3} {do.base} [50 {when.past}] ?
1 why did {subj3} {do.base} [40 {when.past}] ?
1 has {subj1} {do.pp} yet ?
2 what do you think of {thing} ?
2 {isthing} {adj} ?
1 who {=you} wants to {do.base} {when.fut} ?
1 do you know (if|why|when) {subj3} {do.past} ?
1 where can i {=i} {do.base} ?
1 do you {=you} still {do.base} every {day} ?
1 how often do you {=you} {do.base} ?
1 should i {=i} {do.base} or {do.base} ?

% follow_ask turn
3 i heard {thing} {was3} {so} {adj}
3 {name} said {thing} {was3} {so} {adj}
2 {=i} i {do.past} {when.past} and {thing} {was3} {adj}
2 {=i} i'm {do.ing} {when.fut}
2 {s.hoped}
1 i need to know before {day}
1 {subj3} {v.want} to know
1 {=i} i've always wanted to {do.base}
1 (don't worry|no rush) if not

% hoped+ shift
hope it went well
tell me everything
you deserve it
i'm so happy for you
sounds amazing

% hoped- shift
hope you're ok
that sounds rough
what a pain
i was worried
sounds like hard work

% news pattern
4 {event.past} [40 {when.past}]
3 {event.perf}
2 so {event.past}
2 {event.past} while {subj} {was} {do.ing}
1 {name} just told me [40 that] {event.past}
1 guess what , {event.past}
1 every time {subj} {do.pres} , {event.pres}
1 {event.past} so now {subj} can't {do.base} {when.fut}
1 just as {subj} {was} about to {do.base} , {event.past}

% follow_news turn
3 so {subj} {v.have} to {do.base}
3 now {thing} {is3} {so} {adj}
2 {s.felt}
2 i'm {so} {feel}
2 {name} is {so} {feel}
2 i don't know how to {do.base} now
1 {subj} {will} instead
1 {subj} {was} {so} {feel}
1 it's the {ord} time this week
1 do you know (a good|any good) {who} ?
1 what would you do ?

% request drift
@pc 4 can you {=you} {do.base} [50 {when.fut}] please ?
@p 3 could you {=you} {do.base} [50 {when.fut}] ?
@pc 2 please don't forget to {=you} {do.base} [40 {when.fut}]
@pc 2 would you mind {=you} {do.ing} [40 {when.fut}] ?
@cs 3 can you {=you} {do.base} [40 for me] ?
@cs 1 {=you} don't {do.base} without me
@cs 1 remind me to {=i} {do.base} {when.fut}
@s 2 need you to {=you} {do.base} [40 {when.fut}] please
@c 1 any chance you could {=you} {do.base} ?
@p 1 i need you to {=you} {do.base} before {clock}
@c 1 {=you} if you {do.base} , can you {do.base} as well ?

% opinion pattern
4 {things} {are3} {so} {adj}
3 {thing} {is3} {so} {adj}
2 i {s.like} {things}
2 {subj3} really {v.like} {things}
2 i like {things} {more} than {things}
1 {things} or {things} ?
2 i think {thing} {is3} {adj.er} than {thing}
1 nothing beats {do.ing} [30 {with}] [22 {at}]
1 {do.ing} is {so} {adj}
1 {name} thinks {thing} {is3} {adj} but i think {it3} {adj.opp}
1 the {who} {at} is {so} {s.trait}
1 why {arethings} so {adj} ?
1 there's nothing {s.nothing} than {adj} {things}

% habit pattern
3 {subj} {always} {do.pres} [22 {at}]
2 every {day} {subj} {do.pres} [30 {with}]
2 {subj} used to {do.base} [40 {with}] but now {they} {always} {do.pres}
1 {subj} {do.pres} whenever {they} {v.feel} {feel}
1 whenever {event.pres} {subj} {do.pres}
1 {subj} {have} {do.pp} every {day} since {month}
1 {subj} can't {do.base} without {things}

% now pattern
4 {subj} {be} {do.ing} [40 {rightnow}] [22 {at}]
2 {=i} currently {do.ing} [22 {at}]
1 {=i} still {do.ing} {at}
1 {=i} busy {do.ing} , talk later ?
2 {=i} i'm {at} {do.ing} [30 {with}]
1 {thing} {is3} {so} {adj} {rightnow}
1 {subj} {have} been {do.ing} (all day|all morning|for ages|since {clock})

% listing pattern
2 we need {things} , {things} and {things} [40 {when.fut}]
1 {=i} i {v.want} {things} and {things} but not {things}
1 {subj} {do.past} , {do.past} and {do.past} [50 {when.past}]
1 to do {when.fut} : {=i} {do.base} , {do.base} and {do.base}
1 so far {subj} {have} {do.pp} and {do.pp}

% relay pattern
2 {name} said {they} would {do.base} {when.fut}
2 {name} wants to know if you {=you} {do.past}
1 {both} are {do.ing} {when.fut}
1 {name} keeps {do.ing} and {they} {v.be} {so} {feel}
1 {name} says {thing} {is3} {so} {adj} but {they} still {do.pres}
1 tell {name} to {do.base} {when.fut}
1 {name} was {so} {feel} because {down.past} and {they} couldn't {do.base}
1 {name} isn't coming because {they} {v.have} to {do.base}

% wish pattern
2 i wish {subj} could {do.base} {when.fut}
1 if only {subj} had {do.pp}
1 if {event.pres} {subj} {will}
2 if {subj} {do.pres} {when.fut} , {they} will be {so} {feel}
1 i'd rather {=i} {do.base} than {do.base}
1 imagine {do.ing} {at}
1 {=i} if i had more money i'd {do.base} every {day}

% answer shift
3 yes {=i} i {do.past} {when.past}
2 no {=i} i haven't {do.pp} yet
2 not yet , {=i} i {will} {when.fut}
2 yes but {down.past}
1 maybe , {=i} i {v.have} to {do.base} first
1 no because {down.past}
1 yes {thing} {was3} {so} {adj}
1 i think so , ask {name}
1 sorry {=i} i can't , i'm {do.ing} {when.fut}
1 of course , {=we} we can {do.base} {when.fut}

% feeling pattern
3 i'm {so} {feel}
2 i'm {so} {feel} after {do.ing} {when.past}
2 {=i} feeling {so} {feel} {rightnow}
2 {subj3} {was} {so} {feel} {when.past} because {event.past}
1 i'm {feel} but {feel.opp}
1 why am i {so} {feel} ?
1 {=i} {do.ing} always makes me {feel}

% short shift
@p 1 that's {so} {adj}
@c 1 {laugh} {so} {feel}
@cs 1 {laugh} {adj}
@c 1 {so} {adj} {voc}
@s 1 {voc} {laugh}
@pc 1 good luck {name}
@pc 1 poor {name}
@c 1 {things} ?
@p 1 yes , {thing}
@s 1 {things} {laugh}
1 what {noun} ?
1 {when.fut} ?
1 {name} is {so} {s.trait}
1 love {things}
@p 3 ok
@p 2 yes please
@p 2 no thank you
@p 2 of course
@p 1 that's great
@p 1 sounds good to me
@pc 3 sounds good
@pc 2 no worries
@pc 2 on my way
@pc 2 haha yes
@c 2 yes sure
@c 2 not really
@c 1 i know right
@c 1 same here
@c 1 fair enough
@cs 2 haha
@cs 2 oh no
@cs 2 no way
@s 3 lol
@s 2 yes mate
@s 2 omg
@s 1 same
@s 1 i'm dead
@s 1 lol what
@s 1 say less
@s 1 nah
1 nearly there
1 me too
1 maybe
1 ok no problem
1 thank you {voc}
1 {laugh} {name} !

% where shift
3 i'm on my {onmy}
3 be there in {num5} minutes
3 see you {seeyou}
2 where are you ?
2 i'm {at}
2 running {num5} minutes late , sorry
2 see you {at} at {clock}
1 i'll be at the {cafe} by {clock}
1 meet me {at} at {clock}
1 just left {town} , see you {seeyou}
1 i'm outside
1 are you nearly here ?
1 what time are you coming ?
1 can we make it {clock} instead ?
1 don't wait for me
1 is {name} with you ?
1 {name} is on {poss} way

% onmy shift
6 way
3 lunch break
2 way home
2 way to {town}
1 own
1 phone
1 bike

% seeyou shift
4 later
4 soon
3 then
3 tomorrow
3 there
2 in a bit
2 on {day}
2 at {clock}
1 around
1 all {when.fut}

% letmeknow shift
3 if you can come
2 what you think
2 when you're free
2 asap
1 if that works
1 by {day}
1 either way

% thanks shift
3 thank you so much for {do.ing}
2 thanks for {thing}
2 thanks {voc} , {thing} {was3} {so} {adj}
2 thanks a lot
1 thanks for coming {when.past}
1 thanks for listening
1 i really appreciate you {do.ing}
1 thank you {name} , you're a star

% sorry shift
3 sorry i {=i} forgot to {do.base}
2 sorry , i'm {feel} {rightnow}
2 sorry for not replying , i was {=i} {do.ing}
1 sorry i missed your call , {down.past}
1 so sorry about {thing}
1 my bad , i {=i} {do.past} {when.past}
1 sorry {voc} , can't make it {when.fut} , {down.past}

% greet_morning shift
4 good morning
3 morning {voc}
2 good morning {voc} , hope you slept well
1 wakey wakey
1 have a good day
1 happy {today}
1 good morning , ready for {thing} ?

% greet_day shift
3 hey {voc} , how are you ?
2 hi , how are you doing ?
2 how's it going ?
2 hello {voc}
1 how's your {today} going ?
1 what are you up to ?
1 hope your {today} is going well
1 good luck with {thing}
1 long time no speak {voc}

% greet_evening shift
3 how was your day ?
2 good evening
2 what are you up to tonight ?
2 good night
1 how was work ?
1 are you home yet ?
1 dinner is ready
1 home now , how was {thing} ?

% greet_night shift
4 good night
3 night night
2 sleep well {voc}
2 sweet dreams
1 are you still awake ?
1 can't sleep
1 off to bed , talk tomorrow
1 good night , love you

% opener shift
@pc 4 hi
@pc 4 hey
@p 3 hello
@p 2 hi {name}
@c 3 hey {voc}
@c 2 hi {voc}
@cs 2 {laugh}
@cs 2 omg
@s 3 yo
@s 2 yo {voc}
@s 2 bro
2 oh
2 so
1 ok
1 well
1 {name}
1 ah
1 right
1 by the way
1 honestly

% voc shift
3 mate
3 love
2 babe
2 bro
2 hun
2 dude
2 buddy
2 darling
1 man
1 sis
1 pal
1 sweetie
1 boss
1 lovely
1 girl
1 fam
1 chick
1 guys
1 my dear
1 friend

% laugh shift
5 haha
3 hahaha
@cs 4 lol
@cs 2 lmao
@c 2 hehe
@s 2 lmaoo
@s 1 rofl
@pc 1 ha

% so shift
@pc 5 really
@pc 4 very
6 so
3 pretty
2 quite
2 super
2 a bit
@cs 2 proper
@cs 2 well
@s 2 mad
@cs 2 dead
@s 2 hella
@s 1 bare
1 absolutely
1 totally
1 extremely
1 incredibly
1 too
1 actually
1 kind of
1 surprisingly
1 way too
1 ridiculously
1 properly
1 insanely

% adv shift
3 finally
3 just
2 actually
2 accidentally
2 secretly
2 nearly
2 also
1 only
1 somehow
1 eventually
1 quickly
1 happily
1 stupidly
1 literally
1 randomly
1 basically
1 bravely
1 reluctantly
1 proudly
1 suddenly
1 carefully

% always shift
4 always
3 never
2 usually
2 sometimes
1 often
1 rarely
1 hardly ever
1 normally
1 constantly

% rightnow shift
4 now
3 today
2 right now
2 at the moment
1 already
1 again
1 these days

% like+ shift
3 love
2 really like
1 adore
1 can't get enough of
1 live for

% like- shift
3 hate
2 can't stand
1 am so over
1 don't get
1 am sick of

% more same
more
way more
much more

% closer shift
@pc 3 x
@p 2 thanks
@c 3 xx
@c 1 xxx
@pc 2 let me know {letmeknow}
2 see you {seeyou}
1 speak soon
1 love you
@s 2 peace
@s 1 safe
@cs 2 {laugh}
1 take care
1 call me
1 miss you

% trait+ same
friendly
nice
helpful
funny
lovely
kind
patient
chatty
sweet
polite

% trait- same
rude
grumpy
useless
weird
moody
slow
lazy
impatient
annoying
bossy

% nothing+ same
better

% nothing- same
worse
"""

FEEL_GOOD = """
happy excited proud relieved relaxed grateful glad lucky hungry thrilled chuffed hyped cheerful hopeful
content delighted giddy calm pumped touched inspired amazed ecstatic refreshed confident buzzing
"""
FEEL_BAD = """
tired annoyed stressed bored sad nervous worried angry exhausted fed_up gutted confused upset jealous
sleepy frustrated embarrassed lonely anxious disappointed shattered grumpy overwhelmed drained furious
guilty homesick
"""
GENERAL_GOOD = "good nice great lovely amazing fun brilliant perfect fantastic cool wonderful ok superb"
GENERAL_BAD = "bad awful terrible annoying horrible weird rubbish disappointing sad dreadful ridiculous grim"
EMOJI_GOOD = "😂 ❤️ 😊 😍 🥰 😁 👍 🙌 😘 🎉 😎 💕 🤣 🔥 ✨ 💪 🤗 😄 💛 👏"
EMOJI_BAD = "😭 😩 🙄 😢 😡 🤦 😔 💔 😬 😅 🥲 😤 😱 🤷 🫠 😞 😒"
# relatives and friends, each with f or m for its pronoun
KIN = """
f:mum m:dad f:sister m:brother m:boyfriend f:girlfriend f:nan m:husband f:wife f:flatmate m:cousin
m:uncle f:auntie m:grandad f:daughter m:son f:boss m:neighbour f:best_friend m:stepdad f:niece m:nephew
f:mother-in-law m:landlord
"""
