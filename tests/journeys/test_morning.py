"""A morning: a mistake is found and mended over three files, and a feature survives a SIGKILL."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.journeys.day import Day, DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.report import sum_rows
from tests.journeys.shop_repository import FILES, RUN_TESTS, Repository, create_shop
from tests.journeys.shown_request import ApiForm, ShownRequest
from tests.journeys.user import WAIT, AskedQuestion, FormAnswer, allow_once
from tests.support.editor import Object
from tests.support.messages_api import call, think
from tests.support.messages_api.script import CallTool
from tests.support.user_texts import UNCHANGED_SINCE_READ

TODOS = ["write a failing test", "mend the rounding", "commit"]
COMMITTED = ["Round half a cent up", "Add discounts"]
MIN_REQUESTS = 40
RUNS_OF_TESTS = 6
MIN_CACHED_SHARE = 0.9
HINTS = {path: text.strip() for path, text in FILES.items() if path.endswith("/AGENTS.md")}
ROUNDING_TEST = """
    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(round_price(Decimal("0.125")), Decimal("0.13"))

    def test_half_a_cent_of_an_order_is_rounded_up(self):
        order = Order((Decimal("0.1249"),))
        self.assertEqual(order.total(), Decimal("0.12"))

    def test_an_invoice_shows_all_cents(self):
        order = Order((Decimal("1.25"),))
        self.assertEqual(write_invoice(order), "Total" + "1.25".rjust(35))
"""
DISCOUNT = '''\
"""Discounts."""

from decimal import Decimal

from shop.pricing.rounding import round_price


def discounted(price: Decimal, percent: int) -> Decimal:
    return round_price(price * (100 - percent) / 100)
'''
DISCOUNT_TEST = """\
import unittest
from decimal import Decimal

from shop.pricing.discount import discounted


class DiscountTest(unittest.TestCase):
    def test_ten_percent(self):
        self.assertEqual(discounted(Decimal("1.25"), 10), Decimal("1.13"))
