"""Holds the conversations of conversations.toml with OpenAI's published Python client, by both of its APIs, and prints what
it saw as JSON."""

import json
import os
import sys

import openai

client = openai.OpenAI(
    base_url=os.environ["CLAWGATE_BASE_URL"] + "/v1", api_key="dummy-key-of-openai", max_retries=0, timeout=20
)
MODEL = "gpt-5.5"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
STATUSES = (400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529)


class Responses:
    tools = [{"type": "function", "name": "weather", "description": "The weather", "parameters": PARAMETERS}]

    def ask(self, prompt, stream, client=client, **more):
        request = dict(model=MODEL, input=prompt, store=False, **more)
        if not stream:
            return client.responses.create(**request)
        with client.responses.stream(**request) as events:
            told = list(events)
        deltas = "".join(event.delta for event in told if event.type == "response.output_text.delta")
        # The helper knows no final response that is incomplete.
        answer = told[-1].response
        assert deltas == answer.output_text, (deltas, answer.output_text)
        return answer

    def message(self, answer):
        calls = [item for item in answer.output if item.type == "function_call"]
        thoughts = [part.text for item in answer.output if item.type == "reasoning" for part in item.summary]
        details = answer.incomplete_details
        return {
            "text": answer.output_text,
            "thinking": "".join(thoughts),
            "calls": [[call.name, json.loads(call.arguments)] for call in calls],
            "stop": details.reason if details else answer.status,
            "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
        }

    def after(self, prompt, call):
        items = [item.model_dump(exclude_none=True) for item in call.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content", []):
                part.pop("parsed", None)
        ids = [item.call_id for item in call.output if item.type == "function_call"]
        outputs = [{"type": "function_call_output", "call_id": id, "output": "21"} for id in ids]
        return dict(prompt=[{"role": "user", "content": prompt}, *items, *outputs])

    def count(self):
        return client.responses.input_tokens.count(model=MODEL, input="plain").input_tokens > 0


class Chat:
    tools = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]

    def ask(self, prompt, stream, client=client, **more):
        messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
        request = dict(model=MODEL, messages=messages, **more)
        if not stream:
            return client.chat.completions.create(**request)
        with client.chat.completions.stream(**request, stream_options={"include_usage": True}) as events:
            for _ in events:
                pass
            return events.get_final_completion()

    def message(self, answer):
        choice = answer.choices[0]
        calls = choice.message.tool_calls or []
        return {
            "text": choice.message.content,
            "thinking": getattr(choice.message, "reasoning_content", ""),
            "calls": [[call.function.name, json.loads(call.function.arguments)] for call in calls],
            "stop": choice.finish_reason,
            "usage": [answer.usage.prompt_tokens, answer.usage.completion_tokens],
        }

    def after(self, prompt, call):
        message = call.choices[0].message
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in message.tool_calls
        ]
        said = {"role": "assistant", "content": message.content, "tool_calls": calls}
        outputs = [{"role": "tool", "tool_call_id": c["id"], "content": "21"} for c in calls]
        return dict(prompt=[{"role": "user", "content": prompt}, said, *outputs])

    def count(self):
        return True


def failure(call):
    try:
        call()
    except openai.APIError as error:
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "code": error.code,
            "request_id": bool(getattr(error, "request_id", None)),
        }
    return {"class": None}


def limited(call):
    """What the headers of a refusal say of the limit."""
    try:
        call()
    except openai.RateLimitError as error:
        headers = error.response.headers
        return [headers["retry-after"], "x-ratelimit-limit-requests" in headers, "x-ratelimit-reset-tokens" in headers]


def cut(call):
    """A stream that breaks off raises, whichever layer notices it first; that nothing is raised is the fault."""
    try:
        call()
    except Exception as error:
        return type(error).__module__.split(".")[0]
    return None


def tools(api, stream):
    call = api.ask("tool", stream, tools=api.tools)
    answer = api.ask(stream=stream, tools=api.tools, **api.after("tool", call))
    return [api.message(call), api.message(answer)]


def refusal(api, stream):
    # The helper that puts a stream of Chat Completions together raises what a filtered answer is.
    try:
        return api.message(api.ask("refusal", stream))["stop"]
    except openai.ContentFilterFinishReasonError:
        return "content_filter"


api = {"responses": Responses, "chat": Chat}[sys.argv[1]]()
both = (True, False)
seen = {
    "version": openai.__version__,
    "plain": [api.message(api.ask("plain", stream)) for stream in both],
    "thinking": [api.message(api.ask("think", stream)) for stream in both],
    "tools": [tools(api, stream) for stream in both],
    "refusal": [refusal(api, stream) for stream in both],
    "retry": api.message(api.ask("retry", True, client=client.with_options(max_retries=2))),
    "statuses": {
        str(status): [failure(lambda: api.ask(f"status {status}", stream)) for stream in both] for status in STATUSES
    },
    "error_event": failure(lambda: api.ask("error event", True)),
    "cut": cut(lambda: api.ask("cut", True)),
    "limited": [limited(lambda: api.ask("limited", stream)) for stream in both],
    "reset": failure(lambda: api.ask("reset", True)),
    "stall": failure(lambda: api.ask("stall", True, client=client.with_options(timeout=0.3))),
    "count": api.count(),
    "models": [model.id for model in client.models.list().data],
    "model": client.models.retrieve("gpt-5.5").id,
}
print(json.dumps(seen))
