"""What outlasts sessions: the writing half of both memory files, and providers beside them.

Knows entries, locks, limits and who wrote what; no session, no editor, no wire.
"""
