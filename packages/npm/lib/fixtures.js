// What the fixtures of every test runner share.
import { startApi } from "./api.js";

/** Starts APIs, and stops all of them at the end: the first that did not fit its script is thrown. */
export function apis() {
  const started = [];
  return {
    start: async (script, options) => {
      const api = await startApi(script, options);
      started.push(api);
      return api;
    },
    stop: async () => {
      const ends = await Promise.allSettled(started.map((api) => api.stop()));
      const failed = ends.find((end) => end.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
}
