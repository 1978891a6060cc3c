"""What a program on the Claude Agent SDK does with permissions, hooks and tools of its own, without the real API.

    CLAWGATE_TARGET=claude python permission.py     # on the Claude CLI; without it on clawgate's reference target
    CLAWGATE_FAULT=no-result python permission.py   # when something goes wrong: clawgate play --help lists what
    clawgate judge conversations                    # whether the CLI kept its contract, in both directions
"""

import asyncio
import json
import os
import sys

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    create_sdk_mcp_server,
    tool,
)

HERE = os.path.dirname(os.path.abspath(__file__))


async def converse(fault="", patience=20):
    """One conversation; what the program has seen of it."""
    seen = {"asked": [], "hooks": [], "added": 0, "messages": [], "result": None, "error": None}

    async def may(name, tool_input, context):
        seen["asked"].append(name)
        changed = {**tool_input, "content": "as the user wanted"} if name == "Write" else tool_input
        return PermissionResultAllow(updated_input=changed)

    async def before(hook_input, tool_use_id, context):
        seen["hooks"].append(hook_input["tool_name"])
        return {}

    @tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(args):
        seen["added"] += 1
        return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

    options = ClaudeAgentOptions(
        cli_path=os.path.join(HERE, "claude"),
        can_use_tool=may,
        hooks={"PreToolUse": [HookMatcher(matcher="Write", hooks=[before])]},
        mcp_servers={"calculator": create_sdk_mcp_server("calculator", tools=[add])},
        env={"CLAWGATE_FAULT": fault or os.environ.get("CLAWGATE_FAULT", "")},
    )

    async def all_of_it():
        async with ClaudeSDKClient(options) as client:
            await client.query("Write it, and add.")
            async for message in client.receive_response():
                seen["messages"].append(type(message).__name__)
                seen["result"] = getattr(message, "result", seen["result"])

    try:
        await asyncio.wait_for(all_of_it(), patience)
    except Exception as error:
        seen["error"] = type(error).__name__
    return seen


async def main(faults):
    """Without faults one conversation; with faults one for each, a few at a time."""
    few = asyncio.Semaphore(4)

    async def one(fault):
        async with few:
            return await converse(fault)

    several = await asyncio.gather(*(one(fault) for fault in faults or [""]))
    print(json.dumps(dict(zip(faults, several)) if faults else several[0]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
