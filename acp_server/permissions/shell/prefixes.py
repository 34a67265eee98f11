"""Prefix rules: the leading words of a plain command that a saved "always" may cover.

Only programs in this table can have one: it lists the required subcommand and the flags that may
follow. Security: a program that is not listed may start others, so it is asked about each time.
Deliberately absent are programs that start others by design (shells, interpreters, make, npx, env,
xargs), that change any file they are given (rm, cp, mv), and git's `rebase`, `fetch` and `push`,
whose flags name programs. An "always" only skips the question about the command; rules for
protected paths still apply.
"""

from collections.abc import Sequence
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

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


@frozen_dataclass
class PrefixRule:
    """Requirements and limits of an "always" for a program."""

    subcommands: frozenset[str] = frozenset()
    """Allowed second words; if empty, the program name alone is enough."""
    target_subcommands: frozenset[str] = frozenset()
    """Subcommands whose third word names the target to run."""
    targets: frozenset[str] | None = None
    """If not None, the allowed third words."""
    flags: frozenset[str] | Literal["any"] = "any"
    """Flags that later commands may have before `--`; values follow `=` or as a word."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# No flags: `--prefix` and `--script-shell` choose other scripts and another shell.
_NODE_RULE = PrefixRule(
    _word_set("test t run start"), target_subcommands=_word_set("run"), flags=frozenset()
)
# `uv run` starts any program, so the targets are listed.
_PROJECT_RULE = PrefixRule(_word_set("run"), target_subcommands=_word_set("run"), targets=_RUNNERS)
_NAME_ONLY_RULE = PrefixRule()

_PREFIX_RULES: dict[str, PrefixRule] = {
    **dict.fromkeys(_RUNNERS - {"ruff", "coverage"}, _NAME_ONLY_RULE),
    "ruff": PrefixRule(_word_set("check format")),
    "npm": _NODE_RULE,
    "pnpm": _NODE_RULE,
    "yarn": _NODE_RULE,
    "bun": PrefixRule(
        _word_set("test run"), target_subcommands=_word_set("run"), flags=frozenset()
    ),
    "uv": _PROJECT_RULE,
    "poetry": _PROJECT_RULE,
    "pdm": _PROJECT_RULE,
    "cargo": PrefixRule(
        _word_set("build check test clippy fmt doc bench"),
        # Absent: `--config` and `--manifest-path`, which choose other code to run.
        flags=_word_set(
            "--release --workspace --all --all-targets --all-features --no-default-features"
            " --lib --bins --tests --benches --examples --doc --locked --offline --no-run"
            " --no-fail-fast --check --quiet --verbose --keep-going -q -v -p --package --test"
            " --bin --example --features -j --jobs"
        ),
    ),
    "go": PrefixRule(
        _word_set("build test vet fmt"),
        # Absent: `-exec` and `-toolexec`, which run a program of their own.
        flags=_word_set("-v -run -race -count -cover -short -timeout -bench -failfast -tags -x"),
    ),
    "git": PrefixRule(
        _word_set(
            "add commit checkout switch restore stash merge branch tag cherry-pick revert reset"
        )
    ),
}


def derive_prefix(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the prefix that an "always" for this command would cover; None if none is allowed."""
    first_flag = next(
        (index for index, word in enumerate(words) if word.startswith("-")), len(words)
    )
    prefix = tuple(words[:first_flag])
    return prefix if is_allowed_prefix(prefix) and has_only_covered_flags(words) else None


def is_allowed_prefix(prefix: Sequence[str]) -> bool:
    """Return whether an "always" with this prefix may be saved at all."""
    rule = _PREFIX_RULES.get(prefix[0]) if prefix else None
    if rule is None or any(not word or word.startswith("-") for word in prefix):
        return False
    if not rule.subcommands:
        return True
    if len(prefix) == 1 or prefix[1] not in rule.subcommands:
        return False
    if prefix[1] not in rule.target_subcommands:
        return True
    return len(prefix) > len(("uv", "run")) and (rule.targets is None or prefix[2] in rule.targets)


def has_only_covered_flags(words: Sequence[str]) -> bool:
    """Return whether all flags of a command are harmless for its prefix."""
    rule = _PREFIX_RULES.get(words[0]) if words else None
    if rule is None:
        return False
    allowed = rule.flags
    if allowed == "any":
        return True
    # Words after `--` are operands of the program that runs, not its flags.
    end = words.index("--") if "--" in words else len(words)
    return all(
        not word.startswith("-") or word.partition("=")[0] in allowed for word in words[:end]
    )
