"""The shape of a JUnit report, as Jenkins' and GitLab's readers take it: elements, attributes.

The usual schema says the same in XSD; this is the part of it that our reports may use.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

NUMBER = r"\d+"
SECONDS = r"\d+(\.\d+)?"
TEXT = r"(?s).*"


@dataclass(frozen=True, slots=True)
class Shape:
    """What an element may have."""

    required: Mapping[str, str]
    optional: Mapping[str, str]
    children: tuple[str, ...] = ()
    has_text: bool = False


COUNTS = {"tests": NUMBER, "failures": NUMBER, "errors": NUMBER, "time": SECONDS}
FAULT = Shape({}, {"message": TEXT, "type": TEXT}, has_text=True)
SHAPES = {
    "testsuites": Shape({}, COUNTS | {"name": TEXT}, ("testsuite",)),
    "testsuite": Shape({"name": TEXT, "tests": NUMBER}, COUNTS, ("testcase",)),
    "testcase": Shape(
        {"name": TEXT, "classname": TEXT},
        {"time": SECONDS},
        ("failure", "error", "skipped", "system-out", "system-err"),
    ),
    "failure": FAULT,
    "error": FAULT,
    "system-out": Shape({}, {}, has_text=True),
}


def problems_of(report: bytes) -> list[str]:
    """Return what is wrong with a report."""
    root = Xml.fromstring(report)  # noqa: S314  our own
    if root.tag != "testsuites":
        return [f"{root.tag} is no report"]
    return list(_problems(root))


def _problems(element: Xml.Element) -> Iterator[str]:
    shape = SHAPES[element.tag]
    known = {**shape.optional, **shape.required}
    for name in shape.required:
        if name not in element.attrib:
            yield f"{element.tag}: {name} is missing"
    for name, value in element.attrib.items():
        if name not in known or not re.fullmatch(known[name], value):
            yield f"{element.tag}: {name}={value!r} is wrong"
    if element.text and element.text.strip() and not shape.has_text:
        yield f"{element.tag}: there is no place for text"
    for child in element:
        if child.tag not in shape.children:
            yield f"{element.tag}: no place for <{child.tag}>"
        else:
            yield from _problems(child)
