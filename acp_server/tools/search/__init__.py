"""Search for text and files in a directory with ripgrep. Independent of the tool definitions."""
