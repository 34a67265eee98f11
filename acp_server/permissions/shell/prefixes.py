"""Prefix rules: the leading words of a plain command that a saved "always" may cover.

Only programs in `prefixes.toml` can have one: it lists the required subcommand and the flags that
may follow. Security: a program that is not listed may start others, so it is asked about each time.
Deliberately absent are programs that start others by design (shells, interpreters, make, npx, env,
xargs), that change any file they are given (rm, cp, mv), and git's `rebase`, `fetch` and `push`,
whose flags name programs. An "always" only skips the question about the command; rules for
protected paths still apply.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypedDict, cast

from acp_server.startup.fast_dataclass import frozen_dataclass


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


class _PrefixTable(TypedDict, total=False):
    aliases: str
    subcommands: str
    target_subcommands: str
    runs_tools_only: bool
    """Whether the targets are the tools and project tools of the file."""
    flags: str


class _PrefixDocument(TypedDict):
    tools: str
    project_tools: str
    programs: dict[str, _PrefixTable]


@cache
def _load_rules() -> Mapping[str, PrefixRule]:
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    document = cast("_PrefixDocument", tomllib.loads(text))
    tools = frozenset(document["tools"].split())
    rules = dict.fromkeys(tools, PrefixRule())
    for name, table in document["programs"].items():
        rule = PrefixRule(
            frozenset(table.get("subcommands", "").split()),
            frozenset(table.get("target_subcommands", "").split()),
            tools.union(document["project_tools"].split())
            if table.get("runs_tools_only")
            else None,
            frozenset(table["flags"].split()) if "flags" in table else "any",
        )
        rules |= dict.fromkeys([name, *table.get("aliases", "").split()], rule)
    return rules


def derive_prefix(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the prefix that an "always" for this command would cover; None if none is allowed."""
    first_flag = next(
        (index for index, word in enumerate(words) if word.startswith("-")), len(words)
    )
    prefix = tuple(words[:first_flag])
    return prefix if is_allowed_prefix(prefix) and has_only_covered_flags(words) else None


def is_allowed_prefix(prefix: Sequence[str]) -> bool:
    """Return whether an "always" with this prefix may be saved at all."""
    rule = _load_rules().get(prefix[0]) if prefix else None
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
    rule = _load_rules().get(words[0]) if words else None
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
