"""The forms of OpenAI, spoken by most other endpoints: chat completions and Responses.

Over `httpx2` and not over the `openai` SDK: that costs a second and 50 MB to import, checks what
half of these endpoints send otherwise, and bears nothing here that a POST does not. Events are cut
by `models/server_events`, as for the Messages API: the readers of libraries took a good part of
each chunk's time, and hold an event of any size. `adapter`, `endpoint` and `door` import httpx2:
nothing imports those but `models/loading`, in a thread.
"""
