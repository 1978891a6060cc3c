// What a program on the Claude Agent SDK does with permissions, hooks and tools of its own, without the real API.
//
//     CLAWGATE_TARGET=claude node --import tsx permission.mts     # on the Claude CLI; without it on clawgate's reference target
//     CLAWGATE_FAULT=no-result node --import tsx permission.mts   # when something goes wrong: clawgate play --help lists what
//     clawgate judge conversations                  # whether the CLI kept its contract, in both directions

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const HERE = dirname(fileURLToPath(import.meta.url));

type Seen = {
  asked: string[];
  hooks: string[];
  added: number;
  messages: string[];
  result: string | null;
  error: string | null;
};

/** One conversation; what the program has seen of it. */
async function converse(fault = "", patience = 20_000): Promise<Seen> {
  const seen: Seen = { asked: [], hooks: [], added: 0, messages: [], result: null, error: null };
  const add = tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => {
    seen.added += 1;
    return { content: [{ type: "text", text: String(a + b) }] };
  });
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), patience);
  async function* prompts() {
    const message = { role: "user" as const, content: "Write it, and add." };
    yield { type: "user" as const, message, parent_tool_use_id: null, session_id: "" };
  }
  try {
    const conversation = query({
      prompt: prompts(),
      options: {
        abortController: stop,
        pathToClaudeCodeExecutable: join(HERE, "claude"),
        env: { ...process.env, CLAWGATE_FAULT: fault || (process.env.CLAWGATE_FAULT ?? "") },
        canUseTool: async (name, input) => {
          seen.asked.push(name);
          const updatedInput = name === "Write" ? { ...input, content: "as the user wanted" } : input;
          return { behavior: "allow", updatedInput };
        },
        hooks: {
          PreToolUse: [
            {
              matcher: "Write",
              hooks: [
                async (input) => {
                  if (input.hook_event_name === "PreToolUse") seen.hooks.push(input.tool_name);
                  return {};
                },
              ],
            },
          ],
        },
        mcpServers: { calculator: createSdkMcpServer({ name: "calculator", tools: [add] }) },
      },
    });
    for await (const message of conversation) {
      seen.messages.push(message.type);
      if (message.type === "result" && message.subtype === "success") seen.result = message.result;
    }
  } catch (error) {
    seen.error = stop.signal.aborted ? "TimeoutError" : (error as Error).constructor.name + ": " + (error as Error).message;
  } finally {
    clearTimeout(late);
  }
  return seen;
}

const faults = process.argv.slice(2);
if (faults.length === 0) {
  console.log(JSON.stringify(await converse()));
} else {
  const several: Record<string, Seen> = {};
  const waiting = [...faults];
  // A few at a time.
  const worker = async () => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) several[fault] = await converse(fault);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  console.log(JSON.stringify(several));
}
process.exit(0);
