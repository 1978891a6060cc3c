// `clawgate run`: cases on targets.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call } from "./binary.js";

/** Runs cases: scenarios as objects, files of scenarios, or what else `clawgate run` chooses cases by. */
export async function run(cases, { target, out, args = [], check = true } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "clawgate-"));
  try {
    const chosen = [];
    for (const [number, one] of [cases].flat().entries()) {
      const file = join(folder, `scenario-${number}.json`);
      if (typeof one !== "string") await writeFile(file, JSON.stringify(one));
      chosen.push(typeof one === "string" ? one : file);
    }
    const report = join(folder, "report.txt");
    const options = ["--out", out ?? join(folder, "out"), "--report=json", `--report=terminal=${report}`, ...args];
    if (target) options.push("--target", target);
    const explain = () => readFile(report, "utf8");
    const { code, output: events } = await call(["run", ...chosen, ...options], { check, explain });
    return { exitCode: code, events, cases: events.filter((event) => event.type === "case-finished") };
  } finally {
    await rm(folder, { recursive: true });
  }
}
