"""What known clients get in another form, and that no client stores a wider "always" by mistake."""

from pathlib import Path

import pytest

from acp_server.handlers.known_clients import order_choices
from acp_server.permissions.policy import Ask
from acp_server.permissions.questions import (
    ALLOW_CONFINED,
    PLAN_CHOICES,
    PermissionChoice,
    choices_for,
)
from acp_server.permissions.scopes import DirectoryScope

ROOT = Path("/work")
EDIT = choices_for(Ask("", DirectoryScope("write", ROOT)), ROOT)


def ids(client_name: str, choices: tuple[PermissionChoice, ...]) -> list[str]:
    return [choice.id for choice in order_choices(client_name, choices)]


@pytest.mark.parametrize("client_name", ["", "CodeCompanion.nvim", "someone"])
def test_a_client_that_keeps_the_last_answer_of_a_kind_keeps_the_narrow_always(
    client_name: str,
) -> None:
    by_kind = {choice.kind: choice.id for choice in order_choices(client_name, EDIT)}
    assert by_kind["allow_always"] == "allow_session"
    assert by_kind["allow_once"] == "allow_once"
    assert by_kind["reject_once"] == "reject_once"


def test_clients_that_map_by_kind_get_one_answer_of_each() -> None:
    assert ids("CodeCompanion.nvim", EDIT) == [
        *("allow_once", "allow_session", "reject_once", "reject_workspace")
    ]
    assert ids("CodeCompanion.nvim", PLAN_CHOICES) == [choice.id for choice in PLAN_CHOICES]


def test_a_wide_always_is_not_offered_under_a_narrow_name() -> None:
    once, *_, reject = choices_for(Ask(""), ROOT)
    assert ids("CodeCompanion.nvim", (once, ALLOW_CONFINED, reject)) == [
        "allow_once",
        "reject_once",
    ]


def test_clients_that_show_all_answers_get_them_in_our_order() -> None:
    assert ids("zed", EDIT) == [choice.id for choice in EDIT]
