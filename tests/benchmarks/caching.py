"""Input cost of 20 turns with 60 tool calls: `uv run python -m tests.benchmarks.caching`.

Runs the real server in memory with its real tools in a generated project; a Messages API on
loopback accounts for the prompt cache block by block. Prints the tokens read, written and paid in
full, and the same for other marker placements, prefixes and result formats.

The script is calibrated to three figures of an ideal append-only agent with 18,000 characters of
prompt and tools, which writes each token once and reads it from the cache from then on: 110 k with
50 hits a search and numbered lines, 96 k with 20 hits, 79 k with 10 and no numbers. With this
script the ideal agent is billed 107 k, 95 k and 85 k (the last rows), so the script is slightly
more expensive for lean results.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import anyio

from acp_server.models.lazy_imports import ProviderEntryPoint, lazy_anthropic_client
from acp_server.startup.lazy_value import Lazy
from prompt_engine.cache_control import add_cache_breakpoints
from tests.benchmarks.accounting import (
    READ_PRICE,
    WRITTEN_PRICE,
    Bill,
    Body,
    add_line_numbers,
    compute_bill,
    mark_nothing,
    mark_system_and_last,
    mark_system_and_last_three,
    mark_system_only,
    object_list,
    replay,
    resize_prefix,
)
from tests.benchmarks.scripted_session import SessionScript, make_script, write_project
from tests.support.editor import make_configuration, open_editor
from tests.support.messages_api import (
    KEY,
    HttpFailure,
    RecordedRequest,
    ScriptedReply,
    bad_request,
    messages_api,
    reply,
)
from tests.support.messages_api.prefix import BYTES_PER_TOKEN
from tests.support.server_parts import close_client

MAX_BILLED_TOKENS = 84_000
MODEL = "claude-opus-5-5"
IDEAL_CHARACTERS = 18_000
PREFIXES = {
    "18,000 characters of prompt and tools": IDEAL_CHARACTERS,
    "20,000, the most that is allowed": 20_000,
    "36,000, as of one peer": 36_000,
    "52,000, as of another": 52_000,
}
PLACEMENTS = {
    "no caching": mark_nothing,
    "a mark behind the system prompt alone": mark_system_only,
    "marks behind system prompt and end": mark_system_and_last,
    "system_and_3, plain": mark_system_and_last_three,
    "ours": add_cache_breakpoints,
}
NO_REVIEW = "skills: {review_wait_seconds: 3600}"
"""Disables background reviews: on a slow machine the pause between prompts could start one."""
FAILURE = "the endpoint has a bad moment"


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """Answered requests of one session."""

    bill: Bill
    """The cost as reported by the endpoint."""
    bodies: Sequence[Body]

    @property
    def system_characters(self) -> int:
        """Length of the system prompt."""
        return sum(len(str(block["text"])) for block in object_list(self.bodies[0], "system"))

    @property
    def tool_characters(self) -> int:
        """Length of the tools as JSON."""
        return len(json.dumps(self.bodies[0]["tools"]))


async def record_session(
    folder: Path, played: SessionScript, failing: int | None = None
) -> RecordedSession:
    """Run a script in a new project below `folder`; request number `failing` fails.

    Raises:
        AssertionError: the endpoint refused a request, or the script was not used up.
    """
    home, project = folder / "home", folder / "project"
    home.mkdir()
    (home / "config.yaml").write_text(NO_REVIEW)
    write_project(project)
    replies: list[ScriptedReply | HttpFailure] = list(played.replies)
    if failing is not None:
        replies[failing] = bad_request(FAILURE)
    async with messages_api(replies) as api:
        await _play(api.url, home, project, played.prompts)
        assert api.remaining_turns == 0
        return _make_recorded_session(api.model_requests)


def _constant(
    loader: Lazy[ProviderEntryPoint], *_positional: object, **_named: object
) -> Lazy[ProviderEntryPoint]:
    return loader


async def _play(url: str, home: Path, project: Path, prompts: Sequence[str]) -> None:
    environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
    options = {"--mode": "bypass", "--model": MODEL}
    served = make_configuration(home, options=options, environment=environment)
    loader = lazy_anthropic_client(add_cache_breakpoints)  # a real server never closes them either
    try:
        with patch("acp_server.server.endpoints.lazy_anthropic_client", partial(_constant, loader)):
            async with open_editor(served) as editor:
                await editor.initialize()
                session_id = await editor.new_session(project)
                for prompt in prompts:
                    await editor.start_prompt(session_id, prompt).response()
    finally:
        await close_client(loader)


def _make_recorded_session(asks: Sequence[RecordedRequest]) -> RecordedSession:
    wrong = [ask.message for ask in asks if ask.usage is None and ask.message != FAILURE]
    assert not wrong, wrong
    answered = [(ask.body, ask.usage.input) for ask in asks if ask.usage is not None]
    return RecordedSession(
        compute_bill([usage for _, usage in answered]), [body for body, _ in answered]
    )


def _record_in_new_directory(played: SessionScript, failing: int | None = None) -> RecordedSession:
    with tempfile.TemporaryDirectory() as name:
        return anyio.run(record_session, Path(name), played, failing)


def main() -> None:
    """Measure and print."""
    usual, few, many = (_record_in_new_directory(make_script(hits)) for hits in (None, 10, 50))
    hello = _record_in_new_directory(SessionScript(["hi"], [reply("Hello.")]))
    failed = _record_in_new_directory(make_script(), make_script().largest_batch + 1)
    prefix = hello.system_characters + hello.tool_characters
    print(
        f'"hi": {hello.system_characters:,} characters of system prompt, {hello.tool_characters:,} '
        f"of tools, {prefix:,} together"
    )
    print(
        f"up to about {_max_prefix_characters(usual):,.0f} characters keep the session below "
        f"{MAX_BILLED_TOKENS:,} billed tokens\n"
    )
    print(_HEAD)
    _print("as it was sent, 20 hits a search", usual.bill)
    for title, rows in (
        ("marks elsewhere", _by_placement(usual)),
        ("the request behind the batch of eleven fails", _by_placement(failed)),
        ("another prefix", _by_prefix(usual)),
        ("other results", _by_results(usual, few, many)),
        ("an ideal agent with 18,000 characters", _ideal(usual, few, many)),
    ):
        print(f"\n{title}")
        for name, bill in rows:
            _print(name, bill)


def _max_prefix_characters(recording: RecordedSession) -> float:
    """Return the maximum length of prompt and tools: each token is written once, then read."""
    bare = replay(resize_prefix(recording.bodies, 0))
    each = WRITTEN_PRICE + READ_PRICE * (bare.requests - 1)
    return round((MAX_BILLED_TOKENS - bare.billed_tokens) / each * BYTES_PER_TOKEN, -2)


Rows = Iterator[tuple[str, Bill]]


def _by_placement(recording: RecordedSession) -> Rows:
    for name, set_markers in PLACEMENTS.items():
        yield name, replay(recording.bodies, set_markers)


def _by_prefix(usual: RecordedSession) -> Rows:
    for name, characters in PREFIXES.items():
        yield name, replay(resize_prefix(usual.bodies, characters))


def _by_results(usual: RecordedSession, few: RecordedSession, many: RecordedSession) -> Rows:
    yield "10 hits", few.bill
    yield "50 hits", many.bill
    yield "20 hits, numbers and paths on each line", replay(add_line_numbers(usual.bodies))
    dear = add_line_numbers(many.bodies)
    yield "50 hits, numbers and paths on each line", replay(dear)
    yield "that, and 52,000 characters as of a peer", replay(resize_prefix(dear, 52_000))


def _ideal(usual: RecordedSession, few: RecordedSession, many: RecordedSession) -> Rows:
    numbered = {"50 hits, numbers": many, "20 hits, numbers": usual}
    for name, recording in numbered.items():
        yield name, replay(resize_prefix(add_line_numbers(recording.bodies), IDEAL_CHARACTERS))
    yield "10 hits", replay(resize_prefix(few.bodies, IDEAL_CHARACTERS))


_HEAD = (
    f"{'':42} {'requests':>8} {'input':>9} {'read':>9} {'written':>8} {'plain':>8} "
    f"{'share':>7} {'billed':>8} {'in full':>8}"
)


def _print(name: str, bill: Bill) -> None:
    print(
        f"  {name:40} {bill.requests:8} {bill.total:9,} {bill.read:9,} {bill.written:8,} "
        f"{bill.plain:8,} {bill.read_share:7.2%} {bill.billed_tokens:8,.0f} "
        f"{bill.times_paid_in_full:6.2f} x"
    )


if __name__ == "__main__":
    main()
