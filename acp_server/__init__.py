"""Agent Client Protocol server: transport, sessions, turns, models and the command line."""
