"""What the model sees first: a tiered, cache-stable system prompt. Pure; knows no server.

>>> from prompt_engine.assemble import assemble
>>> from prompt_engine.inputs import PromptInputs
>>> prompt = assemble(PromptInputs(day="Saturday, November 21, 2026"))
>>> prompt.volatile
'Today is Saturday, November 21, 2026.'
"""
