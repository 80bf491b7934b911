"""Filters: bytes are changed on their way to whoever keeps or shows them. Each has `feed` and `flush`."""
