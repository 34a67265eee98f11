"""Process start: isolation of our interpreter from the workspace."""
