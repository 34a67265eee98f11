"""Prepares, builds and checks a release: `python .ci/release.py {prepare,build,check}`.

It needs git, uv, and Node 20 or newer. `build` takes what is committed and nothing else, and makes
the same bytes wherever and whenever it runs.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Never, cast

ROOT = Path(__file__).parents[1]
PYTHON_SBOM_TOOL = "cyclonedx-bom==7.5.0"
SBOM_VALIDATOR = "cyclonedx-python-lib[json-validation]==11.12.0"
PIPX = "pipx==1.18.4"
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
REGISTRY_ENTRY = PurePosixPath("editors/zed/registry/hermes-acp-server")
CHECKSUMS = "SHA256SUMS"
NOTES = "NOTES.md"

VERSION_FILE = "acp_server/version.py"
VERSION_COPIES = {
    "editors/vscode/package.json": (r'^(  "version": ")([^"]+)',),
    "editors/vscode/package-lock.json": (
        r'\A(\{\n  "name": "[^"]+",\n  "version": ")([^"]+)',
        r'(    "": \{\n      "name": "[^"]+",\n      "version": ")([^"]+)',
    ),
    f"{REGISTRY_ENTRY}/agent.json": (r'^(  "version": ")([^"]+)', r'("package": "[^"]+==)([^"]+)'),
}
"""Where the version of `VERSION_FILE` is repeated, for readers who look nowhere else."""


def fail(message: str) -> Never:
    """End with one line on stderr."""
    sys.exit(f"error: {message}")


def run(
    command: Sequence[str | Path], folder: Path = ROOT, *, variables: dict[str, str] | None = None
) -> str:
    """Return what a command prints; if it fails, end with what it said."""
    done = subprocess.run(  # noqa: S603 - commands of this file
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **(variables or {})},  # noqa: TID251 - for the tools that it starts
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        fail(f"`{' '.join(str(word) for word in command)}` ended with {done.returncode}")
    return done.stdout


def say(text: str) -> None:
    """Print a step."""
    sys.stderr.write(text + "\n")


# Versions and notes


def version_of(tree: Path) -> str:
    """Return the version, after a look whether its copies agree."""
    text = (tree / VERSION_FILE).read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if match is None:
        fail(f"{VERSION_FILE} names no version")
    for name, patterns in VERSION_COPIES.items():
        copy = (tree / name).read_text(encoding="utf-8")
        for pattern in patterns:
            found = re.search(pattern, copy, re.MULTILINE)
            if found is None or found[2] != match[1]:
                fail(f"{name} does not name version {match[1]}: run `prepare {match[1]}`")
    return match[1]


def section(changelog: str, title: str) -> str | None:
    """Return what a change log says under `## title`, or `## title - date`."""
    heading = rf"^## {re.escape(title)}(?: - [\d-]+)?\n(.*?)(?=^## |\Z)"
    match = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    return None if match is None else match[1].strip()


def prepare(version: str) -> None:
    """Write a version wherever it stands, and date its section of the change log."""
    if re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version) is None:
        fail(f"{version!r} is no version such as 1.2.3 or 1.2.3rc1")
    extension_log = (ROOT / "editors/vscode/CHANGELOG.md").read_text(encoding="utf-8")
    if not section(extension_log, version):
        fail(f"editors/vscode/CHANGELOG.md has no section for {version}: say what is new in it")
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if section(text, version) is None:
        if not section(text, "Unreleased"):
            fail("CHANGELOG.md lists nothing under Unreleased")
        today = datetime.now(tz=UTC).date().isoformat()
        dated = f"## Unreleased\n\n## {version} - {today}\n"
        changelog.write_text(text.replace("## Unreleased\n", dated, 1), encoding="utf-8")
    for name, patterns in {VERSION_FILE: (r'^(__version__ = ")([^"]+)',), **VERSION_COPIES}.items():
        path = ROOT / name
        content = path.read_text(encoding="utf-8")
        for pattern in patterns:
            content = re.sub(pattern, rf"\g<1>{version}", content, count=1, flags=re.MULTILINE)
        path.write_text(content, encoding="utf-8")
    say(f"Prepared {version}. Read the changes (`git diff`), commit them, then run `build`.")


def notes(changes: str, version: str, files: Sequence[Path]) -> str:
    """Return the notes of a release: its changes, and its files with their digests."""
    rows = [f"| {file.name} | {file.stat().st_size:,} | `{digest(file)}` |" for file in files]
    return "\n".join(
        [
            f"# {version}",
            "",
            changes,
            "",
            "## Files",
            "",
            f"`sha256sum --check {CHECKSUMS}` compares them.",
            "",
            "| file | bytes | SHA-256 |",
            "| --- | ---: | --- |",
            *rows,
            "",
        ]
    )


def digest(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


# Building


@contextmanager
def committed_tree(commit: str) -> Iterator[Path]:
    """The files of a commit, in a temporary directory without a repository."""
    archive = subprocess.run(  # noqa: S603 - a fixed command
        ["git", "archive", "--format=tar", commit],  # noqa: S607 - the user's git
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    with tempfile.TemporaryDirectory(prefix="release-") as name:
        tree = Path(name) / "tree"
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(tree, filter="data")
        yield tree


def build(output: Path, commit: str) -> None:
    """Build everything that is published of a commit into a new directory."""
    if output.exists() and any(output.iterdir()):
        fail(f"{output} is not empty: name another directory with --output")
    if commit == "HEAD" and run(["git", "status", "--porcelain"]).strip():
        say("Uncommitted changes are left out.")
    output = output.resolve()
    os.umask(0o022)  # the extension's package records the modes of its files
    with committed_tree(commit) as tree:
        version = version_of(tree)
        changes = section((tree / "CHANGELOG.md").read_text(encoding="utf-8"), version)
        if not changes:
            fail(f"CHANGELOG.md has no section for {version}: run `prepare {version}` first")
        seconds = run(["git", "show", "--no-patch", "--format=%ct", commit]).strip()
        output.mkdir(parents=True, exist_ok=True)
        build_packages(tree, output, seconds)
        build_extension(tree / "editors" / "vscode", output / f"acp-server-{version}.vsix", seconds)
        say("Entry of the ACP registry, lock, bill of materials")
        registry = output / f"hermes-acp-server-{version}-registry.tar.gz"
        registry.write_bytes(archive_of(tree / REGISTRY_ENTRY, int(seconds)))
        shutil.copyfile(tree / "requirements.lock", output / "requirements.lock")
        write_json(output / f"hermes-acp-server-{version}.cdx.json", python_sbom(tree))

    files = sorted(output.iterdir())
    (output / NOTES).write_text(notes(changes, version, files), encoding="utf-8")
    lines = [f"{digest(file)}  {file.name}\n" for file in sorted(output.iterdir())]
    (output / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
    say(f"Built {version} in {output}. `check {output}` installs and tries it.")


def build_packages(tree: Path, output: Path, seconds: str) -> None:
    """Build the wheel and the sdist."""
    say("Wheel and sdist")
    constraints = tree.parent / "build_constraints.txt"
    constraints.write_text(build_tool(tree) + "\n", encoding="utf-8")
    command = ["uv", "build", "--quiet", "--build-constraints", constraints, "--out-dir", output]
    run([*command, tree], tree, variables={"SOURCE_DATE_EPOCH": seconds})
    (output / ".gitignore").unlink(missing_ok=True)  # uv ignores what it builds


def build_extension(source: Path, vsix: Path, seconds: str) -> None:
    """Build the extension for VS Code, and say what is bundled in it."""
    say("Extension for VS Code")
    run(["npm", "ci", "--silent"], source)
    pack = ["npm", "run", "--silent", "package", "--", "--out", vsix]
    run(pack, source, variables={"SOURCE_DATE_EPOCH": seconds, "TZ": "UTC"})
    shutil.copyfile(source / "THIRD_PARTY.md", vsix.with_name(f"{vsix.name}.licences.md"))
    write_json(vsix.with_name(f"{vsix.name}.cdx.json"), extension_sbom(source))


def build_tool(tree: Path) -> str:
    """Return the exact release of the build backend, which writes its name into the wheel."""
    with (tree / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    return str(project["tool"]["uv"]["build-constraint-dependencies"][0])


def archive_of(directory: Path, seconds: int) -> bytes:
    """Return a directory as a `.tar.gz` that depends on its files' names and contents only."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(directory.iterdir()):
            entry = tarfile.TarInfo(f"{directory.name}/{file.name}")
            entry.size, entry.mtime, entry.mode = file.stat().st_size, seconds, 0o644
            with file.open("rb") as content:
                archive.addfile(entry, content)
    return gzip.compress(buffer.getvalue(), mtime=seconds)


