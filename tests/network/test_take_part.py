"""The page Take part in Chromium, behind a real gate: consent, sentences, joining, and words when things fail."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from flwr.proto import fleet_pb2

import chromium
import networks8
from served import until
from tabs import KEEP, Tab, pages
from tacit.base.errors import TacitError
from tacit.models import ModelConfig
from tacit.network import browsers, federation
from tacit.network.gate import FLEET
from tacit.network.links import link
from tacit.text.encode import splitter

LINES = [f"this is sentence {i}" for i in range(5)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("part") / "home"
    federation.init(place)
    return place


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    """The pages of a federation, in front of a SuperLink that knows no key."""
    unknown = httpx.MockTransport(lambda request: httpx.Response(412, json={"code": 2004}))
    with pages(partial(browsers.join, home), unknown) as found:
        yield found


@pytest.fixture
def tab(browser: Any, address: str, home: Path, request: Any) -> Iterator[Tab]:
    """A person who was invited, and who has kept a few sentences."""
    name = request.node.name.replace("[", "-").replace("]", "")[:60]
    made = Tab(browser, link(address, federation.invite_browser(home, name)), LINES)
    yield made
    assert made.complaints == []
    made.close()


def shown(tab: Tab) -> list[str]:
    tab.page.evaluate("document.getElementById('look').open = true")
    tab.wait("document.getElementById('sentences').children.length == document.getElementById('count').value")
    return list(tab.page.locator("#sentences li").all_text_contents())


def test_sentences_are_kept_only_with_consent(browser: Any, address: str) -> None:
    tab = Tab(browser, f"{address}/part/", [])
    page = tab.page
    page.evaluate("""async () => (await import("/part/store.js")).agree(false)""")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.is_disabled("#line") and not page.is_checked("#consent")
    keep = """async (line) => (await import("/part/store.js")).keepSentence(line)"""
    assert page.evaluate(keep, "said without consent") is False
    page.check("#consent")
    page.wait_for_selector("#line:enabled")
    page.fill("#line", "said with consent")
    page.press("#line", "Enter")
    tab.wait("document.getElementById('count').value == 1")
    page.uncheck("#consent")
    assert page.evaluate(keep, "taken back") is False
    assert shown(tab) == ["said with consent"]
    with page.expect_download() as download:
        page.click("#export")
    assert json.loads(Path(download.value.path()).read_text("utf-8")) == ["said with consent"]
    page.click("#erase")
    tab.wait("document.getElementById('count').value == 0")
    assert shown(tab) == [] and tab.complaints == []
    tab.close()


def test_the_keyboard_keeps_lines_with_consent_and_makes_no_request(browser: Any, address: str) -> None:
    """Two pages of one origin: the keyboard writes, Take part shows; the keyboard stays sealed."""
    tab = Tab(browser, f"{address}/part/", [])
    tab.page.uncheck("#consent")
    keyboard, asked = tab.context.new_page(), list[str]()
    keyboard.goto(f"{address}/")
    keyboard.wait_for_selector("html[data-ready]")
    keyboard.on("request", lambda request: asked.append(request.url))

    def type_lines(*lines: str) -> None:
        for line in lines:
            keyboard.keyboard.type(line)
            keyboard.keyboard.press("Enter")

    type_lines("before anybody asked")
    tab.page.check("#consent")
    type_lines("see you at the lake", "bring the red towel")
    tab.wait("(dispatchEvent(new Event('focus')), document.getElementById('count').value == 2)")
    assert [said.lower() for said in shown(tab)] == ["bring the red towel", "see you at the lake"]
    assert asked == [] and tab.complaints == []
    tab.close()


def test_four_hundred_sentences_at_most_and_the_oldest_goes(tab: Tab) -> None:
    tab.page.evaluate(KEEP, [f"more {i}" for i in range(400)])
    tab.page.reload()
    tab.page.wait_for_selector("html[data-ready]")
    said = shown(tab)
    assert len(said) == 400 and said[0] == "more 399" and said[-1] == "more 0"


def test_joining_registers_a_key_that_nobody_can_copy_once(tab: Tab, home: Path) -> None:
    assert "#" not in tab.page.url  # the token is in no bookmark
    tab.join()
    (client,) = [c for c in federation.read(home).clients if c.name in tab.says("member")]
    assert client.public.startswith("ecdsa-sha2-nistp384 ")
    exported = tab.page.evaluate("""async () => {
        const { member } = await import("/part/joining.js");
        const { identity } = await member();
        const tries = ["pkcs8", "jwk", "raw"].map((how) => crypto.subtle.exportKey(how, identity.private));
        return [identity.private.extractable, (await Promise.allSettled(tries)).map((one) => one.status)];
    }""")
    assert exported == [False, ["rejected"] * 3]
    again = tab.open(tab.link)  # the same link in the same browser: it has joined already
    assert client.name in again.text_content("#member") and again.is_hidden("#join")


def test_an_invitation_is_good_for_one_browser(tab: Tab, browser: Any) -> None:
    tab.join()
    other = Tab(browser, tab.link, [])
    other.page.click("#join")
    other.page.wait_for_selector("#problem:visible")
    assert "used before" in other.says("problem")
    other.close()


def test_a_key_that_is_not_registered_is_said_in_words(tab: Tab) -> None:
    tab.join()
    tab.page.evaluate("""async () => {
        const { takePart } = await import("/part/node.js");
        const { fleet } = await import("/part/fleet.js");
        const { member } = await import("/part/joining.js");
        const own = await member();
        globalThis.said = [];
        const now = Date.now;
        const answers = { forget() {} };
        const start = now();
        Date.now = () => now() + 181_000 * globalThis.said.length; // the patience with a new key is over
        await takePart({ calls: fleet(own.identity), answers, signal: new AbortController().signal,
            show: (state, words) => globalThis.said.push([state, words]), note: async () => {},
            remember: async () => {}, remembered: async () => undefined, farewell() {}, paused: () => false });
        Date.now = now;
    }""")
    state, words = tab.page.evaluate("globalThis.said")[-1]
    assert (
        state == "refused" and "does not know this browser's key" in words and "another invitation" in words
    )


def test_stop_for_good_destroys_the_key_and_keeps_the_text(tab: Tab) -> None:
    tab.join()
    tab.page.click("#stop")
    tab.until("left")
    assert "Stopped for good" in tab.says()
    tab.page.reload()
    tab.page.wait_for_selector("html[data-ready]")
    assert "open the link of an invitation" in tab.says("member") and tab.says("count") == str(len(LINES))
    assert tab.page.evaluate("""async () => (await import("/part/store.js")).get("identity")""") is None


@pytest.fixture
def waiting(browser: Any, home: Path, request: Any) -> Iterator[tuple[Tab, list[tuple[str, bytes]]]]:
    """A person who takes part, in front of a SuperLink that has no task; and the calls that it got."""
    calls: list[tuple[str, bytes]] = []

    def superlink(asked: httpx.Request) -> httpx.Response:
        call = asked.url.path.rpartition("/")[2]
        calls.append((call, asked.content))
        if call == "activate-node":
            return httpx.Response(200, content=fleet_pb2.ActivateNodeResponse(node_id=41).SerializeToString())
        return httpx.Response(200)

    with pages(partial(browsers.join, home), httpx.MockTransport(superlink)) as address:
        tab = Tab(browser, link(address, federation.invite_browser(home, request.node.name[:60])), LINES)
        tab.join()
        tab.start()
        tab.until("waiting")
        yield tab, calls
        assert tab.complaints == []
        tab.close()


def test_a_tab_that_is_closed_says_goodbye(waiting: tuple[Tab, list[tuple[str, bytes]]]) -> None:
    tab, calls = waiting
    tab.page.close()
    until(lambda: calls[-1][0] == "deactivate-node", "it says that it goes", seconds=20)
    assert fleet_pb2.DeactivateNodeRequest.FromString(calls[-1][1]).node_id == 41


def test_pausing_and_stopping_hold_for_all_tabs_of_a_browser(
    waiting: tuple[Tab, list[tuple[str, bytes]]], home: Path
) -> None:
    """And who has stopped can join anew by another invitation, in the same tab."""
    tab, calls = waiting
    second = tab.open()
    second.click("#start")
    second.wait_for_selector("html[data-state=waiting]")
    second.click("#pause")
    tab.wait("document.getElementById('state').textContent.startsWith('Paused')")
    tab.page.click("#pause")  # “Go on”
    tab.wait("document.getElementById('state').textContent.startsWith('Connected')")
    second.evaluate(f"location.hash = 'join={federation.invite_browser(home, 'anew')}'")
    second.wait_for_url("**/part/")  # the token has left the address
    until(lambda: "stop for good first" in second.text_content("#member"), "it is said", seconds=20)
    second.click("#stop")
    second.wait_for_selector("html[data-state=left]")
    tab.until("stopped")
    until(lambda: calls[-1][0] == "deactivate-node", "the first tab says that it goes", seconds=20)
    assert "open the link of an invitation" in tab.says("member") and tab.page.is_disabled("#start")
    second.click("#join")
    second.wait_for_selector("#start:enabled")
    assert "joined as anew" in second.text_content("#member")
    second.click("#start")
    second.wait_for_selector("html[data-state=waiting]")
    second.close()


def test_a_tab_joins_no_new_round_without_consent(waiting: tuple[Tab, list[tuple[str, bytes]]]) -> None:
    tab, _ = waiting
    tab.page.uncheck("#consent")
    tab.wait("document.getElementById('state').textContent.startsWith('Without your consent')")
    tab.page.check("#consent")
    tab.wait("document.getElementById('state').textContent.startsWith('Connected')")


def test_a_browser_that_has_not_heard_the_answer_joins_again(tab: Tab) -> None:
    lost = []

    def lose(route: Any) -> None:
        lost.append(route.fetch())  # the server hears it
        route.abort()

    tab.page.route("**/v1/join", lose, times=1)
    tab.page.click("#join")
    tab.page.wait_for_selector("#problem:visible")
    assert "The invitation is still good" in tab.says("problem") and lost[0].ok
    tab.join()
    assert "has joined as" in tab.says("member")


def test_what_was_spent_is_not_bounded_by_the_journal(tab: Tab) -> None:
    """The journal keeps 500 lines."""
    found = tab.page.evaluate("""async () => {
        const { NOTHING, spend } = await import("/part/epsilon.js");
        const { put } = await import("/part/store.js");
        const round = (delta) => ({ noise: 20, delta, mechanism: "gaussian" });
        let spent = spend(NOTHING, round(1e-6));
        for (let i = 1; i < 600; i++) spent = spend(spent, round(1e-5));
        await put("spent", spent);
        dispatchEvent(new Event("focus"));
        return spent;
    }""")
    assert (found["rounds"], found["delta"], found["matrix"]) == (600, 1e-6, False)
    assert found["square"] == pytest.approx(600 / 400)
    tab.wait("document.getElementById('rounds').textContent === '600'")
    assert tab.says("epsilon").startswith("6.") and "δ = 0.000001" in tab.says("epsilon")


def test_a_tab_splits_text_by_the_language_of_the_run(tab: Tab) -> None:
    split = """async ([code, text]) => {
        await (await import("/part/language.js")).speak(code);
        return (await import("/tokens.js")).tokenize(text);
    }"""
    for code, text, count in (("en", "l'eau", 1), ("fr", "l'eau", 2), ("th", "วันนี้อากาศดี", 4)):
        found = tab.page.evaluate(split, [code, text])
        assert found == splitter(False, False, code)(text) and len(found) == count
    for unknown in ("xx", "../index"):
        refused = """async (code) => (await import("/part/language.js")).speak(code).catch((error) => error.reason)"""
        assert tab.page.evaluate(refused, unknown) == "config"
    assert len(tab.complaints) == 1  # the server has no language xx
    tab.complaints.clear()


def test_the_keyboard_loads_again_without_the_federations_server(browser: Any, home: Path) -> None:
    """Its service worker is fetched, though its address has a query, and keeps the keyboard but not *Take part*."""
    with pages(partial(browsers.join, home)) as address:
        context = browser.new_context()
        page = context.new_page()
        for path in ("/part/", "/?compare", "/?own", "/"):
            page.goto(f"{address}{path}")
            page.wait_for_selector("html[data-ready]")
        kept = page.evaluate(
            """async () => (await (await caches.open("tacit-page")).keys()).map((one) => one.url)"""
        )
        assert f"{address}/app.js" in kept and not [url for url in kept if "/part/" in url]
    page.reload()  # the server is gone
    page.wait_for_selector("html[data-ready]")
    assert "The server did not answer" in page.text_content("#age")
    context.close()


def test_two_tabs_of_one_person_are_one_client(tab: Tab) -> None:
    tab.join()
    tab.start()
    second = tab.open()
    second.click("#start")
    second.wait_for_selector("html[data-state=waiting]")
    assert "Another tab of this browser" in second.text_content("#state")
    tab.page.close()
    second.wait_for_selector("html[data-state=connecting]")  # it goes on when the first is gone


def test_a_full_disk_is_said_in_words_and_loses_nothing(tab: Tab) -> None:
    """The browser's own error; Chromium's override of the quota has no effect on IndexedDB."""
    page = tab.page
    page.evaluate("""() => {
        globalThis.add = IDBObjectStore.prototype.add;
        IDBObjectStore.prototype.add = () => { throw new DOMException("no room", "QuotaExceededError"); };
    }""")
    page.fill("#line", "no room for this")
    page.press("#line", "Enter")
    page.wait_for_selector("#problem:visible")
    assert "no room left" in tab.says("problem")
    assert page.input_value("#line") == "no room for this"  # it is still there to be kept
    page.evaluate("() => { IDBObjectStore.prototype.add = globalThis.add; }")
    page.press("#line", "Enter")
    tab.wait("document.getElementById('count').value == 6")
    assert page.is_hidden("#problem")


def test_denied_storage_is_said_in_words(address: str, tmp_path: Path, browser: Any) -> None:
    """Site data is blocked in Chromium's settings."""
    (tmp_path / "Default").mkdir()
    block = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (tmp_path / "Default/Preferences").write_text(json.dumps(block), "utf-8")
    kind = browser.browser_type
    path = chromium.path()
    context = kind.launch_persistent_context(
        tmp_path, executable_path=path, args=["--no-sandbox"], headless=True
    )
    try:
        page = context.new_page()
        page.goto(f"{address}/part/")
        page.wait_for_selector("#problem:visible")
        assert "does not let the page keep anything" in page.text_content("#problem")
        assert page.is_disabled("#start") and page.is_disabled("#line")
    finally:
        context.close()


