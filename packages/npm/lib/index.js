// The clawgate binary from JavaScript. Everything is decided by the binary; this starts it, reads its JSON and throws
// what it found. The forms of the JSON are published under schemas/clawgate: mock, run and judge.
export { ClawgateError, ClawgateFailed, binary } from "./binary.js";
export { startApi } from "./api.js";
export { judge } from "./judge.js";
export { run } from "./run.js";
