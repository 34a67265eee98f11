"""What the table of windows says of models."""

import pytest

from prompt_engine.context_windows import ContextWindow, context_window, system_role
from tests.support.case_table import each_case


@each_case(
    ("model", "window"),
    [
        ("anthropic/claude-opus-5", ContextWindow(200_000)),
        ("openai/gpt-4.1-mini", ContextWindow(1_047_576)),
        ("GPT-5.2", ContextWindow(400_000)),
        ("gpt-5-codex", ContextWindow(400_000)),
        ("gemini-3-pro", ContextWindow(1_048_576)),
        ("grok-4-fast-reasoning", ContextWindow(2_000_000)),
        ("grok-4-0709", ContextWindow(256_000)),
        ("somebody/else", ContextWindow(200_000, is_assumed=True)),
        ("", ContextWindow(200_000, is_assumed=True)),
    ],
)
def test_the_context_window_depends_on_the_model_family(model: str, window: ContextWindow) -> None:
    assert context_window(model) == window


def test_an_explicit_context_window_overrides_the_default() -> None:
    assert context_window("claude-opus-5", 1_000_000) == ContextWindow(1_000_000)


@pytest.mark.parametrize(
    ("model", "role"),
    [("gpt-5.2", "developer"), ("codex-mini", "developer"), ("gpt-4o", "system"), ("m", "system")],
)
def test_the_role_of_the_system_text(model: str, role: str) -> None:
    assert system_role(model) == role
