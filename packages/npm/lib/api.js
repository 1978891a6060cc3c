// A scripted Messages API on loopback: `clawgate mock`, held by its standard input.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ClawgateError, ClawgateFailed, FINDINGS, OK, binary } from "./binary.js";

/** Starts a scripted API and resolves once it listens. */
export async function startApi(script, { faults = [], seed, strict = true } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "clawgate-"));
  try {
    let scenario = script;
    if (typeof script !== "string") {
      scenario = join(folder, "script.json");
      await writeFile(scenario, JSON.stringify({ scenario: { name: "script" }, api: written(script) }));
    }
    const args = ["mock", scenario, "--format=json", "--stdin", "--bodies", "--strict"];
    args.push(...faults.map((fault) => `--fault=${fault}`));
    if (seed !== undefined) args.push(`--seed=${seed}`);
    const api = new Api(spawn(binary(), args, { stdio: "pipe" }), folder, strict);
    await api.listening();
    return api;
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
}

function written(script) {
  const api = Array.isArray(script) ? { turns: script } : script;
  return { ...api, turns: (api.turns ?? []).map((turn) => (typeof turn === "string" ? { text: turn } : turn)) };
}

class Api {
  #child;
  #folder;
  #strict;
  #requests = [];
  #said = [];
  #waiting = [];
  #errors = "";
  #ended;
  #isOver = false;
  #stopped;
  #summary;

  constructor(child, folder, strict) {
    this.#child = child;
    this.#folder = folder;
    this.#strict = strict;
    child.stderr.setEncoding("utf8").on("data", (text) => (this.#errors += text));
    // It is gone when it cannot be written to, which its exit code tells.
    child.stdin.on("error", () => {});
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      const said = JSON.parse(line);
      if (said.type === "request") this.#requests.push(said);
      else this.#hand(said);
    });
    const exit = new Promise((resolve) => {
      child.on("error", (error) => resolve(error.message));
      child.on("close", (code, signal) => resolve(code ?? signal));
    });
    this.#ended = Promise.all([exit, once(lines, "close")]).then(([code]) => {
      this.#isOver = true;
      this.#waiting.splice(0).forEach((take) => take(undefined));
      return code;
    });
  }

  async listening() {
    this.baseUrl = (await this.#next("listening")).base_url;
    this.env = {
      ANTHROPIC_BASE_URL: this.baseUrl,
      ANTHROPIC_API_KEY: "dummy-key",
      OPENAI_BASE_URL: `${this.baseUrl}/v1`,
      OPENAI_API_KEY: "dummy-key",
      GOOGLE_GEMINI_BASE_URL: this.baseUrl,
      GEMINI_API_KEY: "dummy-key",
    };
  }

  async summary() {
    if (this.#stopped) return this.#summary;
    this.#child.stdin.write("\n");
    return this.#next("summary");
  }

  async requests() {
    // The requests come before the summary.
    await this.summary();
    return [...this.#requests].sort((one, other) => one.number - other.number);
  }

  stop() {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.stop();
  }

  async #stop() {
    this.#child.stdin.end();
    const code = await this.#ended;
    this.#summary = this.#said.pop();
    await rm(this.#folder, { recursive: true });
    const failure = this.#failure(code);
    if (failure) throw failure;
  }

  #hand(said) {
    const take = this.#waiting.shift();
    if (take) take(said);
    else this.#said.push(said);
  }

  async #next(kind) {
    const said = this.#said.shift() ?? (this.#isOver ? undefined : await new Promise((take) => this.#waiting.push(take)));
    if (said?.type !== kind) {
      throw this.#failure(await this.#ended) ?? new ClawgateError(`clawgate mock said ${JSON.stringify(said)}, not ${kind}`);
    }
    return said;
  }

  #failure(code) {
    if (code === OK || (code === FINDINGS && !this.#strict)) return undefined;
    if (code !== FINDINGS) return new ClawgateError(`clawgate mock ended with ${code}: ${this.#errors.trim()}`);
    const told = ["the requests and the script of the API do not fit each other:"];
    for (const { number, method, path, kind, unmatched, findings } of this.#requests) {
      const named = `request ${number}, ${method} ${path}`;
      if (kind === "unmatched") {
        told.push(`  ${named}: no turn answers it; nearest is ${unmatched?.nearest}: ${unmatched?.because.join("; ")}`);
      }
      told.push(...findings.map((found) => `  ${named}: the API refuses ${found.pointer}: ${found.message}`));
    }
    told.push(...(this.#summary?.unused ?? []).map((name) => `  turn ${name}: nobody asked for it`));
    return new ClawgateFailed(told.join("\n"));
  }
}
