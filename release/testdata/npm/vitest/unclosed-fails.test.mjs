// Servers that nothing closes, each with a file of its own. None of them gets a request.
import { copyFileSync } from "node:fs";
import { serve } from "looptape";
import { beforeAll, beforeEach, test } from "vitest";

function start(where) {
  copyFileSync("weather.yaml", `${where}.yaml`);
  return serve(`${where}.yaml`);
}

let started;
beforeAll(async () => {
  await start("in-beforeAll");
});
beforeEach(async () => {
  await (started ??= start("in-beforeEach"));
});

test("one", async () => {
  await start("in-test");
});

test("two", async () => {
  start("not-awaited");
});

test.concurrent("three", async () => {
  await start("in-concurrent-test");
});
