"""What the table of windows says of models."""

import pytest

from prompt_engine.context_windows import Window, system_role, window_of


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("anthropic/claude-opus-5", Window(200_000)),
        ("openai/gpt-4.1-mini", Window(1_047_576)),
        ("GPT-5.2", Window(400_000)),
        ("gpt-5-codex", Window(400_000)),
        ("gemini-3-pro", Window(1_048_576)),
        ("grok-4-fast-reasoning", Window(2_000_000)),
        ("grok-4-0709", Window(256_000)),
        ("somebody/else", Window(200_000, is_assumed=True)),
        ("", Window(200_000, is_assumed=True)),
    ],
)
def test_a_window_goes_by_the_family(model: str, window: Window) -> None:
    assert window_of(model) == window


def test_who_knows_better_is_believed() -> None:
    assert window_of("claude-opus-5", 1_000_000) == Window(1_000_000)


@pytest.mark.parametrize(
    ("model", "role"),
    [("gpt-5.2", "developer"), ("codex-mini", "developer"), ("gpt-4o", "system"), ("m", "system")],
)
def test_the_role_of_the_system_text(model: str, role: str) -> None:
    assert system_role(model) == role
