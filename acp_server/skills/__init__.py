"""Skills of a server: discovered per session, kept current, screened and counted."""
