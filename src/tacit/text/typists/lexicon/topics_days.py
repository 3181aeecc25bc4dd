"""Topics of the working day: work, school, commute, car, phone, health, gym, weather.

`topics_table` describes the format.
"""

TEXT = """
# work 12
emoji: 😩 💼 🙃 📈 😴
boss d: boss manager team client supervisor intern receptionist department director colleague assistant
doc c: report email presentation spreadsheet contract deadline invoice proposal slide budget form memo
  newsletter agenda brief survey timesheet draft application reference document
meet c: meeting call shift interview training conference appraisal review workshop deadline briefing
  webinar lunch_break handover night_shift induction audit
kit d: printer laptop office desk password server calendar headset badge photocopier whiteboard stapler
  filing_cabinet lanyard inbox
do: finish {doc}; send {doc} to {boss}; have {meet}; work from home; cover {name}'s shift; start at {clock};
  email {boss}; print {doc}; leave work early; book {meet}; miss {meet}; finish work at {clock}; join
  {meet};
  talk to {boss} about {doc}; prepare for {meet}; sign {doc}; apply for a job at {company}; train {boss};
  get promoted; reply to {boss}; reset {kit}; postpone {meet}; present {doc}; update {doc}; delegate {doc};
  proofread {doc}; work overtime; hand in {poss} notice; negotiate with {boss}; chase {boss} for {doc}
mod: long important boring weekly urgent quick new early endless annual quarterly
good: productive smooth easy useful quiet brilliant efficient rewarding short relaxed
bad: stressful boring endless pointless hectic exhausting chaotic awkward dull disorganised tedious tense
up: {boss}|approve {doc}; {boss}|let us go early; {company}|offer me the job; {boss}|like {doc};
  the client|sign; {boss}|give me a raise
down: {boss}|move {meet}; {kit}|crash; {boss}|reject {doc}; {boss}|call in sick; {kit}|jam again;
  {boss}|change everything; {boss}|lose {doc}; {company}|make people redundant
at: at work; in the office; at {company}; in {meet}; on site; at the warehouse; at my desk; at reception
who: boss manager client colleague secretary engineer lawyer nurse analyst foreman consultant trainee
say: what time do you finish ?; are you in the office on {day} ?; can you cover my shift on {day} ?;
  i'm stuck in {meet} , talk later; did you get my {doc-} ?; is {boss} in ?; how's the new job at {company}
  ?

# school 8
emoji: 📚 😭 🎓 ✏️ 🤓
class b: maths biology history chemistry physics english spanish french geography economics psychology law
  german statistics philosophy sociology accounting astronomy algebra latin linguistics anatomy politics
paper c: essay exam test assignment project quiz dissertation lab_report presentation worksheet
  coursework_draft
  thesis poster seminar mock past_paper
desk d: library teacher timetable lecture textbook classroom course grade lecturer notebook calculator
  locker tutor classmate campus canteen laboratory scholarship pencil_case headteacher
do: study for {paper}; finish {poss} {class} {paper-}; revise {class}; fail {paper}; pass {paper}; hand in
  {paper};
  miss {poss} {class} lecture; write {paper}; do {poss} {class} homework; go to the library; start {paper};
  copy the notes; ask {name} about {paper}; borrow {name}'s notes; practise {class}; print {paper};
  sit {paper}; learn {class}; choose {poss} modules; highlight {desk}; memorise the formulas; skip {class};
  submit {paper}; cram for {paper}; graduate; enrol on {desk}; cite {num} papers
mod: final long group practice difficult short extra surprise two-hour
good: easy interesting straightforward useful fascinating manageable clear
bad: hard impossible boring confusing brutal long unfair tricky baffling dull complicated
up: i|get an a in {class}; the deadline|get extended; the teacher|cancel {paper}; i|pass {class}
down: the teacher|give us extra homework; the wifi|go down in the library; i|fail {class};
  the {class-} exam|get moved; the lecturer|talk for {num} hours; {poss.my} laptop|die in the lecture
at: in the library; at uni; in class; at school; on campus; in halls; in the {class} lecture
who: teacher lecturer tutor professor librarian classmate student
say: what did you get for question {num} ?; when is the {paper-} due ?; can you send me the {class} notes ?;
  which room is {class} in ?; did you understand {desk} ?; is there {class} homework for {day} ?

# commute 6
emoji: 🚂 🚌 😤 🚇 🏃
ride c: bus train tram taxi metro cab ferry shuttle coach tube lift uber
stop d: station platform stop bus_stop ticket_office motorway tunnel bridge roundabout junction crossing
  ticket seat railcard carriage escalator barrier timetable
do: miss {ride}; catch {ride}; get off at {town}; take {ride} to {town}; wait for {ride}; get {ride} home;
  buy a ticket;
  run for {ride}; stand all the way; leave at {clock}; change at {town}; sleep past {poss} stop; get on
  {ride};
  cycle to {town}; walk to {stop}; touch in; board {ride}; travel via {town}; share {ride} with {name};
  lose {poss} ticket; hail {ride}; squeeze onto {ride}
mod: early packed next late last direct express replacement slow
good: quick empty quiet early punctual smooth direct speedy
bad: packed late delayed cancelled slow sweaty rammed crowded smelly jammed
up: {ride}|come on time; i|get a seat; the traffic|clear; the strike|end
down: {ride}|get cancelled; {ride}|break down; the driver|miss my stop; the traffic|get worse; the
  trains*|stop running;
  the line|close; the doors*|close in my face; the signals*|fail at {town}
at: at {stop}; on {ride}; at {town} station; on the platform; near {town}; in traffic; on {street}
who: driver conductor cyclist commuter inspector passenger
say: i'm on {ride} , be there in {num} minutes; what time is {poss.your} train ?; which platform ?; can you
  pick me up from {town} ?;
  running late , {ride} is delayed; just passed {town}; how far is {stop} from {street} ?; next stop is mine

# car 4
emoji: 🚗 🔧 🚦 😡 ⛽
part d: engine tyre battery windscreen boot clutch gearbox brake bumper exhaust seatbelt headlight
  wiper mirror steering_wheel radiator bonnet sat_nav alternator handbrake number_plate dashboard
veh c: car van motorbike scooter truck lorry campervan convertible tractor minibus moped trailer hatchback
fuel m: petrol diesel oil screenwash antifreeze coolant
do: fix {part}; wash {veh}; drive to {town}; buy {veh}; park on {street}; fill up with {fuel}; sell {veh};
  check {part}; get a parking ticket; pass {poss} driving test; hire {veh}; scratch {part}; book {veh} in
  for a service;
  tow {veh}; replace {part}; reverse into a bollard; overtake {veh}; jump-start {veh}; insure {veh}; lock
  {poss} keys in {veh};
  top up {fuel}; brake too hard; rent {veh}; charge {veh}
mod: old used electric rented new rusty silver diesel automatic
good: fixed smooth fast reliable roomy economical nippy
bad: flat broken rusty slow noisy faulty unreliable dented clapped-out
up: {veh}|pass the mot; the garage|fix {part}; the mechanic|find {part} cheap; i|pass my driving test
down: {part}|break; {veh}|break down; the garage|find a problem with {part}; {part}|go flat; someone|hit
  {poss.my} {veh-};
  {part}|fall off; {veh}|refuse to start; the warning light|come on
at: at the garage; on the motorway; on {street}; at the petrol station; at the traffic lights; in the car
  park
who: mechanic driver instructor traffic_warden
say: can you give me a lift to {town} ?; where did you park {veh} ?; how much is {fuel-} now ?; what's that
  noise in {part} ?;
  there's no parking on {street}; are you ok to drive ?

# tech 7
emoji: 📱 🤯 💻 🔋 😠
gadget d: phone laptop tablet charger battery screen wifi keyboard headphones_case router printer camera
  speaker microphone smartwatch console monitor sim_card cable mouse hard_drive webcam projector drone
app c: app update message link video password file photo website email notification group_chat backup
  playlist
  voice_note screenshot podcast browser username filter wallpaper ringtone widget download selfie
do: charge {gadget}; drop {gadget}; reset {app}; send {app}; download {app}; lose {gadget}; update {gadget};
  delete {app};
  fix {gadget}; post {app}; forget {poss} password; restart {gadget}; buy {gadget}; crack {gadget}; share
  {app} with {name};
  unplug {gadget}; mute {app}; install {app}; scan the code; click {app}; block that number; upload {app};
  record {app};
  sync {gadget}; upgrade {gadget}; log in; reboot {gadget}; type {app}; forward {app}; swipe past {app};
  edit {app}
mod: new old slow spare funny long free annoying wireless weird
good: fast clever handy useful brilliant clear sleek wireless
bad: slow broken cracked glitchy frozen laggy useless dead unresponsive corrupted
up: {gadget}|work again; the update|fix {gadget}; the new {gadget-}|arrive; the signal|come back
down: {gadget}|die; {gadget}|freeze; {gadget}|crash; the wifi|go down; {app}|disappear; {gadget}|overheat;
  the battery|run out; {gadget}|stop charging; someone|hack {poss.my} account
at: online; on {gadget}; in {app}; in the chat; on the group chat
who: technician developer gamer hacker
say: what's the wifi password ?; did you see the {app-} i sent ?; my battery is on {num} percent; which
  {gadget-} do you have ?;
  can you send me the {app-} again ?; sorry my {gadget-} died; have you tried turning it off and on ?

# health 6
emoji: 🤒 💊 🤧 🙏 🩹
body d: back head knee throat stomach ankle shoulder tooth ear wrist neck foot eye chest elbow toe hip
  finger jaw heel thumb shin rib spine
ill c: cold headache cough fever rash migraine bug virus infection blister bruise sprain sore_throat allergy
  nosebleed toothache stomach_ache cramp
med l: tablets painkillers antibiotics vitamins eye_drops plasters tissues lozenges crutches results
  stitches
medic d: doctor dentist nurse pharmacist physio specialist optician consultant surgeon chiropractor
  dermatologist
clinic d: appointment blood_test scan check-up prescription x-ray operation vaccine referral bandage
  health_check
do: see {medic}; hurt {poss} {body-}; take {med}; have {ill}; book {clinic}; catch {ill}; rest {poss}
  {body-}; call {medic};
  go to {medic}; pick up {med}; sprain {poss} {body-}; stay in bed; cough all night; sleep for {num} hours;
  twist {poss} {body-};
  get {poss} {body-} checked; drink lots of water; sneeze all day; ice {poss} {body-}; need {med}; bandage
  {poss} {body-};
  stretch {poss} {body-}; gargle salt water; recover from {ill}; cancel {clinic}
mod: bad nasty swollen sore horrible awful lingering mild
good: better healthy fine rested healed painless stronger recovered
bad: painful swollen sore poorly ill dizzy itchy achy feverish queasy bruised nauseous sleepless
up: the doctor|say it's nothing; the test|come back clear; my {body-}|feel better; the swelling|go down
down: my {body-}|hurt; {medic}|send me for {clinic}; my temperature|go up; my {body-}|swell up; the
  cough|get worse;
  {medic}|have no appointments; my {body-}|ache all night
at: at the doctor's; in hospital; in bed; at the surgery; in a and e; in the waiting room; at the chemist
who: doctor nurse dentist pharmacist surgeon physio optician paramedic receptionist
say: how is your {body-} today ?; feel better soon; do you need anything from the chemist ?; have you taken
  {med} ?;
  i think i'm getting {ill}; what did the doctor say ?; get some rest

# gym 5
emoji: 💪 🏋️ 🏃 😅 🧘
move l: squats lunges press-ups burpees sit-ups weights deadlifts planks star_jumps crunches pull-ups laps
  stretches
train b: yoga pilates spin boxing zumba swimming crossfit karate cardio judo aerobics climbing kickboxing
  rowing
gear d: treadmill mat rowing_machine exercise_bike gym membership trainer locker_room bench personal_best
  dumbbell
  kettlebell sauna skipping_rope changing_room protein_shake stopwatch
race c: marathon 10k half_marathon triathlon run park_run sprint session workout class warm-up relay
do: go to {train}; do {num} {move-}; run {num} miles; join {gear}; do {race}; train for {race}; skip {train};
  sign up for {race};
  stretch after {race}; finish {race}; try {train}; lift {move}; swim {num} lengths; use {gear}; beat {poss}
  {gear-};
  pull a muscle; book {train}; do {move} and {move}; jog to {town}; teach {train}; cancel {gear}; sweat
  through {race};
  warm up; tone {poss} arms
mod: hard morning intense quick early beginner evening gruelling
good: energising intense satisfying fun refreshing strong fit relaxing
bad: brutal exhausting sweaty painful sore tough knackering gruelling crowded
up: i|beat my {gear-}; i|lose {num} pounds; {train}|get easier; the trainer|say i'm improving
down: {gear}|break; the gym|close; {train}|get cancelled; the class|fill up; i|pull a muscle
at: at the gym; in the park; at {train}; at the pool; round the lake; on the track; in the sauna
who: trainer coach instructor runner lifeguard
say: my legs are killing me after {train}; gym at {clock} ?; how many {move-} did you do ?; are you coming
  to {train} on {day} ?;
  i can't feel my arms; rest day today; what's your time for {race} ?

# weather 5
emoji: ☀️ 🌧️ ❄️ 🥶 🥵 ⛈️
sky m: rain snow sunshine fog wind sleet thunder hail frost ice drizzle mist lightning humidity slush
spell c: storm heatwave shower thunderstorm rainbow blizzard breeze sunset flood hurricane gale downpour
  puddle
  snowman sunrise cloud
cover d: umbrella raincoat sun_cream fan coat hat scarf sledge woolly_hat parasol anorak snow_shovel
do: get soaked; forget {cover}; get sunburnt; check the forecast; sit in the sun; bring {cover}; stay
  inside; build a snowman;
  shelter from {sky}; enjoy {sky}; need {cover}; freeze on the way to {town}; watch {spell}; buy {cover};
  melt in {spell};
  slip on the ice; put on {cover}; bring in the washing; paddle in the sea; wrap up warm
mod: heavy light sudden awful summer winter freak icy
good: sunny warm glorious bright mild dry beautiful balmy breezy clear
bad: freezing wet grey windy miserable icy chilly humid stormy dreary foggy soggy gloomy muggy
up: the sun|come out; {spell}|pass; the rain|stop; it|snow; the clouds*|clear
down: it|rain all day; {spell}|start; the river|flood; the wind|break {cover}; it|hail; the road|freeze; the
  temperature|drop
at: outside; in {town}; at the beach; in the sun; by the sea; under a tree
who: weatherman neighbour
say: is it raining in {town} ?; take {cover} with you; it's {num} degrees here; look at that {spell-}; wrap
  up , it's cold out;
  what's the weather like there ?; i can't believe it's snowing in {month}
"""
