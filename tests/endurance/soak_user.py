"""One simulated user of a soak test.

Opens a session, works, cancels, steers, loads it again and closes it. A seeded random generator
picks the steps; the expected results are asserted here.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from tests.endurance.actions import ACTIONS, choose_action
from tests.endurance.client import SoakClient
from tests.support.editor import Object, json_at

MODES = ("ask", "accept_edits", "plan", "bypass")
CANCELLED_SHARE, STEERED_SHARE, EDITOR_ACTION_SHARE = 0.08, 0.04, 0.05
LATEST_CANCEL = 12
"""Maximum number of messages of a turn before it is cancelled."""
PARSE_ERROR_LINES = (b"{", b"[]", b'{"jsonrpc": "2.0", "id": null}', b"\xff\xfe", b'"text"')


@dataclass(slots=True)
class ExpectedSession:
    """Expected final content of a session."""

    session_id: str
    prompts: list[str] = field(default_factory=list[str])
    """Prompts that ended with `end_turn`."""


@dataclass(slots=True)
class SoakUser:
    """One user with a workspace and a random generator."""

    client: SoakClient
    folder: Path
    chance: random.Random
    tasks: TaskGroup
    expected_sessions: list[ExpectedSession] = field(default_factory=list[ExpectedSession])
    turns: int = 0
    _session: str = ""
    _received_count: int = 0
    _cancel_at: int | None = None
    _expected: ExpectedSession | None = None
    """The open session."""
    _latencies: list[float] = field(default_factory=list[float])

    async def run_round(self, turns: int, first_number: int, *, is_last: bool = True) -> None:
        """Run this many turns, in a new session unless one is open; at last, end the session."""
        if self._expected is None:
            await self._open()
            self._expected = ExpectedSession(self._session)
        for number in range(first_number, first_number + turns):
            await self._turn(number, self._expected)
            if self.chance.random() < EDITOR_ACTION_SHARE:
                await self._do_editor_action()
        if is_last:
            await self._end(self._expected)
            self._expected = None

    def take_latencies(self) -> list[float]:
        """Return the seconds of each turn since the last call, without those cut off."""
        latencies, self._latencies = self._latencies, []
        return latencies

    async def _end(self, expected: ExpectedSession) -> None:
        self.client.remove_listener(self._session)
        if self.chance.random() < 0.2:
            await self.client.request_result("session/delete", {"sessionId": self._session})
        else:
            await self.client.request_result("session/close", {"sessionId": self._session})
            self.expected_sessions.append(expected)

    async def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "notes.txt").write_text("some words\nand others\n")
        result = await self.client.request_result("session/new", self._session_params())
        self._session = str(json_at(result, "sessionId"))
        self.client.add_listener(self._session, self._on_message)

    def _session_params(self) -> dict[str, JsonValue]:
        return {"cwd": str(self.folder), "mcpServers": []}

    # One turn.

    async def _turn(self, number: int, expected: ExpectedSession) -> None:
        act = choose_action(self.chance)
        text = f"soak {number} {act}"
        is_cut_off = act == "endless" or self.chance.random() < CANCELLED_SHARE
        self._received_count = 0
        self._cancel_at = self.chance.randint(0, LATEST_CANCEL) if is_cut_off else None
        if act == "endless":
            self._cancel_at = LATEST_CANCEL // 2
        is_steered = self.chance.random() < STEERED_SHARE
        answers: list[Object] = []
        began = time.monotonic()

        async def prompt(words: str) -> None:
            answers.append(await self.client.prompt(self._session, words))

        async with anyio.create_task_group() as prompting:
            prompting.start_soon(prompt, text)
            if is_steered:
                prompting.start_soon(prompt, "and mind the gap")
            if self._cancel_at == 0:
                await self._cancel()
            if act == "endless":
                prompting.start_soon(self._cancel_until_ended, answers)
        self._cancel_at = None
        self.turns += 1
        if not is_cut_off:
            self._latencies.append(time.monotonic() - began)
        assert len(answers) == 1 + is_steered
        for answer in answers:
            self._check_answer(answer, act, is_cut_off=is_cut_off)
        if not is_cut_off and not ACTIONS[act].is_fatal:
            expected.prompts.append(text)

    async def _cancel_until_ended(self, answers: Sequence[Object]) -> None:
        """Cancel until the turn ends; the number of updates before a command starts varies."""
        while not answers:
            await anyio.sleep(0.05)
            await self._cancel()

    def _check_answer(self, answer: Object, act: str, *, is_cut_off: bool) -> None:
        if "error" in answer:
            assert ACTIONS[act].is_fatal, answer
            assert "soak: refused" in str(answer), answer
            return
        allowed = {"end_turn", "cancelled"} if is_cut_off else {"end_turn"}
        assert json_at(answer, "result", "stopReason") in allowed, (act, answer)

    def _on_message(self, message: Object) -> None:
        self._received_count += 1
        if self._received_count == self._cancel_at:
            # listeners run inside the receive loop and must not wait for a send
            self.tasks.start_soon(self._cancel)
        if "id" in message:
            assert message["method"] == "session/request_permission", message
            self.tasks.start_soon(self._answer, message)

    async def _cancel(self) -> None:
        await self.client.notify("session/cancel", {"sessionId": self._session})

    async def _answer(self, request: Object) -> None:
        """Allow or reject, with a random one of the offered options."""
        options = json_at(request, "params", "options")
        assert isinstance(options, list)
        kind = "reject" if self.chance.random() < 0.1 else "allow"
        chosen = [
            json_at(each, "optionId")
            for each in options
            if str(json_at(each, "kind")).startswith(kind)
        ]
        outcome: JsonValue = {"outcome": "selected", "optionId": self.chance.choice(chosen)}
        await self.client.send(
            {"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}}
        )

    # Between turns.

    async def _do_editor_action(self) -> None:
        """Do one of the operations that editors perform between turns."""
        here: dict[str, JsonValue] = {"sessionId": self._session}
        match self.chance.randrange(7):
            case 0:
                await self.client.request_result("session/load", {**here, **self._session_params()})
            case 1:
                await self.client.request_result("session/close", here)
                await self.client.request_result(
                    "session/resume", {**here, **self._session_params()}
                )
            case 2:
                mode = self.chance.choice(MODES)
                await self.client.request_result("session/set_mode", {**here, "modeId": mode})
            case 3:
                await self.client.request_result("session/list", {})
            case 4:
                command = self.chance.choice(("/context", "/usage", "/memory", "/checkpoints"))
                response = await self.client.prompt(self._session, command)
                assert json_at(response, "result", "stopReason") == "end_turn", response
            case 5:
                response = await self.client.request(
                    "session/load", {**self._session_params(), "sessionId": "x"}
                )
                assert "error" in response
            case _:
                await self.client.send_line(self.chance.choice(PARSE_ERROR_LINES))
