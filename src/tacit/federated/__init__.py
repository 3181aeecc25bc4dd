"""The learning: what clients do, how their updates are added, and what the server makes of the sum.

An algorithm is three independent choices (docs/federated.md): a client objective (`objective`, `local`), an aggregation
rule (`aggregation/`) and a server optimiser (`server`). A round reads in this order:

    local             a client trains on its own text and sends a message
    aggregation/      a rule: the message, and the pseudo-gradient from the sum of messages
    rounds            the server's step, and the trainer that makes rounds

Around it: `sampling` chooses clients, `batching` and `text_cohorts` make their batches, `cohort_sums` sums the messages
of a cohort with one of two `executors` (`slow` is the one that judges the fast one), over `devices` and `hosts`.
`plugins` finds rules and optimisers by name. `central` is the baseline, `evaluation` the measures.
"""
