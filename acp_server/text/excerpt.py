"""Head and tail of a long text."""

HEAD_SHARE = 0.7
MAX_LINE_LOSS = 200
"""Characters that a cut may lose so that it falls between two lines."""


def cut_middle(
    text: str,
    max_characters: int,
    source: str = "",
    total_characters: int | None = None,
    head_share: float = HEAD_SHARE,
) -> str:
    """Return a text without its middle if it is longer; `source` says where the whole text is.

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
    marker = _marker(total, total, source)  # the longest: with as many digits as there can be
    room = max(max_characters - len(marker) - 2, 0)
    head_room = int(room * head_share)
    head, tail = text[:head_room], text[length - (room - head_room) :]
    head, tail = _end_at_line(head), _begin_at_line(tail)
    return f"{head}\n{_marker(len(head) + len(tail), total, source)}\n{tail}"


def _marker(shown: int, total: int, source: str) -> str:
    rest = f"; the whole text is in {source}" if source else ""
    return f"[… {shown:,} of {total:,} characters are shown{rest} …]"


def _end_at_line(head: str) -> str:
    end = head.rfind("\n", max(len(head) - MAX_LINE_LOSS, 0))
    return head if end < 0 else head[:end]


def _begin_at_line(tail: str) -> str:
    begin = tail.find("\n", 0, MAX_LINE_LOSS)
    return tail if begin < 0 else tail[begin + 1 :]
