"""The user's `config.toml`: how it is read, in which line a key stands, and how a first one is written."""
