"""Slash commands that a project or its user keeps as Markdown files, for agents of all kinds."""
