"""Modes, and the option that stands for them."""

from typing import get_args

import pytest

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.permissions.modes import MODES, Mode, is_mode
from acp_server.session.errors import InvalidValueError, SessionError, UnknownOptionError
from acp_server.session.project.options import (
    Option,
    OptionSelection,
    OptionValue,
    build_options,
    select_value,
)
from tests.handlers import expected
from tests.handlers.fake_models import EchoModel
from tests.support.case_table import each_case
from tests.support.server_parts import MODEL_ID
from tests.support.user_texts import NOT_A_VALUE_OF

ONE_MODEL = FixedCatalog(MODEL_ID, MODEL_ID, EchoModel)
KNOWN = "ask, accept_edits, plan, bypass"


def all_options(mode: Mode) -> tuple[Option, ...]:
    return build_options(OptionSelection(mode, MODEL_ID, None), ONE_MODEL)


def test_every_mode_is_described_once_in_order_of_trust() -> None:
    assert tuple(mode.id for mode in MODES) == get_args(Mode)


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_option_lists_all_modes_and_the_current_one(mode: Mode) -> None:
    assert all_options(mode)[0] == Option(
        id="mode",
        name="Mode",
        description=expected.MODE_DESCRIPTION,
        category="mode",
        current=mode,
        values=tuple(OptionValue(*each) for each in expected.MODES),
    )
    assert select_value("mode", mode, all_options(mode)) == mode


@each_case("value", ["", "Ask", "ask ", None, True, 1, 1.5, ["ask"], {"ask": 1}])
def test_an_unknown_mode_is_rejected_with_the_known_modes(value: object) -> None:
    assert not is_mode(value)
    with pytest.raises(InvalidValueError) as raised:
        select_value("mode", value, all_options("ask"))
    assert str(raised.value) == f"{value!r} {NOT_A_VALUE_OF} 'mode'; choose one of {KNOWN}"


def test_an_unknown_option_is_rejected_with_the_known_options() -> None:
    with pytest.raises(UnknownOptionError) as raised:
        select_value("colour", "ask", all_options("ask"))
    assert str(raised.value) == "unknown configuration option 'colour'; choose one of mode, model"
    assert isinstance(raised.value, SessionError)
