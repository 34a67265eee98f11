"""Shell commands as local processes: start, follow, background and termination."""
