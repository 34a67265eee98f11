"""What a source is, read from what the user typed. Looks only whether a path is there.

./skills/tidy                               a folder
./tidy.zip, ./tidy.tar.gz, ./tidy.tgz       an archive
https://host/owner/name@v1#skills/tidy      a repository, at a ref, of it a folder
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
    """A folder of this machine's."""

    path: Path


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """A packed file of this machine's."""

    path: Path


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """A git repository; of it a branch, a tag or a commit, and a folder."""

    url: str
    ref: str = ""
    folder: str = ""


Source = FolderSource | ArchiveSource | RepositorySource


def parse_source(text: str) -> Source:
    """Return what a source is.

    Raises:
        SourceError: it is no folder, no archive and no address that is used here.
    """
    if not text:
        raise SourceError("''", "it names nothing")
    path = _path(text)
    if path.is_dir():
        return FolderSource(path.resolve())
    if path.is_file():
        if path.name.lower().endswith(ARCHIVE_ENDINGS):
            return ArchiveSource(path.resolve())
        raise SourceError(text, f"it is neither a folder nor one of {', '.join(ARCHIVE_ENDINGS)}")
    return _repository(text)


def is_named(source: str, named: Sequence[str]) -> bool:
    """Say whether a source is one of those named, or lies in one, as in `https://host/owner`."""
    place = _comparable(source)
    places = [_comparable(each) for each in named]
    return any(place == each or place.startswith(f"{each}/") for each in places if each)


def _comparable(source: str) -> str:
    """Return where a source is, without ref and folder; a path is made whole."""
    found = _ADDRESS.fullmatch(source)
    if found is None:
        return str(_path(source).resolve()) if source else ""
    url = found["url"].rstrip("/").removesuffix(".git")
    return url if ".." not in url.split("/") else ""


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # nobody has such a home
        return Path(text)


def _repository(text: str) -> RepositorySource:
    found = _ADDRESS.fullmatch(text)
    if found is None or text.startswith("-"):
        reason = "there is no such folder, and it is no https, ssh or file address of a repository"
        raise SourceError(text, reason)
    url, ref, folder = found["url"], found["ref"] or "", found["folder"] or ""
    if _CREDENTIALS.match(url):
        raise SourceError(text, "an address with a password in it would be kept; leave it out")
    if ref and (not _REF.fullmatch(ref) or ".." in ref):
        raise SourceError(text, f"{ref!r} is no name of a branch, a tag or a commit")
    if not _is_inside(folder):
        raise SourceError(text, f"{folder!r} is no folder in the repository")
    return RepositorySource(url, ref, folder.strip("/"))


def _is_inside(folder: str) -> bool:
    parts = PurePosixPath(folder).parts
    return not folder.startswith("/") and ".." not in parts and "\\" not in folder
