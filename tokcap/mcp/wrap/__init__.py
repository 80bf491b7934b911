"""`tokcap mcp wrap`: a proxy in front of any MCP server that caps the results of its tools.

Start reading at `proxy`. `capping` cuts a result; `child_server` and `http_server` are the kinds of servers.
"""
