"""`requirements.lock` installs exactly the versions that `pyproject.toml` constrains, by hash."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENT = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def locked() -> dict[str, str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return {normalized(name): version for name, version in REQUIREMENT.findall(text)}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_agrees_with_the_constraints() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    constraints: list[str] = document["tool"]["uv"]["constraint-dependencies"]
    pins = {normalized(pin.split("==")[0]): pin.split("==")[1] for pin in constraints}
    assert locked().items() <= pins.items()


def test_the_lock_has_every_dependency() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {
        normalized(re.split(r"[<>=;\[ ]", requirement)[0])
        for requirement in document["project"]["dependencies"]
    }
    assert names <= locked().keys()


def test_every_package_of_the_lock_has_hashes_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    packages = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in package for package in packages)
