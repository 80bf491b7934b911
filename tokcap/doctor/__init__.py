"""`tokcap doctor`: what is wrong, and what to do about it.

Start reading at `examination`, which has the table of checks and runs them. A check is a function
`check(env)` that yields findings. It does not mention what is as it should be.
"""
