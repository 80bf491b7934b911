"""One reader for JSON as source text. No other module of `shapes` has patterns for JSON.

`grammar` decides whether text is JSON. `scanner` gives the spans of values in text known to be valid. `tree`
reads the values around one position. Nothing here parses into Python objects and dumps them again, so
`1E400`, `1.10`, escapes, key order and duplicate keys survive. Everything is iterative: nesting may be
100,000 levels deep.
"""
