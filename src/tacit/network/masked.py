"""Does the server's side of a secure sum over a network: four stages, each with a deadline.

The state machine of `tacit.privacy.secure` decides which messages count, and this module carries its bytes. A client
that does not answer a stage in time, or answers wrongly, has dropped out. If too few clients are left, the sum is
abandoned, and the run continues as if nobody had reported. Clients do not send their usual reports of training (losses,
norms), because these would reveal about one client what the masks hide.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated.aggregation import is_plain_sum
from tacit.federated.cohort_sums import Cohorts, CohortSums, Ready
from tacit.federated.local import Broadcast, Reply, Sending
from tacit.federated.secured import as_message, schema_for
from tacit.models.base import Params
from tacit.network.office import Office
from tacit.network.tasks.secure import as_array, as_bytes, bound, scores_of, scores_schema
from tacit.network.work import Parcel, broadcast_arrays, named
from tacit.privacy.secure import codec
from tacit.privacy.secure.client import STAGES
from tacit.privacy.secure.codec import Schema
from tacit.privacy.secure.errors import Abandoned, Refused
from tacit.privacy.secure.messages import ROUND, Terms
from tacit.privacy.secure.server import Server
from tacit.privacy.secure.simulated import SecuredTotal
from tacit.scoring.scores import Sums

_LOG = logging.getLogger(__name__)
ABANDONED = "sum abandoned"  # how the office counts it


def masked_sums(
    office: Office, sending: Sending, silence: Reply, ready: Callable[[int], Ready]
) -> CohortSums:
    """Returns the sums of cohorts whose clients answer over a network, under masks."""
    private = sending.private
    assert private is not None
    assert is_plain_sum(silence.message)  # `privacy_of` refuses others

    def program(sent: Broadcast, laid: tuple[int, np.ndarray, int], lr: Array, key: Array) -> Reply:
        t, asked, goal = laid
        arrays = broadcast_arrays(sent)

        def schema(clients: int) -> Schema:
            return schema_for(sending.rule, private, sent, silence.message, clients)

        try:
            found = masked_sum(office, t, "train", arrays, asked.tolist(), goal, schema, float(lr))
        except Abandoned:
            return silence
        report = silence.report._replace(clients=jnp.int32(len(found.survivors)))
        return Reply(as_message(found.total), (), report)

    return Cohorts(program, lambda tree: tree, ready, lambda t: None)


def masked_scores(office: Office, params: Params) -> Sums | None:
    """Returns the sums of scores over the held-out text of all present clients, under masks; None if none is opened."""
    arrays = {n: np.asarray(leaf, np.float32) for n, leaf in named("params", params).items()}
    present = office.present().tolist()
    try:
        found = masked_sum(office, 0, "evaluate", arrays, present, len(present), scores_schema)
    except Abandoned:
        return None
    return scores_of(found.total)


def masked_sum(
    office: Office,
    t: int,
    work: str,
    arrays: Mapping[str, np.ndarray],
    asked: Sequence[int],
    goal: int,
    schema: Callable[[int], Schema],
    lr: float = 0.0,
) -> SecuredTotal:
    """Returns the sum of the results of clients' work; reports the reason and raises `Abandoned` if none is opened.

    The first `goal` clients that have done the work form the group; `schema` lays their messages out.
    """
    try:
        return _masked_sum(office, t, work, arrays, asked, goal, schema, lr)
    except TacitError as reason:
        office.refused[ABANDONED] += 1
        _LOG.warning("%s of round %d: %s", work, t + 1, reason)
        raise Abandoned(str(reason)) from None


def _masked_sum(
    office: Office,
    t: int,
    work: str,
    arrays: Mapping[str, np.ndarray],
    asked: Sequence[int],
    goal: int,
    schema: Callable[[int], Schema],
    lr: float,
) -> SecuredTotal:
    least = max(office.config.privacy.least, office.terms.least)
    if goal < least:
        raise Abandoned(f"secure sum: {goal} clients can take part, {least} is the least number")
    layout = schema(len(asked))
    tasks, terms = _first_tasks(office, t, work, arrays, asked, layout, lr)
    server = Server(terms)
    places = {number: task.facts["place"] for number, task in tasks.items()}
    for stage in STAGES:
        taken = 0
        for number, message in office.answers(tasks, len(tasks), lambda answer: as_bytes(answer.arrays)):
            try:
                server.receive(places[number], message)
            except Refused as refused:
                office.refused["protocol"] += 1
                _LOG.warning("%s", refused)
                continue
            taken += 1
            if stage == STAGES[0] and taken == goal:
                break
        if stage != STAGES[-1]:
            following, sent = STAGES[STAGES.index(stage) + 1], server.end_stage()
            tasks = _tasks(office, following, t, terms, {n: sent[p] for n, p in places.items() if p in sent})
    opened = server.open()
    if len(opened.survivors) < least:
        raise Abandoned(f"secure sum: {len(opened.survivors)} clients survived, {least} is the least number")
    return SecuredTotal(codec.decode(layout, opened.total, len(opened.survivors)), opened.survivors)


def _first_tasks(
    office: Office,
    t: int,
    work: str,
    arrays: Mapping[str, np.ndarray],
    asked: Sequence[int],
    layout: Schema,
    lr: float,
) -> tuple[dict[int, Parcel], Terms]:
    """Returns the tasks of the first stage, with everything that the work needs, and the terms of the sum."""
    facts = {"lr": lr, "work": work, "group": len(asked), "seconds": len(STAGES) * office.terms.deadline}
    tasks = office.tasks(STAGES[0], t, arrays, asked, **facts)
    common = next(iter(tasks.values()))
    schema = bound(layout, common.facts, common.arrays)
    terms = Terms(os.urandom(ROUND), len(asked), layout.words, office.config.privacy.least, schema)
    more = {"sum": terms.round_id.hex(), "schema": schema.hex()}
    return {
        number: task._replace(facts={**task.facts, **more, "place": place})
        for place, (number, task) in enumerate(tasks.items())
    }, terms


def _tasks(office: Office, stage: str, t: int, terms: Terms, sent: Mapping[int, bytes]) -> dict[int, Parcel]:
    """Returns the tasks of a later stage, each with one message for its client."""
    tasks = office.tasks(stage, t, {}, list(sent), sum=terms.round_id.hex())
    return {
        number: task._replace(arrays={"message": as_array(sent[number])}) for number, task in tasks.items()
    }
