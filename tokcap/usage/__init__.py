"""The account as sums: lines in (see `account`), what was run, shown, withheld and saved out.

    account/2026-11-16.jsonl   one line for each call of that day
    account/sums.json          what the lines come to, up to where they were read

A line is read once. Then it is part of the sums, so that a year of calls is as quick to tell as an hour.
"""
