"""A day whose model is a recording kept in this repository: no model, no key, no endpoint.

The recording answers by the nearest request, so a changed prompt or tool needs no new one. It does
if the agent does something else than at the recording: `tests/journeys/recorded_shop.py`.
"""

from pathlib import Path
from typing import NoReturn

from tests.journeys import recorded_shop
from tests.journeys.day import DayConfig, open_day
from tests.journeys.shop_repository import create_shop
from tests.journeys.shown_request import ShownRequest
from tests.support.editor import Object

MAX_RECORDING_BYTES = 200_000
NO_MODEL: Object = {"model": {}}
"""Settings without provider, model, address and key: the recording says which there were."""


def ask_no_model(shown: ShownRequest) -> NoReturn:
    raise AssertionError(f"a request reached the endpoint: {shown.text}")


def test_a_day_is_replayed_from_a_recording(tmp_path: Path) -> None:
    shop = create_shop(tmp_path / "another" / "place")
    log = tmp_path / "server.log"
    options = ("--replay", str(recorded_shop.RECORDING), "--log-file", str(log))
    options += ("--log-level", "info")
    settings = {**recorded_shop.SETTINGS, **NO_MODEL}
    config = DayConfig(mode="accept_edits", settings=settings, options=options, stderr="any")
    with open_day(tmp_path, config) as day:
        answers = recorded_shop.play(day.open_session(shop.root), ask_no_model, ask_no_model)
        assert not day.api.requests
    assert answers == (recorded_shop.ANSWER, recorded_shop.DONE)
    assert "ROUND_HALF_UP" in shop.read("shop/pricing/rounding.py")
    assert "recorded answers not used" not in log.read_text()


def test_the_recording_is_small_and_names_no_machine() -> None:
    files = [each for each in recorded_shop.RECORDING.rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) < MAX_RECORDING_BYTES
    for each in files:
        text = each.read_text()
        assert "/tmp/" not in text, each  # noqa: S108  no path of it is used
        assert str(Path.home()) not in text or str(Path.home()) == "/", each
