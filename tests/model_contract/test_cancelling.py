"""A turn is cancelled in front of any event of a stream, in the forms besides the Messages API.

That one has the same tests in a folder of its own.
"""

from pathlib import Path

import pytest

from tests.anthropic_model.model_session import open_desk
from tests.anthropic_model.test_cancelling import check_cancelled
from tests.model_contract.api_forms import OTHERS, serving
from tests.model_contract.test_contract import SAID, rich_reply
from tests.support.messages_api import Gate, HoldBack

EVENTS_TO_STOP_AT = 22


@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("at_event", range(1, EVENTS_TO_STOP_AT + 1))
async def test_a_turn_is_cancelled_in_front_of_any_event(
    tmp_path: Path, form: str, at_event: int
) -> None:
    gate = Gate()
    script = [rich_reply(HoldBack(at_event, gate))]
    async with serving(form, script) as api, open_desk(api, tmp_path) as desk:
        pending = desk.begin()
        await desk.wait_until_translated(at_event)
        desk.cancel()
        await check_cancelled(desk, api, pending)
        assert SAID.startswith(desk.said().removesuffix("All good."))
        assert desk.tools.runs == []
        gate.open()
