import pytest

from acp_server.permissions.shell.assessment import assess, matches_prefix
from tests.support.case_table import each_case

OFFERED = {
    "npm run test": ("npm", "run", "test"),
    "npm run test -- --watch": ("npm", "run", "test"),
    "npm test": ("npm", "test"),
    "yarn test": ("yarn", "test"),
    "pnpm run build": ("pnpm", "run", "build"),
    "git commit -m 'a b'": ("git", "commit"),
    "git add src/a.py": ("git", "add", "src/a.py"),
    "git add -A": ("git", "add"),
    "git checkout main": ("git", "checkout", "main"),
    "git stash": ("git", "stash"),
    "uv run pytest": ("uv", "run", "pytest"),
    "uv run pytest -q": ("uv", "run", "pytest"),
    "uv run pytest tests/a -q": ("uv", "run", "pytest", "tests/a"),
    "poetry run mypy": ("poetry", "run", "mypy"),
    "pytest": ("pytest",),
    "pytest -x tests": ("pytest",),
    "ruff check": ("ruff", "check"),
    "ruff format --check .": ("ruff", "format"),
    "cargo test --release": ("cargo", "test"),
    "cargo clippy -- -D warnings": ("cargo", "clippy"),
    "go test ./...": ("go", "test", "./..."),
    "go build": ("go", "build"),
    "mypy src": ("mypy", "src"),
    "'npm' run \"test\"": ("npm", "run", "test"),
}
NEVER_OFFERED = [
    "npm run test | tee log",
    "npm run test > log",
    "npm run test 2>&1",
    "npm run test && npm run lint",
    "npm run test; ls",
    "npm run test &",
    "npm run test $(x)",
    "npm run `x`",
    "npm run $X",
    "npm run *",
    'git commit -m "$KEY"',
    "CI=1 npm run test",
    "(npm run test)",
    "npm",
    "npm run",
    "npm install",
    "npm exec x",
    "npm --prefix /x run test",
    "npm run test --script-shell=/x",
    "npm run test --prefix /x",
    "npx cowsay",
    "make test",
    "sh -c 'npm test'",
    "bash x.sh",
    "python -c 1",
    "python x.py",
    "env npm test",
    "xargs npm",
    "sudo npm test",
    "find . -exec ls {} +",
    "uv run",
    "uv run python",
    "uv run python x.py",
    "uv run --with x pytest",
    "uv pip install x",
    "poetry run sh",
    "git",
    "git -c a=b commit",
    "git rebase main",
    "git push",
    "git fetch --upload-pack=x",
    "git config user.name x",
    "git bisect run x",
    "cargo",
    "cargo run",
    "cargo test --config x",
    "go run .",
    "go test -exec x",
    "go vet -vettool=x",
    "rm -rf build",
    "cp a b",
    "./test.sh",
    "/usr/bin/npm run test",
    "terraform plan",
    "npm run test # note",
    "npm run \\\ntest <<E\nE",
    "np\u200bm run test",
]


@each_case(("command", "prefix"), OFFERED.items(), ids=OFFERED.keys())
def test_an_always_rule_covers_the_words_up_to_the_first_flag(
    command: str, prefix: tuple[str, ...]
) -> None:
    assert assess(command, "/code/space").prefix == prefix
    assert matches_prefix(command, prefix)


@each_case("command", NEVER_OFFERED)
def test_no_always_rule_is_offered_if_it_would_be_unbounded(command: str) -> None:
    found = assess(command, "/code/space", "/home/user")
    assert (found.verdict, found.prefix) == ("asks", None)


def test_no_always_rule_is_offered_if_no_permission_is_required() -> None:
    assert assess("git status", "/code/space").prefix is None


@pytest.mark.parametrize(
    "command",
    ["npm run test", "npm run test -- -x", "npm run test unit", " npm  run 'test' "],
)
def test_a_stored_always_rule_covers_the_same_words_and_any_arguments(command: str) -> None:
    assert matches_prefix(command, ("npm", "run", "test"))


@each_case(
    "command",
    [
        "npm run build",
        "npm run testing",
        "npm run",
        "npm -s run test",
        "npm run test; touch x",
        "npm run test && ls",
        "npm run test | sh",
        "npm run test > x",
        "npm run test 2>/dev/null",
        "npm run test $(touch x)",
        "npm run test `touch x`",
        "npm run test <(touch x)",
        "npm run test $KEY",
        "npm run test *",
        "npm run test\ntouch x",
        "npm run test &",
        "A=1 npm run test",
        "npm run test --script-shell=./x",
        "env npm run test",
        "npm run test 'unclosed",
        "npm run test \0",
        "",
    ],
)
def test_a_stored_always_rule_covers_nothing_else(command: str) -> None:
    assert not matches_prefix(command, ("npm", "run", "test"))


@each_case(
    "prefix",
    [
        (),
        ("",),
        ("git",),
        ("npm",),
        ("npm", "run"),
        ("uv", "run"),
        ("uv", "run", "python"),
        ("uv", "run", "bash"),
        ("sh", "-c"),
        ("env",),
        ("git", "push"),
        ("git", "-c"),
        ("ls",),
        ("make",),
        ("cargo", "run"),
        ("npm", "run", "--prefix"),
    ],
)
def test_an_overly_broad_stored_always_rule_covers_nothing(prefix: tuple[str, ...]) -> None:
    assert not matches_prefix(" ".join([*prefix, "x"]), prefix)
