"""Calls as other agents' tools are called, read as calls of this server's tools."""
