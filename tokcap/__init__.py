"""tokcap: run a command, or read standard input, and pass on no more tokens than asked."""

__version__ = "0.1.0"
