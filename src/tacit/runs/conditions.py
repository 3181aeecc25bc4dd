"""Declares which devices a run over a network asks for: the table [conditions] of a configuration.

Each client decides by itself (`tacit.network.manners`). These conditions are added to those that its owner has set. The
server learns only that a client did not take part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.base.errors import TacitError, shown

_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_REGION = re.compile(r"[A-Za-z]{2}|[0-9]{3}")
_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,7}")


@dataclass(frozen=True)
class ConditionsConfig:
    """Declares which devices a run asks for; an empty string asks for nothing."""

    language: str = ""  # such as "de", which also takes "de-AT"
    region: str = ""  # such as "AT"
    version: str = ""  # of the app: this one or a later one, such as "2.10"


def check(config: ConditionsConfig) -> None:
    """Refuses conditions that no device can state."""
    forms = {"language": (_TAG, "de"), "region": (_REGION, "AT"), "version": (_VERSION, "2.10")}
    for key, (form, example) in forms.items():
        value = getattr(config, key)
        if value and not form.fullmatch(value):
            raise TacitError(f"conditions.{key} = {shown(value)} is no {key}; write it as in '{example}'")


def refuse_in_simulator(config: ConditionsConfig) -> None:
    """Refuses conditions in the simulator, whose devices state nothing."""
    for key in config.__dataclass_fields__:
        if value := getattr(config, key):
            raise TacitError(
                f"conditions.{key} = '{value}' works over a network only (`tacit federation run`); remove it, or "
                "study who takes part with the table [availability]"
            )
