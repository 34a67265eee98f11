"""Exempts commands that send a provider's key to that provider or to the local machine.

Documentation is full of such commands. Only matches of the patterns below are checked, by the line
of the command.
"""

import re

from prompt_engine.threats.spans import TextSpan

LINE_CHARACTERS = 500
HOST_CHECKED_PATTERNS = {"secret-to-foreign-host", "secret-to-drop-box"}

_PROVIDER_HOSTS = {
    "openai": "openai.com|openai.azure.com",
    "anthropic": "anthropic.com",
    "claude": "anthropic.com|claude.com|claude.ai",
    "gemini": "googleapis.com",
    "google": "googleapis.com|google.com",
    "aws": "amazonaws.com|aws.amazon.com|aws.dev",
    "azure": "azure.com|microsoft.com|windows.net|microsoftonline.com",
    "github": "github.com|githubusercontent.com|ghcr.io",
    "gh": "github.com|githubusercontent.com|ghcr.io",
    "hf": "huggingface.co",
    "huggingface": "huggingface.co",
    "stripe": "stripe.com",
}
_OWN_MACHINE = (
    r"localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]"
    r"|host\.docker\.internal|\$|[{<]"
)
_VARIABLE = re.compile(r"\$[{(]?(?:env:)?([a-z]+)_")
_ADDRESS = re.compile(
    r"(?:https?://)([^\s/\"'`?]+)"
    r"|(?<=[\s\"'])([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?=[/?:])"
    r"|(?<=[\s\"'])((?:[a-z0-9-]+\.)+(?:com|net|org|io|app|site|dev))(?=[\s\"'])"
)


def sends_only_to_key_owner(command: TextSpan) -> bool:
    """Return whether every address in a command belongs to the providers of its keys."""
    rest, _, _ = command.after(LINE_CHARACTERS).partition("\n")
    line = (command.text[command.start : command.end] + rest).casefold()
    homes = [home for owner in _VARIABLE.findall(line) for home in _provider_hosts(owner)]
    hosts = [address[address.lastindex or 0] for address in _ADDRESS.finditer(line)]
    return all(_is_allowed_host(host, homes) for host in hosts)


def _provider_hosts(owner: str) -> list[str]:
    return _PROVIDER_HOSTS.get(owner, f"{owner}.com|{owner}.ai|{owner}.org|{owner}js.org").split(
        "|"
    )


def _is_allowed_host(host: str, homes: list[str]) -> bool:
    name = host.rpartition("@")[2].partition(":")[0]
    if re.match(_OWN_MACHINE, host):
        return True
    return any(name == home or name.endswith(f".{home}") for home in homes)
