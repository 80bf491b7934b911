"""The usage log and its sums: what was run, shown, withheld and saved.

    account/2026-11-16.jsonl   one line per call of that day
    account/sums.json          the sums of all lines read so far

`usage_log` writes a line, `log_reader` reads lines, `sums` adds them up, `history` combines the stored sums
with new lines. `report` selects what to print, `text_report` and `plot` print it. Each line is read once,
so that a year of calls takes no longer to report than an hour.
"""
