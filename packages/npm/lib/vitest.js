// Fixtures for vitest: `import { test } from "clawgate/vitest"`.
import { test as base } from "vitest";
import { apis } from "./fixtures.js";
import { judge as judgeOutput } from "./judge.js";
import { run } from "./run.js";

export const test = base.extend({
  // vitest reads the names in the braces: an empty pair says that nothing else is needed.
  clawgateApi: async ({}, use) => {
    const { start, stop } = apis();
    await use(start);
    await stop();
  },
  clawgateRun: async ({}, use) => use(run),
  judge: async ({}, use) => use(judgeOutput),
});
