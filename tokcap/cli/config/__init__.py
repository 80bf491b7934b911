"""The user's `config.toml`: the file, its values, the lines of its keys, and how a first one is written."""
