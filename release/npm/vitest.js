// The fixture looptape and the matcher toPassCheck for vitest.
import { expect, test as base } from "vitest";

import { checkSync, record, replay, serve } from "./index.js";
import { closeAll } from "./unclosed.js";

expect.extend({
  toPassCheck(received, options) {
    const report = checkSync(received, options);
    const problems = [
      ...report.violations.map((x) => `${x.invariant}: ${x.run}, event ${x.event}: ${x.message}`),
      ...report.unreadable.map((x) => `${x.file}:${x.line}: ${x.error}`),
    ].join("\n");
    if (!report.ok && this.isNot && report.violations.length === 0) {
      throw new Error(`looptape check: cannot check this run:\n${problems}`);
    }
    return {
      pass: report.ok,
      message: () => (report.ok ? "expected a run that looptape check rejects" : `looptape check rejects the run:\n${problems}`),
    };
  },
});

export { expect };

export const test = base.extend({
  // vitest reads the names of the fixtures that this one needs from the pattern.
  looptape: async ({}, use) => {
    const starts = [];
    const closing =
      (start) =>
      async (...args) => {
        const server = start(...args);
        starts.push(server);
        return server;
      };
    await use({ serve: closing(serve), replay: closing(replay), record: closing(record) });
    await closeAll(starts);
  },
});