"""
CORRECTIONS = {
    "ROUND_HALF_EVEN": "ROUND_HALF_UP",
    ' + Decimal("0.001"))': ")",
    'f"{float(order.total()):.1f}0"': 'f"{order.total():.2f}"',
}
"""What is wrong in the files, and what is right."""
MENDED_FILES = ["shop/invoices/invoice.py", "shop/orders/order.py", "shop/pricing/rounding.py"]


@pytest.mark.parametrize(
    "form",
    [pytest.param(each, marks=pytest.mark.full) for each in ("messages", "chat", "responses")],
)
def test_a_morning_with_a_sigkill_loses_nothing(tmp_path: Path, form: ApiForm) -> None:
    shop = create_shop(tmp_path / "shop")
    with open_day(tmp_path, DayConfig(form, settings={"sandbox": {"mode": "off"}})) as day:
        day.user.policy = allow_adding_for_good
        session = day.open_session(shop.root)
        answer = session.prompt("Where are prices rounded, and who uses it?", explore)
        assert answer == "Prices are rounded for shop/orders/order.py."
        session.prompt("0.125 must become 0.13. Show with a test that it does not.", fail_a_test)
        assert not shop.passes_tests()
        session.set_mode("accept_edits")
        answer = session.prompt("Mend it.", mend)
        assert answer == f"Mended {', '.join(MENDED_FILES)}."
        session.set_mode("ask")
        session.prompt("Commit that.", commit_as(COMMITTED[0]))
        shop.write("README.md", shop.read("README.md") + "\nThe user wrote this.\n")

        day.user.policy = leave_the_test_open
        session.prompt_until(day.user.has_left, "Add discounts.", begin_the_discount)
        seen = session.transcript
        day.kill()
        day.start()
        check_transcript(seen, session.load())

        day.user.policy = allow_once
        session.prompt("Go on.", finish_the_discount)
        session.prompt("Commit that, too.", commit_as(COMMITTED[1]))
        tasks = session.prompt("What is on your list?", list_tasks)
        assert [json.loads(line)["content"] for line in tasks.splitlines()] == TODOS
        check_repository(shop, MENDED_FILES)
        check_questions(day.user.questions, RUNS_OF_TESTS, [*["Edit tests/test_shop.py"] * 2])
        check_requests(day, session, MIN_REQUESTS)


def test_an_hour_with_a_sigkill_loses_nothing(tmp_path: Path) -> None:
    """The short form: what is wrong is known at once, and no test is written for it."""
    shop = create_shop(tmp_path / "shop")
    with open_day(tmp_path, DayConfig(settings={"sandbox": {"mode": "off"}})) as day:
        day.user.policy = allow_adding_for_good
        session = day.open_session(shop.root)
        answer = session.prompt("Where are prices rounded, and who uses it?", explore)
        assert answer == "Prices are rounded for shop/orders/order.py."
        session.set_mode("accept_edits")
        session.prompt("Round half a cent up, with a line in tests.", mend_at_once)
        session.set_mode("ask")
        session.prompt("Commit that.", commit_as(COMMITTED[0]))
        shop.write("README.md", shop.read("README.md") + "\nThe user wrote this.\n")

        day.user.policy = leave_the_test_open
        session.prompt_until(day.user.has_left, "Add discounts.", begin_the_discount)
        seen = session.transcript
        day.kill()
        day.start()
        check_transcript(seen, session.load())

        day.user.policy = allow_once
        session.prompt("Go on.", finish_the_discount)
        session.prompt("Commit that, too.", commit_as(COMMITTED[1]))
        tasks = session.prompt("What is on your list?", list_tasks)
        assert [json.loads(line)["content"] for line in tasks.splitlines()] == TODOS
        check_repository(shop, MENDED_FILES[2:])
        check_questions(day.user.questions, 1, [])
        check_requests(day, session, MIN_REQUESTS // 2)


# What the model does.


def explore(shown: ShownRequest) -> ModelProgram:
    shown = yield call("search_files", pattern="*.py", target="files")
    shown = yield think("Rounding first."), call("search_files", pattern="def round_price")
    rounding = shown.find(r"^\S*rounding\.py")[0]
    shown = yield call("read_file", path=rounding)
    assert HINTS["shop/pricing/AGENTS.md"] in shown.text
    shown = yield call("search_files", pattern=r"round_price\(", path="shop/orders")
    assert HINTS["shop/orders/AGENTS.md"] in shown.text
    user = shown.find(r"^\S*order\.py")[0]
    shown = yield (
        call("read_file", path="shop/orders/order.py"),
        call("read_file", path="shop/invoices/invoice.py"),
    )
    assert len(shown.results) == 2
    assert HINTS["shop/orders/AGENTS.md"] not in shown.text  # it is shown once
    assert HINTS["shop/invoices/AGENTS.md"] in shown.text
    return f"Prices are rounded for {user}."


def fail_a_test(shown: ShownRequest) -> ModelProgram:
    shown = yield todo(["in_progress", "pending", "pending"])
    shown = yield call("read_file", path="tests/test_shop.py")
    last_line = shown.find(r'^.*"3\.50"\.rjust\(35\)\)$')[0]
    shown = yield patch("tests/test_shop.py", last_line, last_line + "\n" + ROUNDING_TEST.rstrip())
    imported = "from shop.orders.order import Order"
    added = f"{imported}\nfrom shop.pricing.rounding import round_price"
    shown = yield patch("tests/test_shop.py", imported, added)
    shown = yield call("terminal", command=RUN_TESTS)
    assert shown.find(r"FAIL: test_half_a_cent_is_rounded_up")
    shown = yield todo(["completed", "in_progress", "pending"])
    return "It fails."


def mend(shown: ShownRequest) -> ModelProgram:
    """Run the tests, mend the function that the first failed line calls, until all pass."""
    mended: list[str] = []
    while True:
        shown = yield call("terminal", command=RUN_TESTS)
        if "FAILED" not in shown.text:
            break
        function = shown.find(r"assertEqual\((?:order\.)?(\w+)\(")[1]
        shown = yield call("search_files", pattern=f"def {function}", path="shop")
        path = shown.find(r"^\S+\.py$")[0]
        shown = yield call("read_file", path=path)
        if UNCHANGED_SINCE_READ in shown.text:
            shown = yield call("read_file", path=path)  # it is repeated if asked for again
        text = re.sub(r"^\d+\|", "", shown.text, flags=re.MULTILINE)  # the numbers of lines
        wrong = next(each for each in CORRECTIONS if each in text)
        shown = yield patch(path, wrong, CORRECTIONS[wrong])
        assert path not in mended
        mended.append(path)
    shown = yield todo(["completed", "completed", "in_progress"])
    return f"Mended {', '.join(sorted(mended))}."


def mend_at_once(shown: ShownRequest) -> ModelProgram:
    del shown
    (wrong, right), *_ = CORRECTIONS.items()
    yield (
        todo(["completed", "in_progress", "pending"]),
        patch(MENDED_FILES[2], wrong, right),
        call("read_file", path="tests/test_shop.py"),
    )
    yield patch("tests/test_shop.py", "import unittest", "# of the shop\nimport unittest")
    return "Mended."


def commit_as(subject: str) -> WriteProgram:
    def commit(shown: ShownRequest) -> ModelProgram:
        shown = yield call("terminal", command="git status --short")
        changed = set(re.findall(r"^(?:\?\?| M) (\w+)/", shown.text, re.MULTILINE))
        shown = yield call("terminal", command="git diff")
        # not the README, which is the user's
        shown = yield call("terminal", command=f"git add {' '.join(sorted(changed))}")
        shown = yield call("terminal", command=f"git commit -q -m '{subject}'")
        shown = yield call("terminal", command="git log --oneline -1")
        assert subject in shown.text
        shown = yield todo(["completed", "completed", "completed"])
        return "Committed."

    return commit


def begin_the_discount(shown: ShownRequest) -> ModelProgram:
    shown = yield call("read_file", path="shop/pricing/rounding.py")
    assert shown.find("ROUND_HALF_UP")
    shown = yield call("write_file", path="shop/pricing/discount.py", content=DISCOUNT)
    yield "Now its test.", call("write_file", path="tests/test_discount.py", content=DISCOUNT_TEST)
    raise AssertionError("the question was answered")


def finish_the_discount(shown: ShownRequest) -> ModelProgram:
    assert shown.find("ended before this had finished")
    shown = yield call("terminal", command="git status --short")
    assert shown.find(r"shop/pricing/discount\.py")
    assert "tests/test_discount.py" not in shown.text
    shown = yield call("write_file", path="tests/test_discount.py", content=DISCOUNT_TEST)
    shown = yield call("terminal", command=RUN_TESTS)
    assert shown.find("^OK$")
    return "Discounts work."


def list_tasks(shown: ShownRequest) -> ModelProgram:
    shown = yield call("todo")
    return shown.results[-1]


def todo(statuses: Sequence[str]) -> CallTool:
    items: list[JsonValue] = [
        {"id": str(number), "content": content, "status": status}
        for number, (content, status) in enumerate(zip(TODOS, statuses, strict=True), 1)
    ]
    return call("todo", todos=items)


def patch(path: str, old: str, new: str) -> CallTool:
    return call("patch", path=path, old_string=old, new_string=new, replace_all=True)


# What the user does.


def allow_adding_for_good(question: AskedQuestion) -> str | FormAnswer | None:
    """Save the permission for `git add`; allow everything else once."""
    return "allow_workspace" if question.text.startswith("`git add ") else allow_once(question)


def leave_the_test_open(question: AskedQuestion) -> str | FormAnswer | None:
    """Go for lunch while the agent asks whether it may write the test."""
    return WAIT if "test_discount.py" in question.text else allow_once(question)


# What must be so.


def check_transcript(before: list[Object], after: list[Object]) -> None:
    """Check that a load shows what was seen, except that the open call has failed."""
    *rest, open_call = [each for each in before if each["is"] != "plan"]
    *loaded, failed = [each for each in after if each["is"] not in {"plan", "user_message_chunk"}]
    assert loaded == rest
    assert (open_call["status"], failed["status"]) == ("pending", "failed")
    assert failed["toolCallId"] == open_call["toolCallId"]
    assert find_plan(after) == find_plan(before)


def find_plan(shown: list[Object]) -> Object:
    return next(each for each in shown if each["is"] == "plan")


def check_repository(shop: Repository, mended_files: Sequence[str]) -> None:
    assert shop.passes_tests()
    assert shop.commits == ["Begin the shop", *COMMITTED]
    assert shop.git("status", "--short") == "M README.md"
    assert shop.git("show", "--format=", "--name-only", "HEAD").splitlines() == [
        "shop/pricing/discount.py",
        "tests/test_discount.py",
    ]
    mended = shop.git("show", "--format=", "--name-only", "HEAD~1").splitlines()
    assert mended == [*mended_files, "tests/test_shop.py"]


def check_questions(
    questions: list[AskedQuestion], runs_of_tests: int, first_edits: Sequence[str]
) -> None:
    """Check that the user was asked for each effect, unless a mode or a saved rule allows it."""
    asked = [question.text for question in questions]
    edits = [text for text in asked if not text.startswith("`")]
    new_test = "Create tests/test_discount.py"
    assert edits == [
        *first_edits,
        "Create shop/pricing/discount.py",
        *[new_test] * 2,
    ]
    assert asked.count(f"`{RUN_TESTS}`") == runs_of_tests
    assert asked.count("`git add shop tests`") == 1  # also after the kill
    commits = [text for text in asked if text.startswith("`git commit")]
    assert commits == [f"`git commit -q -m '{subject}'`" for subject in COMMITTED]
    assert len(asked) == len(edits) + runs_of_tests + 1 + len(commits)


def check_requests(day: Day, session: DaySession, min_requests: int) -> None:
    assert session.prefix_breaks == []
    total = sum_rows(day.rows)
    assert total.requests >= min_requests
    assert total.cached_share > MIN_CACHED_SHARE
