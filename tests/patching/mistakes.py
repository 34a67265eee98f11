"""Mistakes that models make in edits, and what must come of each.

They were collected from public transcripts and issue threads of agents. `result` is the file that a
careful reader would produce from the edit, or None if nobody could be sure of it: then the edit is
refused, with `says` in the reason.
"""

from dataclasses import dataclass

from tests.support.user_texts import SEEMS_MADE


@dataclass(frozen=True, slots=True)
class Mistake:
    """An edit of one file: a replacement, or a patch if `old` is None."""

    id: str
    text: str
    old: str | None
    new: str
    result: str | None
    says: str = ""
    replace_all: bool = False


PY = """\
class Cart:
    def __init__(self, items):
        self.items = items

    def total(self):
        total = 0
        for item in self.items:
            total += item.price
        return total

    def clear(self):
        self.items = []
        return self
"""
TOTAL = "def total(self):\n    total = 0\n    for item in self.items:\n        total += item.price"
JS = "const a = 1;\nconst s = `x ${a}`;\nif (a < 2 && s > 'b') {\n\trun('a\\n');\n}\n"
MD = "# Title\n\nIt\u2019s “easy” \u2013 see pages 1\u20139 or wait… then ask.\n\n- one\n- two\n"
MAKE = "all:\n\tgcc -o a a.c\n\tstrip a\n"


def shifted(text: str, blanks: int) -> str:
    """Return lines with more blanks in front."""
    return "\n".join(" " * blanks + line if line else line for line in text.split("\n"))


def summed(text: str = PY) -> str:
    return text.replace("        total = 0\n", "        total = 1\n")


V4A = "*** Begin Patch\n*** Update File: f\n{}*** End Patch\n"
SUM = (
    "         self.items = items\n \n     def total(self):\n"
    "-        total = 0\n+        total = 1\n"
)
REFUSED = None

