"""`tokcap mcp`: a server for the Model Context Protocol that runs commands and shows stored outputs.

Start reading at `server`, which speaks the protocol. `tool_table` has the tools as a model reads about them,
`tools` what they do, and `tool_results` what they return. The last two are loaded behind the first answer.
"""
