"""Errors of fetching a page.

WebError              its text is shown to the model and the user
├── AddressError      the given address may not be fetched
├── ForbiddenError    the host is in a private network
└── FetchError        the site is unreachable or its response is unreadable
"""

from acp_server.tools.errors import ToolError


class WebError(ToolError):
    """A page could not be fetched; the text says why."""


class AddressError(WebError):
    """The address is no URL that may be fetched."""


class ForbiddenError(WebError):
    """The host is on a network that the user has not allowed."""


class FetchError(WebError):
    """The site is unreachable, or its response is unreadable."""
