"""Lone surrogates: code points that JSON and file names can hold, but UTF-8 cannot.

One rule for the wire, the protocol models and the history. Imports nothing.
"""


def repair_surrogates(text: str) -> str:
    """Return a text that UTF-8 can encode: surrogate pairs joined, lone ones as U+FFFD.

    A model's stream may split a character, and a file name may hold any bytes. Neither could be
    written as UTF-8 or sent back to a model.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
