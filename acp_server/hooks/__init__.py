"""Commands of the user's own that run before and after calls of tools, and after turns."""
