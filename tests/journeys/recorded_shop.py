"""A day whose model is a recording, and how to record it again.

    python -m tests.journeys.recorded_shop

plays the day with a program as the model and writes `tests/journeys/recordings/shop`.
"""

import shutil
import tempfile
from pathlib import Path

from tests.journeys.day import DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.shop_repository import RUN_TESTS, create_shop
from tests.journeys.shown_request import ShownRequest
from tests.support.editor import Object
from tests.support.messages_api import call, think

RECORDING = Path(__file__).parent / "recordings" / "shop"
QUESTION = "Where are prices rounded?"
ANSWER = "In shop/pricing/rounding.py, half to even."
ORDER = "Half a cent must be rounded up. Show me the tests, too."
DONE = "Half a cent is rounded up. The tests pass."
SETTINGS: Object = {"sandbox": {"mode": "off"}}


def play(session: DaySession, explore: WriteProgram, mend: WriteProgram) -> tuple[str, str]:
    """Send the prompts of the day; return both answers."""
    return session.prompt(QUESTION, explore), session.prompt(ORDER, mend)


def explore(shown: ShownRequest) -> ModelProgram:
    """Play the model for the question."""
    shown = yield think("Rounding first."), call("search_files", pattern="def round_price")
    shown = yield call("read_file", path=shown.find(r"^\S*rounding\.py")[0])
    assert shown.find("ROUND_HALF_EVEN")
    return ANSWER


def mend_in(root: Path) -> WriteProgram:
    """Return the model for the change: it names the file by its path on this machine."""

    def mend(shown: ShownRequest) -> ModelProgram:
        shown = yield call(
            "patch",
            path=str(root / "shop/pricing/rounding.py"),
            old_string="ROUND_HALF_EVEN",
            new_string="ROUND_HALF_UP",
            replace_all=True,
        )
        shown = yield call("terminal", command=RUN_TESTS)
        assert shown.find("^OK$")
        return DONE

    return mend


def record(directory: Path) -> None:
    """Play the day and record it."""
    shutil.rmtree(directory, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        shop = create_shop(Path(folder) / "shop")
        options = ("--record", str(directory))
        config = DayConfig(mode="accept_edits", settings=SETTINGS, options=options)
        with open_day(Path(folder), config) as day:
            assert play(day.open_session(shop.root), explore, mend_in(shop.root)) == (ANSWER, DONE)


if __name__ == "__main__":
    record(RECORDING)
