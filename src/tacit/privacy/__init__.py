"""What bounds and hides a client's part in what is released: clipping and noise, the ledger of ε, secure sums.

Nothing here trains. `federated` clips and adds noise with these functions, and commands read the ledger.
"""
