"""One simulated user of a soak test.

Opens a session, works, cancels, steers, loads it again and closes it. A seeded random generator
picks the steps; the expected results are asserted here.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from tests.endurance.actions import ACTS, choose
from tests.endurance.client import SoakClient
from tests.support.editor import Object, at

MODES = ("ask", "accept_edits", "plan", "bypass")
CANCELLED_SHARE, STEERED_SHARE, VISITED_SHARE = 0.08, 0.04, 0.05
LATEST_CANCEL = 12
"""Maximum number of messages of a turn before it is cancelled."""
PARSE_ERROR_LINES = (b"{", b"[]", b'{"jsonrpc": "2.0", "id": null}', b"\xff\xfe", b'"text"')


@dataclass(slots=True)
class Kept:
    """Expected final content of a session."""

    session_id: str
    prompts: list[str] = field(default_factory=list[str])
    """Prompts that ended with `end_turn`."""


@dataclass(slots=True)
class Lane:
    """One user with a workspace and a random generator."""

    client: SoakClient
    folder: Path
    chance: random.Random
    tasks: TaskGroup
    kept: list[Kept] = field(default_factory=list[Kept])
    turns: int = 0
    _session: str = ""
    _heard: int = 0
    _cancel_at: int | None = None

    async def live(self, turns: int, first_number: int) -> None:
        """Run a whole session with this many turns."""
        await self._open()
        kept = Kept(self._session)
        for number in range(first_number, first_number + turns):
            await self._turn(number, kept)
            if self.chance.random() < VISITED_SHARE:
                await self._visit()
        self.client.forget(self._session)
        if self.chance.random() < 0.2:
            await self.client.ask("session/delete", {"sessionId": self._session})
        else:
            await self.client.ask("session/close", {"sessionId": self._session})
            self.kept.append(kept)

    async def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "notes.txt").write_text("some words\nand others\n")
        result = await self.client.ask("session/new", self._place())
        self._session = str(at(result, "sessionId"))
        self.client.hear(self._session, self._hear)

    def _place(self) -> dict[str, JsonValue]:
        return {"cwd": str(self.folder), "mcpServers": []}

    # One turn.

    async def _turn(self, number: int, kept: Kept) -> None:
        act = choose(self.chance)
        text = f"soak {number} {act}"
        is_cut_off = act == "endless" or self.chance.random() < CANCELLED_SHARE
        self._heard = 0
        self._cancel_at = self.chance.randint(0, LATEST_CANCEL) if is_cut_off else None
        if act == "endless":
            self._cancel_at = LATEST_CANCEL // 2
        is_steered = self.chance.random() < STEERED_SHARE
        answers: list[Object] = []

        async def prompt(words: str) -> None:
            answers.append(await self.client.prompt(self._session, words))

        async with anyio.create_task_group() as prompting:
            prompting.start_soon(prompt, text)
            if is_steered:
                prompting.start_soon(prompt, "and mind the gap")
            if self._cancel_at == 0:
                await self._cancel()
            if act == "endless":
                prompting.start_soon(self._end_the_endless, answers)
        self._cancel_at = None
        self.turns += 1
        assert len(answers) == 1 + is_steered
        for answer in answers:
            self._judge(answer, act, is_cut_off=is_cut_off)
        if not is_cut_off and not ACTS[act].is_hopeless:
            kept.prompts.append(text)

    async def _end_the_endless(self, answers: Sequence[Object]) -> None:
        """Cancel until the turn ends; the number of updates before a command starts varies."""
        while not answers:
            await anyio.sleep(0.05)
            await self._cancel()

    def _judge(self, answer: Object, act: str, *, is_cut_off: bool) -> None:
        if "error" in answer:
            assert ACTS[act].is_hopeless, answer
            assert "soak: refused" in str(answer), answer
            return
        allowed = {"end_turn", "cancelled"} if is_cut_off else {"end_turn"}
        assert at(answer, "result", "stopReason") in allowed, (act, answer)

    def _hear(self, message: Object) -> None:
        self._heard += 1
        if self._heard == self._cancel_at:
            # listeners run inside the receive loop and must not wait for a send
            self.tasks.start_soon(self._cancel)
        if "id" in message:
            assert message["method"] == "session/request_permission", message
            self.tasks.start_soon(self._answer, message)

    async def _cancel(self) -> None:
        await self.client.notify("session/cancel", {"sessionId": self._session})

    async def _answer(self, request: Object) -> None:
        """Allow or reject, with a random one of the offered options."""
        options = at(request, "params", "options")
        assert isinstance(options, list)
        kind = "reject" if self.chance.random() < 0.1 else "allow"
        chosen = [
            at(each, "optionId") for each in options if str(at(each, "kind")).startswith(kind)
        ]
        outcome: JsonValue = {"outcome": "selected", "optionId": self.chance.choice(chosen)}
        await self.client.send(
            {"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}}
        )

    # Between turns.

    async def _visit(self) -> None:
        """Do one of the operations that editors perform between turns."""
        here: dict[str, JsonValue] = {"sessionId": self._session}
        match self.chance.randrange(7):
            case 0:
                await self.client.ask("session/load", {**here, **self._place()})
            case 1:
                await self.client.ask("session/close", here)
                await self.client.ask("session/resume", {**here, **self._place()})
            case 2:
                mode = self.chance.choice(MODES)
                await self.client.ask("session/set_mode", {**here, "modeId": mode})
            case 3:
                await self.client.ask("session/list", {})
            case 4:
                command = self.chance.choice(("/context", "/usage", "/memory", "/checkpoints"))
                response = await self.client.prompt(self._session, command)
                assert at(response, "result", "stopReason") == "end_turn", response
            case 5:
                response = await self.client.call(
                    "session/load", {**self._place(), "sessionId": "x"}
                )
                assert "error" in response
            case _:
                await self.client.send_line(self.chance.choice(PARSE_ERROR_LINES))
