"""The files of one session: through the editor's buffers where it can, else local and atomic."""
