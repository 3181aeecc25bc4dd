"""Reproduces the papers' tables and figures: one TOML file for each, and a runner that measures its rows.

    entries/*.toml   one table or figure each: its rows, the published values, the paper's claims
    entry            reads those files
    kinds/           one module for each kind of measurement: one row with one seed
    labelled         federated training of classifiers
    data, synthetic  readers of public datasets, synthetic datasets, and small stand-ins for quick runs
    convexity        the optimum of a convex problem, from scipy
    transposed       the score that the authors of papers 1 and 2 printed as perplexity
    runner, results  measures rows × seeds, saves each when it is done, and writes the results file
    claims, results_page   checks the claims and writes docs/results.md

There is no separate training loop: every row uses the same federation as `tacit train`.
"""
