"""Hooks: the user's own commands that run before and after tool calls and after turns."""
