"""Bytes of a file into text that may stand in a prompt. Pure; does not know whose bytes."""


class UndecodableError(ValueError):
    """Bytes that are no text."""

    def __init__(self, reason: str) -> None:
        """Say in half a sentence what is wrong."""
        super().__init__(reason)
        self.reason = reason


def decode(raw: bytes) -> str:
    r"""Return UTF-8 as text, without a byte order mark, each line ended by a line feed.

    >>> decode(b"\xef\xbb\xbfUse tabs.\r\n")
    'Use tabs.\n'

    Raises:
        UndecodableError: it is not UTF-8, or holds NUL as only other encodings and binaries do.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UndecodableError(f"byte {error.start:,} is not UTF-8") from error
    if "\0" in text:
        raise UndecodableError("it holds NUL, as UTF-16 and binary files do")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
