// Where the binary is, and what its exit codes mean.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

export const OK = 0;
export const FINDINGS = 100;

/** clawgate could not do what it was asked: a wrong file or flag, a target that is missing, nothing selected. */
export class ClawgateError extends Error {
  name = "ClawgateError";
}

/** clawgate found something: what was tested is not as it should be. */
export class ClawgateFailed extends Error {
  name = "ClawgateFailed";
}

/** `CLAWGATE_BIN`, else the binary of this platform's package. */
export function binary() {
  if (process.env.CLAWGATE_BIN) return process.env.CLAWGATE_BIN;
  const name = `@clawgate/${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/clawgate`);
  } catch {
    throw new ClawgateError(`there is no clawgate binary: install ${name} beside clawgate, or set CLAWGATE_BIN`);
  }
}

export const jsonLines = (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Runs the binary: its exit code, and its output as `read` makes it of text. `explain` gives the words of a failure. */
export async function call(args, { stdin, check = true, explain, read = jsonLines } = {}) {
  const child = spawn(binary(), args, { stdio: "pipe" });
  const text = (stream) => stream.setEncoding("utf8").reduce((all, part) => all + part, "");
  const ended = new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new ClawgateError(error.message)));
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  // Whoever does not read to the end says so by its exit code.
  child.stdin.on("error", () => {}).end(stdin ?? "");
  const [code, output, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code !== OK && code !== FINDINGS) throw new ClawgateError(`clawgate ended with ${code}: ${errors.trim()}`);
  if (check && code === FINDINGS) {
    throw new ClawgateFailed([((await explain?.()) ?? "").trim(), errors.trim()].filter(Boolean).join("\n"));
  }
  return { code, output: read(output) };
}