def write_json(path: Path, document: object) -> None:
    """Write a document with sorted keys."""
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def python_sbom(tree: Path) -> object:
    """Return the CycloneDX document of the locked packages, with their licences."""
    environment = tree.parent / "environment"
    run(["uv", "venv", "--quiet", "--python", PYTHONS[0], environment])
    install = ["uv", "pip", "install", "--quiet", "--python", environment, "--no-deps"]
    run([*install, "--require-hashes", "--requirements", tree / "requirements.lock"])
    tool = ["uvx", "--quiet", "--from", PYTHON_SBOM_TOOL, "cyclonedx-py", "environment"]
    python = environment / "bin" / "python"
    options = ["--output-reproducible", "--pyproject", tree / "pyproject.toml"]
    return json.loads(run([*tool, *options, python], tree))


def extension_sbom(extension: Path) -> object:
    """Return the CycloneDX document of the packages in the extension's bundles."""
    document = json.loads(run(["npm", "sbom", "--sbom-format", "cyclonedx"], extension))
    third_party = (extension / "THIRD_PARTY.md").read_text(encoding="utf-8")
    bundled = set(re.findall(r"^\| ([^\s|]+) \| [^|]+\|$", third_party, re.MULTILINE))
    document["components"] = [
        {**part, "scope": "required", "properties": []}  # bundled, so no longer "development"
        for part in document["components"]
        if package_name(part) in bundled
    ]
    kept = {part["bom-ref"] for part in document["components"]}
    kept.add(document["metadata"]["component"]["bom-ref"])
    document["dependencies"] = [
        {
            "ref": row["ref"],
            "dependsOn": [name for name in row.get("dependsOn", []) if name in kept],
        }
        for row in document["dependencies"]
        if row["ref"] in kept
    ]
    del document["serialNumber"], document["metadata"]["timestamp"]  # new at each run
    del document["metadata"]["tools"]  # the release of npm, which is not ours to fix
    return document


