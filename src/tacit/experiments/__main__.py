"""`python -m tacit.experiments NAME …` is `tacit reproduce NAME …`, for places where the program is not installed."""

import sys

from tacit.cli import main

if __name__ == "__main__":
    sys.argv = ["tacit", "reproduce", *sys.argv[1:]]
    main()
