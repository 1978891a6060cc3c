// `clawgate judge`: what happened in a run, and whose fault it was.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClawgateError, call } from "./binary.js";

/** Judges what an agent command line printed: `stdout`, or the `path` of a file or a recording. */
export async function judge({ stdout, path, exitCode, stderr, contract, allow = [], check = true }) {
  if ((stdout === undefined) === (path === undefined)) throw new ClawgateError("either stdout or path is judged");
  const folder = await mkdtemp(join(tmpdir(), "clawgate-"));
  try {
    const args = [path ?? "-"];
    if (exitCode !== undefined && exitCode !== null) args.push(`--exit-code=${exitCode}`);
    if (stderr?.length) {
      await writeFile(join(folder, "stderr"), stderr);
      args.push("--stderr", join(folder, "stderr"));
    }
    if (contract) args.push("--contract", contract);
    args.push(...allow.map((name) => `--allow=${name}`));
    const judged = (more, options) => call(["judge", more, ...args], { stdin: stdout, ...options });
    // Once more for people where it fails: the words are the binary's.
    const explain = async () => (await judged("--quiet", { check: false, read: String })).output;
    const { output } = await judged("--format=json", { check, explain });
    if (output.length !== 1) throw new ClawgateError(`${output.length} inputs were judged: name one of them`);
    return output[0];
  } finally {
    await rm(folder, { recursive: true });
  }
}
