"""Tabs of a real Chromium in one federation with Python clients: masked rounds give the simulator's model.

The messages are carried by calls; tests/network/federation/test_tabs_processes.py does it over the wire.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest
from in_process import Post, devices_of, simulated, world
from test_exchange import furthest, over_the_network
from test_masked import MASKED

from tabs import pages
from tacit.base.errors import TacitError
from tacit.models import language_model
from tacit.network.client import KINDS, answering
from tacit.network.masked import masked_scores
from tacit.network.office import Office, Terms
from tacit.network.person import Device
from tacit.network.settings import config_text
from tacit.network.tasks import secure
from tacit.network.work import Parcel, Refusal
from tacit.privacy.secure.client import STAGES

PEOPLE, PYTHON = 6, 3
STAGES_LIST = list(STAGES)
BEGIN = """async (lines) => {
  const { answering } = await import("/part/answering.js");
  const { browserTrainer } = await import("/part/training.js");
  const url = new URL("/train/worker.js", location.href).href;
  const policy = trustedTypes.createPolicy("tacit-part", { createScriptURL: (url) => url });
  const spawn = () => new Worker(policy.createScriptURL(url), { type: "module" });
  globalThis.left = []; // the work of each sum whose masked vector left
  const leaves = async (told) => globalThis.left.push(told.work);
  const tell = (told) => (globalThis.told = told);
  globalThis.tasks = answering(browserTrainer(async () => lines, { spawn }), tell, leaves);
}"""
ANSWER = """async ({ arrays, facts }) => {
  const kinds = { "<f4": Float32Array, "|u1": Uint8Array, "<f8": Float64Array };
  const task = { arrays: new Map(), facts: {} };
  for (const [name, [kind, shape, data]] of Object.entries(arrays)) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    task.arrays.set(name, { kind, shape, values: new kinds[kind](bytes.buffer) });
  }
  for (const [name, [type, value]] of Object.entries(facts)) task.facts[name] = { type, value };
  try {
    const said = await globalThis.tasks.answer(task);
    let text = "";
    for (const byte of said.message) text += String.fromCharCode(byte);
    return { message: btoa(text), facts: Object.fromEntries(Object.entries(said.facts).map(([n, f]) => [n, f.value])) };
  } catch (error) {
    return { reason: error.reason ?? "refused", detail: error.message };
  }
}"""


@dataclass
class Page:
    """One person's tab, as a client of `Post`."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def __call__(self, task: Parcel) -> Parcel:
        arrays = {
            name: [array.dtype.str, list(array.shape), base64.b64encode(array.tobytes()).decode()]
            for name, array in task.arrays.items()
        }
        facts = {name: [type(value).__name__, value] for name, value in task.facts.items()}
        said = self.page.evaluate(ANSWER, {"arrays": arrays, "facts": facts})
        if "reason" in said:
            raise Refusal(said["reason"], said["detail"])
        return Parcel({"message": np.frombuffer(base64.b64decode(said["message"]), np.uint8)}, said["facts"])


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Iterator[Callable[[Device], Page]]:
    with pages() as address:
        context = browser.new_context()

        def go(device: Device) -> Page:
            page = context.new_page()
            made = Page(page)
            page.on("pageerror", lambda error: made.complaints.append(str(error)))
            page.goto(f"{address}/part/")
            page.wait_for_selector("html[data-ready]")
            page.evaluate(BEGIN, [message.text for message in device.messages.messages(0)])
            return made

        yield go


@pytest.fixture(scope="module")
def people() -> list[Device]:
    return devices_of(PEOPLE)


@pytest.fixture(scope="module")
def tabs(open_page: Callable[[Device], Page], people: list[Device]) -> list[Page]:
    return [open_page(device) for device in people[PYTHON:]]


@pytest.fixture(scope="module")
def clients(people: list[Device], tabs: list[Page]) -> list[Any]:
    """Python clients first, then tabs."""
    return [*(answering(device) for device in people[:PYTHON]), *tabs]


def test_tabs_and_python_clients_give_the_simulators_model(
    people: list[Device], clients: list[Any], tabs: list[Page]
) -> None:
    config, words, text = world(people, *MASKED)
    post = Post(clients)
    masked, said, office = over_the_network(config, words, post, Terms(over=1.0))
    assert not office.refused and "abandoned" not in said[0]
    model = language_model(config.model, len(words))
    assert furthest(masked.params, model.init(jax.random.key(config.seed))) > 1e-3
    assert furthest(masked.params, simulated(config, words, text).params) < 1e-6
    assert {number for number, _ in post.said} == set(range(PEOPLE))
    told = tabs[0].page.evaluate("globalThis.told")
    assert told["clients"] == PEOPLE and told["norm"] > 0 and told["clip"] == 0.5
    assert tabs[0].page.evaluate("globalThis.left") == ["train"] * config.training.rounds
    assert not [complaint for tab in tabs for complaint in tab.complaints]