def package_name(component: dict[str, str]) -> str:
    """Return the whole name of an npm package, whose scope may be in a field of its own."""
    group = component.get("group")
    return f"{group}/{component['name']}" if group else component["name"]


# Checking


def check(release: Path) -> None:
    """Install and try the files of a release as their users would."""
    release = release.resolve()
    listed = dict(line.split("  ")[::-1] for line in (release / CHECKSUMS).read_text().splitlines())
    found = {file.name: digest(file) for file in release.iterdir() if file.name != CHECKSUMS}
    if listed != found:
        fail(f"{CHECKSUMS} does not list what is in {release}")
    with tempfile.TemporaryDirectory(prefix="release-check-") as name:
        folder = Path(name)
        wheel, sdist = only(release, "*.whl"), only(release, "hermes_acp_server-*.tar.gz")
        check_sdist(sdist, wheel, folder)
        check_extension(only(release, "*.vsix"))
        check_sboms(sorted(release.glob("*.cdx.json")), folder)
        check_installers(wheel, folder)
        check_pythons(wheel, release / "requirements.lock", folder)
    say("The release works.")


def only(folder: Path, pattern: str) -> Path:
    """Return the one file that matches."""
    files = list(folder.glob(pattern))
    if len(files) != 1:
        fail(f"{folder} has {len(files)} files {pattern}, not one")
    return files[0]


