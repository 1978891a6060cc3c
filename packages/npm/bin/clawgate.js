#!/usr/bin/env node
// Starts the binary of this platform's package with the same arguments, and ends as it does.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { binary } from "../lib/binary.js";

let child;
try {
  child = spawn(binary(), process.argv.slice(2), { stdio: "inherit" });
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(3);
}
// Ctrl-C reaches the whole group; what is sent to this process alone is handed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${error.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
