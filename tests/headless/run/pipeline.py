"""Pipeline step: `acp-server run` as a process, with its output and exit code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tests.cli.command_line import CliResult, run
from tests.support.messages_api import KEY, FakeApiServerInThread

Object = Mapping[str, JsonValue]
MODEL = "claude-opus-5-5"
UNREACHABLE_URL = "http://127.0.0.1:9"
"""Endpoint URL that refuses connections."""
CHAT_HOME = 'model: {{provider: custom, default: gpt-4.1, base_url: "{url}", api_key: {key}}}\n'


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """Workspace, home and endpoint of a run."""

    folder: Path
    url: str
    is_chat: bool = False
    """Whether the endpoint speaks Chat Completions instead of Messages."""

    @property
    def workspace(self) -> Path:
        """Working directory of the task."""
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        """Home directory of the server, outside the workspace."""
        return self.folder / "home"

    @property
    def scratch(self) -> Path:
        """Directory for temporary files."""
        return self.folder / "scratch"

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that select the model."""
        scratch = {"TMPDIR": str(self.scratch)}
        if self.is_chat:
            return scratch
        return scratch | {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "ACP_SERVER_MODEL": MODEL,
        }

    def prepare(self) -> None:
        """Create the directories, and settings for options without a variable."""
        for folder in (self.workspace, self.home, self.scratch):
            folder.mkdir(exist_ok=True)
        if self.is_chat:
            (self.home / "config.yaml").write_text(CHAT_HOME.format(url=self.url, key=KEY))

    def run(self, *arguments: str, stdin: str = "", **variables: str) -> CliResult:
        """Run a task to its end."""
        self.prepare()
        return run(
            self.home,
            *("run", "--cwd", str(self.workspace), *arguments),
            stdin=stdin,
            **(self.variables | variables),
        )

    def result(self, *arguments: str, **variables: str) -> tuple[int, Object]:
        """Run a task; return its exit code and its result, which must be its only output."""
        done = self.run(*arguments, "--format", "json", **variables)
        assert done.stdout.count("\n") == 1, done
        return done.exit_code, parse_line(done.stdout)


def make_step(folder: Path, api: FakeApiServerInThread) -> PipelineStep:
    """Return a step with a Messages endpoint."""
    return PipelineStep(folder, api.url)


def make_chat_step(folder: Path, api: FakeApiServerInThread) -> PipelineStep:
    """Return a step with a Chat Completions endpoint."""
    return PipelineStep(folder, api.url, is_chat=True)


def count_model_requests(api: FakeApiServerInThread) -> int:
    """Return the number of model requests."""
    return sum(request.path == "/v1/messages" for request in api.requests)


def parse_line(line: str) -> Object:
    """Return the JSON object on a line."""
    return cast("Object", json.loads(line))


def events_of(outcome: CliResult) -> list[Object]:
    """Return the events of a stream, which must end with its only result."""
    events = [parse_line(line) for line in outcome.stdout.splitlines()]
    assert [event["type"] for event in events].index("result") == len(events) - 1
    return events
