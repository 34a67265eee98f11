"""Fleets for tests: units, a stand-in for `acp-server run`, and drivers that run them."""

import base64
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.lowlevel
from pydantic import JsonValue

from acp_server.fleet.attempts import Attempt, AttemptReport, NodeFacts, Placement
from acp_server.fleet.driver import FleetControl, FleetDriver, FleetPolicy, UnitEnd
from acp_server.fleet.engines.local import open_local_engine
from acp_server.fleet.engines.seam import EngineConfig, FleetEngine
from acp_server.fleet.journal import (
    NAME,
    FleetJournal,
    JournalContents,
    read_journal,
    read_records,
)
from acp_server.fleet.outcomes import UnitOutcome
from acp_server.fleet.retries import RetryWaits
from acp_server.fleet.unit import CheckFile, Unit, WorkspaceSource
from tests.headless.run.repositories import git
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

STAND_IN = """\
import json, os, pathlib, signal, sys, time
prompt = sys.stdin.read()
folder, patch = (sys.argv[sys.argv.index(name) + 1] for name in ("--cwd", "--patch"))
word, _, rest = prompt.partition(" ")
result = {"type": "result", "outcome": "done", "text": os.path.basename(folder), "cost_usd": 0.5}
pathlib.Path(folder, "made.txt").write_text(prompt)
pathlib.Path(patch).write_text("patch of " + prompt)
print("worked on", prompt, file=sys.stderr)
if word == "die":
    os.kill(os.getpid(), signal.SIGKILL)
if word == "die-once":  # a file says whether it has
    if not os.path.exists(rest):
        pathlib.Path(rest).touch()
        os.kill(os.getpid(), signal.SIGKILL)
if word == "kill-actor-once":
    if not os.path.exists(rest):
        pathlib.Path(rest).touch()
        os.kill(os.getppid(), signal.SIGKILL)
if word == "wait":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(json.dumps(
        result | {"outcome": "terminated", "reason": "stopped"})) or 143))
    pathlib.Path(rest).write_text(str(os.getpid()))
    while True: signal.pause()
if word == "babble":
    print("no json"); sys.exit(3)
if word == "outcome":
    result |= {"outcome": rest, "reason": "as asked"}
if word == "home":
    home = os.environ.get("HERMES_HOME", "")
    pathlib.Path(home, "learned").write_text("x")
    result["text"] = " ".join(sorted(os.listdir(home)))
if word == "files":
    result["text"] = " ".join(sorted(os.listdir(folder)))
if word == "link":
    os.symlink(rest, os.path.join(folder, "linked"))
print(json.dumps(result))
"""
"""Does what `acp-server run` does, as far as a node sees it."""
COMMAND = (sys.executable, "-S", "-c", STAND_IN)
QUICK = RetryWaits(first=0.01, longest=0.02, probe=0.01)


def commit_of(repository: Path) -> str:
    return git(repository, "rev-parse", "HEAD").strip()


def units_of(repository: Path, *prompts: str) -> list[Unit]:
    """Return a unit per prompt, with the ids t0, t1 and so on."""
    source = WorkspaceSource(str(repository), commit_of(repository))
    return [
        Unit(
            key=f"{number:064x}",
            id=f"t{number}",
            task=f"t{number}",
            prompt=prompt,
            workspace=source,
        )
        for number, prompt in enumerate(prompts)
    ]


def check_file(path: str, text: str) -> CheckFile:
    return CheckFile(path, base64.b64encode(text.encode()).decode())


@dataclass(slots=True)
class FleetRun:
    """A fleet that has run: its ends in order, and what its journal says."""

    directory: Path
    ends: list[UnitEnd] = field(default_factory=list[UnitEnd])
    driver: FleetDriver | None = None

    @property
    def journal(self) -> JournalContents:
        return read_journal(self.directory)

    @property
    def outcomes(self) -> Mapping[str, UnitOutcome]:
        return {each.id: each.outcome for each in self.journal.results}

    def records(self, kind: str) -> Sequence[str]:
        """Return the ids of the units of all records of a type, in order."""
        found = (record for _, record in read_records(self.directory / NAME))
        return [str(each.get("id", "")) for each in found if each["type"] == kind]


OpenEngine = Callable[[EngineConfig], AbstractAsyncContextManager[FleetEngine]]


async def run_fleet(
    directory: Path,
    units: Sequence[Unit],
    policy: FleetPolicy | None = None,
    control: FleetControl | None = None,
    open_engine: OpenEngine = open_local_engine,
    config: EngineConfig | None = None,
) -> FleetRun:
    """Run units to their end, after those that have ended in the directory."""
    policy = policy or FleetPolicy(jobs=4)
    policy = policy if policy.waits != RetryWaits() else replace(policy, waits=QUICK)
    await anyio.Path(directory).mkdir(exist_ok=True)
    run = FleetRun(directory)
    config = config or EngineConfig(jobs=policy.jobs, command=COMMAND)
    with FleetJournal(directory) as journal, anyio.fail_after(HANG_TIMEOUT_SECONDS + len(units)):
        earlier = read_journal(directory)
        journal.append("run", version=1, total_cost_usd=policy.total_cost)
        journal.append_queued(units)
        waiting = [unit for unit in units if unit.key not in earlier.final]
        async with open_engine(config) as engine:
            run.driver = FleetDriver(engine, directory, policy, run.ends.append, journal.append)
            await run.driver.run(waiting, control or FleetControl(), earlier)
    return run


class ScriptedEngine:
    """Engine without processes: a function makes the report of each attempt."""

    def __init__(self, answer: Callable[[Attempt], AttemptReport]) -> None:
        self.answer = answer
        self.submitted: list[Attempt] = []
        self.waiting: list[Attempt] = []
        self.most_at_once = 0
        self._changed = anyio.Event()

    async def submit(self, attempt: Attempt) -> str:
        self.submitted.append(attempt)
        self.waiting.append(attempt)
        self.most_at_once = max(self.most_at_once, len(self.waiting))
        self._changed.set()
        return attempt.handle

    async def events(self) -> AsyncIterator[Placement | AttemptReport]:
        while True:
            while not self.waiting:
                self._changed = anyio.Event()
                await self._changed.wait()
            await anyio.lowlevel.checkpoint()
            attempt = self.waiting.pop(0)
            yield Placement(attempt.handle, "north")
            yield self.answer(attempt)

    async def cancel(self, handle: str) -> None:
        del handle

    async def nodes(self) -> Sequence[NodeFacts]:
        return []

    @asynccontextmanager
    async def open(self, config: EngineConfig) -> AsyncGenerator["ScriptedEngine"]:
        del config
        yield self


def reports(outcome: str, **values: JsonValue) -> Callable[[Attempt], AttemptReport]:
    """Return a function that ends each attempt with this outcome."""
    result: dict[str, JsonValue] = {"type": "result", "outcome": outcome, "reason": "", **values}
    return lambda attempt: AttemptReport(attempt.handle, result=result, exit_code=0)
