// Red on purpose: nobody asks for the turn.
import { test } from "clawgate/vitest";

test("asks for nothing", async ({ clawgateApi }) => {
  await clawgateApi(["Hello."]);
});
