"""Decides when old tool results cost more than they are worth.

A result is paid for with every request that sends it again, a tenth of its price if the provider
has it in its cache. After a dozen requests that is as much as reading it again would cost. But to
remove results invalidates the cache of everything behind them, which is written again. So results
are removed together, and only once their cost since they became old reaches the price of that: as
with renting and buying, the sum is then at most about twice as much as with perfect foresight,
however long the session still lasts. If the cache has expired meanwhile, everything is written
again anyway, and old results are removed before.

Sizes are estimated by characters: the decision needs no better ones, and they cost nothing.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.compaction import REMOVED_HEAD
from acp_server.turn.context_counter import ModelMeter
from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Link,
    Media,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from acp_server.turn.events import Usage

MIN_USED_TOKENS = 40_000
"""A shorter conversation keeps all results."""
KEPT_TOKENS = 12_000
"""The results in the newest messages of this size stay."""
KEPT_REQUESTS = 12
"""So do results that fewer requests have sent: to read them again would cost more than that."""
MIN_REMOVED_TOKENS = 8_000
MIN_REMOVED_CHARACTERS = 500
PATIENCE = 1.5
"""Within a turn, results must have cost so many times the price of their removal: the model may be
at work with them, and its reasoning so far is lost with the cache."""
KEPT_TOOLS = re.compile("skill|todo|plan|clarify|question|memory")
"""Results of these tools are instructions, or the user's own words. By part of the name without
punctuation, because models use the names of other agents, too."""
CACHE_SECONDS: Mapping[str, float] = {"5m": 300.0, "1h": 3_600.0}
FRAME_CHARACTERS, MEDIA_CHARACTERS = 60, 6_000
STUB_CHARACTERS, MAX_STUB_ENDING = 160, 60


@frozen_dataclass
class CompactionConfig:
    """Settings of how a conversation is kept short."""

    threshold: float = 0.75
    """The share of the context window above which room is made."""
    removes_old_results: bool = True
    """Whether results are removed before that, once they cost more than they are worth."""
    cache_ttl: Literal["5m", "1h"] = "5m"
    """How long the provider keeps a prompt in its cache."""


@frozen_dataclass
class CachePrices:
    """Prices of tokens that are read from and written to a cache, relative to other input."""

    read: float = 0.1
    written: float = 1.25

    @staticmethod
    def of(meter: ModelMeter, ttl: Literal["5m", "1h"]) -> "CachePrices":
        """Return the prices of a model; usual ones if they are unknown."""
        plain = meter.cost_usd(Usage(input_tokens=1_000))
        read = meter.cost_usd(Usage(cache_read_tokens=1_000))
        lasting = Usage(cache_write_1h_tokens=1_000)
        written = meter.cost_usd(Usage(cache_write_5m_tokens=1_000) if ttl == "5m" else lasting)
        if not plain or read is None or written is None:
            return CachePrices()
        return CachePrices(read / plain, written / plain)


@frozen_dataclass
class OldResults:
    """The results that could be removed, by message and part, and sizes in tokens."""

    places: Sequence[tuple[int, int]]
    keep_from: int
    """The index of the first message that is too new."""
    removed_tokens: float
    rewritten_tokens: float
    """The rest behind the first of them."""


@dataclass(slots=True)
class ResultCosts:
    """Costs of the old results of one conversation since some were last removed."""

    config: CompactionConfig
    now_seconds: Callable[[], float] = time.monotonic
    _paid_tokens: float = field(default=0.0, init=False)
    _generation: int = field(default=0, init=False)
    _asked_at: float | None = field(default=None, init=False)

    def results_to_remove(
        self, messages: Sequence[Message], generation: int, used_tokens: int, meter: ModelMeter
    ) -> OldResults | None:
        """Return the results to remove before the next request, whose cost is counted.

        `used_tokens` is the size of the messages, `generation` that of the conversation.
        """
        now, before = self.now_seconds(), self._asked_at
        self._asked_at = now
        if generation != self._generation:  # they were removed, or summarized
            self._generation, self._paid_tokens = generation, 0.0
        if not self.config.removes_old_results or used_tokens < MIN_USED_TOKENS:
            return None
        old = find_old_results(messages, used_tokens)
        prices = CachePrices.of(meter, self.config.cache_ttl)
        self._paid_tokens += prices.read * old.removed_tokens
        if old.removed_tokens < MIN_REMOVED_TOKENS:
            return None
        is_expired = before is not None and now - before > CACHE_SECONDS[self.config.cache_ttl]
        otherwise = prices.written if is_expired else prices.read
        price = (prices.written - otherwise) * old.rewritten_tokens
        patience = PATIENCE if _has_results(messages[-1]) else 1.0
        return old if self._paid_tokens >= price * patience else None


def find_old_results(messages: Sequence[Message], used_tokens: int) -> OldResults:
    """Return the results of a conversation of so many tokens that are old."""
    sizes = [sum(map(_characters, message.parts)) for message in messages]
    tokens_per_character = used_tokens / max(sum(sizes), 1)
    keep_from = _index_of_kept(messages, sizes, KEPT_TOKENS / tokens_per_character)
    places = tuple(_removable_places(messages, keep_from))
    removed = sum(_result_at(messages, place) - STUB_CHARACTERS for place in places)
    behind = sum(sizes[places[0][0] :]) - removed if places else 0
    return OldResults(
        places, keep_from, removed * tokens_per_character, behind * tokens_per_character
    )


def remove_results(
    messages: Sequence[Message],
    old: OldResults,
    saved_to: Mapping[str, str],
    shows_file: Callable[[str], bool],
) -> tuple[Message, ...]:
    """Return the messages with stubs for old results; `saved_to` has files by call id.

    `shows_file` says of which calls the result is text of a file.
    """
    shorter = list(messages)
    for index, place in old.places:
        message = shorter[index]
        part = message.parts[place]
        if isinstance(message, UserMessage) and isinstance(part, ToolResult):
            saved = replace(part, saved_to=part.saved_to or saved_to.get(part.call_id, ""))
            parts = list(message.parts)
            parts[place] = _stub(saved, shows_ending=not shows_file(part.call_id))
            shorter[index] = replace(message, parts=tuple(parts))
    return tuple(shorter)


def unsaved_results(messages: Sequence[Message], old: OldResults) -> Iterator[ToolResult]:
    """Yield the old results whose text no file holds."""
    for index, place in old.places:
        part = messages[index].parts[place]
        if isinstance(part, ToolResult) and not part.saved_to:
            yield part


def _stub(result: ToolResult, *, shows_ending: bool) -> ToolResult:
    """Return one line for a result; the call in front of it stays.

    The last line of an output often says how a command ended.
    """
    last_line = result.text.rstrip().rpartition("\n")[2][-MAX_STUB_ENDING:].strip()
    ending = f", ending {last_line!r}" if shows_ending else ""
    again = f"in {result.saved_to}" if result.saved_to else "call again if needed"
    return replace(result, text=f"{REMOVED_HEAD} {len(result.text):,} characters{ending}; {again}]")


def _index_of_kept(
    messages: Sequence[Message], sizes: Sequence[int], kept_characters: float
) -> int:
    """Return the index of the oldest message whose results stay."""
    index, requests = len(messages), 0
    # Whichever lasts longer: a batch of large files fills any size at once.
    while index > 0 and (kept_characters > 0 or requests < KEPT_REQUESTS):
        index -= 1
        kept_characters -= sizes[index]
        requests += isinstance(messages[index], AssistantMessage)
    return index


def _removable_places(messages: Sequence[Message], keep_from: int) -> Iterator[tuple[int, int]]:
    names: dict[str, str] = {}
    for index, message in enumerate(messages[:keep_from]):
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                names[part.id] = "".join(filter(str.isalpha, part.name)).lower()
            elif isinstance(part, ToolResult) and _is_removable(part, names.get(part.call_id, "")):
                yield index, place


def _is_removable(result: ToolResult, name: str) -> bool:
    # Pictures are kept: no file has them.
    is_text = len(result.text) >= MIN_REMOVED_CHARACTERS and not result.media
    return is_text and not result.text.startswith(REMOVED_HEAD) and not KEPT_TOOLS.search(name)


def _result_at(messages: Sequence[Message], place: tuple[int, int]) -> int:
    return _characters(messages[place[0]].parts[place[1]])


def _characters(part: UserPart | ReplyPart) -> int:
    match part:
        case Media():
            return MEDIA_CHARACTERS
        case ToolResult():
            return len(part.text) + FRAME_CHARACTERS + MEDIA_CHARACTERS * len(part.media)
        case ProviderBlock():
            return len(str(part.block))
        case _:
            return len(_text_of(part)) + FRAME_CHARACTERS


def _text_of(
    part: Text | Link | Attachment | Thinking | RedactedThinking | ToolCall,
) -> str:
    match part:
        case ToolCall():
            return part.arguments
        case RedactedThinking():
            return part.data
        case Link():
            return part.uri
        case Text() | Attachment() | Thinking():
            return part.text
        case _:
            assert_never(part)


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)
