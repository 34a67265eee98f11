"""A model on loopback that is instant, lenient and cheap, in a process of its own.

It speaks four forms (`messages`, `chat`, `responses`, `gemini`), says what the prompt asks for, and
keeps what it was sent. The strict servers of `tests/support` are for tests; this one is for agents
of others, whose fields it does not judge, and for figures, which it must not be part of.
"""
