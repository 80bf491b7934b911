"""The library: the functions and classes that `tokcap` exports to Python programs.

Start reading at `calls`. Like the command line, every function builds a request and hands
it to `pipeline`.
"""
