"""Replacements for `dataclasses`, `re`, `json` and `hashlib` that cost nothing at start-up."""
