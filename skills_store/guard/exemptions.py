"""Exemptions from guard rules for ordinary skills: installation hosts and placeholder keys."""

import re

_ADDRESS = re.compile(rb"(https?)://([^\s/\"'`<>|)\\]+)([^\s\"'`<>|)]*)", re.I)
_KNOWN_HOSTS = frozenset(
    {
        "apt.releases.hashicorp.com", "astral.sh", "bootstrap.pypa.io", "bun.sh",
        "cli.github.com", "deb.nodesource.com", "deno.land", "dl.google.com",
        "download.docker.com", "fnm.vercel.app", "get.docker.com", "get.helm.sh",
        "get.pnpm.io", "get.sdkman.io", "get.volta.sh", "getcomposer.org",
        "install.determinate.systems", "install.python-poetry.org", "just.systems",
        "mise.jdx.dev", "mise.run", "nixos.org", "ollama.com", "packages.cloud.google.com",
        "pkgs.k8s.io", "pyenv.run", "rpm.nodesource.com", "sh.rustup.rs", "starship.rs",
        "tailscale.com", "taskfile.dev",
    }
)  # fmt: skip
_KNOWN_PATHS = (
    "raw.githubusercontent.com/homebrew/install/",
    "raw.githubusercontent.com/nvm-sh/nvm/",
    "raw.githubusercontent.com/ohmyzsh/ohmyzsh/",
    "raw.githubusercontent.com/golangci/golangci-lint/",
    "raw.githubusercontent.com/aquasecurity/trivy/",
    "raw.githubusercontent.com/anchore/",
    "raw.githubusercontent.com/helm/helm/",
    "raw.githubusercontent.com/kubernetes/",
    "raw.githubusercontent.com/rvm/rvm/",
)
_OWN_MACHINE = re.compile(
    r"localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]"
)
_PLACEHOLDER = re.compile(
    rb"example|placeholder|your|xxxx|\.\.\.|<|changeme|change-me|dummy|fake|redacted|test|sample"
    rb"|0000|1234|abcdef|\*\*\*|insert|replace|todo|user:pass|hunter2|\$\{|foobar|secret-here|environ"
    rb"|password@|getenv|secrets\.|process\.env",
    re.I,
)
_MIN_DISTINCT_BYTES = 9


def uses_only_known_hosts(command: bytes) -> bool:
    """Return whether every address in a command is a well-known installation host."""
    found = _ADDRESS.findall(command)
    return bool(found) and all(_is_known(*map(_lowered, parts)) for parts in found)


def is_placeholder(key: bytes) -> bool:
    """Return whether a key-like text is an obvious placeholder."""
    return bool(_PLACEHOLDER.search(key)) or len(set(key.lower())) < _MIN_DISTINCT_BYTES


def _lowered(part: bytes) -> str:
    return part.decode(errors="replace").lower()


def _is_known(scheme: str, host: str, path: str) -> bool:
    if _OWN_MACHINE.match(host):
        return True
    if scheme != "https" or "@" in host:
        return False
    return host in _KNOWN_HOSTS or any(f"{host}{path}".startswith(each) for each in _KNOWN_PATHS)
