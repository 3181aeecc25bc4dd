"""Topics of free time: sport, music, screen, games, books, travel, outdoors, craft, art.

`topics_table` describes the format.
"""

TEXT = """
# football 8
emoji: ⚽ 🏆 😤 🙌 🤦
match c: match game final penalty derby friendly training_session semi-final tournament cup_tie replay
  corner free_kick throw-in
squad d: keeper striker ref coach defence captain midfielder winger manager linesman defender goalie
  centre-half
  full-back substitute physio mascot
ground d: pitch stadium league_table scoreboard bench crossbar dugout goalpost turnstile
stuff c: ticket goal shirt season_ticket scarf header own_goal yellow_card red_card hat-trick save tackle
  pass
do: watch {match}; play {match}; score {stuff}; lose {match}; win {match}; get {stuff}; go to {match} with
  {name}; miss {match}; support {team};
  beat {team}; sign for {team}; sell {stuff}; shout at {squad}; train with {team}; draw with {team}; bet on
  {team}; book {stuff};
  cheer for {team}; warm the bench; kick off at {clock}; boo {squad}; save {stuff}; captain {team}; relegate
  {team}
mod: big home away late early dodgy important five-a-side
good: unreal class brilliant incredible unstoppable thrilling solid world-class clinical
bad: shocking awful unlucky lazy useless embarrassing offside biased sloppy toothless
up: {team}*|win; {squad}|score; {team}*|sign a new striker; {team}*|go top; {squad}|save a penalty;
  {team}*|get promoted
down: {team}*|lose; {squad}|get sent off; {squad}|miss a penalty; {team}*|go down; {squad}|get injured;
  {match}|get called off; {team}*|concede in the last minute
at: at the stadium; at the match; at the pub; in {town}; away at {team}; in the away end
who: ref striker keeper coach pundit
say: what's the score ?; did you see that {stuff-} ?; are you watching {match} on {day} ?; who scored ?;
  {team} are so bad this season;
  what time is kick off ?; fancy five-a-side on {day} ?; how was that not a {stuff-} ?

# music 6
emoji: 🎶 🎸 🎤 🎧 🔥
song c: song album playlist gig concert single track cover remix setlist ballad vinyl mixtape encore duet
  chorus demo
tool d: guitar piano drum_kit violin microphone bass record_player keyboard amp saxophone
  flute ukulele
  trumpet cello banjo accordion synth harmonica trombone tambourine clarinet
genre b: jazz rock pop techno folk metal indie house rap soul disco grime classical reggae country punk
  blues opera
do: listen to {song}; see {band} in {town}; play {tool}; buy tickets for {band}; go to a gig with {name};
  learn {song}
  on {tool}; record {song}; write {song};
  practise {tool}; sing {song}; share {song} with {name}; tune {tool}; dance to {genre}; discover {band};
  hum {song}; rehearse {song}; download {song};
  join a {genre} band; meet {band}; busk in {town}; stream {song}; strum {tool}; perform {song}; compose
  {song}
mod: new live old catchy slow loud acoustic debut
good: catchy beautiful banging incredible electric soulful haunting groovy
bad: repetitive loud cheesy overrated flat cringe off-key tinny
up: {band}*|release {song}; {band}*|come to {town}; {band}*|play my favourite {song-}; {band}*|win an award;
  we|get front row tickets
down: {band}*|split up; {band}*|cancel the tour; {song}|sell out; {tool}|go out of tune; the string|snap;
  the speakers*|blow
at: at {song}; at the festival; in {town}; at the arena; on the radio; at band practice
who: singer drummer guitarist dj pianist busker
say: have you heard the new {band} {song-} ?; what are you listening to ?; got a spare ticket for {band} ?;
  i've had {song} stuck in my head all day;
  who's supporting {band} ?; do you like {genre} ?; turn {song} up

# screen 8
emoji: 📺 🍿 😱 🎬 😂
show c: episode film series documentary trailer finale season sequel cartoon thriller comedy drama soap
  musical
  quiz_show remake spin-off western romcom blockbuster sitcom
role d: ending plot villain main_character actor actress twist soundtrack detective hero director killer
  script special_effects_team
  narrator stuntman opening_scene zombie
do: watch {title}; finish {title}; start {show}; cry at {show}; see {show} at the cinema; binge {title};
  fall asleep during {show}; stream {show};
  recommend {title}; rewatch {title}; watch {show} with {name}; miss {show}; spoil {role} for {name}; hate
  {role}; guess {role}; record {show};
  pause {show}; review {title}; laugh at {role}; skip the intro; quote {title}
mod: new scary old funny final weird long crime spanish animated
good: gripping hilarious brilliant emotional addictive funny clever moving suspenseful
bad: predictable boring slow confusing scary overrated cheesy rubbish gory cringeworthy far-fetched
up: {title}|get another season; {role}|survive; {title}|come back; {title}|win an oscar; {role}|make me
  laugh
down: {title}|get cancelled; {role}|die; {role}|ruin it; {title}|get boring; the sound|cut out; {role}|turn
  out to be the killer
at: at the cinema; on the sofa; on tv; in bed; at {name}'s; in screen {num}
who: actor director actress critic presenter
say: have you seen {title} ?; no spoilers please !; what's on tv tonight ?; are you on season {num} yet ?;
  who's your favourite in {title} ?;
  popcorn or nachos ?; don't watch {title} without me; i think {name} would love {title}

# games 5
emoji: 🎮 👾 🎲 😎 ♟️
level c: level boss_fight quest match round mission map tournament high_score side_quest dungeon raid
  cheat_code achievement
kit d: controller console headset joystick server gaming_chair board deck keyboard avatar clan save_file
  gamepad graphics_card
board b: chess monopoly poker scrabble darts pool bingo bowling dominoes snooker cards trivia backgammon
  charades
do: play {game}; beat {level}; complete {game}; lose at {board}; beat {name} at {board}; stream {game}; buy
  {game}; finish {level}; play {board} with {name};
  charge {kit}; join {kit}; throw {kit}; win {level}; unlock {level}; download {game}; pause {game}; restart
  {level}; respawn; level up; pwn {name} at {game};
  trade {kit}; explore {level}; shuffle the cards; craft a sword; defeat the dragon
mod: hard new online secret final multiplayer retro hidden
good: addictive epic smooth awesome immersive fun competitive
bad: laggy impossible buggy repetitive unfair glitchy pixelated rigged
up: i|beat {level}; {game}|go on sale; i|get a new {kit-}; {game}|add a new map; our clan|win {level}
down: {kit}|disconnect; the server|go down; i|lose my save; {name}|cheat at {board}; {game}|crash; {kit}|run
  out of battery
at: online; at {name}'s; at the arcade; on {game}; in the lobby
who: gamer streamer opponent teammate
say: are you online ?; one more game ?; what level are you on in {game} ?; who wants to play {board} ?; how
  do you beat {level} ?;
  i'm so bad at {board}; get on {game} at {clock}

# books 4
emoji: 📚 📖 🤓 ☕
book c: book novel chapter biography poem cookbook audiobook thriller diary comic memoir trilogy paperback
  mystery magazine
  bestseller short_story anthology fairy_tale dictionary hardback manuscript
part d: ending author cover library plot bookshop bookmark narrator book_club prologue heroine publisher
  first_page library_card
  blurb reading_light sequel
do: read {novel}; finish {book}; borrow {book} from {name}; start {novel}; lend {name} {book}; return {book}
  to the library; read {num} pages; buy {book};
  cry over {part}; join {part}; recommend {novel}; reread {novel}; write {book}; listen to {book}; abandon
  {book}; meet {part}; order {novel};
  publish {book}; annotate {book}; browse {part}; flick through {book}; translate {book}
mod: long signed second-hand historical favourite romantic dusty fantasy
good: gripping moving beautiful unputdownable clever witty poetic charming insightful
bad: slow depressing dull long-winded confusing predictable pretentious wordy
up: {part}|surprise me; {novel}|win a prize; the library|get {novel} in; the sequel|come out
down: {part}|let it down; the library|fine me; {part}|spoil it; {novel}|go missing; {name}|drop {book} in
  the bath
at: in the library; in bed; at book club; on the train; at the bookshop
who: author librarian poet editor
say: have you read {novel} ?; what are you reading ?; can i borrow {novel} after you ?; who wrote {novel} ?;
  i'm on chapter {num} of {novel};
  which {book-} next for book club ?; don't tell me {part} !

# travel 7
emoji: ✈️ 🏖️ 🌴 🧳 😎 🗺️
trip c: flight holiday trip hotel cruise hostel city_break road_trip villa tour weekend_away excursion
  safari resort campsite
  boat_trip honeymoon layover stopover
pack d: passport suitcase visa boarding_pass sun_hat guidebook rucksack airport gate hotel_room pool
  beach_bag luggage_tag
  travel_insurance phrasebook hand_luggage itinerary postcard phone_adapter currency
land p: Spain Italy Greece Portugal France Japan Turkey Mexico Morocco Thailand Croatia Ireland Iceland
  Egypt Canada Brazil India
  Kenya Norway Peru Vietnam Cuba Malta Cyprus Poland Lisbon Rome Paris Barcelona Amsterdam Berlin Dubai
  Tokyo Prague Athens Venice
  Budapest Vienna Lagos Mumbai Cairo Seoul Oslo Madrid
do: book {trip} in {land}; fly to {land}; pack {pack}; go to {land} with {name}; lose {pack}; miss {poss}
  flight; land in {land}; renew {pack};
  swim in the sea; send {name} a postcard from {land}; visit {land}; cancel {trip}; plan {trip}; check in at
  {clock}; explore {land}; stay in {trip};
  get back from {land}; upgrade {trip}; backpack round {land}; sunbathe by the pool; cross the border;
  unpack {pack}; snorkel in {land}; haggle at the market
mod: cheap long direct romantic last-minute all-inclusive two-week solo
good: stunning relaxing sunny beautiful gorgeous unforgettable breathtaking exotic peaceful luxurious
bad: delayed overbooked touristy expensive crowded bumpy tiring jet-lagged humid cancelled
up: {trip}|get upgraded; i|find cheap flights to {land}; the sunset in {land}|be unreal; my passport|arrive
down: {trip}|get cancelled; the airline|lose {pack}; {trip}|get delayed; {pack}|expire; the airport|close;
  i|leave {pack} at home
at: in {land}; at the airport; by the pool; on the beach; at {trip}; at passport control; in {land}
who: pilot guide stewardess tourist receptionist
say: what time is your flight to {land} ?; have you got {pack} ?; how was {land} ?; send photos from {land}
  !; is {land} hot in {month} ?;
  we should go to {land} together; who's picking us up from the airport ?

# outdoors 4
emoji: 🏕️ ⛰️ 🎣 🥾 🌲
hike c: hike walk bike_ride picnic campfire trail fishing_trip climb swim kayak_trip treasure_hunt paddle
  stroll trek
gear d: tent sleeping_bag map compass rucksack bike boat canoe torch flask rod camping_stove helmet
  paddleboard rope anorak
  penknife surfboard binoculars_case caravan life_jacket wetsuit
nature d: hill lake forest waterfall cliff mountain river beach valley canyon island moor stream peak meadow
  cave coast_path field
beast c: deer fox owl badger seal trout kingfisher swan eagle otter salmon bat heron hare squirrel buzzard
  dolphin adder toad woodpecker
do: climb {nature}; go on {hike}; pitch {gear}; walk round {nature}; see {beast}; catch {beast}; get lost in
  {nature}; pack {gear}; swim in {nature};
  ride {gear} to {town}; camp by {nature}; spot {beast} near {nature}; fix {gear}; photograph {beast}; hike
  to {nature}; cook on the fire; toast marshmallows;
  follow {beast}; row across {nature}; scramble up {nature}; light a fire; forage for mushrooms; abseil down
  {nature}; skim stones
mod: long steep muddy wild coastal early waterproof rocky
good: beautiful peaceful stunning scenic quiet refreshing rugged wild
bad: muddy steep soaking exhausting cold midge-ridden slippery boggy
up: we|see {beast}; we|reach the top; the fog|lift; {name}|catch {beast}
down: {gear}|leak; {gear}|blow away; {name}|fall in {nature}; {gear}|get a puncture; {beast}|steal our
  lunch; the path|flood
at: by {nature}; in the woods; up {nature}; near {town}; at the campsite; on the moor
who: ranger farmer hiker angler
say: fancy {hike} on {day} ?; did you bring {gear} ?; how far is {nature} ?; look , {beast} !; is there
  signal at {nature} ?;
  my boots are soaked; we walked {num} miles today

# craft 4
emoji: 🧶 🪡 🎨 ✂️ 🧵
make c: scarf blanket jumper quilt cushion basket candle bookcase tote_bag card bowl birdhouse bench mug
  jewellery_box
  tablecloth puppet bracelet vase model_train patchwork doll's_house teapot
stuff m: wool fabric thread clay glue paper felt varnish string wood ribbon lace wax cotton sandpaper glaze
  leather embroidery_thread
kit d: sewing_machine pattern needle workshop hook kiln pottery_wheel saw glue_gun loom craft_fair button
  zip pin_cushion workbench
  chisel knitting_bag stencil
do: knit {make}; make {make}; buy {stuff}; sew {make}; paint {make}; lose {kit}; finish {make}; start
  {make}; run out of {stuff}; fix {kit}; teach {name} to knit;
  crochet {make}; glue {make}; cut {stuff}; sell {make} at {kit}; mend {make}; carve {make}; stitch {make};
  weave {make}; unravel {make}; glaze {make};
  embroider {make}; varnish {make}; design {make}; prick {poss} finger
mod: knitted tiny stripy wonky handmade patterned wooden chunky woven
good: pretty neat gorgeous clever soft colourful unique intricate
bad: wonky fiddly tangled lopsided ugly scratchy crooked
up: {make}|turn out well; i|sell {make}; {kit}|work again; the glaze|come out blue
down: {make}|crack; {kit}|snap; the thread|tangle; {make}|fall apart; {make}|shrink; i|drop a stitch
at: at craft club; in the workshop; at home; at the craft fair; at pottery class
who: potter teacher tailor knitter
say: do you have any {stuff-} ?; what colour {stuff-} shall i use ?; how long does {make} take ?; i made you
  {make};
  can you teach me to make {make} ?; where do you buy {stuff-} ?

# art 3
emoji: 🎨 📸 🖼️ 🎭 ✨
piece c: painting photo drawing portrait sketch sculpture print exhibition play film_roll landscape mural
  collage still_life
  cartoon logo self-portrait watercolour etching
kit d: camera lens easel canvas sketchbook paintbrush tripod gallery museum studio theatre darkroom frame
  stage costume palette
  spotlight script
paint m: paint charcoal ink watercolour clay pastel chalk spray_paint plaster
do: paint {piece}; take {piece}; draw {piece}; visit {kit}; see {piece} at {kit}; sell {piece}; frame
  {piece}; edit {piece}; audition for {piece}; buy {kit};
  rehearse {piece}; photograph {name}; sketch {name}; enter {piece} in a contest; print {piece}; borrow
  {kit}; pose for {piece}; hang {piece};
  mix {paint}; develop {piece}; exhibit {piece}; act in {piece}; direct {piece}; sculpt {piece}; shade
  {piece}
mod: abstract black-and-white huge modern old colourful charcoal
good: stunning beautiful striking vivid original powerful dramatic impressive
bad: blurry strange dull pretentious smudged overexposed unfinished amateurish
up: {kit}|show my {piece-}; i|sell {piece}; {piece}|win a prize; i|get the part
down: {kit}|break; the paint|spill; {piece}|come out blurry; the play|get cancelled; i|forget my lines;
  {kit}|crack
at: at {kit}; in the gallery; in the studio; on stage; in {town}; at drama club
who: artist photographer actor painter sculptor curator
say: what do you think of my {piece-} ?; can i take your photo ?; have you been to {kit} ?; which {piece-}
  do you like ?;
  i'm drawing {piece} for {name}; are you coming to {piece} on {day} ?; lend me your {kit-} please
"""
