"""Tools that start sub-agents."""
