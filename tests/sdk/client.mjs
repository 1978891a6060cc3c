// Holds the conversations of conversations.toml with the published TypeScript client and prints what it saw as JSON.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const baseURL = process.env.CLAWGATE_BASE_URL;
const [folder] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { default: Anthropic, APIError } = await import(pathToFileURL(require.resolve("@anthropic-ai/sdk")).href);
const manifest = `${folder}/node_modules/@anthropic-ai/sdk/package.json`;

const client = new Anthropic({ baseURL, apiKey: "dummy-key-of-node", maxRetries: 0, timeout: 20_000 });
const model = "claude-sonnet-4-6";
const weather = { name: "weather", description: "The weather", input_schema: { type: "object", properties: {} } };

async function ask(prompt, stream, { messages, options, ...more } = {}) {
  const request = { model, max_tokens: 100, messages: messages ?? [{ role: "user", content: prompt }], ...more };
  if (!stream) return client.messages.create(request, options);
  return client.messages.stream(request, options).finalMessage();
}

function message(answer) {
  const content = answer.content.map(({ id, signature, citations, parsed_output, ...block }) => block);
  return {
    content,
    stop_reason: answer.stop_reason,
    usage: [answer.usage.input_tokens, answer.usage.output_tokens],
  };
}

async function failure(call) {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const type = error.error?.error?.type ?? null;
    return { class: error.constructor.name, status: error.status ?? null, type, request_id: Boolean(error.requestID) };
  }
  return { class: null };
}

async function tools(stream) {
  const call = await ask("tool", stream, { tools: [weather] });
  const use = call.content.find((block) => block.type === "tool_use");
  const content = call.content.map(({ type, text, id, name, input }) =>
    type === "text" ? { type, text } : { type, id, name, input },
  );
  const messages = [
    { role: "user", content: "tool" },
    { role: "assistant", content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "21" }] },
  ];
  const answer = await ask("tool", stream, { tools: [weather], messages });
  return [message(call), message(answer)];
}

// What the headers of a refusal say of the limit.
async function limited(call) {
  try {
    await call();
  } catch (error) {
    return error.headers.get("retry-after");
  }
  return null;
}

// A stream that breaks off throws, whichever layer notices it first.
async function cut(call) {
  try {
    await call();
  } catch (error) {
    return error.constructor.name;
  }
  return null;
}

const both = async (how) => [await how(true), await how(false)];
const statuses = {};
for (const status of [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529]) {
  statuses[status] = await both((stream) => failure(() => ask(`status ${status}`, stream)));
}
const count = await client.messages.countTokens({ model, messages: [{ role: "user", content: "plain" }] });
const seen = {
  version: JSON.parse(readFileSync(manifest)).version,
  plain: await both(async (stream) => message(await ask("plain", stream))),
  thinking: await both(async (stream) => message(await ask("think", stream))),
  tools: await both(tools),
  refusal: await both(async (stream) => (await ask("refusal", stream)).stop_reason),
  retry: message(await ask("retry", true, { options: { maxRetries: 2 } })),
  statuses,
  error_event: await failure(() => ask("error event", true)),
  cut: await cut(() => ask("cut", true)),
  limited: await both((stream) => limited(() => ask("limited", stream))),
  reset: await failure(() => ask("reset", true)),
  stall: await failure(() => ask("stall", true, { options: { timeout: 300 } })),
  count: count.input_tokens > 0,
  models: (await client.models.list()).data.length > 0,
};
console.log(JSON.stringify(seen));
