"""The Messages API of Anthropic and of every endpoint that speaks it.

`adapter` and `endpoint` import the SDK, which takes seconds and tens of megabytes: nothing imports
those two but `models/loading`, in a thread, once a session is open.
"""
