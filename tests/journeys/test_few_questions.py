"""A day's commands in `ask` mode: few questions for a user who allows what he can for good."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from acp_server.permissions.effects import SandboxStatus
from acp_server.permissions.policy import Ask
from tests.journeys.day import DayConfig, open_day
from tests.journeys.decisions import decide_all
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shop_repository import Repository, create_repository
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer
from tests.support.editor import Object
from tests.support.messages_api import call

MAX_QUESTIONS = 8
WIDEST_FIRST = ("allow_checks", "allow_workspace", "allow_exactly", "allow_once")
FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "Makefile": "test:\n\t@echo tested\nlint:\n\t@echo linted\nbuild: lint\n\t@echo built\n",
    "package.json": '{"scripts": {"lint:css": "true"}}\n',
    ".env": "KEY=secret\n",
    ".gitignore": ".env\n__pycache__/\n",
    "shop/__init__.py": "",
    "shop/price.py": "def price(value):\n    return value + 1\n",
    "shop/order.py": (
        "from shop.price import price\n\n\ndef total(values):\n    return sum(map(price, values))\n"
    ),
    "tests/__init__.py": "",
    "tests/test_price.py": (
        "import unittest\nfrom shop.price import price\n\n\nclass PriceTest(unittest.TestCase):\n"
        "    def test_price(self):\n        self.assertEqual(price(1), 2)\n"
    ),
}
MESSAGE = "$(cat <<'EOF'\nChange the {}\n\nIt was (too) old.\nEOF\n)"
STEPS: tuple[str, ...] = (
    "git status",
    "git log --oneline -5",
    "ls -la && cat README.md 2>/dev/null || true",
    "find . -name '*.py' -not -path './.git/*' | head -20",
    "grep -rn 'def price' shop | head",
    "cat shop/price.py && sed -n 1,20p tests/test_price.py",
    "python3 -m unittest -q 2>&1 | tail -5",
    "make test",
    "make lint 2>&1 | tail -20",
    "python3 -m unittest -v tests.test_price",
    "cd shop && git log --oneline -3",
    "git -C shop diff --stat",
    "find shop -name '*.py' -exec grep -n price {} +",
    "find shop tests -name '*.py' | xargs wc -l | tail -1",
    "git ls-files '*.py' | xargs grep -ln unittest",
    "awk -F'[(:]' '/^def /{print $1, $2}' shop/order.py | sort | uniq -c",
    "git diff HEAD --stat; echo exit $?",
    "make build && make test",
    "git add shop/price.py && git commit -q --allow-empty -m 'Change the price'",
    "git show --stat HEAD | head -20",
    "git status --short | head -5; git branch --show-current",
    "timeout 60 python3 -m unittest -q tests.test_price 2>&1 | tail -3",
    "LC_ALL=C sort shop/order.py | head -3",
    "CI=1 make test 2>&1 | grep -v skip",
    "diff <(git show HEAD:shop/price.py) shop/price.py && echo same",
    'echo "head: $(git rev-parse --short HEAD)" && git log -1 --format=%s',
    "git add shop/order.py tests/test_price.py",
    f'git commit -q --allow-empty -m "{MESSAGE.format("order")}"',
    "git log --oneline | head -3 | cut -c1-40",
    "rg -n price shop | head -5 || grep -rn price shop | head -5",
    "if [ -f Makefile ]; then grep -n '^[a-z]*:' Makefile; fi",
    'for f in shop/*.py; do wc -l "$f"; done',
    "python3 -m unittest -q tests.test_price && git add -u && git status --short",
    "make lint && make test 2>&1 | tail -3",
    "time make build",
    "git checkout -q -b topic",
    "git add . && git commit -q --allow-empty -F - <<'EOF'\nAdd (all)\nEOF",
    "git diff main...HEAD --name-only",
    "git log --graph --oneline --all | head",
    "head -5 shop/order.py; tail -3 shop/order.py",
    "stat shop/price.py | head -2; du -sh shop",
    "git config user.name; git remote -v",
    "git blame shop/price.py | awk '{print $1}' | sort -u",
    "python3 -m unittest 2>&1 | grep -E 'OK|FAILED'",
    "make test 2>&1 | tee /dev/null | tail -1 || make test",
    "ls tests | wc -l && find tests -name 'test_*.py' | sort",
    "git show HEAD:shop/order.py | grep -n total",
    "git stash list; git tag",
    "grep -rl unittest tests | xargs head -2",
    "cat pyproject.toml Makefile | grep -c .",
    "make test lint",
    "git add -A && git commit -q --allow-empty -m 'Finish the topic'",
    "git log main..HEAD --oneline | wc -l",
    'python3 -m unittest -q tests.test_price -k price 2>&1; echo "exit ${PIPESTATUS[0]}"',
    "wc -l < shop/price.py && printf '%s\\n' done",
    "git diff HEAD~1 -- shop | head -40",
    "test -d shop && ls shop | sort -r | head -2",
    "(cd shop && ls *.py | wc -l)",
    "make build 2>&1 | tail -2 && git status -sb",
    "git log -1 --format='%h %s' && date +%Y",
)


def allow_the_widest(question: AskedQuestion) -> str | FormAnswer | None:
    """Choose the widest "always" that is offered."""
    return next(choice for choice in WIDEST_FIRST if choice in question.choices)


def run_all(steps: Sequence[str]) -> ModelProgram:
    for command in steps:
        yield call("terminal", command=command)
    return "Done."


@pytest.mark.parametrize("sandbox_status", ["confined", "free"])
def test_sixty_commands_ask_at_most_eight_questions(
    tmp_path: Path, sandbox_status: SandboxStatus
) -> None:
    assert len(STEPS) == 60
    repository = create_repository(tmp_path / "shop", FILES, "Begin")
    decisions = decide_all(repository.root, STEPS, sandbox_status, WIDEST_FIRST)
    asked = [command for command, decision in decisions if isinstance(decision, Ask)]
    assert 1 <= len(asked) <= MAX_QUESTIONS, asked


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        pytest.param({}, 6, id="sandbox, every sixth"),
        pytest.param({}, 1, id="sandbox", marks=pytest.mark.full),
        pytest.param({"sandbox": {"mode": "off"}}, 1, id="free", marks=pytest.mark.full),
    ],
)
def test_a_day_of_sixty_commands_asks_at_most_eight_questions(
    tmp_path: Path, settings: Object, step: int
) -> None:
    repository = create_repository(tmp_path / "shop", FILES, "Begin")

    def work(shown: ShownRequest) -> ModelProgram:
        del shown
        return run_all(STEPS[step - 1 :: step])

    with open_day(tmp_path, DayConfig(settings=settings)) as day:
        day.user.policy = allow_the_widest
        session = day.open_session(repository.root, "sixty")
        session.prompt("Do a day's work.", work)
        asked = [question.text for question in day.user.questions]
        assert 1 <= len(asked) <= MAX_QUESTIONS, asked


def test_an_always_holds_in_the_directory_that_it_was_given_in(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "shop")
    for folder in ("", "evil/"):
        repository.write(f"{folder}package.json", '{"scripts": {"test": "touch ran"}}\n')
        repository.write(f"{folder}Makefile", "test:\n\ttouch made\n")
    calls = [
        {"command": command, **place}
        for place in ({}, {"workdir": "evil"}, {"workdir": str(repository.root / "evil")}, {})
        for command in ("npm test", "make test")
    ]
    calls += [{"command": "cd evil && npm test; make -C evil test"}]

    def work(shown: ShownRequest) -> ModelProgram:
        del shown
        for arguments in calls:
            yield call("terminal", **arguments)
        return "Done."

    with open_day(tmp_path, DayConfig(settings={"sandbox": {"mode": "off"}})) as day:
        # Both programs once, then every question is about another directory.
        day.user.policy = lambda _: (
            "allow_workspace" if len(day.user.questions) < len(("npm", "make")) else "reject_once"
        )
        day.open_session(repository.root, "evil").prompt("Run the tests.", work)
        answers = [question.answer for question in day.user.questions]
        assert answers == ["allow_workspace"] * 2 + ["reject_once"] * 5
    assert (repository.root / "made").exists()
    assert not list((repository.root / "evil").glob("[rm]a*"))
