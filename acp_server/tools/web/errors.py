"""Why a page cannot be had.

WebError              its text is for the model, and for the user
├── AddressError      what was given is no address that may be fetched
├── ForbiddenError    it leads into a private network
└── FetchError        the site could not be reached, or its answer not be read
"""


class WebError(Exception):
    """A page cannot be had; the text says why."""


class AddressError(WebError):
    """It is no address that may be fetched."""


class ForbiddenError(WebError):
    """It leads to a machine that nobody said may be reached."""


class FetchError(WebError):
    """The site could not be reached, or what it answered cannot be read."""
