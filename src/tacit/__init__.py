"""Tacit: keyboards that learn from what people type without anyone collecting it."""

__version__ = "0.1.0"
