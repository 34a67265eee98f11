"""Parse the source of an installation from user input. Only checks whether a path exists.

./skills/tidy                               a directory
./tidy.zip, ./tidy.tar.gz, ./tidy.tgz       an archive
https://host/owner/name@v1#skills/tidy      a repository, with ref and directory
ssh://git@host/name.git, git@host:name.git, file:///path
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skills_store.sources.errors import SourceError

ARCHIVE_ENDINGS = (".zip", ".tar.gz", ".tgz")

_ADDRESS = re.compile(
    r"(?P<url>(?:https|ssh)://[^\s/@#]+(?:@[^\s/@#]+)?/[^\s@#]+|file:///[^\s@#]+"
    r"|[\w.-]+@[\w.-]+:[^\s@#]+)"
    r"(?:@(?P<ref>[^\s#]+))?(?:#(?P<folder>\S*))?"
)
_REF = re.compile(r"[\w][\w./+-]{0,199}")
_CREDENTIALS = re.compile(r"https://[^/@]*:[^/@]*@|https://[^/@]+@")


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A local directory."""

    path: Path


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """A local archive."""

    path: Path


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """A git repository, optionally a ref (branch, tag or commit) and a directory of it."""

    url: str
    ref: str = ""
    folder: str = ""


SkillSource = FolderSource | ArchiveSource | RepositorySource


def parse_source(text: str) -> SkillSource:
    """Parse a source.

    Raises:
        SourceError: It is not a directory, an archive or a supported repository URL.
    """
    if not text:
        raise SourceError("''", "it is empty; give a directory, an archive or a repository URL")
    path = _path(text)
    if path.is_dir():
        return FolderSource(path.resolve())
    if path.is_file():
        if path.name.lower().endswith(ARCHIVE_ENDINGS):
            return ArchiveSource(path.resolve())
        raise SourceError(
            text, f"it is neither a directory nor one of {', '.join(ARCHIVE_ENDINGS)}"
        )
    found = _ADDRESS.fullmatch(text)
    # A leading dash would be an option of git.
    if found is None or text.startswith("-"):
        reason = (
            "there is no such directory, and it is not an https, ssh or file URL of a repository"
        )
        raise SourceError(text, reason)
    url, ref, folder = found["url"], found["ref"] or "", found["folder"] or ""
    if _CREDENTIALS.match(url):
        raise SourceError(text, "its URL contains credentials, which would be stored; remove them")
    if ref and (not _REF.fullmatch(ref) or ".." in ref):
        raise SourceError(text, f"{ref!r} is not a valid branch, tag or commit")
    if folder.startswith("/") or ".." in PurePosixPath(folder).parts or "\\" in folder:
        raise SourceError(text, f"{folder!r} is not a directory in the repository")
    return RepositorySource(url, ref, folder.strip("/"))


def is_listed_source(source: str, listed: Sequence[str]) -> bool:
    """Return whether a source equals or is below one of `listed`, such as `https://host/owner`."""
    location = _comparable_location(source)
    locations = [_comparable_location(each) for each in listed]
    return any(location == each or location.startswith(f"{each}/") for each in locations if each)


def _comparable_location(source: str) -> str:
    """Return the location of a source without ref and directory; paths become absolute."""
    found = _ADDRESS.fullmatch(source)
    if found is None:
        return str(_path(source).resolve()) if source else ""
    url = found["url"].rstrip("/").removesuffix(".git")
    # `https://host/trusted/../other` must not count as below a trusted owner.
    return url if ".." not in url.split("/") else ""


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # unknown user in ~user
        return Path(text)
