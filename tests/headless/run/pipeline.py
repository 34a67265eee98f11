"""A step of a pipeline: `acp-server run` as a process, judged by what it prints and ends with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tests.cli.command_line import Outcome, run
from tests.support.messages_api import KEY, MessagesApiInThread

Object = Mapping[str, JsonValue]
MODEL = "claude-opus-5-5"
NOBODY = "http://127.0.0.1:9"
"""An endpoint that refuses connections."""
CHAT_HOME = 'model: {{provider: custom, default: gpt-4.1, base_url: "{url}", api_key: {key}}}\n'


@dataclass(frozen=True, slots=True)
class Step:
    """A workspace, a home and an endpoint."""

    folder: Path
    url: str
    is_chat: bool = False
    """Whether the endpoint speaks OpenAI's chat, and not Anthropic's Messages."""

    @property
    def workspace(self) -> Path:
        """The folder in which the task is done."""
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        """Where the server keeps its own things: no part of the workspace."""
        return self.folder / "home"

    @property
    def scratch(self) -> Path:
        """Where temporary files go."""
        return self.folder / "scratch"

    @property
    def variables(self) -> dict[str, str]:
        """What says which model is asked."""
        scratch = {"TMPDIR": str(self.scratch)}
        if self.is_chat:
            return scratch
        return scratch | {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "ACP_SERVER_MODEL": MODEL,
        }

    def prepare(self) -> None:
        """Make the folders, and the settings where variables cannot say it all."""
        for folder in (self.workspace, self.home, self.scratch):
            folder.mkdir(exist_ok=True)
        if self.is_chat:
            (self.home / "config.yaml").write_text(CHAT_HOME.format(url=self.url, key=KEY))

    def run(self, *arguments: str, given: str = "", **variables: str) -> Outcome:
        """Run a task to its end."""
        self.prepare()
        return run(
            self.home,
            *("run", "--cwd", str(self.workspace), *arguments),
            given=given,
            **(self.variables | variables),
        )

    def result(self, *arguments: str, **variables: str) -> tuple[int, Object]:
        """Run a task and return its exit code and its result, which must be all that it prints."""
        done = self.run(*arguments, "--format", "json", **variables)
        assert done.stdout.count("\n") == 1, done
        return done.exit_code, parsed(done.stdout)


def step(folder: Path, api: MessagesApiInThread) -> Step:
    """Return a step whose model is at an endpoint."""
    return Step(folder, api.url)


def chat_step(folder: Path, api: MessagesApiInThread) -> Step:
    """Return a step whose model is at an endpoint of the other form."""
    return Step(folder, api.url, is_chat=True)


def asked(api: MessagesApiInThread) -> int:
    """Return how often the model was asked."""
    return sum(request.path == "/v1/messages" for request in api.requests)


def parsed(line: str) -> Object:
    """Return the object on a line."""
    return cast("Object", json.loads(line))


def events_of(outcome: Outcome) -> list[Object]:
    """Return the events of a stream, which must end with its only result."""
    events = [parsed(line) for line in outcome.stdout.splitlines()]
    assert [event["type"] for event in events].index("result") == len(events) - 1
    return events
