// Servers of a file, and of concurrent tests, whose runs are as expected.
import { serve } from "looptape";
import { afterAll, beforeAll, expect, test } from "vitest";

import { agents } from "../agents.mjs";

let shared, late;

beforeAll(async () => {
  late = await serve("weather.yaml");
});
afterAll(async () => {
  expect(late.closed).toBe(false);
  await agents.openai(late);
  await late.close();
});

test("starts a server", async () => {
  shared = await serve("weather.yaml");
});

test("uses it", () => agents.openai(shared));

let finish;
const finished = new Promise((resolve) => (finish = resolve));

test.concurrent("uses a server after another test has ended", async () => {
  const fake = await serve("weather.yaml");
  await finished;
  await agents.openai(fake);
});

test.concurrent("ends first", async () => {
  await agents.openai(await serve("weather.yaml"));
  finish();
});
