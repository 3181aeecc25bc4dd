"""Runs networks with 8 bits per weight with numpy alone.

`reader` and `writer` handle the file, `forward` computes the recurrence, and `model` makes a `Model` of it.
"""
