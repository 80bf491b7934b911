"""The usage log: what was run, shown, withheld and saved. Each day is a file, each call is a line.

`usage_log` writes a line, `history` reads all lines and adds them up, `report` prints or draws the sums.
"""