def test_the_page_talks_to_its_own_origin_alone(tab: Tab) -> None:
    refused = tab.page.evaluate("""async () => {
        const tries = [fetch("http://127.0.0.2:1/"), fetch("https://example.org/")];
        return (await Promise.allSettled(tries)).map((one) => one.reason?.name);
    }""")
    assert refused == ["TypeError", "TypeError"]
    blocked = [said for said in tab.complaints if "Content Security Policy" in said]
    assert len(blocked) >= 2
    tab.complaints.clear()


def test_pages_have_hashes_and_everything_else_is_404(address: str) -> None:
    with httpx.Client(base_url=address) as client:
        listed = client.get("/part/hashes.json").json()
        assert {"/", "/part/", "/part/worker.js", "/part/secure/client.js", "/train/kernels.wasm"} <= set(
            listed
        )
        for path, wanted in listed.items():
            answer = client.get(path)
            assert answer.status_code == 200 and hashlib.sha256(answer.content).hexdigest() == wanted, path
            assert (answer.headers["content-encoding"], answer.num_bytes_downloaded) == (
                "gzip",
                int(answer.headers["content-length"]),
            )
            plain = client.get(path, headers={"accept-encoding": "identity"})
            assert plain.content == answer.content and "content-encoding" not in plain.headers
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert client.get("/train/kernels.wasm").headers["content-type"] == "application/wasm"
        for path in (
            "/part/../server.py",
            "/part",
            "/part/?x",
            "/part/node.js?x",
            "/files/x",
            "/v1/join",
            "/%2e%2e/etc/passwd",
        ):
            assert client.get(path).status_code == 404, path
        for path in (
            "/part/",
            "/v1/control/start-run",
            "/v1/fleet/register-node",
            "/v1/runtime/pull-messages",
        ):
            assert client.post(path).status_code == 404, path
        assert client.post(f"/v1/fleet/{FLEET[0]}").status_code == 412  # SuperLink's own answer
        assert client.post("/v1/join", content=bytes(5000)).status_code == 413


