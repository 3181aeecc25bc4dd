"""Spells a message: dialect, abbreviations, contractions, apostrophes, capitals, end marks, emoji.

The grammar writes plain words, and this module turns them into what people type. A message has one register and one
dialect, so its first words predict how the rest is spelt.
"""

from __future__ import annotations

from functools import cache

from tacit.text.typists.grammar import Draft
from tacit.text.typists.zipf import Ranked, weighted

# Abbreviations of plain words, most common first.
SHORT = {
    "you": "u ya", "your": "ur", "are": "r", "because": "cos bc cuz", "tomorrow": "tmrw tomoz tmr",
    "please": "pls plz", "thanks": "thx ta cheers", "really": "rly reallyyy", "with": "w", "people": "ppl",
    "tonight": "tonite 2nite", "probably": "prob probs", "minutes": "mins min", "birthday": "bday",
    "and": "n &", "before": "b4", "very": "v", "so": "soo sooo", "okay": "ok k", "ok": "okay k okk oki",
    "yes": "yeah yep yh yup ye", "no": "nah nope noo", "about": "abt", "morning": "mornin",
    "what": "wat wot", "though": "tho", "love": "luv", "later": "laters l8r", "weekend": "wknd",
    "photo": "pic", "favourite": "fave", "message": "msg", "great": "gr8", "mate": "m8", "sorry": "soz sry",
    "good": "gd", "amazing": "amazinggg", "today": "2day tday", "something": "smth", "everyone": "every1",
    "someone": "some1", "just": "jus", "never": "nvr", "hours": "hrs", "pounds": "quid", "friend": "frend",
    "brother": "bro", "sister": "sis", "boyfriend": "bf", "girlfriend": "gf", "cousin": "cuz",
    "university": "uni", "evening": "eve", "lovely": "luvly", "hello": "hellooo ello", "hey": "heyy heyyy",
    "hi": "hiya hii", "night": "nite", "going": "goin", "definitely": "defo", "absolutely": "absolutelyyy",
    "Monday": "mon", "Tuesday": "tues", "Wednesday": "weds", "Thursday": "thurs", "Friday": "fri",
    "Saturday": "sat", "Sunday": "sun", "delicious": "delish", "gorgeous": "gorg", "brilliant": "brill",
    "fantastic": "fab", "biscuit": "bikkie",
}  # fmt: skip
# Contractions of two words, in every register but more often in casual and slang.
JOINED = {
    ("i", "am"): "i'm", ("i", "have"): "i've", ("i", "will"): "i'll", ("we", "are"): "we're",
    ("we", "have"): "we've", ("we", "will"): "we'll", ("they", "are"): "they're",
    ("they", "have"): "they've", ("he", "is"): "he's", ("she", "is"): "she's", ("he", "has"): "he's",
    ("she", "has"): "she's", ("it", "is"): "it's", ("he", "will"): "he'll", ("she", "will"): "she'll",
    ("they", "will"): "they'll", ("i", "would"): "i'd", ("he", "would"): "he'd", ("she", "would"): "she'd",
    ("you", "are"): "you're",
}  # fmt: skip
SLURRED = {
    ("going", "to"): "gonna", ("want", "to"): "wanna", ("got", "to"): "gotta", ("trying", "to"): "tryna",
    ("kind", "of"): "kinda", ("have", "to"): "hafta", ("let", "me"): "lemme", ("need", "to"): "needa",
}  # fmt: skip
# British words and their equivalents in other dialects.
DIALECTS = {
    "us": """
        mum:mom nan:grandma holiday:vacation film:movie shop:store biscuit:cookie
        rubbish:trash motorway:freeway jumper:sweater trousers:pants trainers:sneakers football:soccer
        match:game lorry:truck chips:fries crisps:chips queue:line mobile:cell
        favourite:favorite colour:color nappy:diaper auntie:aunt uni:college pub:bar chemist:drugstore
        hoover:vacuum cosy:cozy grey:gray tap:faucet boot:trunk bonnet:hood tyre:tire pushchair:stroller
        courgettes:zucchini aubergines:eggplants maths:math grandad:grandpa mate:dude cinema:theater
        sofa:couch flatmate:roommate neighbour:neighbor bins:garbage fridge:refrigerator wardrobe:closet
        cupboard:closet pavement:sidewalk autumn:fall parcel:package petrol:gas starter:appetizer
        takeaway:takeout wellies:rainboots doughnut:donut torch:flashlight timetable:schedule
        """,
    "au": """
        biscuit:bikkie football:footy barbecue:barbie afternoon:arvo breakfast:brekkie chips:chippies
        thanks:ta sunglasses:sunnies jumper:trackie very:heaps mosquito:mozzie
        present:pressie sandwich:sanga trousers:daks
        """,
    "ie": """
        mum:mam kids:wains lovely:grand fun:craic very:fierce boyfriend:fella awful:desperate
        annoying:desperate cupboard:press boys:lads rubbish:manky police:guards
        """,
}
_WORDS = {name: dict(pair.split(":") for pair in text.split()) for name, text in DIALECTS.items()}
_DIALECT = weighted(["uk", "us", "au", "ie"], [45, 40, 8, 7])
_HURRY = {"p": 0.02, "c": 0.16, "s": 0.6}
_JOIN = {"p": 0.6, "c": 0.95, "s": 0.98}
_SLUR = {"p": 0.0, "c": 0.3, "s": 0.9}
_CASES = {
    "p": weighted(["proper", "start", "lower"], [80, 12, 8]),
    "c": weighted(["proper", "start", "lower"], [45, 25, 30]),
    "s": weighted(["proper", "start", "lower", "loud"], [8, 15, 75, 2]),
}
_APOSTROPHES = {
    "p": weighted([True, False], [95, 5]),
    "c": weighted([True, False], [70, 30]),
    "s": weighted([True, False], [15, 85]),
}
_ENDS = {
    "p": weighted([".", "", "!", "..."], [66, 16, 16, 2]),
    "c": weighted(["", ".", "!", "...", "!!"], [50, 20, 20, 6, 4]),
    "s": weighted(["", "!!", "...", "!!!"], [84, 7, 6, 3]),
}
_ASKS = {
    "p": weighted(["?"], [1]),
    "c": weighted(["?", "", "??"], [86, 10, 4]),
    "s": weighted(["?", "", "??"], [45, 47, 8]),
}
_BREAKS = {
    "p": weighted([". ", "! ", ", "], [82, 10, 8]),
    "c": weighted([", ", ". ", " - ", "! ", "... "], [40, 36, 8, 8, 8]),
    "s": weighted([" ", ", ", "... ", " and "], [52, 22, 14, 12]),
}
_EMOJI = {
    "p": weighted([0, 1], [89, 11]),
    "c": weighted([0, 1, 2], [73, 24, 3]),
    "s": weighted([0, 1, 2, 3], [70, 20, 7, 3]),
}


