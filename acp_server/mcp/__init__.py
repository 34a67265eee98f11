"""MCP servers of a session, as tools, prompts and a page about them.

`servers` is what a session has; `server` is the life of one; `sdk` is the only module, with
`transports`, that knows the SDK, and is imported by `loading` alone, in a thread, once a session
has servers. What servers send is read leniently (`offers`, `results`) and believed in nothing.
"""
