"""Sections of the prompt, one module each; built-in texts are in `text/*.md`.

Every module has a function `write`, which turns facts into sections. A section without text is left
out of the prompt, but reported.
"""
