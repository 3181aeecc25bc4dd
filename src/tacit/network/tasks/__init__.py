"""The kinds of work that a server may ask of a client, one module each: the client's side, and what the server makes of
the answers. `client.KINDS` lists them; a client does nothing that is not in that list.
"""
