#!/usr/bin/env node
// Runs the binary with the arguments, streams, signals and exit status of this process.
import { spawn } from "node:child_process";
import { constants } from "node:os";

import { binary } from "../binary.js";

const fail = (error) => {
  console.error(error.message);
  process.exitCode = 2;
};

try {
  const path = binary();
  const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", (error) => fail(new Error(`looptape: cannot start ${path}: ${error.message}`)));
  child.on("exit", (status, signal) => {
    process.exitCode = status ?? 128 + constants.signals[signal];
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
    // Windows delivers these to both processes, and kill would end the binary at once.
    process.on(signal, () => process.platform !== "win32" && child.kill(signal));
  }
} catch (error) {
  fail(error);
}
