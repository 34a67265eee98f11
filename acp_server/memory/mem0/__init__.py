"""Memory provider for Mem0: its platform, a server of one's own, or its library on this machine."""
