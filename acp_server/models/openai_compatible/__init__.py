"""The forms of OpenAI, spoken by most other endpoints: chat completions and Responses.

Over `httpx2`, whose own reader of event streams is used, and not over the `openai` SDK: that costs
a second and 50 MB to import, checks what half of these endpoints send otherwise, and bears nothing
here that a POST does not. `adapter`, `endpoint` and `door` import httpx2: nothing imports those but
`models/loading`, in a thread.
"""
