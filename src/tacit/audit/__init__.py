"""Audits: attacks on a run, made to find out whether what it claims about privacy holds.

`checks` runs the mechanism on made-up clients and compares what comes out with what the ledger claims. `canaries`
bounds ε from below by guessing who took part. `recovery` reads words from one update. `memory` plants phrases and looks
for them in the trained model. `audit` does all of them for a run and writes a report.
"""
