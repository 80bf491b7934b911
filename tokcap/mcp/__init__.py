"""`tokcap mcp`: a server for the Model Context Protocol that runs commands and shows stored outputs.

Start reading at `server`. `tools` has the tools, `tool_results` what they return, and `server_settings` the
limits of a server. No other part of tokcap imports the package `mcp`.
"""
