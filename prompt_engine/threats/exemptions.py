"""Exempts ordinary commands and placeholders; the hosts are in `families/exemptions.toml`.

Documentation is full of commands that send a provider's key to that provider or to the local
machine, skills are full of commands that download a well-known installer and of example keys.
"""

import re
from typing import TypedDict, cast

from prompt_engine.threats.spans import TextSpan
from prompt_engine.toml_tables import read_toml

LINE_CHARACTERS = 500
HOST_CHECKED_PATTERNS = {
    "secret-to-foreign-host",
    "secret-to-drop-box",
    "secret-over-plain-http",
}

_OWN_MACHINE = (
    r"(?:[a-z0-9.-]+\.)?localhost|127\.|0\.0\.0\.0|10\.|192\.168\."
    r"|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]"
)
_OWN_HOST = re.compile(_OWN_MACHINE)
_OWN_OR_UNKNOWN_HOST = re.compile(rf"{_OWN_MACHINE}|host\.docker\.internal|\$|[{{<]")
_VARIABLE = re.compile(r"\$[{(]?(?:env:)?([a-z]+)_")
_ADDRESS = re.compile(
    r"(?:https?://)([^\s/\"'`?]+)"
    r"|(?<=[\s\"'])([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?=[/?:])"
    r"|(?<=[\s\"'])((?:[a-z0-9-]+\.)+(?:com|net|org|io|app|site|dev))(?=[\s\"'])"
)
_INSTALLER_ADDRESS = re.compile(rb"(https?)://([^\s/\"'`<>|)\\]+)([^\s\"'`<>|)]*)", re.I)
_PLACEHOLDER = re.compile(
    rb"example|placeholder|your|xxxx|\.\.\.|<|changeme|change-me|dummy|fake|redacted|test|sample"
    rb"|0000|1234|abcdef|\*\*\*|insert|replace|todo|user:pass|hunter2|\$\{|foobar|secret-here|environ"
    rb"|password@|getenv|secrets\.|process\.env",
    re.I,
)
_MIN_DISTINCT_BYTES = 9
_HARMLESS_READ_OF_ENV = re.compile(
    r"(?:cat|head|tail) (?:\./)?\.env(?:\.local)?(?: 2>/dev/null)? \| (?:"
    r"grep (?:-\w+ )*(?:[\"']?\^?[a-z0-9_]+=?[\"']?|[\"'][a-z0-9_|^=]+[\"'])"
    r"|sed (?:-\w+ )*[\"']s/=\.\*/=[^/\n]*/g?[\"']|cut -d ?[\"']?=[\"']? -f ?1"
    r")(?=\s*(?:\n|$|`|\)|>))"
)


class _Installation(TypedDict):
    hosts: list[str]
    paths: list[str]


class _KnownHosts(TypedDict):
    provider_hosts: dict[str, list[str]]
    installation: _Installation


def sends_only_to_key_owner(command: TextSpan) -> bool:
    """Return whether every address in a command, up to its line's end, belongs to its keys' owners.

    Addresses of the local machine and those that a variable holds are allowed too.
    """
    rest, _, _ = command.after(LINE_CHARACTERS).partition("\n")
    line = (command.text[command.start : command.end] + rest).casefold()
    known = _known_hosts()["provider_hosts"]
    homes = [
        home
        for owner in _VARIABLE.findall(line)
        for home in known.get(owner, [f"{owner}{end}" for end in (".com", ".ai", ".org", "js.org")])
    ]
    for address in _ADDRESS.finditer(line):
        host = address[address.lastindex or 0]
        name = host.rpartition("@")[2].partition(":")[0]
        is_home = any(name == home or name.endswith(f".{home}") for home in homes)
        if not is_home and not _OWN_OR_UNKNOWN_HOST.match(host):
            return False
    return True


def hides_values_of_env(command: TextSpan) -> bool:
    """Return whether a command reads only names of `.env`, or looks up settings.

    A look-up of a secret is only marked: documents tell how to check that one is set.
    """
    rest = command.after(LINE_CHARACTERS)
    line = (command.text[command.start : command.end] + rest).casefold().lstrip("`|&; \n")
    return _HARMLESS_READ_OF_ENV.match(line) is not None


def uses_only_known_hosts(command: bytes) -> bool:
    """Return whether every address in a command is a well-known installation host."""
    found = _INSTALLER_ADDRESS.findall(command)
    known = _known_hosts()["installation"]
    for address in found:
        scheme, host, path = (part.decode(errors="replace").lower() for part in address)
        is_installer = host in known["hosts"] or f"{host}{path}".startswith(tuple(known["paths"]))
        is_safe = scheme == "https" and "@" not in host
        if not _OWN_HOST.match(host) and not (is_safe and is_installer):
            return False
    return bool(found)


def is_placeholder(key: bytes) -> bool:
    """Return whether a key-like text is an obvious placeholder."""
    return bool(_PLACEHOLDER.search(key)) or len(set(key.lower())) < _MIN_DISTINCT_BYTES


def _known_hosts() -> _KnownHosts:
    return cast("_KnownHosts", read_toml("threats/families", "exemptions"))
