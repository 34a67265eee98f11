"""MCP client: the servers of a session as tools, prompts and the `/mcp` page.

`session_servers` manages the servers of a session, `server` the connection to one, `sign_in` the
tokens for one. Only `sdk_connector`, `transports` and `sign_in` know the MCP SDK; `lazy_imports`
imports them in a thread once a session has servers. Data from servers is parsed leniently
(`features`, `results`) and never trusted.
"""
