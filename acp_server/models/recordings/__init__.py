"""Recordings of model requests and answers, and answers from them instead of a provider's.

The boundary is HTTP: requests are recorded as they were sent, so prompts, tools, API formats and
parsers are all under test at replay. `exchange` is the file format, `masking` removes secrets and
names the values of a machine, `matching` finds the answer to a request, `recorder` and
`replayer` connect both to the API clients.
"""
