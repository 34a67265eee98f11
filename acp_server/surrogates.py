"""Texts that UTF-8 cannot carry: halves of characters, which JSON and file names can hold.

One rule for the wire, the protocol's models and the history. Imports nothing.
"""


def mended(text: str) -> str:
    """Return a text with pairs of surrogates joined and lone ones as U+FFFD.

    A stream may cut a character in two, and a file's name may hold any bytes; neither could be
    written as UTF-8, or sent back to a model, as it is.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
