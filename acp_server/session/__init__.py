"""Conversations that outlive their turns. Knows the engine; has never heard of ACP."""
