"""Shows a federation: `state` reads its directory, `page` shows it in a browser, and `terminal` in a terminal.

This needs neither Flower nor the server, only the right to read the directory. It shows counts, never single clients.
"""
