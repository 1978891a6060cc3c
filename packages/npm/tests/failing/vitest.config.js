export default { test: { include: ["tests/failing/vitest.js"] } };
