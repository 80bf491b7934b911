"""tokcap for Python programs: the functions that `tokcap` itself exports, one idea per module.

`calls` is the entry; everything ends in `pipeline`, as the command line does.
"""
