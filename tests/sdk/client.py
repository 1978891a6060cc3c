"""Holds the conversations of conversations.toml with the published Python client and prints what it saw as JSON."""

import json
import os

import anthropic

client = anthropic.Anthropic(base_url=os.environ["CLAWGATE_BASE_URL"], api_key="dummy-key-of-python", max_retries=0, timeout=20)
MODEL = "claude-sonnet-4-6"
WEATHER = {
    "name": "weather",
    "description": "The weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def ask(prompt, stream, client=client, messages=None, **more):
    messages = messages or [{"role": "user", "content": prompt}]
    request = dict(model=MODEL, max_tokens=100, messages=messages, **more)
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        return events.get_final_message()


def message(answer):
    blocks = [block.model_dump(exclude_none=True) for block in answer.content]
    for block in blocks:
        block.pop("id", None)
        block.pop("parsed_output", None)
        block.pop("signature", None)
    usage = answer.usage
    return {
        "content": blocks,
        "stop_reason": answer.stop_reason,
        "usage": [usage.input_tokens, usage.output_tokens],
        "request_id": bool(answer._request_id) if hasattr(answer, "_request_id") else None,
    }


def failure(call):
    try:
        call()
    except anthropic.APIError as error:
        body = error.body if isinstance(error.body, dict) else {}
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "type": body.get("error", {}).get("type"),
            "request_id": bool(getattr(error, "request_id", None)),
        }
    return {"class": None}


def limited(call):
    """What the headers of a refusal say of the limit."""
    try:
        call()
    except anthropic.RateLimitError as error:
        return error.response.headers["retry-after"]


def cut(call):
    """A stream that breaks off raises, whichever layer notices it first; that nothing is raised is the fault."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None


def tools(stream):
    question = {"role": "user", "content": "tool"}
    call = ask("tool", stream, tools=[WEATHER])
    use = next(block for block in call.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "21"}
    content = [block.model_dump(exclude_none=True, include={"type", "text", "id", "name", "input"}) for block in call.content]
    answer = ask(
        "tool",
        stream,
        tools=[WEATHER],
        messages=[question, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}],
    )
    return [message(call), message(answer)]


seen = {
    "version": anthropic.__version__,
    "plain": [message(ask("plain", stream)) for stream in (True, False)],
    "thinking": [message(ask("think", stream)) for stream in (True, False)],
    "tools": [tools(stream) for stream in (True, False)],
    "refusal": [ask("refusal", stream).stop_reason for stream in (True, False)],
    "retry": message(ask("retry", True, client=client.with_options(max_retries=2))),
    "statuses": {
        str(status): [failure(lambda: ask(f"status {status}", stream)) for stream in (True, False)]
        for status in (400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529)
    },
    "error_event": failure(lambda: ask("error event", True)),
    "cut": cut(lambda: ask("cut", True)),
    "limited": [limited(lambda: ask("limited", stream)) for stream in (True, False)],
    "reset": failure(lambda: ask("reset", True)),
    "stall": failure(lambda: ask("stall", True, client=client.with_options(timeout=0.3))),
    "count": client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "plain"}]).input_tokens > 0,
    "models": len(client.models.list().data) > 0,
}
print(json.dumps(seen))
