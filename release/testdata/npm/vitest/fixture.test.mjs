import { readFileSync } from "node:fs";
import { expect as plain, test as bare } from "vitest";
import { expect, test } from "looptape/vitest";

import { agents } from "../agents.mjs";

const answer = { role: "assistant", content: "Hello." };
const call = { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }] };
const user = { role: "user", content: "x" };

for (const [name, agent] of Object.entries(agents)) {
  for (const broken of [false, true]) {
    test(`${name}: ${broken ? "fails" : "passes"}`, async ({ looptape }) => {
      await agent(await looptape.serve("weather.yaml"), broken).catch(() => {});
    });
  }
}

test("two servers: fails", async ({ looptape }) => {
  await looptape.serve("weather.yaml");
  await looptape.serve("weather.yaml");
});

test("a server that the test does not wait for: fails", async ({ looptape }) => {
  looptape.serve("weather.yaml");
});

test("a server that does not start: passes", async ({ looptape }) => {
  await expect(looptape.serve("none.yaml")).rejects.toThrow("none.yaml");
});

test("a server that the test closed: passes", async ({ looptape }) => {
  const fake = await looptape.serve("weather.yaml");
  await expect(fake.close()).rejects.toThrow("No request came");
});

test("a recording and a replay: passes", async ({ looptape }) => {
  const fake = await looptape.serve("weather.yaml");
  const recording = await looptape.record("fixture.tape", { upstream: { openai: fake.baseURLs.openai } });
  await agents.openai(recording);
  await recording.close();
  await agents.openai(await looptape.replay("fixture.tape"));
});

bare("the matcher: passes", () => {
  expect([user, answer]).toPassCheck();
  expect([user, call, user]).not.toPassCheck();
  plain({ messages: [user, answer] }).toPassCheck();
  expect("good.json").toPassCheck();
  expect(() => expect([user, call, user]).toPassCheck()).toThrow(/rejects the run:\nINV-01: run-1, event 1: the call "a" has no result/);
  expect(() => expect([user, answer]).not.toPassCheck()).toThrow("expected a run that looptape check rejects");
  expect(() => expect("none.json").not.toPassCheck()).toThrow(/cannot check this run:\nnone\.json/);
  expect(JSON.parse(readFileSync("good.json", "utf8"))).toPassCheck({ strict: true });
});

bare("the matcher: fails", () => {
  expect([user, call, user]).toPassCheck();
});
