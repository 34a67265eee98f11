"""Moved: the editor's port is `acp_server.session.editor`."""

from acp_server.session.editor import (
    Editor,
    EditorError,
    EditorTerminal,
    Exit,
    Launch,
    NoEditor,
    Screenful,
)

__all__ = ["Editor", "EditorError", "EditorTerminal", "Exit", "Launch", "NoEditor", "Screenful"]
