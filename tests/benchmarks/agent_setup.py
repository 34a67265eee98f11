"""Prepared agents: home, project, and the endpoint that all of them use.

Gets all facts about an agent from `peers`. Measures nothing itself.
"""

import http.client
import json
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.endpoint.model_requests import format_command
from tests.benchmarks.peers import AgentLocation, PeerAgent
from tests.benchmarks.scripted_session import write_project

NOTES = "".join(f"line {number} of the notes\n" for number in range(20))
Body = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request received by the endpoint."""

    path: str
    body: Body
    bytes: int


class EndpointProcess:
    """Client for the endpoint process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def set_recording(self, *, is_keeping: bool) -> None:
        """Switch the recording of request bodies; discard those recorded so far."""
        self._ask("POST", "/keeping", {"is_keeping": is_keeping})
        self.take_requests()

    def take_requests(self) -> list[ReceivedRequest]:
        """Return the requests since the last call."""
        found = cast("list[dict[str, JsonValue]]", self._ask("GET", "/taken"))
        return [
            ReceivedRequest(
                str(each["path"]), cast("Body", each["body"]), cast("int", each["bytes"])
            )
            for each in found
        ]

    def _ask(self, method: str, path: str, body: JsonValue = None) -> JsonValue:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body).encode())
            return cast("JsonValue", json.loads(connection.getresponse().read()))
        finally:
            connection.close()


@contextmanager
def endpoint_process() -> Generator[EndpointProcess]:
    """Run the endpoint until the context exits."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.endpoint"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield EndpointProcess(int(process.stdout.readline()))
    finally:
        process.communicate(timeout=10)


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """One agent with its directories, which can be started repeatedly."""

    peer: PeerAgent
    location: AgentLocation
    endpoint: EndpointProcess

    @property
    def project(self) -> Path:
        """Workspace of the agent's sessions."""
        return self.location.project

    def start(self) -> MeasuredAgent:
        """Start the agent."""
        return MeasuredAgent(
            self.peer.command_line, self.location.home, self.peer.environment(self.location)
        )

    def format_command(self, words: str) -> str:
        """Return a prompt with a command for the model in this project."""
        return format_command(words, self.project)

    def with_new_home(self, name: str) -> "AgentSetup":
        """Return the same agent with a new home and a new project."""
        location = create_location(self.location.home.parent / name, self.endpoint.url)
        return replace(self, location=location)


def create_setup(peer: PeerAgent, folder: Path, endpoint: EndpointProcess) -> AgentSetup:
    """Create home and project for an agent."""
    return AgentSetup(peer, create_location(folder / peer.name, endpoint.url), endpoint)


def create_location(folder: Path, url: str) -> AgentLocation:
    """Create an empty home and a new project; delete existing ones."""
    shutil.rmtree(folder, ignore_errors=True)
    home, project = folder / "home", folder / "project"
    home.mkdir(parents=True)
    write_project(project)
    (project / "notes.txt").write_text(NOTES, encoding="utf-8")
    return AgentLocation(home, project, url)
