"""The learning: what clients do, how their updates are added, what the server makes of the sum.

An algorithm is three independent choices (docs/federated.md):
a client objective (`objective`, `local`), an aggregation (`aggregation/`), a server optimiser (`server`).
`sampling` chooses who takes part, `executors` trains a cohort in one program, `slow` does the same one
client and one step at a time and is kept as the judge, `rounds` puts a round together, `central` is the
yardstick, `evaluation` the measures.
"""
