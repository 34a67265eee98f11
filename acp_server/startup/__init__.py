"""How the process starts: isolation from the workspace."""
