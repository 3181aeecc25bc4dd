"""Hostile trials of Tacit: damaged files, wrong arguments, signals, full disks, kills in the middle of a write.

    make fuzz                       every category, in at most 20 minutes on two cores
    make fuzz MINUTES=3             the same, shorter
    python -m fuzz arpa --only 17   repeats one trial and shows what it did

A trial is determined by its category, its number and the seed. It may end well, or be refused with one line; anything
else is a failure (`fuzz.trial`). Failures are written to .fuzz/failures with the command that repeats each.
docs/reliability.md has the method and the last figures. This package is not part of the wheel.
"""
