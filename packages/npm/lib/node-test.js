// Fixtures for node:test: `const { clawgateApi, clawgateRun, judge } = fixtures(t)`.
import { apis } from "./fixtures.js";
import { judge } from "./judge.js";
import { run } from "./run.js";

export function fixtures(t) {
  const { start, stop } = apis();
  t.after(stop);
  return { clawgateApi: start, clawgateRun: run, judge };
}
