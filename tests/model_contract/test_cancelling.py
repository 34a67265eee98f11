"""A turn is cancelled in front of any event of a stream, in the forms besides the Messages API.

That one has the same tests in a folder of its own.
"""

from pathlib import Path

import pytest

from tests.anthropic_model.model_session import open_model_session
from tests.anthropic_model.test_cancelling import check_cancelled
from tests.model_contract.api_forms import OPENAI_FORMS, serve_form
from tests.model_contract.test_contract import LONG_TEXT, rich_reply
from tests.support.messages_api import HoldUntilGate, ResponseGate

EVENTS_TO_STOP_AT = 22


@pytest.mark.parametrize("form", OPENAI_FORMS)
@pytest.mark.parametrize("at_event", range(1, EVENTS_TO_STOP_AT + 1))
async def test_a_turn_can_be_cancelled_before_any_event(
    tmp_path: Path, form: str, at_event: int
) -> None:
    gate = ResponseGate()
    script = [rich_reply(HoldUntilGate(at_event, gate))]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        await session.wait_until_translated(at_event)
        session.cancel()
        await check_cancelled(session, api, pending)
        assert LONG_TEXT.startswith(session.agent_text().removesuffix("All good."))
        assert session.tools.target_subcommands == []
        gate.open()
