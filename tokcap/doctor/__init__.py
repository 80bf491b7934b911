"""`tokcap doctor`: check what is installed, stored and configured. Nothing is changed or repaired.

`examination.CHECKS` lists the groups of checks. To add one, write a module with a function `check(env)` and
add a line there.
"""
