// The loops of agents.mjs: close() throws for each broken one, and for no other.
import assert from "node:assert/strict";
import { test } from "node:test";

import { LooptapeError, record, replay, serve } from "looptape";

import { agents } from "./agents.mjs";

for (const [name, agent] of Object.entries(agents)) {
  test(`${name}: a correct loop`, async () => {
    const fake = await serve("weather.yaml");
    assert.equal(await agent(fake, false), "It is 22 degrees in both.");
    assert.equal((await fake.close()).requests, 2);
  });

  test(`${name}: a broken loop`, async () => {
    const fake = await serve("weather.yaml");
    await agent(fake, true).catch(() => {}); // of the SDK, whose request was rejected
    await assert.rejects(fake.close(), (error) => {
      assert.ok(error instanceof LooptapeError, String(error));
      assert.equal(error.exitStatus, 1);
      assert.match(error.message, /^looptape serve weather\.yaml: exit status 1\n.*\n(2 +INV-01|1 +INV-07) /);
      assert.equal(error.report.violations.length, 1);
      return true;
    });
  });

  test(`${name}: a recording`, async () => {
    const cassette = `${name.replace(/\W/g, "-")}.tape`;
    const fake = await serve("weather.yaml");
    const upstream = { openai: fake.baseURLs.openai, anthropic: fake.baseURLs.anthropic, gemini: fake.baseURLs.gemini };
    const recording = await record(cassette, { upstream });
    await agent(recording, false);
    assert.equal((await recording.close()).ok, true);
    await fake.close();

    const replayed = await replay(cassette);
    assert.equal(await agent(replayed, false), "It is 22 degrees in both.");
    assert.equal((await replayed.close()).ok, true);

    const misses = await replay(cassette, { allowUnused: true });
    await agent(misses, true).catch(() => {});
    if (name === "ai") {
      await misses.close(); // its only request is in the recording
      return;
    }
    await assert.rejects(misses.close(), (error) => {
      assert.match(error.message, /request not recorded/);
      assert.equal(error.report.ok, false);
      return true;
    });
  });
}
