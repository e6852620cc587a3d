// Closes the servers that their users do not close, so that a run that was not as expected does not pass.
import { writeSync } from "node:fs";

/** Closes the servers that are not closed, and throws their errors. The caller of a start that failed has its error. */
export async function closeAll(starts) {
  const servers = (await Promise.allSettled(starts)).map((start) => start.value).filter((server) => server && !server.closed);
  const results = await Promise.allSettled(servers.map((server) => server.close()));
  const errors = results.filter((result) => result.status === "rejected").map((result) => result.reason);
  if (errors.length > 1) {
    throw new AggregateError(errors, errors.map((error) => error.message).join("\n"));
  }
  if (errors.length > 0) {
    throw errors[0];
  }
}

/** The names of the servers that are not closed, by the promises of their starts. */
const unclosed = new Map();

/** Starts a server. Unless it is closed before, it is closed after the test file of vitest or Jest, or when the process ends. */
export function closeLater(name, open) {
  const start = open(() => unclosed.delete(start));
  unclosed.set(start, name);
  start.catch(() => unclosed.delete(start));
  if (vitest) {
    closeAfterFile(start, globalThis.__vitest_worker__).catch(() => {}); // an unknown version: what remains is the end of the process
  }
  return start;
}

process.on("beforeExit", async () => {
  if (unclosed.size === 0) {
    return;
  }
  try {
    await closeAll(unclosed.keys());
  } catch (error) {
    writeSync(2, `${error.message}\n`);
    process.on("exit", fail); // after the listeners of a test runner that set the exit status
  }
});

process.on("exit", () => {
  for (const name of unclosed.values()) {
    writeSync(2, `looptape: ${name} was not closed, so its result is unknown: await close()\n`);
    fail();
  }
});

function fail() {
  process.exitCode ||= 1;
}

/** In a worker of vitest, which ends without the events of the process: its module, with the function that returns the hooks of a file. */
const vitest =
  globalThis.__vitest_worker__ &&
  import("vitest")
    .then(async (module) => ({ ...module, getHooks: module.TestRunner?.getSuiteHooks ?? (await import("vitest/suite")).getHooks }))
    .catch(() => undefined);

// Jest, whose processes end so too, loads this module for each test file. Its hooks run in the order of their calls.
if (!vitest && globalThis.afterAll) {
  Promise.resolve()
    .then(() => globalThis.afterAll(() => closeAll(unclosed.keys()))) // after the hooks of the file
    .catch(() => {}); // in a test
}

/** The starts by test file. */
const files = new WeakMap();

/** Closes a server after the hooks of the file that now runs. The hooks of one test would be those of another in concurrent tests. */
async function closeAfterFile(start, { current, config } = {}) {
  const module = await vitest;
  const hooks = module?.getHooks?.(current?.file)?.afterAll;
  if (files.has(current?.file)) {
    files.get(current.file).push(start);
  } else if (hooks) {
    const starts = [start];
    files.set(current.file, starts);
    hooks[config?.sequence?.hooks === "stack" ? "unshift" : "push"](() => closeAll(starts));
  } else {
    module?.afterAll(() => closeAll([start])); // vitest collects the tests
  }
}
