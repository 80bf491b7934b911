"""`python replay.py PIECES EXIT`: write the pieces of both streams in their order, and exit with the status.

PIECES is a file: for each piece a line `o SIZE` or `e SIZE`, followed by that many bytes.
"""

import os
import sys

DESCRIPTORS = {b"o": 1, b"e": 2}


def pieces_file(pieces):
    """Return the content of the file. A piece is the name of a stream, and bytes."""
    return b"".join(b"%s %d\n%s" % (name.encode(), len(data), data) for name, data in pieces)


def main(path: str, status: str) -> int:
    with open(path, "rb") as file:
        while head := file.readline():
            name, size = head.split()
            left = memoryview(file.read(int(size)))
            while left:
                left = left[os.write(DESCRIPTORS[name], left) :]
    return int(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