def test_adaptive_clipping_with_noise_at_the_server(people: list[Device], clients: list[Any]) -> None:
    """The noise is repeatable here; the simulator adds it to a sum without masks."""
    keys = (
        "privacy.mechanism=gaussian",
        "privacy.clip=0.5",
        "privacy.noise=0.3",
        "privacy.noise_source=seed",
        "privacy.adaptive=true",
        "privacy.weight=bounded",
        "privacy.max_weight=6",
    )
    config, words, _ = world(people, *keys, "privacy.secure=true", "privacy.least=5")
    plain, _, text = world(people, *keys)
    masked, _, office = over_the_network(config, words, Post(clients))
    assert not office.refused
    assert furthest(masked.params, simulated(plain, words, text).params) < 1e-5
    told = clients[-1].page.evaluate("globalThis.told")
    assert told["mechanism"] == "gaussian" and told["noise"] == 0  # noise that can be repeated hides nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        pytest.param(
            ("client.carry=v", "client.carry_form=factored", "privacy.second_clip=0.0002"),
            marks=pytest.mark.skipif(
                os.environ.get("TACIT_FEDERATION") != "all", reason="the other case has all kinds of moments"
            ),
        ),
        (
            "client.carry=m,v",
            "privacy.moments_clip=0.05",
            "privacy.second_clip=10",
            "privacy.weight=bounded",
            "privacy.max_weight=6",
        ),
    ],
)
def test_moments_that_travel_are_added_under_masks(
    people: list[Device], clients: list[Any], more: tuple[str, ...]
) -> None:
    """Tabs clip the changes of moments as Python does; the layouts agree, or no sum would be opened."""
    keys = ("client.optimiser=adam", "client.lr=0.01")
    config, words, text = world(people, *MASKED, *keys, *more)
    masked, said, office = over_the_network(config, words, Post(clients), Terms(over=1.0))
    assert not office.refused and "abandoned" not in said[0]
    wanted = simulated(config, words, text)
    assert furthest(masked.params, wanted.params) < 1e-4
    assert max(float(np.abs(leaf).max()) for leaf in masked.carried) > 1e-9
    for found, leaf in zip(masked.carried, wanted.carried, strict=True):
        np.testing.assert_allclose(found, leaf, rtol=1e-3, atol=1e-9)


def test_scores_of_tabs_are_added_under_masks(people: list[Device], clients: list[Any]) -> None:
    """The same sums as if everybody were a Python client."""
    config, words, _ = world(people, *MASKED)
    model = language_model(config.model, len(words))
    params = model.init(jax.random.key(3))
    found = []
    for everybody in (clients, [answering(device) for device in people]):
        office = Office(Post(everybody), config, words, PEOPLE, Terms(over=1.0), Counter())
        sums = masked_scores(office, params)
        assert sums is not None and not office.refused
        found.append(dataclasses.asdict(sums))
    for name, value in found[1].items():
        np.testing.assert_allclose(found[0][name], value, rtol=1e-5, err_msg=name)
    assert found[0]["sentences"][0] >= PEOPLE // 2 and found[0]["words"][0] > 0


def test_a_tab_that_goes_away_is_left_out(people: list[Device], clients: list[Any]) -> None:
    """At every stage: the sum is that of the others, and the next round has everybody."""
    for stage in STAGES:
        config, words, _ = world(people, *MASKED, "training.rounds=1")
        post = Post(clients, {stage: [PEOPLE - 1]})
        _, said, office = over_the_network(config, words, post, Terms(over=1.0, deadline=1.0))
        assert not office.refused and "abandoned" not in said[0]


