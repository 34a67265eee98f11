"""Fast start. All of it but the isolation from the workspace is optional."""
