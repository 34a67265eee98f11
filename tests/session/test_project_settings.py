"""What a project may ask for: to narrow what the agent does, and nothing else."""

import pytest
from pydantic import JsonValue

from acp_server.permissions.modes import Mode
from acp_server.session.project.settings import (
    ProjectSettings,
    parse_project_settings,
    stricter_mode,
)
from tests.support.user_texts import NO_SUCH_MODEL

MODELS = ("big", "small")
TOOLS = ("read", "write", "run")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ProjectSettings()),
        ({"mode": "plan"}, ProjectSettings("plan")),
        ({"mode": "ask", "model": "small"}, ProjectSettings("ask", "small")),
        (
            {"mode": "bypass", "model": "unheard of", "base_url": "https://evil.example"},
            ProjectSettings(
                refused=(
                    "mode (a project can only set ask or plan)",
                    NO_SUCH_MODEL,
                    "base_url (a project cannot set it)",
                )
            ),
        ),
        ({"tools": ["run", "read"]}, ProjectSettings(tools=("read", "run"))),
        ({"tools": "read, run"}, ProjectSettings(tools=("read", "run"))),
        (
            {"tools": ["read", "fly"], "skills": "review naming"},
            ProjectSettings(
                tools=("read",),
                skills=("review", "naming"),
                refused=("'fly' among its tools (no such tool)",),
            ),
        ),
        (
            {"tools": ["fly", 7], "skills": ["../../etc", "a b"]},
            ProjectSettings(refused=("tools (none of them exists)", "skills (not valid names)")),
        ),
        (
            {"tools": None, "skills": []},
            ProjectSettings(refused=("tools (none of them exists)", "skills (not valid names)")),
        ),
        (
            {"mode": ["plan"], "hooks": {}},
            ProjectSettings(
                refused=(
                    "mode (a project can only set ask or plan)",
                    "hooks (a project cannot set it)",
                )
            ),
        ),
    ],
)
def test_usable_settings_are_applied_and_the_rest_named(
    values: dict[str, JsonValue], expected: ProjectSettings
) -> None:
    assert parse_project_settings(values, MODELS, TOOLS) == expected


@pytest.mark.parametrize(
    ("mode", "wanted", "result"),
    [
        ("bypass", "ask", "ask"),
        ("accept_edits", "plan", "plan"),
        ("ask", "ask", "ask"),
        ("plan", "ask", "plan"),
        ("bypass", None, "bypass"),
    ],
)
def test_a_project_can_only_make_the_mode_stricter(
    mode: Mode, wanted: Mode | None, result: Mode
) -> None:
    assert stricter_mode(mode, wanted) == result


def test_settings_that_would_be_applied_are_named_for_the_user() -> None:
    requested = ProjectSettings("plan", "small", ("read", "run"), ("review",))
    assert requested.summary == ("mode: plan", "model: small", "tools: read, run", "skills: review")
