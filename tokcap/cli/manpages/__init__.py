"""Man pages in mdoc(7) macros, made from the catalog and from texts written by hand: see `man/`."""

from tokcap.cli.manpages.pages import pages

__all__ = ["pages"]
