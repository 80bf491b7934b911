"""`tokcap mcp`, a server for the Model Context Protocol; `tokcap mcp wrap`, a proxy in front of another one.

Start reading at `server` and `proxy`. Both read `connection` and answer with `messages`. `tool_table` has the
tools as a model reads about them, `tools` what they do, `results` what they return. `capping` cuts what
another server returns. The last three are loaded behind the answer to `initialize`: a client waits for it.
"""
