"""Recognizes texts that a machine wrote, and that are searched rather than read."""

import re

_LOCK_FILES = frozenset(
    (
        *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"),
        *("deno.lock", "uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock", "pixi.lock"),
        *("cargo.lock", "gemfile.lock", "composer.lock", "go.sum", "mix.lock", "pubspec.lock"),
        *("flake.lock", "podfile.lock", "package.resolved", "gradle.lockfile", "conda-lock.yml"),
        *(".terraform.lock.hcl", "packages.lock.json", "requirements.lock"),
    )
)
_MINIFIED_NAME = re.compile(r"[.-]min\.\w+$|\.(?:js|css)\.map$")
_GENERATED = re.compile(r"@generated|\bdo not edit\b|\bautomatically generated\b", re.IGNORECASE)
_HEAD_CHARACTERS = 1_000
_MINIFIED_LINE_CHARACTERS = 1_000
"""The average length of a line above which people do not read a text."""


def is_lock_file(name: str) -> bool:
    """Return whether a file name is that of a package manager's lock file."""
    return name.lower() in _LOCK_FILES


def kind_of_machine_text(name: str, text: str) -> str:
    """Return what kind of machine-written text a file holds; empty for any other text."""
    if is_lock_file(name):
        return "a lock file"
    lines = text.count("\n") + 1
    if _MINIFIED_NAME.search(name.lower()) or len(text) / lines > _MINIFIED_LINE_CHARACTERS:
        return "a minified file"
    return "a generated file" if _GENERATED.search(text[:_HEAD_CHARACTERS]) else ""
