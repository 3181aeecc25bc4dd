"""Topics of the table and the house: food, cooking, coffee, home, garden, shopping, money, moving.

`world.parse_topics` reads this format: one topic per `#` block, one entry per line.

    # name weight
    emoji: ...               emoji at the end of a message on this topic
    class kind: nouns        kind c countable, d "the/my" countable, o "my", m mass, l plural only, b and p bare
    do: act; act             acts: the first word is the verb, {class} a noun phrase
    mod: adjectives          neutral, before a noun
    good: / bad:             adjectives of praise and complaint
    up: / down:              good and bad news, "subject|verb phrase"; a plural subject ends in *
    at: places; who: roles; say: whole lines
"""

TEXT = """
# food 10
emoji: 😋 🍕 🍔 🤤 🍜 🌮 🍟
meal c: pizza burger curry sandwich salad steak burrito kebab wrap lasagne taco pie stew omelette bagel
  hotdog risotto ramen paella casserole dumpling panini toastie quesadilla pancake waffle baguette fajita
dish m: sushi pasta chicken soup rice fish salmon noodle_soup pad_thai lamb tofu hummus falafel squid
  beef bacon fried_rice halloumi prawn_toast duck pulled_pork tempura biryani
side l: chips fries wings nachos spring_rolls olives ribs prawns tacos mussels meatballs samosas wedges
bill d: menu bill table starter portion dessert sauce dressing buffet order booking reservation
do: order {meal}; eat {meal}; have {dish}; get {side}; try {dish}; share {meal}; order {dish} and {side};
  book a table at the {cafe}; eat out; finish {poss} {meal-}; have {meal} for lunch; have {dish} for dinner;
  get {meal} from the {cafe}; go to the {cafe}; split {bill}; reheat {dish}; devour {meal}; skip dessert;
  swap {poss} {side} for {meal}; crave {dish}; grab {meal}
mod: spicy vegan huge cheap leftover veggie crispy cheesy grilled gluten-free halal fried smoked
good: delicious tasty yummy filling fresh crispy juicy unreal scrumptious flavourful mouthwatering generous
bad: salty bland greasy cold soggy overpriced dry undercooked stodgy chewy burnt tasteless rubbery oily
up: the place|do half price {side-}; the new {cuisine} place|open; the waiter|give us free {side-};
  the chef|come out to say hi; the kitchen|stay open late
down: the place|be full; the waiter|forget {bill}; the kitchen|close early; the delivery|take an hour;
  the driver|drop {meal}; the starters*|arrive after the mains; they|run out of {dish}
cuisine b: thai italian indian mexican greek lebanese korean turkish vietnamese japanese ethiopian peruvian
at: at the {cafe}; at the {cuisine} place; in {town}; at the food court; at the market; by the river
who: waiter chef waitress barman cook owner
say: what are we having for dinner ?; i'm starving , can we get {meal} or {dish} ?;
  is there any {dish-} left ?; save me some {side} please; i could eat {dish} every day;
  is it {dish-} or {meal-} tonight ?

# cooking 6
emoji: 🍰 👩‍🍳 🥘 🍪 🧁 🍞
bake c: cake loaf pie brownie muffin scone cupcake tart cookie cheesecake crumble flapjack trifle roulade
  meringue pudding quiche flan eclair pavlova
ingr m: flour butter sugar garlic cheese milk cream bread ginger yeast basil cinnamon vanilla cocoa
  parsley cumin paprika honey oregano coriander chilli baking_powder olive_oil vinegar stock thyme nutmeg
veg l: onions tomatoes eggs potatoes carrots peppers mushrooms lemons beans peas courgettes lentils
  apples leeks berries spinach_leaves aubergines parsnips chickpeas walnuts almonds
tool d: oven pan recipe mixer kitchen freezer blender grater whisk tray cooker sieve spatula ladle
  saucepan rolling_pin chopping_board kettle slow_cooker air_fryer
do: bake {bake}; make {bake}; chop {veg}; buy {ingr} and {veg}; cook for {name}; burn {bake}; use {tool};
  follow {poss} nan's recipe; decorate {bake}; forget {ingr}; whisk {ingr} with {ingr}; roast {veg};
  fry {veg} in {ingr}; melt {ingr}; knead the dough; ice {bake}; clean {tool}; borrow {tool};
  peel {veg}; simmer the sauce for {num} minutes; preheat the oven; freeze {veg}; marinate the chicken
mod: homemade fresh chocolate frozen vegan fluffy lemon organic simple carrot sticky
good: fluffy delicious moist golden perfect gooey light rich tasty buttery crumbly
bad: burnt raw flat lumpy dry rubbery dense bitter sour watery crunchy
up: the cake|rise perfectly; the icing|set; the bread|come out golden; the sauce|thicken
down: the cake|sink; the oven|break; the sauce|split; the dough|refuse to rise; the caramel|burn; the
  milk|go off;
  the pan|stick
at: in the kitchen; at home; at {poss} nan's; at the bakery; at cookery class
who: baker cook flatmate nan
say: do we have any {ingr-} ?; can you pick up {ingr} and {veg} on the way home ?; how long do you roast
  {veg} ?;
  what can i use instead of {ingr-} ?; how many eggs go in a {bake-} ?; the whole house smells of {ingr-}

# coffee 5
emoji: ☕ 🍵 🍺 🥂 🍷
drink c: coffee tea latte flat_white beer cappuccino hot_chocolate pint lemonade smoothie cocktail espresso
  mocha iced_tea milkshake cider lager shandy ginger_beer chai matcha cola americano spritz
cup d: cup mug glass straw flask thermos coaster teapot cafetiere
nibble c: croissant biscuit muffin brownie flapjack doughnut macaroon teacake pastry shortbread
do: get {drink}; have {drink} and {nibble}; meet {name} for {drink}; grab {drink}; go for {drink};
  make {drink}; drink too much coffee; spill {drink}; order {drink} with oat milk; buy {name} {drink};
  share {nibble}; sip {drink} in the sun; pour {drink}; give up caffeine; brew {drink}; stir {drink}
mod: strong quick iced large decaf hot cold cheeky small milky frothy sugary
good: strong smooth refreshing lovely warming frothy sweet chilled aromatic
bad: weak bitter watery lukewarm overpriced flat sour stale milky
up: the café|give me a free {nibble-}; the new coffee shop|open; happy hour|start early
down: the machine|break; the barista|spell my name wrong; the milk|run out; the café|shut early;
  the queue|go out of the door
at: at the {cafe}; at the coffee shop; round the corner; at the pub; in {town}; in the beer garden
who: barista landlord barmaid
say: put the kettle on; do you want {drink} ?; coffee first , then talk; whose round is it ?;
  i've had {num} coffees already; milk and sugar ?; i can't function without {drink}

# home 8
emoji: 🏠 🧹 🔧 😩 🛋️
room d: kitchen bathroom bedroom living_room garage hallway attic cellar loft landing utility_room stairs
kit d: washing_machine boiler dishwasher fridge hoover tap shower sink sofa toilet radiator dryer lamp
  doorbell mattress wardrobe curtain carpet bookshelf ladder drill ceiling fuse plug light_bulb hinge
  drawer mirror shelf rug cupboard gutter window blind thermostat bath doorknob smoke_alarm
chore l: dishes bins clothes towels sheets windows floors shelves cobwebs curtains tiles pipes
do: clean {room}; fix {kit}; paint {room}; do the laundry; take out {chore}; wash {chore}; tidy {room};
  move {kit}; hoover {room}; call the plumber about {kit}; replace {kit}; iron {chore}; sort out {room};
  mop {room}; unblock {kit}; put up {chore}; scrub {chore}; order {kit}; dust {room}; declutter {room};
  measure {kit}; assemble {kit}; rewire {room}; sand the floor; fold {chore}; empty {kit}; change {poss}
  sheets
mod: new old spare wooden broken white grey second-hand leaky wobbly dusty
good: spotless tidy cosy bright clean warm fixed gorgeous neat shiny comfy
bad: filthy messy broken freezing leaking mouldy blocked damp dusty wobbly rusty squeaky cracked
up: the plumber|fix {kit}; the new sofa|arrive; the landlord|replace {kit}; the paint|dry nicely
down: {kit}|break; {kit}|leak everywhere; the power|go out; the heating|pack up; the ceiling|drip;
  the plumber|cancel; {kit}|make a weird noise; the neighbours*|drill all morning; the fuse|blow
at: at home; upstairs; downstairs; in {room}; next door; at mine
who: plumber landlord electrician neighbour cleaner builder decorator carpenter
say: whose turn is it to do the {chore-} ?; did you leave {kit} on ?; where do we keep the {tool-} ?;
  i'm locked out , where are you ?; who left the lights on ?; don't forget bin day
tool c: screwdriver hammer ladder bucket mop drill spanner torch tape_measure sponge dustpan

# garden 4
emoji: 🌱 🌷 🌻 🍅 🌿
plant c: rose tomato_plant sunflower cactus tulip lavender_bush apple_tree fern daffodil bonsai orchid
  strawberry_plant lily hydrangea dahlia ivy rhubarb fig_tree begonia geranium foxglove
crop l: tomatoes strawberries potatoes courgettes herbs beans pumpkins carrots seeds bulbs weeds leaves
  radishes raspberries beetroots onions chillies marrows
shed d: lawn shed hedge greenhouse patio fence pond hose lawnmower compost_bin wheelbarrow flowerbed
  allotment rake spade trellis watering_can birdbath trowel
bug l: slugs snails greenfly squirrels pigeons wasps caterpillars foxes ants moles
do: plant {crop}; water {plant}; mow the lawn; dig up {crop}; build {shed}; repot {plant}; trim the hedge;
  weed {shed}; pick {crop}; buy {plant}; sow {crop}; prune {plant}; rake the leaves; chase {bug} off {crop};
  paint {shed}; feed the birds; harvest {crop}; fertilise {plant}; fix {shed}; clear {shed}
mod: tiny purple potted wild overgrown red climbing yellow tall
good: blooming gorgeous colourful healthy green lush ripe fragrant
bad: dead wilted overgrown dry muddy droopy rotten parched nibbled
up: {plant}|flower; the seeds*|sprout; {plant}|grow so much; the birds*|come back; a hedgehog|move in
down: the slugs*|eat {crop}; {plant}|die; the frost|kill {crop}; {bug+}*|eat all the {crop-};
  the fence|blow down; the pond|freeze
at: in the garden; at the allotment; at the garden centre; on the balcony; in the greenhouse
who: gardener neighbour
say: can you water {plant} while i'm away ?; do you want some {crop-} ? we have loads;
  when do you plant {crop-} ?; how do i get rid of {bug+} ?; everything in {shed} is dead

# shopping 7
emoji: 🛍️ 👗 💸 👠 😍
wear c: dress jacket coat shirt jumper hoodie skirt suit hat scarf bag top cardigan blouse belt raincoat
  jumpsuit waistcoat swimsuit t-shirt beanie handbag backpack watch necklace bracelet dressing_gown
  tracksuit
pair l: shoes jeans trainers boots trousers socks leggings shorts sandals sunglasses heels gloves pyjamas
  earrings wellies slippers tights dungarees loafers mittens
deal d: sale receipt parcel discount order voucher refund gift_card changing_room label basket website
do: buy {wear}; try on {pair}; return {wear}; order {pair}; go shopping with {name}; wear {wear}; sell
  {wear};
  get {pair} in the sale; exchange {wear}; find {wear}; lose {deal}; wrap {poss} presents; queue for an
  hour;
  pick up {deal}; track {deal}; borrow {wear}; browse online; spend too much; pack {pair}; bargain for
  {wear};
  unwrap {deal}; hem {wear}; pair {wear} with {pair}
mod: new blue black red leather green vintage stripy denim floral velvet baggy woolly pink linen silk
good: gorgeous stylish comfy pretty flattering cute affordable smart elegant snug trendy
bad: tight baggy expensive itchy ugly short scratchy see-through shabby frumpy creased uncomfortable
up: the parcel|arrive; everything|be half price; the shop|have my size; they|give me a refund
down: the parcel|get lost; they|send the wrong size; the shop|sell out; {wear}|shrink in the wash;
  the zip|break; {pair}*|fall apart; the website|crash; the heel|snap
at: at the mall; in town; online; at the market; in the charity shop; in the sales; at the outlet
who: shop_assistant cashier tailor courier
say: what size are you ?; does {wear} go with {pair} ?; do you have the receipt ?; which one , the {col-} or
  the {col-} ?;
  where did you get that {wear-} ?; i need {pair} for the weekend
col b: blue black red green white yellow purple grey orange pink brown beige navy turquoise

# money 4
emoji: 💸 💰 😬 🏦
bill c: bill invoice loan payment fee direct_debit fine refund deposit payslip tax_return overdraft bonus
  mortgage transaction receipt cheque statement
acct d: bank account card salary rent budget pension savings_account pin council_tax insurance credit_card
  wage interest_rate piggy_bank
do: pay {bill}; check {acct}; transfer {poss} share; lend {name} {price}; owe {name} {price}; save {price};
  cancel {bill}; split the rent; get paid; spend {price} on nothing; sort out {acct}; dispute {bill};
  send {name} {price}; withdraw {price}; open an account; budget for {month}; pay back {name}; claim {bill};
  invest {price}; apply for {bill}; max out {acct}; donate {price}
mod: monthly unpaid extra late annual final joint overdue
good: sorted paid cheaper approved affordable generous tax-free
bad: overdue expensive late broke declined steep outrageous overdrawn
up: {acct}|go up; the refund|come through; the bank|approve the loan; the bonus|come in
down: {acct}|get declined; {bill}|double; the bank|charge me {price}; the payment|bounce; prices*|go up
  again
at: at the bank; online; in the app; at the cash machine
who: accountant banker landlord adviser
say: how much do i owe you ?; can i pay you back on {day} ?; i'll send you {price} now; payday is on {day};
  did the {bill-} go through ?; i'm broke until {day}

# moving 3
emoji: 📦 🏡 🔑 🚚
flat c: flat house studio bungalow cottage room apartment terrace maisonette penthouse houseboat
box l: boxes keys suitcases plates books bin_bags blankets photos cushions
agent d: landlord letting_agent contract deposit viewing survey removal_van lease inventory offer
  estate_agent
do: view {flat}; pack {box}; move to {town}; sign {agent}; find {flat}; rent {flat} in {town}; hire a van;
  carry {box} upstairs; get the keys; unpack {box}; meet {agent}; buy {flat}; share {flat} with {name};
  put in an offer; redirect the post; label {box}; look at {num} flats; lift the wardrobe; apply for {flat}
mod: two-bed tiny furnished ground-floor lovely modern spacious top-floor
good: spacious bright central modern quiet roomy airy affordable
bad: tiny damp noisy dark pricey poky gloomy draughty grotty
up: the offer|get accepted; the landlord|say yes; the keys*|arrive; the survey|go fine
down: the agent|cancel {agent}; someone else|get the flat; the sale|fall through; the van|break down;
  the landlord|raise the rent; the movers*|lose {box}
at: in {town}; on {street}; near the station; by the park; in the new place
who: landlord letting_agent flatmate mover surveyor
say: can you help me move on {day} ?; which street is {flat} on ?; is the flat furnished ?; i found a place
  on {street};
  who has the keys ?; how many bedrooms does {flat} have ?
"""
