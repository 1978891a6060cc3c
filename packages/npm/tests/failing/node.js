// Red on purpose: nobody asks for the turn.
import { test } from "node:test";
import { fixtures } from "clawgate/node-test";

test("asks for nothing", async (t) => {
  await fixtures(t).clawgateApi(["Hello."]);
});
