"""Topics of people: family, baby, pets, party, love, wedding, hair, community, feasts.

`topics_table` describes the format.
"""

TEXT = """
# family 8
emoji: ❤️ 👵 🏡 🥰 👨‍👩‍👧
kin o: mum dad sister brother nan grandad cousin auntie uncle nephew niece family stepdad sister-in-law
  godmother twin great-aunt grandson granddaughter stepmum
treat c: card present cake photo_album roast bunch_of_flowers phone_call letter visit surprise family_tree
  birthday_meal video_call
do: visit {poss} {kin-}; call {poss} {kin-}; see {poss} {kin-}; go to {poss} {kin-}'s; buy {treat} for
  {poss} {kin-};
  have lunch with {poss} {kin-}; argue with {poss} {kin-}; help {poss} {kin-} with the shopping; pick {poss}
  {kin-} up from {town};
  stay with {poss} {kin-}; look after {poss} {kin-}; send {poss} {kin-} {treat}; miss {poss} {kin-}; take
  {poss} {kin-} to {town};
  hug {poss} {kin-}; drive {poss} {kin-} home; babysit for {poss} {kin-}; tell {poss} {kin-} about {treat};
  ring {poss} {kin-}; inherit nan's ring
mod: lovely little big older younger favourite proud sweet
good: lovely sweet kind proud caring supportive thoughtful generous adorable wise
bad: stubborn grumpy nosy worried upset cross moody difficult fussy bossy
up: my {kin-}|come home; my {kin-}|get engaged; my {kin-}|turn {age}; my {kin-}|retire; my {kin-}|have a
  baby
down: my {kin-}|fall over; my {kin-}|be in hospital; my {kin-}|forget my birthday; my {kin-}|call me {num}
  times;
  my {kin-}|worry about everything; my parents*|argue again
at: at {poss} {kin-}'s; at home; in {town}; at nan's; round the dinner table
who: grandparent parent relative cousin
say: how is your {kin-} ?; say hi to your {kin-} from me; call your {kin-} please; it's my {kin-}'s birthday
  on {day};
  is your {kin-} still in {town} ?; are you coming for sunday lunch ?; my {kin-} says hello

# kids 5
emoji: 👶 🍼 😴 🧸 🥰
tot d: baby toddler little_one daughter son kid nephew niece twin childminder godson goddaughter newborn
toy c: teddy nappy pushchair cot bottle buggy lunchbox school_bag costume scooter puzzle balloon crayon doll
  car_seat dummy rattle bib tricycle dinosaur jigsaw kite high_chair
place d: nursery playground school soft_play school_run parents_evening bath_time bedtime story_time
  swimming_lesson
  nativity sports_day sandpit homework
do: put {tot} to bed; take {tot} to {place}; change {toy}; feed {tot}; pick up {tot} from {place}; buy
  {toy}; read {tot} a story;
  bath {tot}; dress {tot}; lose {toy}; push {tot} on the swings; find {toy} under the sofa; rock {tot} to
  sleep; pack {toy};
  drop {tot} at {place}; teach {tot} to count; play with {tot}; calm {tot} down; blow up {toy}; tickle
  {tot}; cuddle {tot}; spoil {tot};
  sing to {tot}
mod: little tiny sleepy cuddly pink wooden noisy favourite squeaky
good: adorable cute sleepy happy giggly cheeky clever sweet cuddly smiley
bad: grumpy tired fussy teething noisy clingy poorly overtired whiny tearful restless
up: {tot}|sleep through; {tot}|walk; {tot}|say mama; {tot}|smile; {tot}|lose a tooth; {tot}|win a sticker
down: {tot}|cry all night; {tot}|throw {toy}; {tot}|wake up at {clock}; {tot}|draw on the wall; {tot}|refuse
  to eat; {tot}|have a tantrum
at: at {place}; at soft play; in the park; at the zoo; on the school run; at the library
who: midwife teacher babysitter nanny childminder
say: is {tot} asleep ?; can you pick {tot} up from {place} ?; how old is {tot} now ?; where is the {toy-} ?;
  who is doing the school run on {day} ?; has {tot} had lunch ?; kids are finally in bed

# pets 6
emoji: 🐶 🐱 🐾 🐹 🥰
pet d: dog cat puppy kitten rabbit hamster parrot tortoise guinea_pig goldfish budgie pony ferret gecko
  spaniel
  labrador greyhound terrier poodle snake
gear c: lead toy bone basket collar tennis_ball blanket treat cage stick chew litter_tray harness
  scratching_post bowl tank saddle
vet d: vet park kennel garden groomer cattery aquarium dog_walker puppy_class breeder hutch stable
do: walk {pet}; feed {pet}; take {pet} to {vet}; bath {pet}; buy {gear}; adopt {pet}; brush {pet}; lose
  {gear}; train {pet};
  play with {pet}; clean out {pet}; stroke {pet}; chase {pet} round {vet}; throw {gear}; find {pet} in the
  wardrobe; call {vet}; cuddle {pet};
  groom {pet}; rescue {pet}; microchip {pet}; trim {pet}'s claws; hide {gear}; name {pet} {petname}; film
  {pet} with {gear}
mod: fluffy old muddy naughty rescue sleepy ginger tiny spotty clumsy
good: adorable cute fluffy playful gentle cuddly clever loyal friendly soft
bad: naughty muddy smelly noisy scared poorly grumpy moulting whiny jealous
up: {pet}|sit on my lap; {pet}|learn to roll over; the dog|have puppies; {pet}|come home; {petname}|meet
  {petname}
down: {pet}|eat {gear}; {pet}|run away; {pet}|bark all night; {pet}|be sick on the carpet; {petname}|chew
  {gear}; {pet}|scratch the sofa;
  {pet}|catch a mouse; {petname}|steal {gear}
at: at {vet}; in the park; on the beach; in the garden; at the shelter; in the woods
who: vet groomer dog_walker breeder
say: have you fed {petname} ?; can you walk {petname} on {day} ?; how is {petname} doing ?; {petname} misses
  you; what breed is {pet} ?;
  {petname} is asleep on {gear}; give {petname} a cuddle from me

# party 8
emoji: 🎉 🥳 🎂 🍾 💃
bash c: party birthday barbecue get-together housewarming gig_night night_out picnic quiz dinner_party
  leaving_do karaoke_night
  sleepover fancy_dress_party reunion bonfire bingo_night masquerade
bring l: drinks snacks balloons cups crisps candles party_hats speakers sausages cupcakes streamers invites
  glow_sticks decorations
fun d: cake dance_floor dj playlist guest_list invitation costume present birthday_card dance
  karaoke_machine toast speech piñata
do: go to {bash}; have {bash}; bring {bring}; throw {bash} for {name}; dance all night; invite {name}; plan
  {bash}; leave at {clock};
  get ready for {bash}; blow up {bring}; host {bash}; buy {bring}; meet everyone at the {cafe}; miss {bash};
  celebrate with {name};
  order {fun}; stay out late; dress up for {bash}; sing {num} songs; make {fun}; light the candles;
  gatecrash {bash}; organise {bash};
  hang up {bring}; wrap the present; rsvp
mod: big surprise small massive wild joint belated summer
good: amazing fun wild brilliant epic hilarious legendary lively memorable crazy
bad: dull awkward quiet messy loud dead rowdy boring cramped chaotic
up: everyone|turn up; {name}|dance on the table; the dj|play our song; {name}|say yes; the cake|look amazing
down: {name}|cancel; the music|stop; nobody|bring {bring}; the neighbours*|complain; {name}|drop {fun};
  {bash}|get rained off
at: at {name}'s; at the {cafe}; in {town}; at the club; at mine; in the garden; at the village hall; on the
  roof
who: dj host bouncer guest bartender
say: who's coming to {bash} ?; what should i wear to {bash} ?; what time does it start ?; shall i bring
  {bring} ?; happy birthday {name} !;
  whose idea was {bash} ?; are you going to {name}'s {bash-} ?; the party starts at {clock}

# love 5
emoji: 😍 ❤️ 😘 💔 🥺
date c: date first_date text kiss hug love_letter bouquet candlelit_dinner cuddle wink anniversary break-up
crush o: boyfriend girlfriend crush ex date other_half husband wife partner soulmate fiancé admirer
  blind_date
do: go on {date} with {name}; miss {crush}; text {crush}; meet {crush}; kiss {crush}; break up with {crush};
  plan {date};
  fall for {crush}; get {date} from {crush}; ask {name} out; argue with {crush}; forgive {crush}; buy
  {crush} flowers; dream about {crush};
  introduce {crush} to mum; ignore {crush}; propose to {crush}; blush; flirt with {crush}; stalk {crush}
  online; ghost {crush}; trust {crush};
  hold hands with {crush}; marry {crush}; surprise {crush} with {date}
mod: cute romantic awkward handsome gorgeous mysterious second perfect
good: romantic sweet gorgeous charming funny handsome dreamy thoughtful lovely dashing
bad: awkward rude jealous distant boring cold clingy selfish arrogant heartbroken shy
up: {crush}|text back; {crush}|say i love you; {crush}|bring me flowers; {name}|ask me out; {crush}|propose
down: {crush}|ignore my messages; {crush}|stand me up; {crush}|forget our anniversary; {name}|dump me;
  {crush}|lie to me
at: at the {cafe}; at the cinema; by the river; at {crush}'s; in {town}; under the stars
who: stranger matchmaker ex
say: do you like {name} ?; has {crush} texted ?; i miss you so much; are you seeing {name} again ?; how was
  the {date-} ?;
  tell me everything about the {date-}; i love you more than words

# wedding 3
emoji: 👰 💍 💒 🥂 💐
wed d: venue dress ring hen_do cake honeymoon church reception stag_do seating_plan veil first_dance
  guest_book tiara
cast d: bride groom best_man bridesmaid photographer registrar caterer florist usher maid_of_honour
  flower_girl
bits l: invitations flowers rings bridesmaids vows favours hats place_cards petals guests bouquets
do: plan {wed}; choose {wed}; send {bits}; try on the dress; book {cast}; go to {name}'s wedding; write
  {poss} speech; order {bits};
  get married; find {cast}; cry at {wed}; practise the first dance; pay for {wed}; taste {num} cakes; pick
  {bits}; get engaged;
  meet {cast}; elope; catch the bouquet; hire {cast}; organise {wed};
  design {bits}; say {poss} vows
mod: big white beautiful outdoor traditional small elegant country
good: beautiful magical emotional stunning elegant perfect romantic touching
bad: expensive stressful rainy chaotic tacky rushed overbooked
up: {name}|get engaged; {cast}|look stunning; {wed}|look perfect; the sun|shine for {wed}; {name}|catch the
  bouquet
down: {cast}|cancel; {cast}|get lost; {cast}|be late; {cast}|faint; the venue|double book; {bits+}*|wilt
at: at {wed}; at the church; in {town}; at the registry office; on the top table
who: bride groom vicar bridesmaid usher photographer
say: have you sent {bits} ?; how many guests are coming ?; what colour are the {bits-} ?; will you be my
  bridesmaid ?; are you coming to {wed} ?;
  only {num} weeks until {wed}

# hair 3
emoji: 💇 💅 💄 ✨
look c: haircut fringe perm manicure ponytail facial bob plait tan beard moustache pedicure makeover tattoo
  bun quiff
paint m: lipstick mascara nail_varnish hair_dye foundation shampoo conditioner perfume hairspray moisturiser
  eyeliner
  aftershave blusher glitter concealer
salon d: salon hairdresser barber straightener mirror hairdryer razor beautician curling_iron comb hairband
  tweezers nail_file
do: get {look}; dye {poss} hair; book {salon}; buy {paint}; try {paint}; curl {poss} hair; paint {poss}
  nails; cut {poss} fringe; lose {poss} {paint-};
  go to {salon}; grow {look}; borrow {name}'s {paint-}; wash {poss} hair; shave {poss} beard; use {salon};
  bleach {poss} hair; pluck {poss} eyebrows;
  plait {name}'s hair; wear {paint}; trim {poss} hair
mod: new blonde pink short curly waterproof natural dark fake
good: gorgeous shiny glowing fresh soft sleek glamorous silky
bad: patchy frizzy orange uneven smudged greasy tangled streaky
up: the hairdresser|fit me in; my hair|look good for once; {paint}|work
down: the hairdresser|cut too much; my hair|turn green; {salon}|cancel; my nail|break; {paint}|run
  everywhere; the dye|stain the towel
at: at {salon}; at the salon; in the bathroom; at the barber's
who: hairdresser barber stylist beautician
say: what colour should i go ?; where do you get your nails done ?; should i cut a fringe ?; i need {look}
  so badly;
  can i borrow your {paint-} ?; do you like my {look-} ?

# community 3
emoji: 🙏 ⛪ 🤝 💛
group d: church choir charity_shop committee food_bank book_club scout_group village_hall
  neighbourhood_watch council parish_meeting
  mosque temple youth_club bake_sale sunday_school coffee_morning litter_pick jumble_sale soup_kitchen
  blood_bank
cause c: donation petition fundraiser sponsored_walk raffle service concert collection vote campaign meeting
  prayer leaflet hymn
  tombola auction sermon
do: volunteer at {group}; go to {group}; help at {group}; organise {cause}; sign {cause}; sing in {group};
  join {group}; raise {num} pounds for {group};
  pray for {name}; bake for {group}; collect for {group}; hand out leaflets; attend {cause}; run {group};
  vote; donate to {group}; chair {group};
  knock on doors; promote {cause}; light a candle for {name}; protest
mod: local annual weekly good kind special charity
good: heartwarming uplifting kind worthwhile inspiring generous moving peaceful
bad: disorganised long quiet dull underfunded sad chilly
up: {group}|raise {num} pounds; {group}|win an award; the council|listen; the vicar|thank everyone
down: {group}|get cancelled; the council|say no; nobody|come to {group}; {group}|lose its funding; the
  roof|leak on the choir
at: at {group}; in the village hall; in {town}; on the high street
who: vicar volunteer councillor imam rabbi organist mayor
say: can you help at {group} on {day} ?; will you sponsor me ?; are you going to {group} on {day} ?; please
  sign {cause};
  we need {num} more volunteers for {group}; what time is the {cause-} ?

# festive 4
emoji: 🎄 🎁 🎃 🎆 🐣
feast d: christmas_dinner tree turkey easter_egg_hunt halloween_costume fireworks_display advent_calendar
  eid_meal diwali_party
  pumpkin christmas_market pantomime carol_concert secret_santa new_year's_party gingerbread_house
gift c: present card jumper bauble candle stocking cracker lantern wreath chocolate_egg mince_pie sparkler
  mask toffee_apple hamper
  snow_globe reindeer elf
deco l: lights decorations stockings lanterns candles baubles fairy_lights garlands paper_chains banners
do: wrap {gift}; put up {deco}; buy {gift} for {name}; cook {feast}; decorate {feast}; open {gift}; hang
  {deco}; carve {feast}; go to {feast};
  sing carols; plan {feast}; make {gift}; light {deco}; do secret santa; hide {gift}; watch the fireworks;
  take down {deco}; send {gift};
  eat too many sweets; celebrate eid with {name}; book {feast}; unwrap {gift}; carve a pumpkin
mod: festive handmade sparkly chocolate giant last-minute spooky
good: magical festive cosy merry sparkly twinkly joyful
bad: expensive tacky hectic stressful soppy overcooked spooky
up: it|snow on christmas eve; {name}|love {gift}; the lights*|go up in {town}; santa|come early
down: {feast}|fall over; {deco}*|stop working; the cat|eat {gift}; {feast}|burn; the shops*|run out of
  {deco}
at: at nan's; in {town}; by the fire; at {feast}; round the tree
who: santa elf carol_singer
say: what do you want for christmas ?; have you wrapped {gift} ?; who did you get for secret santa ?; merry
  christmas {name} !;
  happy new year !; are you home for the holidays ?; only {num} days until christmas
"""