def check_sdist(sdist: Path, wheel: Path, folder: Path) -> None:
    """Build the wheel again, from the sdist alone."""
    say("The sdist builds the same wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
        seconds = max(entry.mtime for entry in archive)
    constraints = folder / "build_constraints.txt"
    source = folder / sdist.name.removesuffix(".tar.gz")
    constraints.write_text(build_tool(source) + "\n", encoding="utf-8")
    command = ["uv", "build", "--quiet", "--wheel", "--build-constraints", constraints]
    run(
        [*command, "--out-dir", folder / "again", source],
        folder,
        variables={"SOURCE_DATE_EPOCH": str(int(seconds))},
    )
    if digest(folder / "again" / wheel.name) != digest(wheel):
        fail("the wheel that the sdist builds differs from the wheel of the release")


def check_extension(vsix: Path) -> None:
    """Look for the bundles and for each picture of the extension's page."""
    say("The extension has its bundles and pictures")
    with zipfile.ZipFile(vsix) as package:
        names = set(package.namelist())
        page = package.read("extension/readme.md").decode()
    pictures = {
        f"extension/{path}" for path in re.findall(r"!\[[^]]*\]\((?!https:)([^)]+)\)", page)
    }
    missing = {"extension/dist/extension.js", "extension/dist/webview.js", *pictures} - names
    if missing:
        fail(f"{vsix.name} lacks {', '.join(sorted(missing))}")


def check_sboms(documents: Sequence[Path], folder: Path) -> None:
    """Compare the bills of materials with CycloneDX's own schema."""
    say("The bills of materials match CycloneDX's schema and name licences")
    program = folder / "validate.py"
    program.write_text(
        "import json, sys\n"
        "from cyclonedx.schema import SchemaVersion\n"
        "from cyclonedx.validation.json import JsonStrictValidator\n"
        "for path in sys.argv[1:]:\n"
        "    text = open(path).read()\n"
        "    version = SchemaVersion.from_version(json.loads(text)['specVersion'])\n"
        "    error = JsonStrictValidator(version).validate_str(text)\n"
        "    if error:\n"
        "        sys.exit(f'{path}: {error}')\n",
        encoding="utf-8",
    )
    validator = ["uv", "run", "--quiet", "--no-project", "--with", SBOM_VALIDATOR, "python"]
    run([*validator, program, *documents], folder)
    for path in documents:
        parts = json.loads(path.read_text(encoding="utf-8"))["components"]
        unknown = [part["name"] for part in parts if not part.get("licenses")]
        say(
            f"  {path.name}: {len(parts)} packages, licence unknown: {', '.join(unknown) or 'none'}"
        )


def check_installers(wheel: Path, folder: Path) -> None:
    """Install with each tool that the install page names, and ask for the version."""
    tools, bin_folder = folder / "tools", folder / "bin"
    variables = {
        "UV_TOOL_DIR": str(tools),
        "UV_TOOL_BIN_DIR": str(bin_folder),
        "PIPX_HOME": str(folder / "pipx"),
        "PIPX_BIN_DIR": str(folder / "pipx-bin"),
    }
    expected = f"acp-server {wheel.name.split('-')[1]}"
    python = folder / "plain" / "bin" / "python"
    installations: dict[str, tuple[list[Sequence[str | Path]], Sequence[str | Path]]] = {
        "uv tool install": (
            [["uv", "tool", "install", "--quiet", wheel]],
            [bin_folder / "acp-server"],
        ),
        "uvx": ([], ["uvx", "--quiet", "--from", wheel, "acp-server"]),
        "pipx": (
            [["uvx", "--quiet", "--from", PIPX, "pipx", "install", "--quiet", wheel]],
            [folder / "pipx-bin" / "acp-server"],
        ),
        "pip": (
            [
                [sys.executable, "-m", "venv", folder / "plain"],
                [python, "-m", "pip", "install", "--quiet", wheel],
            ],
            [folder / "plain" / "bin" / "acp-server"],
        ),
    }
    for name, (commands, program) in installations.items():
        say(f"Installed by {name}")
        for command in commands:
            run(command, folder, variables=variables)
        printed = run([*program, "--version"], folder, variables=variables).strip()
        if not printed.startswith(expected):
            fail(f"after {name}, --version says {printed!r}, not {expected!r}")


def check_pythons(wheel: Path, lock: Path, folder: Path) -> None:
    """Play the demo in clean environments: each Python; lowest, newest and locked dependencies."""
    source = only(folder, "hermes_acp_server-*") / "pyproject.toml"
    for version in PYTHONS:
        interpreter = find_python(version)
        if interpreter is None:
            say(f"Python {version} is not installed: not tried")
            continue
        for resolution in ("lowest-direct", "highest", "locked"):
            environment = folder / f"{version}-{resolution}"
            run(["uv", "venv", "--quiet", "--python", interpreter, environment])
            requirements = lock
            if resolution != "locked":
                # Outside the project, where uv does not see its constraints.
                requirements = folder / f"{environment.name}.txt"
                compiling = ["uv", "pip", "compile", "--quiet", "--python", environment, source]
                options = ["--resolution", resolution, "--output-file", requirements]
                run([*compiling, *options], folder)
            install = ["uv", "pip", "install", "--quiet", "--python", environment, "--no-deps"]
            run([*install, "--requirements", requirements], folder)
            run([*install, wheel], folder)
            home = folder / "home"
            run(
                [environment / "bin" / "acp-server", "demo", "--fast"],
                folder,
                variables={"HERMES_HOME": str(home)},
            )
            say(f"Python {version}, {resolution} dependencies: the demo ends well")


def find_python(version: str) -> str | None:
    """Return the path of an installed interpreter. pyenv hides those that are not chosen."""
    command = ["uv", "python", "find", "--no-python-downloads", "--no-project", version]
    found = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    if found.returncode == 0:
        return found.stdout.strip()
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"  # noqa: TID251
    hidden = sorted(versions.glob(f"{version}.*/bin/python"))
    return str(hidden[-1]) if hidden else None


def main() -> None:
    """Read the command line and do one of the three steps."""
    parser = argparse.ArgumentParser(prog="release.py", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    preparing = steps.add_parser("prepare", help="write a version wherever it stands")
    preparing.add_argument("version")
    building = steps.add_parser("build", help="build everything that is published")
    building.add_argument("--output", type=Path, default=ROOT / "dist" / "release")
    building.add_argument("--commit", default="HEAD")
    checking = steps.add_parser("check", help="install and try what was built")
    checking.add_argument("release", type=Path, nargs="?", default=ROOT / "dist" / "release")
    options = parser.parse_args()
    match cast("str", options.step):
        case "prepare":
            prepare(options.version)
        case "build":
            build(options.output, options.commit)
        case _:
            check(options.release)


if __name__ == "__main__":
    main()
