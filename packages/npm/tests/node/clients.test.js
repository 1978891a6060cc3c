// The published JavaScript client and the Claude, Codex and Gemini CLIs, each against a scripted API, from node:test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { text } from "node:stream/consumers";
import Anthropic from "@anthropic-ai/sdk";
import { fixtures } from "clawgate/node-test";

const ask = async (api, content, options = {}) => {
  const client = new Anthropic({ baseURL: api.baseUrl, apiKey: "dummy-key", ...options });
  return client.messages.create({ model: "claude-haiku-4-5", max_tokens: 64, messages: [{ role: "user", content }] });
};

test("the client hears the script, and the test sees the request", async (t) => {
  const api = await fixtures(t).clawgateApi(["Grüße, 🦀!"]);
  assert.deepEqual((await api.summary()).unused, ["turn-1"]);
  assert.equal((await ask(api, "Say hello.")).content[0].text, "Grüße, 🦀!");
  const [request] = await api.requests();
  assert.deepEqual(request.content.messages, [{ role: "user", content: "Say hello." }]);
  assert.ok(!JSON.stringify(request).includes("dummy-key"));
});

test("the client tries again after a fault", async (t) => {
  const api = await fixtures(t).clawgateApi(["At last."], { faults: ["http:status=529,retry-after=0,times=1"] });
  assert.equal((await ask(api, "Hi", { maxRetries: 1 })).content[0].text, "At last.");
  assert.deepEqual((await api.requests()).map((request) => request.status), [529, 200]);
});

test("the Claude CLI answers as scripted", async (t) => {
  const { clawgateApi, judge } = fixtures(t);
  const api = await clawgateApi(["Hello from the script."]);
  const home = await mkdtemp(join(tmpdir(), "home-"));
  t.after(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const args = ["-p", "Say hello.", "--output-format", "stream-json", "--verbose"];
  const env = { HOME: home, PATH: "/usr/bin:/bin", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", ...api.env };
  const child = spawn(process.env.CLAWGATE_CLAUDE_BIN, args, { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const { verdict, run } = await judge({ stdout, stderr, exitCode });
  assert.deepEqual([verdict.class, run.output], ["ok", "Hello from the script."]);
  const asked = (await api.requests()).filter((request) => request.kind === "turn");
  assert.match(JSON.stringify(asked[0].content.messages), /Say hello\./);
});

test("the Claude CLI runs a case", async (t) => {
  const scenario = {
    scenario: { name: "mine/hello", contract: "claude-stream-json" },
    run: { prompt: "Say hello." },
    expect: { verdict: "ok", requests: 1 },
    api: { turns: [{ text: "Hello." }] },
  };
  const { cases } = await fixtures(t).clawgateRun(scenario, { target: `claude=${process.env.CLAWGATE_CLAUDE_BIN}` });
  assert.deepEqual(cases.map(({ case: name, status }) => [name, status]), [["mine/hello", "pass"]]);
});

test("one case on two other agents, whose API has a bad moment", async (t) => {
  const scenario = {
    scenario: { name: "mine/limited", contract: "any" },
    run: { prompt: "Say hello." },
    expect: { verdict: "rate_limit" },
    api: { turns: [{ text: "Hello.", faults: ["http:status=429"] }] },
  };
  const options = { target: "codex@0.166.0", args: ["--target", "gemini@0.61.0"], check: false };
  const { cases } = await fixtures(t).clawgateRun(scenario, options);
  assert.deepEqual(cases.map(({ verdict, status }) => [verdict.class, status]), [
    ["rate_limit", "pass"],
    // Its exit code is the status modulo 256, which its documentation does not have.
    ["rate_limit", "fail"],
  ]);
});

test("what another agent printed is judged by its own contract", async (t) => {
  const cut = '{"type":"thread.started","thread_id":"t"}\n{"type":"turn.started"}\n';
  const { contract, contract_detected, verdict } = await fixtures(t).judge({ stdout: cut, exitCode: 0, check: false });
  assert.deepEqual([contract, contract_detected, verdict.class], ["codex-exec-json", true, "truncated"]);
});
