import type { TestContext } from "node:test";
import type { judge, run, startApi } from "./index.js";

/** Fixtures of one test: the APIs that it starts are stopped, and what does not fit fails it. */
export function fixtures(t: TestContext): { clawgateApi: typeof startApi; clawgateRun: typeof run; judge: typeof judge };
