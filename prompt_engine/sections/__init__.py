"""The sections of the prompt, a module each; their prose lies in `text/*.md`.

Every module has one function `write`, from facts to the sections they give. A section without text
is left out of the prompt, and reported.
"""
