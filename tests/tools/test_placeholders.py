"""Lines that stand for code: refused where they would replace code, and nowhere else."""

import pytest

from acp_server.tools.edit.placeholders import (
    MAX_LINE_CHARACTERS,
    PlaceholderError,
    check_placeholders,
    is_placeholder,
)
from tests.support.case_table import each_case

PLACEHOLDERS = """\
// ... existing code ...
// ...existing code...
// … existing code …
/* ... existing code ... */
{/* ... existing code ... */}
# ... existing code ...
# ... (rest of file)
# ... rest of the code unchanged ...
# [rest of the file unchanged]
#  ... rest of the implementation remains the same ...
// ... rest of the code
// rest of the code remains the same
// Rest of your component stays the same.
/* unchanged */
# unchanged
# [unchanged]
# The code is unchanged.
// ... unchanged ...
// ... keep existing code ...
// (existing code unchanged)
<!-- ... rest of the page ... -->
<!-- existing content remains unchanged -->
-- ... remaining definitions ...
; ... other functions ...
% ... rest of the document ...
// ... other methods ...
// ... remaining methods unchanged
// ... previous implementation ...
# ... same as before ...
# ... code omitted for brevity ...
// ... (omitted)
# ... snip ...
... rest of the code unchanged ...
... existing code ...
[... rest of file ...]
(... rest of the function ...)
[lines 1-140: unchanged since you read them]
[lines 1,031-1,061: the same as lines 1,030-1,060 that you read]
[1,200 more: offset=501]
"""
ORDINARY = """\
...rest,
...rest
...args
const { a, ...rest } = props
return { ...existing, b: 1 }
...existing.fields,
...
def f(self) -> int: ...
# ...
// TODO: the rest of the code needs tests
# Existing code relies on this order.
# The rest of the file is generated.
# unchanged.
# code is unchanged.
# Return the remaining lines.
# other methods
## Rest of the document
- the rest of the code
print("... existing code ...")
"# ... existing code ..." in text
# see the existing implementation in a.py
raise ValueError("unchanged")
unchanged
unchanged = True
/* remaining: 3 */
Loading existing code...
"""


@each_case("line", PLACEHOLDERS.splitlines())
def test_a_line_that_stands_for_code_is_recognized(line: str) -> None:
    assert is_placeholder(line)


@each_case("line", ORDINARY.splitlines())
def test_an_ordinary_line_is_none(line: str) -> None:
    assert not is_placeholder(line)


def test_a_longer_line_is_no_placeholder() -> None:
    text = "existing code unchanged"
    assert is_placeholder("#" + text.rjust(MAX_LINE_CHARACTERS - 1))
    assert not is_placeholder("#" + text.rjust(MAX_LINE_CHARACTERS))


OLD = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"
CUT = "def a():\n    return 1\n\n\n# ... rest of the code ...\n"


def test_a_placeholder_may_not_replace_code() -> None:
    with pytest.raises(PlaceholderError, match=r"line 5 of the result.*Write that code out"):
        check_placeholders(OLD, CUT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD, f"{OLD}# ... rest of the code ...\n"),
        (CUT, CUT.replace("1", "one")),
        ("", CUT),
        (f"# Title\n\n```py\n{OLD}```\n", f"# Title\n\n```py\n{CUT}```\n"),
    ],
    ids=["nothing is dropped", "the old text has it", "the old text is empty", "an example"],
)
def test_a_line_that_replaces_nothing_is_allowed(old: str, new: str) -> None:
    check_placeholders(old, new)


def test_a_placeholder_behind_an_example_may_not_replace_text() -> None:
    with pytest.raises(PlaceholderError):
        check_placeholders(f"```\nrun\n```\n{OLD}", f"```\nrun\n```\n{CUT}")
