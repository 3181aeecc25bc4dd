"""Measures rows: each module is the `kind` of entries by its name, and has `measure(settings, seed, place)`."""
