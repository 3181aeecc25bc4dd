"""Trains, counts and scores on real devices: clients keep their text, and Flower carries the messages.

`work` defines the messages, `client` answers with the simulator's own functions, `exchange` is the server's side of a
round, and `sums` adds the answers. No algorithm is written a second time here.
"""
