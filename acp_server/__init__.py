"""The Agent Client Protocol server: wire, sessions, turns, models and the command line."""
