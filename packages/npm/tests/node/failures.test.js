// What fails, and how: fixtures that cannot fail would be worse than none.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { ClawgateError, ClawgateFailed, judge, run, startApi } from "clawgate";

const post = async (api, ...said) => {
  const messages = said.map((content, place) => ({ role: place % 2 ? "assistant" : "user", content }));
  const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
  const body = JSON.stringify({ model: "m", max_tokens: 9, messages });
  await (await fetch(`${api.baseUrl}/v1/messages`, { method: "POST", headers, body })).text();
};
const failsWith = (kind, words) => (error) => error instanceof kind && words.test(error.message);

test("a script that fits passes, and one that does not fails", async () => {
  const fits = await startApi(["Hello."]);
  await post(fits, "Hi");
  await fits.stop();
  assert.equal((await fits.requests()).length, 1, "it can still be read");
  await assert.rejects((await startApi(["Hello."])).stop(), failsWith(ClawgateFailed, /turn turn-1: nobody asked/));
  await (await startApi(["Hello."], { strict: false })).stop();
});

test("a request that no turn answers fails although the client hides it", async () => {
  const api = await startApi(["Hello."]);
  await post(api, "Hi");
  await post(api, "Hi", "Hello.", "And?");
  const words = /request 2, POST \/v1\/messages: no turn answers it; nearest is turn-1: turn: expected 1, found 2/;
  await assert.rejects(api.stop(), failsWith(ClawgateFailed, words));
});

test("a request that the API would refuse fails", async () => {
  const api = await startApi(["Hello."]);
  await post(api, 7);
  await assert.rejects(api.stop(), failsWith(ClawgateFailed, /the API refuses/));
});

test("a mistake in a script is shown where it is", async () => {
  await assert.rejects(startApi([{ txet: 1 }]), failsWith(ClawgateError, /unknown key `txet`, did you mean `text`\?/));
});

test("a case that is not as expected fails with the report", async () => {
  const failing = run("claude/answers/stream", { target: "reference+no-result" });
  await assert.rejects(failing, failsWith(ClawgateFailed, /FAIL claude\/answers\/stream[^]*result-present/));
  assert.equal((await run("claude/answers/stream")).cases[0].status, "pass");
});

test("nothing selected and a missing target are errors, and no findings", async () => {
  await assert.rejects(run("no/such/case"), failsWith(ClawgateError, /ended with 4/));
  const missing = run("claude/answers/stream", { target: "claude=/no/such/program", check: false });
  await assert.rejects(missing, failsWith(ClawgateError, /ended with 3/));
});

test("a broken stream fails with the words of the judge", async () => {
  const stdout = '{"type":"system","subtype":"init","session_id":"s"}\n';
  await assert.rejects(judge({ stdout }), failsWith(ClawgateFailed, /truncated/));
  assert.equal((await judge({ stdout, check: false })).verdict.class, "truncated");
  const stderr = "thread main panicked at x";
  assert.equal((await judge({ stdout: "", stderr, exitCode: 101, check: false })).verdict.class, "crash");
  await assert.rejects(judge({}), failsWith(ClawgateError, /either stdout or path/));
});

for (const [runner, command] of [
  ["node:test", ["node", "--test", "tests/failing/node.js"]],
  ["vitest", ["node_modules/.bin/vitest", "run", "--config", "tests/failing/vitest.config.js"]],
]) {
  test(`${runner} fails a test whose script does not fit`, () => {
    // node:test tells its children that they are run by it, and then they print for it.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const done = spawnSync(command[0], command.slice(1), { encoding: "utf8", env });
    assert.equal(done.status, 1, done.stdout + done.stderr);
    assert.match(done.stdout + done.stderr, /turn turn-1: nobody asked for it/);
  });
}

test("the command ends as the binary does", () => {
  const clawgate = (...args) => spawnSync("node_modules/.bin/clawgate", args, { encoding: "utf8" });
  assert.match(clawgate("--version").stdout, /^clawgate \d/);
  assert.equal(clawgate("run", "no/such/case").status, 4);
});
