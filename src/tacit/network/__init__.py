"""The same rounds between real devices: clients keep their text, Flower carries the messages.

`work` says what travels, `client` answers with the simulator's own functions, `exchange` is the server's side of a
round and `sums` its memory. Nothing here is a second version of an algorithm.
"""
