"""The papers' tables and figures, measured: one TOML file for each, and the runner that makes its rows.

    entries/*.toml   what a table or figure is: its rows, what was published, what the text claims
    entry            reads those files
    kinds/           a way to measure one row with one seed, each in a module of that name
    labelled         points with labels, federated (`tacit.federated` trains them like text)
    data, synthetic  readers of the public sets, made sets, and small stand-ins for quick runs
    transposed       the score that the authors of papers 1 and 2 printed as perplexity
    runner, results  rows × seeds, kept one by one; a results file whole or not at all
    claims, page     what was published beside what was measured, as docs/results.md

Nothing here trains by a loop of its own: every row goes through the federation that `tacit train` uses.
"""
