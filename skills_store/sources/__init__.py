"""Where skills are installed from: a folder, an archive, a git repository. Knows no guard."""