BLANKS = [
    Mistake("indentation lost", PY, TOTAL, TOTAL.replace("0", "1"), summed()),
    Mistake(
        "indentation doubled", PY, shifted(TOTAL, 8), shifted(TOTAL, 8).replace("0", "1"), summed()
    ),
    Mistake(
        "tabs for blanks",
        MAKE,
        "    gcc -o a a.c",
        "    gcc -O2 -o a a.c",
        MAKE.replace("gcc", "gcc -O2"),
    ),
    Mistake(
        "blanks for tabs",
        PY,
        "\tdef clear(self):\n\t\tself.items = []",
        "\tdef clear(self):\n\t\tself.items.clear()",
        PY.replace("self.items = []", "self.items.clear()"),
    ),
    Mistake(
        "half the indentation",
        PY,
        TOTAL.replace("    ", "  "),
        TOTAL.replace("    ", "  ").replace("0", "1"),
        summed(),
    ),
    Mistake(
        "blanks at line ends of the file",
        "a = 1  \nb = 2\t\nc = 3\n",
        "a = 1\nb = 2",
        "a = 1\nb = 5",
        "a = 1  \nb = 5\t\nc = 3\n",
    ),
    Mistake(
        "blanks at line ends of the old text",
        "a = 1\nb = 2\n",
        "a = 1 \nb = 2 ",
        "a = 1 \nb = 5 ",
        "a = 1\nb = 5\n",
    ),
    Mistake(
        "newlines of Unix for Windows",
        "a\r\nb\r\nc\r\n",
        "a\nb\n",
        "a\nx\ny\n",
        "a\r\nx\r\ny\r\nc\r\n",
    ),
    Mistake(
        "blank lines around",
        "x = 1\ny = 2\nz = 3\n",
        "\n\ny = 2\n\n",
        "\n\ny = 5\n\n",
        "x = 1\ny = 5\nz = 3\n",
    ),
    Mistake(
        "aligned columns",
        "a     = 1\nbeta  = 2\n",
        "a = 1\nbeta = 2",
        "a = 1\nbeta = 3",
        "a     = 1\nbeta  = 3\n",
    ),
    Mistake("no newline at the end of the file", "a\nb", "b\n", "c\n", "a\nc"),
    Mistake(
        "a tab within a line",
        "key:\tvalue\nother: 1\n",
        "key: value",
        "key: new",
        "key:\tnew\nother: 1\n",
    ),
    Mistake(
        "blanks between signs",
        "f(a,b)\ng(c)\nh(d)\n",
        "f(a,b)\ng( c )\nh(d)",
        "f(a,b)\ng(e)\nh(d)",
        "f(a,b)\ng(e)\nh(d)\n",
    ),
    Mistake("the newline behind the new text forgotten", "a\nb\nc\n", "b\n", "x", "a\nx\nc\n"),
    Mistake("the same with a paragraph behind", "a\nb\n\nc\n", "b\n", "x", "a\nx\nc\n"),
    Mistake(
        "one of all places has other blanks",
        "f(a, b)\nf(a,  b)\n",
        "f(a, b)",
        "g(a, b)",
        "g(a, b)\ng(a,  b)\n",
        replace_all=True,
    ),
    Mistake(
        "one of all places is indented",
        "x\ny\nif a:\n    x\n    y\n",
        "x\ny\n",
        "z\ny\n",
        "z\ny\nif a:\n    z\n    y\n",
        replace_all=True,
    ),
]
CHARACTERS = [
    Mistake("straight apostrophe", MD, "It's", "It is", MD.replace("It\u2019s", "It is")),
    Mistake("straight quotes", MD, '"easy"', '"hard"', MD.replace("easy", "hard")),
    Mistake("a hyphen for a dash", MD, "pages 1-9", "page 1-9", MD.replace("pages", "page")),
    Mistake(
        "three dots for an ellipsis",
        MD,
        "wait... then",
        "wait... and then",
        MD.replace("then", "and then"),
    ),
    Mistake(
        "curly quotes in code",
        "print('a')\n",
        "print(\u2018a\u2019)",
        "print(\u2018b\u2019)",
        "print(\u2018b\u2019)\n".replace("\u2018", "'").replace("\u2019", "'"),
    ),
    Mistake(
        "a blank for one that does not break",
        "5\xa0km away\n",
        "5 km away",
        "6 km away",
        "6\xa0km away\n",
    ),
    Mistake(
        "composed letters",
        "caf\u00e9 open\n",
        "cafe\u0301 open",
        "cafe\u0301 shut",
        "caf\u00e9 shut\n",
    ),
    Mistake(
        "a minus",
        "t = \u22121 and more\n",
        "t = -1 and more",
        "t = -2 and more",
        "t = \u22122 and more\n",
    ),
]
ESCAPES = [
    Mistake(
        "newlines escaped",
        PY,
        "def clear(self):\\n        self.items = []",
        "def clear(self):\\n        self.items.clear()",
        PY.replace("self.items = []", "self.items.clear()"),
    ),
    Mistake("quotes escaped", 'say("a")\n', 'say(\\"a\\")', 'say(\\"b\\")', 'say("b")\n'),
    Mistake("apostrophes escaped", "say('a')\n", "say(\\'a\\')", "say(\\'b\\')", "say('b')\n"),
    Mistake("backslashes doubled", "re('\\d+')\n", "re('\\\\d+')", "re('\\\\w+')", "re('\\w+')\n"),
    Mistake(
        "template marks escaped", JS, "\\`x \\${a}\\`", "\\`y \\${a}\\`", JS.replace("`x", "`y")
    ),
    Mistake("tabs escaped", MAKE, "\\tstrip a", "\\tstrip -s a", MAKE.replace("strip", "strip -s")),
    Mistake(
        "HTML entities",
        JS,
        "if (a &lt; 2 &amp;&amp; s &gt; 'b') {",
        "if (a &lt; 3 &amp;&amp; s &gt; 'b') {",
        JS.replace("2", "3"),
    ),
    Mistake(
        "HTML entities of quotes",
        'say("a")\n',
        "say(&quot;a&quot;)",
        "say(&quot;b&quot;)",
        'say("b")\n',
    ),
]
WRAPPERS = [
    Mistake(
        "a code fence around both",
        PY,
        "```python\n        total = 0\n```",
        "```python\n        total = 1\n```",
        summed(),
    ),
    Mistake(
        "a code fence around the old text",
        PY,
        "```\n        total = 0\n```",
        "        total = 1",
        summed(),
    ),
    Mistake("marks of a diff", PY, "-        total = 0", "+        total = 1", summed()),
    Mistake(
        "marks of a diff with context",
        PY,
        "     def total(self):\n-        total = 0",
        "     def total(self):\n+        total = 1",
        summed(),
    ),
    Mistake(
        "line numbers with bars",
        PY,
        " 5|    def total(self):\n 6|        total = 0",
        " 5|    def total(self):\n 6|        total = 1",
        summed(),
    ),
    Mistake(
        "line numbers with tabs",
        PY,
        "     6\t        total = 0",
        "     6\t        total = 1",
        summed(),
    ),
    Mistake(
        "line numbers with arrows",
        PY,
        "     5→    def total(self):\n     6→        total = 0",
        "    def total(self):\n        total = 1",
        summed(),
    ),
    Mistake(
        "line numbers with an L",
        PY,
        "L5:     def total(self):\nL6:         total = 0",
        "L5:     def total(self):\nL6:         total = 1",
        summed(),
    ),
    Mistake(
        "line numbers of other lines",
        PY,
        "16|        total = 0",
        "16|        total = 1",
        REFUSED,
        "line numbers that do not fit",
    ),
    Mistake("a patch as the old text", PY, V4A.format(SUM), "", REFUSED, "is a patch"),
]
ABBREVIATIONS = [
    Mistake(
        "a middle left out of both",
        PY,
        "    def total(self):\n        total = 0\n        ...\n        return total",
        "    def total(self):\n        total = 1\n        ...\n        return total",
        summed(),
    ),
    Mistake(
        "a middle left out with a comment",
        PY,
        "    def total(self):\n        total = 0\n        # ... existing code ...\n"
        "        return total",
        "    def total(self):\n        total = 0\n        # ... existing code ...\n"
        "        return round(total)",
        PY.replace("return total", "return round(total)"),
    ),
    Mistake(
        "an end left out of both",
        PY,
        "    def total(self):\n        ...",
        "    def total(self) -> int:\n        ...",
        PY.replace("total(self):", "total(self) -> int:"),
    ),
    Mistake(
        "a middle left out of the old text",
        PY,
        "    def total(self):\n        ...\n        return total",
        "    def total(self):\n        return sum(self.items)",
        REFUSED,
        "is abbreviated (...)",
    ),
    Mistake(
        "a middle that cannot be placed",
        PY,
        "        self.items\n...\n        return",
        "        self.things\n...\n        return",
        REFUSED,
        "is abbreviated (...)",
    ),
    Mistake(
        "parts of which one is twice",
        "a\nk\nb\nk\n",
        "a\n...\nk",
        "a\n...\nx",
        REFUSED,
        "is abbreviated (...)",
    ),
]
PATCHES = [
    Mistake(
        "a bare hunk that fits often",
        "a\nk\nb\nk\nk\n",
        None,
        V4A.format("@@\n-a\n+A\n@@\n-k\n+K\n"),
        "A\nK\nb\nk\nk\n",
    ),
    Mistake(
        "a mark and a bare hunk",
        PY,
        None,
        V4A.format("@@\n     def clear(self):\n@@\n-        return self\n+        return None\n"),
        PY.replace("return self\n", "return None\n"),
    ),
    Mistake(
        "two equal hunks for two places",
        "k\na\nk\n",
        None,
        V4A.format("@@\n-k\n+x\n@@\n-k\n+x\n"),
        "x\na\nx\n",
    ),
    Mistake(
        "a hunk that changes nothing",
        PY,
        None,
        V4A.format("@@\n-        self.items = []\n+        self.items = []\n@@\n" + SUM),
        summed(),
    ),
    Mistake(
        "a mark that is not there",
        PY,
        None,
        V4A.format("@@\n def nowhere():\n@@\n" + SUM),
        summed(),
    ),
    Mistake(
        "the indentation of a line that stays",
        PY,
        None,
        V4A.format("@@\n    def total(self):\n-        total = 0\n+        total = 1\n"),
        summed(),
    ),
    Mistake(
        "context without its blank",
        PY,
        None,
        V4A.format(
            "@@\n    def total(self):\n-        total = 0\n+        total = 1\n"
            "         for item in self.items:\n"
        ),
        summed(),
    ),
    Mistake(
        "sections in another order",
        "a\nb\nc\nb\n",
        None,
        V4A.format("@@\n-c\n+C\n*** Update File: f\n@@\n-a\n+A\n"),
        "A\nb\nC\nb\n",
    ),
    Mistake("a unified diff", PY, None, f"--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n{SUM}", summed()),
    Mistake(
        "a unified diff with wrong numbers",
        PY,
        None,
        f"--- f\n+++ f\n@@ -90,1 +91,2 @@ class Cart:\n{SUM}",
        summed(),
    ),
    Mistake(
        "a git diff",
        PY,
        None,
        f"diff --git a/f b/f\nindex 12..34 100644\n--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n{SUM}",
        summed(),
    ),
    Mistake(
        "a fenced diff with words around it",
        PY,
        None,
        f"Here is the change:\n```diff\n--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n{SUM}```\n",
        summed(),
    ),
    Mistake(
        "a diff inside V4A",
        PY,
        None,
        V4A.format(f"--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n{SUM}"),
        summed(),
    ),
    Mistake(
        "V4A escaped once too often",
        "a\nb\n",
        None,
        V4A.format("@@\n-a\n+x\n").replace("\n", "\\n"),
        "x\nb\n",
    ),
    Mistake(
        "an addition without a place",
        PY,
        None,
        V4A.format("@@\n+        print()\n"),
        REFUSED,
        "does not say where",
    ),
    Mistake(
        "a first hunk that fits twice",
        "k\na\nk\n",
        None,
        V4A.format("@@\n-k\n+x\n"),
        "x\na\nk\n",
    ),
    Mistake(
        "lines that are not there",
        PY,
        None,
        V4A.format("@@\n-        total = 9\n+        total = 1\n"),
        REFUSED,
        '"9"',
    ),
]
WRONG = [
    Mistake(
        "another number",
        PY,
        "        total = 10",
        "        total = 1",
        REFUSED,
        'the file has "0", the old text "10"',
    ),
    Mistake(
        "another name",
        PY,
        "for product in self.items:",
        "for p in self.items:",
        REFUSED,
        '"product"',
    ),
    Mistake("other arguments", "f(a, b)\ng(b)\n", "f(b, a)", "f(b)", REFUSED, "f(a, b)"),
    Mistake(
        "a line left out",
        PY,
        "        total = 0\n            total += item.price",
        "        total = 1",
        REFUSED,
        "leaves out line 7",
    ),
    Mistake(
        "a line made up",
        PY,
        "        total = 0\n        count = 0\n        for item",
        "        total = 1",
        REFUSED,
        "count = 0",
    ),
    Mistake("another order", "a = 1\nb = 2\nc = 3\n", "b = 2\na = 1", "c", REFUSED, "a = 1"),
    Mistake("another comment", "x = 1  # the first\n", "x = 1  # first", "x = 2", REFUSED, "the"),
    Mistake("blanks within quotes", 'p("a  b")\n', 'p("a b")', 'p("c")', REFUSED, "The nearest"),
    Mistake("another case", "Return x\n", "return x", "return y", REFUSED, '"Return"'),
    Mistake(
        "a line that is there twice", PY, "self.items = ", "self.things = ", REFUSED, "2 times"
    ),
    Mistake(
        "blocks that differ in blanks", " a\n b\n  a\n  b\n", "a\nb\n", "x\n", REFUSED, "2 times"
    ),
    Mistake(
        "an edit that was made",
        summed(),
        "    def total(self):\n        total = 0",
        "    def total(self):\n        total = 1",
        REFUSED,
        "the old text",
    ),
    Mistake(
        "a long edit that was made",
        "# setup\nload_settings_from(path)\nrun()\n",
        "# setup\nload_settings()\nrun()",
        "# setup\nload_settings_from(path)\nrun()",
        REFUSED,
        SEEMS_MADE,
    ),
    Mistake(
        "a short text that is there by chance",
        "a = None\nb = compute()\n",
        "b = f()",
        "None",
        REFUSED,
        "The nearest",
    ),
    Mistake("an edit without a change", PY, "total = 0", "total = 0", REFUSED, "changes nothing"),
    Mistake("nothing", PY, "", "x", REFUSED, "is empty"),
    Mistake(
        "a similar line far away",
        "a\n" * 50 + "self.settings = load(path)\n",
        "self.setings=lod(pth)",
        "x",
        REFUSED,
        "51|",
    ),
]
MISTAKES = [*BLANKS, *CHARACTERS, *ESCAPES, *WRAPPERS, *ABBREVIATIONS, *PATCHES, *WRONG]
