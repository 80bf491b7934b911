"""Where the bytes of a call come from: a command, standard input, or bytes that the caller has.

Each member is a `Source` (see `core/payload.py`): it yields blocks, then ends. None looks into the bytes.
"""
