// The published JavaScript client and the Claude CLI, each against a scripted API, from vitest.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { expect } from "vitest";
import { test } from "clawgate/vitest";

test("two APIs at once, one of them streaming", async ({ clawgateApi }) => {
  const first = await clawgateApi(["One."]);
  const second = await clawgateApi({ seed: 7, turns: [{ text: "Two." }] });
  const ask = (api) => {
    const client = new Anthropic({ baseURL: api.baseUrl, apiKey: "dummy-key" });
    return client.messages.stream({ model: "claude-haiku-4-5", max_tokens: 64, messages: [{ role: "user", content: "Hi" }] });
  };
  expect(await ask(second).finalText()).toBe("Two.");
  expect(await ask(first).finalText()).toBe("One.");
});

test("the Claude CLI answers as scripted", { timeout: 60_000 }, async ({ clawgateApi, judge, onTestFinished }) => {
  const api = await clawgateApi(["Hello from the script."]);
  const home = await mkdtemp(join(tmpdir(), "home-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const args = ["-p", "Say hello.", "--output-format", "stream-json", "--verbose"];
  const env = { HOME: home, PATH: "/usr/bin:/bin", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", ...api.env };
  const running = promisify(execFile)(process.env.CLAWGATE_CLAUDE_BIN, args, { cwd: home, env });
  running.child.stdin.end();
  const { verdict, run } = await judge({ stdout: (await running).stdout, exitCode: 0 });
  expect([verdict.class, run.output]).toEqual(["ok", "Hello from the script."]);
});

test("a case runs", async ({ clawgateRun }) => {
  const { cases } = await clawgateRun("claude/answers/stream");
  expect(cases.map((one) => one.status)).toEqual(["pass"]);
});
