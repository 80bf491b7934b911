"""One module per shape; each has `cut(payload, tokens, ask, cost) -> Cut`."""
