"""Decodes file contents for use in a prompt. Pure."""


class UndecodableError(ValueError):
    """File contents that are not UTF-8 text."""

    def __init__(self, reason: str) -> None:
        """Store the reason, a clause without a capital letter or full stop."""
        super().__init__(reason)
        self.reason = reason


def decode_text(raw: bytes) -> str:
    r"""Decode UTF-8, remove a byte order mark and convert all line endings to line feeds.

    >>> decode_text(b"\xef\xbb\xbfUse tabs.\r\n")
    'Use tabs.\n'

    Raises:
        UndecodableError: the bytes are not UTF-8, or contain NUL (UTF-16 or binary).
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UndecodableError(f"byte {error.start:,} is not UTF-8") from error
    if "\0" in text:
        raise UndecodableError("it holds NUL, as UTF-16 and binary files do")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
