"""Prompt cache: the stored prefixes, and the tokens that a request reads, writes and pays in full.

A prefix is stored at every breakpoint, per model and speed, with the breakpoint's lifetime, when
the response starts. A request reads the longest stored prefix that one of its breakpoints finds by
looking back over at most 20 blocks, the breakpoint's own included. It writes the tokens from there
to its last breakpoint; the remaining tokens are uncached input. Prefixes below the model's minimum
are neither stored nor found. The prefix of tools and system text does not depend on other fields;
that of the messages also covers the thinking configuration, the effort, the output format and the
tool choice.

https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tests.support.messages_api.parsed_request import Object, ParsedRequest
from tests.support.messages_api.prefix import PrefixPart, digest
from tests.support.messages_api.shapes import EnabledThinking

LOOK_BACK_BLOCKS = 20
LIFETIMES_SECONDS = {"5m": 300, "1h": 3_600}


@dataclass(frozen=True, slots=True)
class InputUsage:
    """Input tokens of a request by cache state."""

    uncached: int = 0
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    @property
    def written(self) -> int:
        """Tokens written to the cache, with either lifetime."""
        return self.written_5m + self.written_1h

    @property
    def total(self) -> int:
        """All tokens of the request."""
        return self.uncached + self.read + self.written


@dataclass(frozen=True, slots=True)
class ApiUsage:
    """Usage that a response reports."""

    input: InputUsage
    output: int = 0
    thinking: int = 0
    speed: str | None = None
    """The speed that the request named; reported only then."""

    def as_json(self) -> Object:
        """Return `usage` as in `message_start` and complete messages."""
        return {
            **self.as_delta_json(),
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.input.written_5m,
                "ephemeral_1h_input_tokens": self.input.written_1h,
            },
            "service_tier": "standard",
            "inference_geo": "global",
            **({} if self.speed is None else {"speed": self.speed}),
        }

    def as_delta_json(self) -> Object:
        """Return `usage` as in `message_delta`."""
        return {
            "input_tokens": self.input.uncached,
            "cache_creation_input_tokens": self.input.written,
            "cache_read_input_tokens": self.input.read,
            "output_tokens": self.output,
            "output_tokens_details": {"thinking_tokens": self.thinking},
        }


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Prefix that ends with one part."""

    name: str
    tokens: int
    position: int
    """Position of its last block, counted as the look-back counts."""
    ttl: str | None


@dataclass(slots=True)
class PromptCache:
    """Stored prefixes and their expiry times."""

    advanced_seconds: float = 0
    """Time by which tests have advanced the clock."""
    _expires_at: dict[str, float] = field(default_factory=dict[str, float])

    def account(
        self, ask: ParsedRequest, found: Sequence[PrefixPart]
    ) -> tuple[InputUsage, Callable[[], None]]:
        """Return the input usage of a request, and a function that stores its prefixes."""
        prefixes = _prefixes(ask, found)
        minimum = ask.model_spec.cache_minimum_tokens
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
        return self._expires_at.get(prefix.name, 0) > self._now()

    def _store(self, marked: Sequence[_Prefix]) -> None:
        for each in marked:
            until = self._now() + LIFETIMES_SECONDS[each.ttl or "5m"]
            self._expires_at[each.name] = max(until, self._expires_at.get(each.name, 0))

    def _now(self) -> float:
        return time.monotonic() + self.advanced_seconds


def _prefixes(ask: ParsedRequest, found: Sequence[PrefixPart]) -> list[_Prefix]:
    names = _names(ask, found)
    totals = accumulate(piece.tokens for piece in found)
    positions = _positions(found, counts_runs_once=ask.endpoint.counts_tool_runs_once)
    ttls = (piece.cache_control.ttl if piece.cache_control else None for piece in found)
    return [_Prefix(*each) for each in zip(names, totals, positions, ttls, strict=True)]


def _names(ask: ParsedRequest, found: Sequence[PrefixPart]) -> list[str]:
    # each speed has prefixes of its own
    name = digest([ask.model_spec.id.encode(), (ask.request.speed or "standard").encode()])
    names: list[str] = []
    for index, piece in enumerate(found):
        is_first_message = piece.section == "messages" and (
            index == 0 or found[index - 1].section != "messages"
        )
        seed = [_message_seed(ask)] if is_first_message else []
        name = digest([name.encode(), *seed, piece.content])
        names.append(name)
    return names


def _message_seed(ask: ParsedRequest) -> bytes:
    """Return the settings that are part of the messages' prefix."""
    thinking = (
        ask.thinking.type if ask.thinking else "adaptive" if ask.is_thinking_enabled else "off"
    )
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


def _positions(found: Sequence[PrefixPart], *, counts_runs_once: bool) -> list[int]:
    positions: list[int] = []
    for index, piece in enumerate(found):
        before = found[index - 1].kind if index else ""
        is_in_run = piece.kind in {"tool_use", "tool_result"} and piece.kind == before
        step = 0 if counts_runs_once and is_in_run else 1
        positions.append((positions[-1] if positions else 0) + step)
    return positions
