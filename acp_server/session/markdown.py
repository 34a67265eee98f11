"""Texts as Markdown."""


def block(text: str, language: str = "") -> str:
    """Return a text as a block of Markdown that nothing in it can end."""
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
