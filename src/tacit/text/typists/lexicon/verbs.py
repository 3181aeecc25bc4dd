"""Irregular forms of verbs, nouns and adjectives that spelling rules cannot derive, and doubled letters."""

# base: past, participle (left out if it equals the past)
IRREGULAR = """
be:was,been have:had do:did,done go:went,gone get:got see:saw,seen eat:ate,eaten buy:bought make:made
take:took,taken
give:gave,given find:found lose:lost win:won meet:met send:sent spend:spent lend:lent pay:paid say:said
tell:told
sell:sold think:thought bring:brought catch:caught teach:taught fight:fought leave:left feel:felt keep:kept
sleep:slept
sweep:swept build:built hear:heard read:read put:put cut:cut hit:hit hurt:hurt let:let set:set shut:shut
split:split
spread:spread bet:bet cost:cost quit:quit burst:burst run:ran,run come:came,come become:became,become
begin:began,begun drink:drank,drunk sing:sang,sung swim:swam,swum ring:rang,rung sink:sank,sunk
shrink:shrank,shrunk
break:broke,broken wake:woke,woken speak:spoke,spoken steal:stole,stolen freeze:froze,frozen
choose:chose,chosen
forget:forgot,forgotten write:wrote,written drive:drove,driven ride:rode,ridden rise:rose,risen
throw:threw,thrown
know:knew,known grow:grew,grown blow:blew,blown fly:flew,flown draw:drew,drawn wear:wore,worn tear:tore,torn
fall:fell,fallen bite:bit,bitten hide:hid,hidden light:lit feed:fed hold:held stand:stood
understand:understood
sit:sat stick:stuck hang:hung dig:dug swing:swung win:won shine:shone shoot:shot lead:led sew:sewed,sewn
sow:sowed,sown
knit:knitted mow:mowed,mown swell:swelled,swollen show:showed,shown weave:wove,woven lie:lied
withdraw:withdrew,withdrawn
rewatch:rewatched reread:reread overtake:overtook,overtaken overheat:overheated unwind:unwound bath:bathed
sweat:sweated fit:fitted beat:beat,beaten forgive:forgave,forgiven shake:shook,shaken dream:dreamt
burn:burnt
learn:learnt spill:spilt spoil:spoilt spell:spelt bleed:bled sweep:swept stride:strode deal:dealt mean:meant
upset:upset rewire:rewired pwn:pwned ghost:ghosted rsvp:rsvp'd binge:binged ice:iced dye:dyed
redo:redid,redone
babysit:babysat reset:reset proofread:proofread
"""
# verbs that double their final consonant before -ed and -ing
DOUBLING = """
stop drop chop plan swap grab book_ pop trim skip slip sip stir mop hop jog hug wrap pack_ dig sit get put
cut hit let
set shut split spot chat cram tap tag scrub plug unplug unblock_ zip clap drum nap scan rub pat fit bet run
win swim
begin forget refer cancel_ travel_ control regret admit permit plod tug wag beg pin dip tip flip snap strum
hum knit
shop rob rip log blog vlog map strap trap stun ban pen step whip kidnap upset quit rev vet net pet blot jot
plot
gossip_ handicap_ respawn_ equip rebut commit submit prefer transfer occur label model marvel quarrel
unravel enrol
cancel travel repot abhor dump_ hem rub sob stab throb prod nod bud
babysit drip jam microchip skim snorkel reset top unwrap level
"""
PLURALS = """
child:children person:people man:men woman:women foot:feet tooth:teeth mouse:mice goose:geese knife:knives
loaf:loaves
shelf:shelves scarf:scarves leaf:leaves wolf:wolves half:halves wife:wives deer:deer trout:trout
salmon:salmon
fish:fish sheep:sheep swim:swims photo:photos piano:pianos potato:potatoes tomato:tomatoes hero:heroes
echo:echoes
snowman:snowmen stuntman:stuntmen linesman:linesmen thesis:theses bus:buses quiz:quizzes cactus:cactuses
bunch_of_flowers:bunches_of_flowers sister-in-law:sisters-in-law break-up:break-ups person:people
bookshelf:bookshelves
hat-trick:hat-tricks self-portrait:self-portraits still_life:still_lifes baby:babies
half_marathon:half_marathons
"""
COMPARED = """
good:better,best bad:worse,worst far:further,furthest little:less,least fun:more_fun,most_fun
ok:more_ok,most_ok
paid:more_paid,most_paid class:more_class,most_class burnt:more_burnt,most_burnt dead:more_dead,most_dead
broke:more_broke,most_broke ill:more_ill,most_ill gooey:gooier,gooiest shy:shyer,shyest
cringe:more_cringe,most_cringe tax-free:more_tax-free,most_tax-free cross:more_cross,most_cross
"""
# Acts that happen to people and are not planned: left out of invitations, plans and requests.
UNPLANNED = """
lose miss burn forget drop spill hurt catch sprain twist cough sneeze fail crack scratch slip fall owe
get_sunburnt
get_soaked get_lost get_a_parking freeze melt need crave skip reverse lock brake prick drink_too eat_too
spend_too
queue_for sleep_past stand_all pull_a break_up cry argue ignore ghost stalk hate run_out unravel devour
abandon dispute
max_out relegate have_a_tantrum blush shelter boo concede respawn bet overtake twist dream fall_asleep spoil
lie
"""
