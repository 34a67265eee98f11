"""Slash commands: the registry, the built-in ones, and those that become prompts."""
