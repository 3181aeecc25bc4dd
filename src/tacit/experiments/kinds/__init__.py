"""Ways to measure a row: each module has `measure(settings, seed, place)`, and its name is the `kind` of an entry."""