def test_clients_that_are_given_different_tasks_have_no_sum(
    people: list[Device], clients: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server tells all but one to learn nothing: the sum would be that one's update. Nobody sends a masked vector."""
    layouts: list[Any] = []

    class Uneven(Post):
        def answer(self, number: int, task: Parcel) -> Parcel | Refusal:
            if task.facts["kind"] == STAGES[0] and number != PEOPLE - 1:
                facts = {**task.facts, "lr": 0.0}
                schema = secure.bound(layouts[-1], facts, task.arrays).hex()
                task = task._replace(facts={**facts, "schema": schema})
            return super().answer(number, task)

    def spy(layout: Any, facts: Any, arrays: Any) -> bytes:
        layouts.append(layout)
        return secure.bound(layout, facts, arrays)

    monkeypatch.setattr("tacit.network.masked.bound", spy)
    config, words, _ = world(people, *MASKED, "training.rounds=1")
    post = Uneven(clients)
    _, said, _ = over_the_network(config, words, post, Terms(over=1.0))
    assert "abandoned" in said[0]
    answered = Counter(answer.facts["kind"] for _, answer in post.said)
    assert answered[STAGES[0]] == PEOPLE and not answered[STAGES[2]]


def tasks_of(people: list[Device], clients: list[Any], *keys: str) -> list[Parcel]:
    """The tasks that the last tab got in a round."""
    config, words, _ = world(people, *keys, "training.rounds=1")
    post = Post(clients)
    over_the_network(config, words, post, Terms(over=1.0))
    return [task for number, task in post.asked if number == PEOPLE - 1]


def changed(task: Parcel, arrays: dict[str, Any] | None = None, **facts: Any) -> Parcel:
    return Parcel({**task.arrays, **(arrays or {})}, {**task.facts, **facts})


def test_a_tab_refuses_what_a_python_client_refuses(people: list[Device], clients: list[Any]) -> None:
    tasks = tasks_of(people, clients, *MASKED)
    first, share, unmask = tasks[0], tasks[1], tasks[3]
    assert [task.facts["kind"] for task in tasks] == STAGES_LIST
    text = first.facts["config"]
    embedding = first.arrays["params/embedding"]
    several = [
        (first, "replay"),  # it has been in this sum
        (share, "replay"),  # and the sum is over
        (changed(unmask, sum="0" * 32), "stale"),
        (changed(first, version=2), "version"),
        (changed(first, kind="dance"), "kind"),
        (changed(first, sum="1" * 31), "schema"),
        (changed(first, sum="1" * 32, place=first.facts["group"]), "schema"),
        (changed(first, sum="1" * 32, seconds=0.0), "schema"),
        (changed(first, sum="2" * 32, round=first.facts["rounds"]), "schema"),
        (changed(first, sum="3" * 32, lr=1), "schema"),
        (changed(first, sum="4" * 32, more=1), "schema"),
        (changed(first, sum="5" * 32, schema="0" * 64), "schema"),
        (changed(first, sum="6" * 32, config=text.replace("secure = true", "secure = false")), "config"),
        (changed(first, sum="7" * 32, config="no TOML at all"), "config"),
        (
            changed(first, sum="8" * 32, config=text.replace('mode = "federated"', 'mode = "central"')),
            "config",
        ),
        (changed(first, {"more": embedding}, sum="9" * 32), "schema"),
        (changed(first, {"words": embedding}, sum="a" * 32), "schema"),
        (changed(first, {"params/embedding": embedding * np.nan}, sum="c" * 32), ""),
        (changed(first, {"params/embedding": embedding[1:]}, sum="d" * 32), ""),
        (changed(first, sum="e" * 32, work="dance"), "kind"),
    ]
    for task, reason in several:
        told = []
        for client in (clients[PYTHON - 1], clients[-1]):
            with pytest.raises((Refusal, TacitError)) as refused:
                client(changed(task))
            told.append(getattr(refused.value, "reason", "refused"))
        if reason in ("replay", "stale"):
            told[0] = told[1]  # the Python client was in another place of that sum
        assert told[1] == (reason or "schema"), (task.facts, told)
        # Python says "refused" where a configuration contradicts itself
        assert not reason or told[0] in (told[1], "refused"), (task.facts, told)


def test_no_secure_sum_no_update(people: list[Device], clients: list[Any]) -> None:
    """Every kind of task of a run without masks is refused by a tab, and so is a sum of fewer than five."""
    (task,) = tasks_of(people, clients, "privacy.mechanism=clipped", "privacy.clip=0.5")
    with pytest.raises(Refusal, match="kind"):
        clients[-1](task)
    for kind in set(KINDS) - set(STAGES):
        with pytest.raises(Refusal, match="kind"):
            clients[-1](changed(task, kind=kind))
    first = tasks_of(people, clients, *MASKED)[0]
    few = first.facts["config"].replace("least = 5", "least = 4")
    with pytest.raises(Refusal, match="cannot follow"):
        clients[-1](changed(first, sum="b" * 32, config=few))


def test_what_a_tab_follows_is_known(open_page: Callable[[Device], Page], people: list[Device]) -> None:
    """Each key that a tab looks at is a key of the configuration."""
    page = open_page(people[0]).page
    text = config_text(world(people, *MASKED)[0])
    read = """async (text) => (await import("/part/config.js")).readToml(text)"""
    tables = page.evaluate(read, text)
    assert {name: value for name, value in tables.items() if name} == {
        name: value for name, value in tomllib.loads(text).items() if isinstance(value, dict)
    }
    understood = """async (text) => (await import("/part/config.js")).understood(text).privacy.least"""
    assert page.evaluate(understood, text) == 5
