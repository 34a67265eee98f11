"""Markdown files that a workspace or its user keeps for agents, and their changes."""
