"""Tools that ask the user or show a plan."""
