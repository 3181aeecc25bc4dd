"""Tacit's models on a keyboard, with numpy alone.

    open(path)       a compact n-gram file, an ARPA file or an 8-bit network: `suggest`, `log_probs`
    keyboard(path)   the same for keys: `next_words`, `complete`, `correct`, `glide`; `block` hides words

This package is made of Tacit's own modules by packaging/keyboard/setup.py; `tacit` itself trains models.
"""

from tacit.base.errors import TacitError
from tacit.keyboard.suggestions import open as keyboard
from tacit.lm.open import open

__all__ = ["TacitError", "__version__", "keyboard", "open"]
__version__ = "VERSION"
