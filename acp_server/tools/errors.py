"""Errors that end a tool call; the model gets their reason as its result.

ToolError
  FileError       file access (`files/errors.py`)
  ShellError      shell commands (`shell/errors.py`)
  SearchError     searches (`search/query.py`)
  WebError        fetching a page (`web/errors.py`)
  RefusedError    permission was refused
"""


class ToolError(Exception):
    """A tool call has failed as expected. `reason` is one or two sentences for the model."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RefusedError(ToolError):
    """Permission for an effect was refused; the reason comes from the permission gate."""