@cache
def _ways(word: str) -> Ranked[str]:
    short = SHORT[word].split()
    return weighted(short, [1 / (rank + 1) for rank in range(len(short))])


def _spelt(draft: Draft) -> list[str]:
    """Returns the words with dialect, contractions and abbreviations applied."""
    person, rng, register = draft.person, draft.rng, draft.register
    dialect = _WORDS.get(person.pick("drift", "dialect", _DIALECT), {})
    spelt: list[str] = []
    for word, after in zip(draft.words, [*draft.words[1:], ""], strict=True):
        word = dialect.get(word, word)
        if spelt and (word not in ("have", "has") or after != "to"):  # "i have to" does not become "i've to"
            pair = (spelt[-1], word)
            if pair in JOINED and rng.random() < _JOIN[register]:
                spelt[-1] = JOINED[pair]
                continue
            if pair in SLURRED and rng.random() < _SLUR[register]:
                spelt[-1] = SLURRED[pair]
                continue
        spelt.append(word)
    return [_hurried(draft, word) for word in spelt]


@cache
def _hurry(register: str) -> Ranked[bool]:
    return weighted([True, False], [_HURRY[register], 1 - _HURRY[register]])


def _hurried(draft: Draft, word: str) -> str:
    if word not in SHORT:
        return word
    if not draft.person.pick("shift", ("short", word, draft.register), _hurry(draft.register)):
        return word
    return draft.person.pick("shift", ("which", word), _ways(word))


def _cased(words: list[str], case: str, capital: bool) -> list[str]:
    if case == "loud":
        return [word.upper() for word in words]
    if case != "proper":
        words = [word.lower() for word in words]
    else:
        words = ["I" + word[1:] if word in ("i", "im", "ive") or word[:2] == "i'" else word for word in words]
    if capital and case != "lower":
        words[0] = words[0][:1].upper() + words[0][1:]
    return words


def _joined(words: list[str]) -> str:
    return " ".join(words).replace(" ,", ",").replace(" :", ":")


def finish(draft: Draft) -> str:
    """Returns the text of a message; among its words "/" ends a sentence, "?" a question and "!" an exclamation."""
    person, register = draft.person, draft.register
    case = person.pick("feature", ("case", register), _CASES[register])
    keep = person.pick("feature", ("apostrophe", register), _APOSTROPHES[register])
    sentences: list[list[str]] = [[]]
    for word in _spelt(draft):
        if word == "/":
            sentences.append([])
        else:
            sentences[-1].append(word if keep else word.replace("'", ""))
    sentences = [s for s in sentences if s]
    text = ""
    capital = True
    for i, words in enumerate(sentences):
        last = i == len(sentences) - 1
        mark = words.pop() if words[-1] in ("?", "!") and len(words) > 1 else ""
        # the keyboard capitalises the first word automatically; later capitals take effort
        text += _joined(_cased(words, case, capital if case == "proper" else i == 0))
        if mark == "?":
            mark = person.pick("feature", ("question mark", register), _ASKS[register])
            end = mark if last else f"{mark} " if mark else " "
        elif mark:
            end = mark if last else mark + " "
        elif last and words[-1].strip("x") == "":
            end = ""  # a kiss takes no full stop
        elif last:
            end = person.pick("feature", ("end", register), _ENDS[register])
        else:
            end = person.pick("feature", ("break", register), _BREAKS[register])
        text += end
        capital = end[:1] in (".", "!", "?")
    for _ in range(person.pick("feature", ("emoji", register), _EMOJI[register])):
        text += (" " if text[-1:].isalnum() or text[-1:] in ".?!,'" else "") + person.pick(
            "label", (draft.topic.name, "emoji", draft.mood), draft.topic.emoji[draft.mood]
        )
    return text
