"""Script of the demo, read from `demo.toml`: the prompts that it sends and its project's files."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from acp_server.protocol.prompt_turn import StopReason


class DemoStep(BaseModel):
    """A prompt of the demo, its caption, and after how many answer chunks to cancel it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    caption: str
    cancel_after_chunks: int | None = None
    failing_calls: int | None = 0
    """How many of its tool calls must fail; None if that is unknown."""

    @property
    def expected_stop_reason(self) -> StopReason:
        """Stop reason that the turn must end with."""
        return "end_turn" if self.cancel_after_chunks is None else "cancelled"


class DemoScript(BaseModel):
    """The steps of the demo; the first one fixes the project that consists of `files`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[DemoStep, ...]
    files: Mapping[str, str]


def load_demo_script() -> DemoScript:
    """Load the script from this package."""
    text = Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
    return DemoScript.model_validate(tomllib.loads(text))
