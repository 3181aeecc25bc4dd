"""`python -m tacit …` is `tacit …`, for places where the program is not installed; `program` is both.

Signals are handled first, then the program is imported, which takes a while.
"""

import os
import sys

if __name__ == "__main__" and sys.path[0] == os.getcwd() != __file__.rpartition("/tacit/")[0]:  # noqa: PTH109
    del sys.path[0]  # `python -m` puts the current directory there; what lies in it may be anything


def program() -> None:
    """Runs `tacit` as a process."""
    from tacit.base import interrupts

    try:
        interrupts.handle()
        from tacit.cli import program as run

        run()
    except KeyboardInterrupt:  # while handlers are set, or in the moment before or after the command
        interrupts.end_now()


if __name__ == "__main__":
    program()
