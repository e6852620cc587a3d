import type { TestAPI } from "vitest";

import type { CheckOptions, record, replay, serve } from "./index.js";

export { expect } from "vitest";

/** The test of vitest with a fixture whose servers are closed, and checked, after the test. */
export const test: TestAPI<{ looptape: { serve: typeof serve; replay: typeof replay; record: typeof record } }>;

declare module "vitest" {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface Matchers<T = any> {
    /** Passes if `looptape check` accepts the run: a list of messages, the path of a file, or a list of paths. */
    toPassCheck(options?: CheckOptions): void;
  }
}
