"""Recording and replay of a process's model traffic, as its settings say.

Part of the composition root: it knows the settings, the sessions and the recordings. Imports no
HTTP client unless there is something to record or replay.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue, SecretStr

from acp_server.config import settings
from acp_server.config.settings import SECRET_ENDINGS, Configuration
from acp_server.config.table import setting_values
from acp_server.config.values import ApiMode
from acp_server.models.provider_profiles import ANTHROPIC, CUSTOM, find_profile
from acp_server.models.recordings.lazy_imports import (
    MaskedValues,
    open_recorder,
    open_replayer,
)
from acp_server.models.traffic import RecordingError
from acp_server.server.providers import ConfiguredProvider
from acp_server.session.context import SessionContext
from acp_server.text.redaction import MIN_SECRET_CHARACTERS

if TYPE_CHECKING:
    from acp_server.models.recordings.exchange import RecordedEndpoint
    from acp_server.models.recordings.replayer import TrafficReplayer
    from acp_server.models.traffic import ModelTraffic

BOTH = "--record and --replay cannot be used together"
API_MODES: Mapping[str, ApiMode] = {
    "messages": "anthropic_messages",
    "chat": "chat_completions",
    "responses": "codex_responses",
}


class RecordingOptionsError(Exception):
    """Options of recording and replay that cannot be used; the text is for the user."""


@dataclass(slots=True)
class ModelRecording:
    """Recording or replay of one process; does nothing unless the settings name a directory."""

    configuration: Configuration
    """With the recorded provider and model where the settings name none."""
    sessions: Callable[[], Iterable[SessionContext]] = tuple
    problems: list[str] = field(default_factory=list[str], init=False)
    """Why exchanges could not be recorded."""
    _replayer: "TrafficReplayer | None" = field(default=None, init=False)
    _places: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """Names of the values of sessions, by value: a session keeps its name after its end."""

    @property
    def is_replay(self) -> bool:
        """Whether a recording answers in place of the providers."""
        return self._replayer is not None

    def traffic(self, provider: ConfiguredProvider) -> "ModelTraffic | None":
        """Return the recorder or replayer of a provider's traffic; None if there is none."""
        directory = self.configuration.settings.record
        if directory is None:
            return self._replayer
        endpoint = provider.profile.name, provider.profile.api_format, provider.base_url or ""
        return open_recorder(directory, self._masked_values(), endpoint, self.problems.append)

    def report(self) -> dict[str, JsonValue] | None:
        """Return how the replay went, as JSON; None without one."""
        return None if self._replayer is None else self._replayer.report.as_json()

    @property
    def has_problems(self) -> bool:
        """Whether a request differed from the recorded one, or an exchange was not recorded."""
        report = None if self._replayer is None else self._replayer.report
        has_differences = report is not None and bool(report.nearest or report.missing)
        return has_differences or bool(self.problems)

    def report_lines(self) -> list[str]:
        """Return the report on the replay, and failures to record, for people."""
        lines = [] if self._replayer is None else self._replayer.report.lines()
        return [*lines, *dict.fromkeys(self.problems)]

    def open_replay(self, directory: Path) -> None:
        """Read a recording, and complete the configuration from it. Blocks.

        Raises:
            RecordingOptionsError: It cannot be read.
        """
        is_strict = self.configuration.settings.strict
        try:
            self._replayer, endpoint = open_replayer(
                directory, self._masked_values(), is_strict=is_strict
            )
        except RecordingError as error:
            raise RecordingOptionsError(str(error)) from None
        self.configuration = _with_recorded(self.configuration, endpoint)

    def _masked_values(self) -> MaskedValues:
        return MaskedValues(self._known_values, tuple(sorted(_secrets(self.configuration))))

    def _known_values(self) -> Mapping[str, str]:
        """Return the values of this home and its sessions, by name."""
        for session in self.sessions():
            self._name_place("session", session.id)
            for root in session.workspace.roots:
                self._name_place("workspace", str(root))
        return {
            "hermes home": str(self.configuration.home),
            **{name: value for value, name in self._places.items()},
        }

    def _name_place(self, kind: str, value: str) -> None:
        if value not in self._places:
            number = 1 + sum(name.startswith(kind) for name in self._places.values())
            self._places[value] = kind if number == 1 else f"{kind} {number}"


def open_recording(configuration: Configuration) -> ModelRecording:
    """Return the recording or replay that the settings ask for. Blocks if there is a replay.

    Raises:
        RecordingOptionsError: The settings ask for both, or the recording cannot be read.
    """
    current = configuration.settings
    if current.record is not None and current.replay is not None:
        raise RecordingOptionsError(BOTH)
    recording = ModelRecording(configuration)
    if current.replay is not None:
        recording.open_replay(current.replay)
    return recording


def _with_recorded(configuration: Configuration, recorded: "RecordedEndpoint") -> Configuration:
    """Return the configuration with the recorded provider and model, unless it names its own."""
    current, origins = configuration.settings, configuration.origins
    if origins["model"] == "default" and recorded.model:
        current = replace(current, model=recorded.model)
    names = ("provider", "model_base_url", "base_url", "api_mode")
    if recorded.provider and all(origins[name] == "default" for name in names):
        # An endpoint that the recording machine had a name for is a custom one here.
        is_known = find_profile(recorded.provider) is not None
        current = replace(
            current,
            provider=recorded.provider if is_known else CUSTOM.name,
            model_base_url=recorded.base_url or None,
            api_mode=API_MODES.get(recorded.api_format, ""),
        )
        if recorded.provider == ANTHROPIC.name:
            current = replace(current, model_base_url=None, base_url=recorded.base_url or None)
    return replace(configuration, settings=current)


def _secrets(configuration: Configuration) -> set[str]:
    """Return all secrets of the settings and of the environment."""
    found = {
        value.get_secret_value()
        for value in setting_values(configuration.settings).values()
        if isinstance(value, SecretStr)
    }
    named = configuration.secret_variables
    variables = {**configuration.dotenv, **settings.child_environment({})}
    found |= {
        value
        for name, value in variables.items()
        if name in named or name.upper().endswith(SECRET_ENDINGS)
    }
    return {each for each in found if len(each) >= MIN_SECRET_CHARACTERS}
