"""Markdown helpers."""


def fenced_block(text: str, language: str = "") -> str:
    """Return a text as a fenced Markdown block, with a fence that the text cannot close."""
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
