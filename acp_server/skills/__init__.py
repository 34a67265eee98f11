"""The skill library in a server: which skills a session has, kept current, screened, counted."""