def test_a_model_for_the_keyboard_changes_no_hash_but_of_the_list_of_models(tmp_path: Path) -> None:
    model = networks8.saved(tmp_path / "network.tacit", ModelConfig(embedding=8, hidden=8))
    plain, given = (json.loads(browsers.site(file)["/part/hashes.json"].body) for file in (None, model))
    assert {path for path in plain.keys() | given.keys() if plain.get(path) != given.get(path)} == {
        "/models.json",
        "/model-0.tacit",
    }


def spki(key: Any) -> str:
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(public).decode()


def test_what_cannot_join_is_refused(home: Path) -> None:
    token = federation.invite_browser(home, "zoe")
    key = spki(ec.generate_private_key(ec.SECP384R1()))

    def give(said: Any) -> int:
        return browsers.join(home, json.dumps(said).encode())[0]

    for wrong in ([], {}, {"token": token}, {"token": 1, "key": key}, {"token": token, "key": "%"}):
        assert give(wrong) == 400, wrong
    assert give({"token": token, "key": key, "more": 1}) == 400
    assert browsers.join(home, b"\xff" * 10)[0] == 400
    small = spki(ec.generate_private_key(ec.SECP256R1()))
    for other in (small, spki(ed25519.Ed25519PrivateKey.generate()), base64.b64encode(b"no key").decode()):
        assert give({"token": token, "key": other}) == 403
    assert give({"token": "x" * 32, "key": key}) == 403 and give({"token": "", "key": key}) == 403
    before = federation.read(home)
    assert [c.public for c in before.clients if c.name == "zoe"] == [""]
    assert token not in (home / "federation.json").read_text("utf-8")  # its hash alone is kept
    assert browsers.join(home, json.dumps({"token": token, "key": key}).encode()) == (200, {"name": "zoe"})
    assert give({"token": token, "key": key}) == 200  # again, for a browser that has not heard the answer
    stranger = spki(ec.generate_private_key(ec.SECP384R1()))
    assert give({"token": token, "key": stranger}) == 403  # the token is used up
    second = federation.invite_browser(home, "yan")
    assert give({"token": second, "key": key}) == 403  # one key is one client
    federation.remove(home, "yan")
    fresh = spki(ec.generate_private_key(ec.SECP384R1()))
    assert give({"token": second, "key": fresh}) == 403


def test_a_link_is_for_a_place_where_browsers_make_keys() -> None:
    assert link("https://keyboard.example.org/", "t") == "https://keyboard.example.org/part/#join=t"
    for wrong in (
        "http://keyboard.example.org",
        "keyboard.example.org",
        "ftp://x",
        "https://x/y",
        "https://",
        "https://x:y",
    ):
        with pytest.raises(TacitError, match="--browser"):
            link(wrong, "t")
