"""The prompt cache: which prefixes are stored, and what a request reads, writes and pays in full.

A prefix is stored at every breakpoint, for its model and lifetime, once an answer begins. A request
reads the longest stored prefix that one of its breakpoints finds by looking back over at most 20
blocks, itself the first; it writes what lies between that and its last breakpoint; the rest is
plain input. Prefixes below the model's minimum are neither stored nor found. The tools and the
system text are the same prefix whatever else is asked; that of the messages begins with the
thinking configuration, the effort, the output format and the choice of tools.

https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tests.support.messages_api.asking import Ask, Object
from tests.support.messages_api.prefix import Piece, digest
from tests.support.messages_api.shapes import EnabledThinking

LOOK_BACK_BLOCKS = 20
LIFETIMES_SECONDS = {"5m": 300, "1h": 3_600}


@dataclass(frozen=True, slots=True)
class InputUsage:
    """Where the tokens of a request came from."""

    plain: int = 0
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    @property
    def written(self) -> int:
        """Tokens written to the cache, whatever their lifetime."""
        return self.written_5m + self.written_1h

    @property
    def total(self) -> int:
        """All tokens of the request."""
        return self.plain + self.read + self.written


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer says that it cost."""

    input: InputUsage
    output: int = 0
    thinking: int = 0

    def as_json(self) -> Object:
        """Return `usage` as `message_start` and whole messages have it."""
        return {
            **self.so_far(),
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.input.written_5m,
                "ephemeral_1h_input_tokens": self.input.written_1h,
            },
            "service_tier": "standard",
            "inference_geo": "global",
        }

    def so_far(self) -> Object:
        """Return `usage` as `message_delta` has it."""
        return {
            "input_tokens": self.input.plain,
            "cache_creation_input_tokens": self.input.written,
            "cache_read_input_tokens": self.input.read,
            "output_tokens": self.output,
            "output_tokens_details": {"thinking_tokens": self.thinking},
        }


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Everything up to and including one piece."""

    name: str
    tokens: int
    position: int
    """Counted in blocks as the look-back counts them."""
    ttl: str | None


@dataclass(slots=True)
class PromptCache:
    """The prefixes that are stored, and until when."""

    passed_seconds: float = 0
    """What tests have let pass beside the real time."""
    _until: dict[str, float] = field(default_factory=dict[str, float])

    def account(self, ask: Ask, found: Sequence[Piece]) -> tuple[InputUsage, Callable[[], None]]:
        """Return what a request of these pieces costs, and what stores its prefixes."""
        prefixes = _prefixes(ask, found)
        minimum = ask.family.cache_minimum_tokens
        marked = [each for each in prefixes if each.ttl and each.tokens >= minimum]
        read = max((self._look_back(prefixes, each) for each in marked), default=0)
        longest_1h = max((each.tokens for each in marked if each.ttl == "1h"), default=0)
        until_1h = max(read, longest_1h)
        until_5m = max(until_1h, marked[-1].tokens if marked else 0)
        total = prefixes[-1].tokens if prefixes else 0
        usage = InputUsage(total - until_5m, read, until_5m - until_1h, until_1h - read)
        return usage, lambda: self._store(marked)

    def _look_back(self, prefixes: Sequence[_Prefix], marked: _Prefix) -> int:
        reach = marked.position - LOOK_BACK_BLOCKS
        within = [each for each in prefixes if reach < each.position <= marked.position]
        hits = [each.tokens for each in within if self._is_stored(each)]
        return max(hits, default=0)

    def _is_stored(self, prefix: _Prefix) -> bool:
        return self._until.get(prefix.name, 0) > self._now()

    def _store(self, marked: Sequence[_Prefix]) -> None:
        for each in marked:
            until = self._now() + LIFETIMES_SECONDS[each.ttl or "5m"]
            self._until[each.name] = max(until, self._until.get(each.name, 0))

    def _now(self) -> float:
        return time.monotonic() + self.passed_seconds


def _prefixes(ask: Ask, found: Sequence[Piece]) -> list[_Prefix]:
    names = _names(ask, found)
    totals = accumulate(piece.tokens for piece in found)
    positions = _positions(found, counts_runs_once=ask.endpoint.counts_tool_runs_once)
    ttls = (piece.mark.ttl if piece.mark else None for piece in found)
    return [_Prefix(*each) for each in zip(names, totals, positions, ttls, strict=True)]


def _names(ask: Ask, found: Sequence[Piece]) -> list[str]:
    name = digest([ask.family.id.encode()])
    names: list[str] = []
    for index, piece in enumerate(found):
        is_first_message = piece.tier == "messages" and (
            index == 0 or found[index - 1].tier != "messages"
        )
        seed = [_message_settings(ask)] if is_first_message else []
        name = digest([name.encode(), *seed, piece.content])
        names.append(name)
    return names


def _message_settings(ask: Ask) -> bytes:
    """What is read before the messages and is neither tool nor system text."""
    thinking = ask.thinking.type if ask.thinking else "adaptive" if ask.is_thought_about else "off"
    budget = ask.thinking.budget_tokens if isinstance(ask.thinking, EnabledThinking) else 0
    config = ask.request.output_config
    choice = ask.request.tool_choice
    parts = (
        thinking,
        budget,
        ask.effort,
        config.format if config else None,
        choice.model_dump_json(exclude_none=True) if choice else '{"type":"auto"}',
    )
    return repr(parts).encode()


def _positions(found: Sequence[Piece], *, counts_runs_once: bool) -> list[int]:
    positions: list[int] = []
    for index, piece in enumerate(found):
        before = found[index - 1].kind if index else ""
        is_in_run = piece.kind in {"tool_use", "tool_result"} and piece.kind == before
        step = 0 if counts_runs_once and is_in_run else 1
        positions.append((positions[-1] if positions else 0) + step)
    return positions
