"""Whatever a model says, however its endpoint fails, wherever the user cancels: it goes on."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from acp_server.turn.continuation import CONTINUE_PROMPT
from tests.anthropic_model.model_session import (
    ModelSession,
    ModelSessionConfig,
    check_history,
    open_model_session,
    stored_text,
)
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    CutAfterBytes,
    CutAfterEvents,
    DroppedConnection,
    EndAfterEvents,
    ErrorEvent,
    ExtraEvent,
    FakeApiServer,
    GarbageBytes,
    ParsedRequest,
    PauseBeforeEvent,
    ScriptedReply,
    ScriptedTurn,
    StreamFault,
    TrickledBytes,
    bad_gateway,
    call,
    messages_api,
    overloaded,
    pings,
    rate_limited,
    reply,
    say,
    server_error,
    think,
)
from tests.support.messages_api.script import CallTool, ReplyBlock
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

PROMPTS = 4
MODELS = ("claude-opus-5-5", "claude-sonnet-5", "claude-opus-4-6", "claude-haiku-4-5")
WORDS = ("one ", "two, ", "three. ", "vier ", "fünf ", "六 ", "🙂 ", "\n\n", "`code` ")


@dataclass(slots=True)
class RandomModel:
    """A model that says what chance lets it say, over an endpoint that fails as chance wants."""

    chance: random.Random
    thinks_first: bool = False
    """As models do that think by budget."""

    def answer(self, ask: ParsedRequest) -> ScriptedTurn:
        """Return the next turn: a failure, or an answer with or without faults."""
        if self.chance.random() < 0.2:
            return self.chance.choice(
                [
                    overloaded(),
                    server_error(),
                    bad_gateway(),
                    rate_limited(0.001),
                    DroppedConnection(),
                ]
            )
        if CONTINUE_PROMPT in ask.last_text:
            return self._add_faults(reply(think("Where was I?"), say(self._text())))
        return self._add_faults(self._make_reply())

    def _make_reply(self) -> ScriptedReply:
        thoughts = 1 if self.thinks_first else self.chance.randint(0, 2)
        blocks: list[ReplyBlock] = [think(self._text()) for _ in range(thoughts)]
        for _ in range(self.chance.randint(1, 4)):
            if self.chance.random() < 0.6:
                blocks.append(say(self._text()))
            else:
                blocks.append(call(self.chance.choice(["note", "look", "none"]), text=self._text()))
        size = self.chance.choice([3, 7, 16, 1000])
        return reply(*_in_order(blocks), chunk_characters=size)

    def _add_faults(self, full_reply: ScriptedReply) -> ScriptedReply:
        faults: list[StreamFault] = []
        if self.chance.random() < 0.35:
            at_event = self.chance.randint(0, 24)
            faults.append(
                self.chance.choice(
                    [
                        CutAfterEvents(at_event),
                        CutAfterBytes(self.chance.randint(0, 4000)),
                        EndAfterEvents(at_event),
                        ErrorEvent(at_event),
                        ErrorEvent(at_event, "api_error"),
                        GarbageBytes(at_event),
                        ExtraEvent(at_event),
                        pings(at_event),
                        PauseBeforeEvent(at_event, 0.01),
                        TrickledBytes(self.chance.randint(5, 50), 0),
                    ]
                )
            )
        return reply(
            *full_reply.blocks,
            stop=full_reply.stop_reason,
            chunk_characters=full_reply.chunk_characters,
            faults=faults,
        )

    def _text(self) -> str:
        words = self.chance.choices(WORDS, k=self.chance.randint(1, 12))
        return "Well " + "".join(words) + "so."


def _in_order(blocks: Sequence[ReplyBlock]) -> list[ReplyBlock]:
    """Return the blocks in an order in which the API sends them: calls last."""
    return sorted(blocks, key=lambda block: isinstance(block, CallTool))


async def run_session(seed: int, home: Path) -> None:
    """Prompt a few times, then see that all is well."""
    chance = random.Random(seed)  # noqa: S311  chance that can be had again
    model = chance.choice(MODELS)
    mind = RandomModel(chance, thinks_first=model == "claude-haiku-4-5")
    config = ModelSessionConfig(
        model=model, retries=2, retry_seconds=0.001, resume_wait_seconds=0.001
    )
    config.max_turn_requests = 6
    async with messages_api(mind.answer) as api, open_model_session(api, home, config) as session:
        for number in range(PROMPTS):
            await _prompt(session, chance, number)
        _check(session, api)
        api.add("All good.")
        assert await session.prompt("and now?") == "end_turn"
        assert session.agent_text().endswith("All good.")
        assert api.model_requests[-1].verdict == "answered"
        _check(session, api)


async def _prompt(session: ModelSession, chance: random.Random, number: int) -> None:
    pending = session.start_prompt(f"prompt {number}")
    if chance.random() < 0.4:
        seen = len(session.translated)
        with anyio.move_on_after(0.3):
            await session.wait_until_translated(seen + chance.randint(0, 60))
        session.cancel()
    response = await pending.response()
    assert await session.turn_updates_after(pending) == []
    if "error" not in response:
        assert json_at(response, "result", "stopReason") in {
            "end_turn",
            "cancelled",
            "max_turn_requests",
        }


def _check(session: ModelSession, api: FakeApiServer) -> None:
    check_history(session.history())
    refused = [ask.message for ask in api.model_requests if ask.verdict == "refused"]
    assert refused == []
    shown = session.agent_text()
    for message in session.editor.messages:  # a failed turn says so in the chat, not in the history
        if "error" in message:
            shown = shown.replace(str(json_at(message, "error", "data", "details")), "", 1)
    assert shown == stored_text(session.history())
    _check_sent_once(session.editor.messages)


def _check_sent_once(messages: Sequence[Object]) -> None:
    answered = [message["id"] for message in messages if "method" not in message]
    assert len(answered) == len(set(map(str, answered)))


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(3, 40))]
)
async def test_a_session_survives_random_faults(seed: int, tmp_path: Path) -> None:
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        await run_session(seed, tmp_path)


@pytest.mark.full
async def test_five_hundred_sessions_survive_random_faults() -> None:
    for seed in range(1000, 1500):
        with tempfile.TemporaryDirectory() as home, anyio.fail_after(HANG_TIMEOUT_SECONDS):
            try:
                await run_session(seed, Path(home))
            except Exception as error:
                raise AssertionError(f"seed {seed}") from error
