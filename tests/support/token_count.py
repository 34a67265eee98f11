"""The rule by which the strict endpoints count tokens if they have a context window.

Each part of a request (a tool, a system prompt, a message, block or item) and of an answer has the
UTF-8 bytes of its compact JSON divided by 3.6, rounded up; the JSON around a text stands for the
tokens around a message. An image or document has 1,600, whatever its size. No real tokenizer
counts so, but the sum is stable, and near that of prose and code.
"""

import json
from collections.abc import Sequence

from pydantic import JsonValue

BYTES_PER_TOKEN = 3.6
MEDIA_TOKENS = 1_600
_MEDIA_TYPES = frozenset({"image", "document", "image_url", "file", "input_image", "input_file"})


def count_tokens(value: JsonValue) -> int:
    """Return the tokens of one part."""
    bare, media = _remove_media(value)
    size = len(json.dumps(bare, ensure_ascii=False, separators=(",", ":")).encode())
    return -int(-size // BYTES_PER_TOKEN) + media * MEDIA_TOKENS


def _remove_media(value: JsonValue) -> tuple[JsonValue, int]:
    if isinstance(value, list):
        found = [_remove_media(each) for each in value]
        return [bare for bare, _ in found], sum(count for _, count in found)
    if not isinstance(value, dict):
        return value, 0
    if value.get("type") in _MEDIA_TYPES:
        return {"type": value["type"]}, 1
    content, media = _remove_media(value.get("content"))
    return ({**value, "content": content} if "content" in value else value), media


class SharedPrefixes:
    """The requests so far; finds how much of a new one an automatic prompt cache would read."""

    def __init__(self) -> None:
        self._requests: list[list[JsonValue]] = []

    def count_shared(self, parts: Sequence[JsonValue]) -> int:
        """Return the tokens of the longest prefix that an earlier request had; remember this."""
        longest = 0
        for earlier in self._requests:
            pairs = enumerate(zip(parts, earlier, strict=False))
            equal = next(
                (i for i, (new, old) in pairs if new != old), min(len(parts), len(earlier))
            )
            longest = max(longest, equal)
        self._requests = [each for each in self._requests if each != list(parts)[: len(each)]]
        self._requests.append(list(parts))
        return sum(map(count_tokens, parts[:longest]))
