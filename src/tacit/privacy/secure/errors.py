"""What a party says when it does not go on."""

from __future__ import annotations

from tacit.base.errors import TacitError


class Refused(TacitError):
    """A message that is not taken: damaged, forged, late, or of another round. Its sender counts as absent."""


class Abandoned(TacitError):
    """A round that cannot end. The party has forgotten its secrets and the sums, and answers nothing more."""
