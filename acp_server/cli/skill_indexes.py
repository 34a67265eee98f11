"""Reads indexes of skills for the CLI commands: repositories, and index files by URL."""

import json
import re
import tempfile
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httpx2
from pydantic import JsonValue

from acp_server.cli.skill_installer import open_installer
from acp_server.cli.skill_library import CliSkills, report_failure
from skills_store.hub import HubEntry, hermes_taps, list_repository, parse_index, repository_of
from skills_store.sources.errors import SourceError
from skills_store.sources.locations import RepositorySource

PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
MAX_INDEX_BYTES = 64 * 1024 * 1024
FETCH_SECONDS = 30.0
NO_INDEXES = (
    "no index is configured. Set skills.indexes in config.yaml to repositories (owner/name) or "
    "URLs of index files, or give --index"
)


def read_indexes(skills: CliSkills, chosen: Sequence[str]) -> Sequence[HubEntry]:
    """Return the entries of all indexes; one that fails is reported.

    Raises:
        SourceError: there is none, or none can be read.
    """
    config = skills.configuration
    indexes = chosen or (*config.settings.skills.indexes, *hermes_taps(config.home))
    if not indexes:
        raise SourceError("indexes", NO_INDEXES)
    entries: list[HubEntry] = []
    failures: list[SourceError] = []
    for index in dict.fromkeys(indexes):
        try:
            entries += _read_index(skills, index)
        except SourceError as error:
            failures.append(error)
            report_failure(error)
    if len(failures) == len(indexes):
        raise failures[0]
    return entries


def _read_index(skills: CliSkills, index: str) -> Sequence[HubEntry]:
    repository = repository_of(index)
    if repository is None:
        return parse_index(_fetch_json(index), index)
    git = open_installer(skills).git
    with tempfile.TemporaryDirectory(prefix="skills-", ignore_cleanup_errors=True) as temporary:
        clone = Path(temporary).resolve() / "index"
        git.clone(repository, clone)
        folder = (clone / repository.folder).resolve()
        if not folder.is_dir() or not folder.is_relative_to(clone):
            raise SourceError(index, f"there is no folder {repository.folder!r} in it")
        return list_repository(folder, _address(repository), index)


def _address(repository: RepositorySource) -> str:
    return f"{repository.url}#{repository.folder}" if repository.folder else repository.url


def _fetch_json(url: str) -> JsonValue:
    """Return the JSON document at a URL: https, or http on this machine.

    Raises:
        SourceError: it cannot be fetched, or is no JSON.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname)):
        raise SourceError(url, "an index file is fetched by https only")
    try:
        with (
            httpx2.Client(timeout=FETCH_SECONDS) as client,
            client.stream("GET", url) as response,
        ):
            response.raise_for_status()
            data = b""
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_INDEX_BYTES:
                    raise SourceError(url, "it is larger than 64 MB")
        return cast("JsonValue", json.loads(data))
    except (httpx2.HTTPError, ValueError) as error:
        raise SourceError(url, str(error) or type(error).__name__) from error


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def find_in_indexes(skills: CliSkills, name: str) -> str:
    """Return the source of the skill of this name in the indexes; any other source as it is.

    Raises:
        SourceError: there is none, or there are several.
    """
    if not PLAIN_NAME.fullmatch(name) or Path(name).exists():
        return name
    sources = {each.source for each in read_indexes(skills, ()) if each.name == name}
    if len(sources) == 1:
        return sources.pop()
    if sources:
        raise SourceError(
            name, f"several indexes list it; name one of {', '.join(sorted(sources))}"
        )
    raise SourceError(name, "no index lists it, and there is no such directory")
