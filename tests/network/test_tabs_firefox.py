"""A tab of Firefox in one federation with Python clients: its masks, its clip and its training are the same."""

from __future__ import annotations

from typing import Any

from in_process import Post, devices_of, simulated, world
from test_exchange import furthest, over_the_network
from test_masked import MASKED
from test_tabs import BEGIN, Page

from tabs import pages
from tacit.network.client import answering
from tacit.network.office import Terms

PEOPLE = 5


def test_a_tab_of_firefox_gives_the_simulators_model(firefox: Any) -> None:
    *people, zoe = devices_of(PEOPLE)
    with pages() as address:
        page = firefox.page()
        page.goto(f"{address}/part/")
        page.wait("'ready' in document.documentElement.dataset")
        page.evaluate(BEGIN, [message.text for message in zoe.messages.messages(0)])
        config, words, text = world([*people, zoe], *MASKED, "training.rounds=1")
        post = Post([*(answering(device) for device in people), Page(page)])
        masked, said, office = over_the_network(config, words, post, Terms(over=1.0))
        told = page.evaluate("globalThis.told")
        page.close()
    assert not office.refused and "abandoned" not in said[0]
    assert furthest(masked.params, simulated(config, words, text).params) < 1e-6
    assert (told["clients"], told["work"]) == (PEOPLE, "train") and told["norm"] > 0
