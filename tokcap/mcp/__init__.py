"""`tokcap mcp`: commands and stored outputs for agents that speak the Model Context Protocol.

`server` is the entry, `tools` what can be called, `answers` what comes back, `terms` what is allowed. Nowhere
else is the package `mcp` imported.
"""
