import type { TestAPI } from "vitest";
import type { judge, run, startApi } from "./index.js";

export const test: TestAPI<{ clawgateApi: typeof startApi; clawgateRun: typeof run; judge: typeof judge }>;
