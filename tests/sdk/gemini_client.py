"""Holds the conversations of conversations.toml with Google's published Python client and prints what it saw as JSON."""

import json
import os

from google import genai
from google.genai import errors, types

client = genai.Client(
    api_key="dummy-key-of-gemini",
    http_options=types.HttpOptions(base_url=os.environ["CLAWGATE_BASE_URL"], timeout=20_000),
)
MODEL = "gemini-2.5-flash"
WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="weather",
            description="The weather",
            parameters={"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
        )
    ]
)
STATUSES = (400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529)


def ask(prompt, stream, **config):
    request = dict(model=MODEL, contents=prompt, config=types.GenerateContentConfig(**config))
    if not stream:
        return [client.models.generate_content(**request)]
    return list(client.models.generate_content_stream(**request))


def parts(chunks):
    found = [part for chunk in chunks for part in (chunk.candidates[0].content.parts or [])]
    return [part for part in found if part.text != ""]


def message(chunks):
    last, said = chunks[-1], parts(chunks)
    usage = last.usage_metadata
    return {
        "text": "".join(part.text for part in said if part.text and not part.thought),
        "thinking": "".join(part.text for part in said if part.thought),
        "calls": [[part.function_call.name, part.function_call.args] for part in said if part.function_call],
        "stop": last.candidates[0].finish_reason.value,
        "usage": [usage.prompt_token_count, usage.candidates_token_count + (usage.thoughts_token_count or 0)],
    }


def failure(call):
    try:
        call()
    except errors.APIError as error:
        return {"class": type(error).__name__, "status": error.code, "word": error.status}
    except Exception as error:
        # The errors of the connection are those of the HTTP client underneath, whichever it is.
        if not type(error).__module__.startswith("httpx"):
            raise
        return {"class": type(error).__name__}
    return {"class": None}


def limited(call):
    """When a refusal says that it may be tried again: this API says so in the body."""
    try:
        call()
    except errors.APIError as error:
        details = error.details["error"]["details"]
        return [detail["retryDelay"] for detail in details if "retryDelay" in detail]


def cut(call):
    """A stream that breaks off raises, or ends without a reason; that it looks whole is the fault."""
    try:
        chunks = call()
    except Exception as error:
        return type(error).__module__.split(".")[0]
    return chunks[-1].candidates[0].finish_reason


def tools(stream):
    call = ask("tool", stream, tools=[WEATHER])
    calls = [part.function_call for part in parts(call) if part.function_call]
    results = [
        types.Part(function_response=types.FunctionResponse(id=use.id, name=use.name, response={"output": "21"}))
        for use in calls
    ]
    history = [
        types.Content(role="user", parts=[types.Part(text="tool")]),
        types.Content(role="model", parts=parts(call)),
        types.Content(role="user", parts=results),
    ]
    return [message(call), message(ask(history, stream, tools=[WEATHER]))]


both = (True, False)
hasty = types.HttpOptions(timeout=300)
seen = {
    "version": genai.__version__,
    "plain": [message(ask("plain", stream)) for stream in both],
    "thinking": [message(ask("think", stream)) for stream in both],
    "tools": [tools(stream) for stream in both],
    "refusal": [message(ask("refusal", stream))["stop"] for stream in both],
    "retry": [failure(lambda: ask("retry", True)), message(ask("retry", True))],
    "statuses": {
        str(status): [failure(lambda: ask(f"status {status}", stream)) for stream in both] for status in STATUSES
    },
    "error_event": failure(lambda: ask("error event", True)),
    "cut": cut(lambda: ask("cut", True)),
    "limited": [limited(lambda: ask("limited", stream)) for stream in both],
    "reset": failure(lambda: ask("reset", True)),
    "stall": failure(lambda: ask("stall", True, http_options=hasty)),
    "count": client.models.count_tokens(model=MODEL, contents="plain").total_tokens > 0,
    "models": [model.name for model in client.models.list()],
    "model": client.models.get(model=MODEL).name,
}
print(json.dumps(seen))
