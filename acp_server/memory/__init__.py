"""Memory that outlasts sessions: writing both memory files, and external memory providers.

Knows entries, locks, limits and origin of entries, but no session, editor or wire.
"""
