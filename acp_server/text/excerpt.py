"""Head and tail of a long text."""

from prompt_engine.truncation import split_text, truncation_marker

HEAD_SHARE = 0.7


def cut_middle(
    text: str,
    max_characters: int,
    source: str = "",
    total_characters: int | None = None,
    head_share: float = HEAD_SHARE,
) -> str:
    """Return a text without its middle if it is longer; `source` says where the whole text is.

    With its marker it is no longer than the limit, unless the marker alone is.
    `total_characters` is the length of the whole text if `text` itself lacks its middle.

    >>> print(cut_middle("0123456789" * 20, 60))
    01234567890123
    [… 21 of 200 characters are shown …]
    3456789
    """
    length = len(text)
    total = length if total_characters is None else max(total_characters, length)
    if length <= max_characters:
        return text
    # The longest marker: with as many digits as there can be.
    room = max(max_characters - len(truncation_marker(total, total, source)) - 2, 0)
    head_room = int(room * head_share)
    head, tail = split_text(text, head_room, room - head_room)
    return f"{head}\n{truncation_marker(len(head) + len(tail), total, source)}\n{tail}"
