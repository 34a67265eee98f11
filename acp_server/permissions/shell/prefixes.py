"""What an "always" may cover: the first words of one plain command.

Only programs of this table can have one: it says which subcommand must stand first, and which
flags may follow. A program that is not here may start others, so it is asked about each time.
Nor are there any of what starts programs by design (shells, interpreters, make, npx, env, xargs),
of what changes any file it is told to (rm, cp, mv), or of git's `rebase`, `fetch` and `push`, whose
flags name programs. An "always" frees a command from being asked about, not its paths from the
rules for protected ones.
"""

from collections.abc import Sequence
from typing import Literal

from acp_server.frozen import frozen

_RUNNERS = frozenset(
    [
        "pytest",
        "ruff",
        "mypy",
        "pyright",
        "black",
        "isort",
        "flake8",
        "pylint",
        "coverage",
        "eslint",
        "prettier",
        "tsc",
        "jest",
        "vitest",
    ]
)


@frozen
class Covered:
    """What an "always" for a program needs and lets through."""

    subcommands: frozenset[str] = frozenset()
    """One of these is the second word; none: the program alone will do."""
    runs: frozenset[str] = frozenset()
    """Subcommands that take the name of what to run, as the third word."""
    targets: frozenset[str] | None = None
    """If given, the third word is one of these."""
    flags: frozenset[str] | Literal["any"] = "any"
    """The flags that later commands may have before a `--`; a value follows `=` or as a word."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NODE = Covered(_words("test t run start"), runs=_words("run"), flags=frozenset())
_PROJECT = Covered(_words("run"), runs=_words("run"), targets=_RUNNERS)
_ALONE = Covered()

_COVERED: dict[str, Covered] = {
    **dict.fromkeys(_RUNNERS - {"ruff", "coverage"}, _ALONE),
    "ruff": Covered(_words("check format")),
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _NODE,
    "bun": Covered(_words("test run"), runs=_words("run"), flags=frozenset()),
    "uv": _PROJECT,
    "poetry": _PROJECT,
    "pdm": _PROJECT,
    "cargo": Covered(
        _words("build check test clippy fmt doc bench"),
        flags=_words(
            "--release --workspace --all --all-targets --all-features --no-default-features"
            " --lib --bins --tests --benches --examples --doc --locked --offline --no-run"
            " --no-fail-fast --check --quiet --verbose --keep-going -q -v -p --package --test"
            " --bin --example --features -j --jobs"
        ),
    ),
    "go": Covered(
        _words("build test vet fmt"),
        flags=_words("-v -run -race -count -cover -short -timeout -bench -failfast -tags -x"),
    ),
    "git": Covered(
        _words("add commit checkout switch restore stash merge branch tag cherry-pick revert reset")
    ),
}


def prefix_of(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return what an "always" for this command would cover; None if none may be offered."""
    flag = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    prefix = tuple(words[:flag])
    return prefix if is_legal(prefix) and are_flags_covered(words) else None


def is_legal(prefix: Sequence[str]) -> bool:
    """Whether an "always" with this scope may be kept at all."""
    covered = _COVERED.get(prefix[0]) if prefix else None
    if covered is None or any(not word or word.startswith("-") for word in prefix):
        return False
    if not covered.subcommands:
        return True
    if len(prefix) == 1 or prefix[1] not in covered.subcommands:
        return False
    if prefix[1] not in covered.runs:
        return True
    return _names_target(prefix[1:], covered)


def _names_target(words: Sequence[str], covered: Covered) -> bool:
    target = words[1] if words[1:] else None
    return target is not None and (covered.targets is None or target in covered.targets)


def are_flags_covered(words: Sequence[str]) -> bool:
    """Whether no flag of a command makes it more than its first words say."""
    covered = _COVERED.get(words[0]) if words else None
    if covered is None:
        return False
    allowed = covered.flags
    if allowed == "any":
        return True
    end = words.index("--") if "--" in words else len(words)
    return all(
        not word.startswith("-") or word.partition("=")[0] in allowed for word in words[:end]
    )
