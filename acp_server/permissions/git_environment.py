"""Environment variables that keep git from running what a repository's settings name. Pure."""

from collections.abc import Mapping

_FOR_ALL_COMMANDS = (
    # Bare repositories are not discovered in directories that look like one.
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    # Signatures are checked for `log.showSignature` and for `%G?` in a format.
    ("log.showSignature", "false"),
    # `diff` compares inside of submodules, by their settings and regardless of their secrets.
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
)
"""An answer that allows `git commit` allows its hooks, but no program that these settings add."""
_FOR_READING = (
    ("core.hooksPath", "/dev/null"),
    # `git diff` would write the index, whatever GIT_OPTIONAL_LOCKS says.
    ("diff.autoRefreshIndex", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
)
_READING_VARIABLES = {
    # `go list` and `go doc` download nothing, not even the version of go that `go.mod` names.
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    # `go env` shows all settings; in these, and in GOPROXY, could be a key.
    "GOAUTH": "off",
    "GOSUMDB": "off",
    "GOVCS": "*:off",
    # A partial clone fetches missing objects with the program that its remote names. Versions of
    # git that do not know the first variable find no protocol that they may use.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    # They win over the settings `core.pager`, `pager.*` and `core.editor`.
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
}


def git_hardening_variables(base: Mapping[str, str], *, only_reads: bool) -> dict[str, str]:
    """Return variables to add to `base` for a command that may start git.

    The index is not refreshed, which would trigger a hook. With `only_reads`, more settings are
    overridden: the command runs without a question.
    """
    existing_count = base.get("GIT_CONFIG_COUNT", "0")
    # Append after settings that the user passes this way: reusing their indexes would overwrite
    # them.
    first_index = int(existing_count) if existing_count.isdecimal() else 0
    settings = _FOR_ALL_COMMANDS + (_FOR_READING if only_reads else ())
    config_variables = {
        f"GIT_CONFIG_{part}_{first_index + index}": value
        for index, setting in enumerate(settings)
        for part, value in zip(("KEY", "VALUE"), setting, strict=True)
    }
    return {
        "GIT_CONFIG_COUNT": str(first_index + len(settings)),
        "GIT_OPTIONAL_LOCKS": "0",
        **config_variables,
        **(_READING_VARIABLES if only_reads else {}),
        **(_go_flags(base) if only_reads else {}),
    }


def _go_flags(base: Mapping[str, str]) -> dict[str, str]:
    """Return the flags of go, with one that keeps `go list` from running git or Mercurial.

    It would ask them for the state of the repository, whose settings name programs.
    """
    return {"GOFLAGS": f"{base.get('GOFLAGS', '')} -buildvcs=false".strip()}
