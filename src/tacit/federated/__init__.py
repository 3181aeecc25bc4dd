"""Federated training: what clients compute, how their messages are added, and the server's step from the sum.

An algorithm is three independent choices (docs/federated.md): a client objective (`objective`, `local`), an aggregation
rule (`aggregation/`) and a server optimiser (`server`). A round reads in this order:

    local             a client trains on its own text and sends a message
    aggregation/      a rule: the message, and the pseudo-gradient from the sum of messages
    rounds            the server's step, and the trainer that makes rounds

Around it: `sampling` chooses clients, `batching` and `text_cohorts` make their batches, `cohort_sums` sums the messages
of a cohort with the fast `executors` or with `slow`, against which they are tested, over `devices` and `hosts`.
`private` clips what a client sends and adds noise to the sum, `private_setup` checks and describes that.
`plugins` finds rules and optimisers by name. `central` is the baseline, `evaluation` the measures.
"""
