"""`python -m tacit …` is `tacit …`, for places where the program is not installed."""

from tacit.cli import program

if __name__ == "__main__":
    program()
