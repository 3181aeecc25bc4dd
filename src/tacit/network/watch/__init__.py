"""Watching a federation: `state` reads its directory, `page` shows that in a browser, `terminal` in a terminal.

Watching needs neither Flower nor the server: whoever may read the directory may watch. It shows counts, never clients.
"""
