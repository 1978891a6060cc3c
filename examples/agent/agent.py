#!/usr/bin/env python3
"""An agent of one's own: asks the Messages API once, and tells of it as the Claude CLI does (stream-json)."""

import json, os, sys, time, urllib.request, uuid

MODEL, SESSION, START = "claude-haiku-4-5", str(uuid.uuid4()), time.monotonic()
PROMPT = sys.argv[sys.argv.index("-p") + 1]


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields, "session_id": SESSION, "uuid": str(uuid.uuid4())}), flush=True)


def ask():
    tools = [{"name": "Nothing", "description": "Does nothing.", "input_schema": {"type": "object"}}]
    body = {"model": MODEL, "max_tokens": 1024, "system": "You are brief.", "tools": tools}
    body["messages"] = [{"role": "user", "content": PROMPT}]
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    headers["x-api-key"] = os.environ["ANTHROPIC_API_KEY"]
    address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    with urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


say("system", subtype="init", cwd=os.getcwd(), model=MODEL, tools=["Nothing"], mcp_servers=[], slash_commands=[],
    permissionMode="default", apiKeySource="ANTHROPIC_API_KEY", output_style="default", agents=[], skills=[],
    plugins=[], claude_code_version="2.1.0")
answer = ask()
say("assistant", message=answer, parent_tool_use_id=None)
usage = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, **answer["usage"]}
cost = (usage["input_tokens"] + 5 * usage["output_tokens"]) / 1_000_000  # dollars, by the price list of the model
spent = {"inputTokens": usage["input_tokens"], "outputTokens": usage["output_tokens"], "webSearchRequests": 0,
         "cacheReadInputTokens": usage["cache_read_input_tokens"], "costUSD": cost, "contextWindow": 200000,
         "cacheCreationInputTokens": usage["cache_creation_input_tokens"]}
took = int((time.monotonic() - START) * 1000)
say("result", subtype="success", is_error=False, result=answer["content"][0]["text"], num_turns=1, duration_ms=took,
    duration_api_ms=took, total_cost_usd=cost, usage=usage, modelUsage={MODEL: spent}, permission_denials=[])
