// The module without an SDK: its errors, its options, and what a test can do wrong.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { spawn } from "node:child_process";
import { Worker } from "node:worker_threads";

import { check, checkSync, LooptapeError, record, replay, serve } from "looptape";

writeFileSync("hello.yaml", "version: 2\nmodels: {main: [{text: Hello.}]}\ninput: unused\n");

const post = (server, body = { model: "gpt-5", messages: [{ role: "user", content: "Hello?" }] }) =>
  fetch(`${server.baseURLs.openai}/chat/completions`, {
    method: "POST",
    headers: { Authorization: "Bearer any-key", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

const call = { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }] };
const pairless = [{ role: "user", content: "x" }, call, { role: "user", content: "y" }];

/** Checks an error of the module: the start of its message, and that it has a report or none. */
const failsWith = (promise, message, hasReport) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof LooptapeError, error.stack);
    assert.match(error.message, message);
    assert.equal(error.report !== undefined, hasReport);
    return true;
  });

/** Waits until a server has ended. */
const ended = (url) =>
  assert.rejects(async () => {
    for (;;) await fetch(`${url}/health`);
  }, TypeError);

test("close returns the report, also a second time", async () => {
  const fake = await serve("hello.yaml");
  assert.equal(fake.closed, false);
  assert.equal(fake.env.OPENAI_BASE_URL, fake.baseURLs.openai);
  assert.equal(fake.env.LOOPTAPE_URL, fake.url);
  assert.equal((await (await post(fake)).json()).choices[0].message.content, "Hello.");
  const report = await fake.close();
  assert.equal(report.format, "looptape-serve");
  assert.equal(report.requests, 1);
  assert.equal(fake.closed, true);
  assert.equal(await fake.close(), report);
  await assert.rejects(post(fake)); // the server has ended
});

test("a server without requests fails, and disposal does not report it twice", async () => {
  const fake = await serve("hello.yaml");
  await failsWith(fake.close(), /^looptape serve hello\.yaml: exit status 1\nFAILURE\nNo request came/, true);
  await failsWith(fake.close(), /No request came/, true);
  await fake[Symbol.asyncDispose]();
  await failsWith((await serve("hello.yaml"))[Symbol.asyncDispose](), /No request came/, true);
});

test("a rejected request is in the error", async () => {
  const fake = await serve("hello.yaml");
  assert.equal((await post(fake, { model: "gpt-5", messages: pairless })).status, 400);
  await failsWith(fake.close(), /\n1 +INV-01 +the call "a" has no result.*\n[^]*LIKELY CAUSE/, true);
});

test("a request to an unknown path is in the error", async () => {
  const fake = await serve("hello.yaml");
  await fetch(`${fake.url}/v2/chat`);
  await failsWith(fake.close(), /\nGET \/v2\/chat +1 +base URLs: /, true);
});

test("options are flags", async () => {
  const fake = await serve("hello.yaml", { model: ["gpt-5", "other"], suppress: { "INV-01": "a test" }, allowUnused: true, noToken: false, key: undefined });
  assert.equal((await post(fake, { model: "unknown", messages: [] })).status, 404);
  await assert.rejects(fake.close());
  const limited = await serve("hello.yaml", { timeout: 1 });
  await ended(limited.url);
  await failsWith(limited.close(), /did not end within 1ms/, true);
});

test("errors before the server starts", async () => {
  writeFileSync("wrong.yaml", "version: 2\nmodels:\n  main:\n    - txt: Hello.\ninput: unused\n");
  await failsWith(serve("wrong.yaml"), /^looptape serve wrong\.yaml: exit status 2\nlooptape: wrong\.yaml:4:7: unknown key in a response "txt"/, false);
  await failsWith(serve("none.yaml"), /none\.yaml: no such file/, false);
  await failsWith(serve("hello.yaml", { quirks: "QG-02" }), /unknown flag: --quirks/, false);
  await failsWith(serve("hello.yaml", { quirk: "QG-99" }), /QG-99/, false);
  await failsWith(replay("hello.yaml"), /hello\.yaml/, false);
  await failsWith(serve("hello.yaml", { cwd: "no-folder" }), /cannot start .* in no-folder: /, false);
  await assert.rejects(serve(""), /want the path of a file, got ""/);
  await assert.rejects(serve(), /want the path of a file, got undefined/);
  await assert.rejects(serve({ models: {} }), /want the path of a file, got \{"models":\{\}\}/);
});

test("paths", async () => {
  for (const folder of ["with space", "größe 日本", "-dash"]) {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "-hello ☀.yaml");
    writeFileSync(file, readFileSync("hello.yaml"));
    for (const [path, options] of [[file], [pathToFileURL(file)], ["-hello ☀.yaml", { cwd: folder }]]) {
      const fake = await serve(path, options);
      await post(fake);
      await fake.close();
    }
  }
});

test("servers at the same time, and at a used port", async () => {
  const fakes = await Promise.all(Array.from({ length: 20 }, () => serve("hello.yaml")));
  assert.equal(new Set(fakes.map((fake) => new URL(fake.url).port)).size, 20);
  await Promise.all(fakes.map((fake) => post(fake)));
  const [first] = fakes;
  await failsWith(serve("hello.yaml", { addr: new URL(first.url).host }), /--addr 127\.0\.0\.1:\d+: .*(in use|one usage)/, false);
  await Promise.all(fakes.map((fake) => fake.close()));
});

test("a file that cannot be written", async () => {
  await failsWith(record("hello.yaml/x.tape"), /^looptape record -o hello\.yaml\/x\.tape: exit status 2\nlooptape: .*hello\.yaml/, false);
  const folder = "read-only";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "hello.yaml"), readFileSync("hello.yaml"));
  chmodSync(folder, 0o500);
  const fake = await serve("hello.yaml", { cwd: folder }); // it writes nothing
  await post(fake);
  await fake.close();
});

test("recordings", async () => {
  const fake = await serve("hello.yaml");
  const recording = await record("hello.tape", { upstream: { openai: fake.baseURLs.openai } });
  assert.equal(recording.env.OPENAI_API_KEY, undefined);
  await post(recording);
  assert.deepEqual((await recording.close()).failures, []);
  await fake.close();
  assert.ok(existsSync("hello.tape"));

  const replayed = await replay("hello.tape");
  assert.equal(replayed.env.OPENAI_API_KEY, "any-key");
  assert.equal((await (await post(replayed)).json()).choices[0].message.content, "Hello.");
  assert.equal((await replayed.close()).ok, true);
  await failsWith((await replay("hello.tape")).close(), /hello\.tape: 1 of the recorded interactions were not used/, true);
});

test("check", async () => {
  writeFileSync("run.json", JSON.stringify(pairless));
  for (const input of [pairless, { messages: pairless }, "run.json", ["run.json"], pathToFileURL("run.json")]) {
    for (const report of [await check(input), checkSync(input)]) {
      assert.equal(report.ok, false);
      assert.deepEqual(report.violations.map((v) => v.invariant), ["INV-01"]);
    }
  }
  assert.equal((await check([...pairless.slice(0, 2), { role: "tool", tool_call_id: "a", content: "1" }])).ok, true);
  assert.equal(checkSync("none.json").unreadable[0].error, "open none.json: no such file or directory");
  await assert.rejects(check(undefined), /want a file, files or messages to check, got undefined/);
  await failsWith(check("run.json", { strictly: true }), /unknown flag: --strictly/, false);
});

test("large reports", async () => {
  const runs = { messages: [{ role: "user", content: "x" }, ...Array.from({ length: 50_000 }, () => [call, { role: "user", content: "y" }]).flat()] };
  assert.ok((await check(runs)).violations.length > 10_000);
  assert.ok(checkSync(runs).violations.length > 10_000);
});

test("CommonJS", () => {
  assert.equal(createRequire(import.meta.url)("looptape").serve, serve);
});

/** Runs a program that imports the module, and returns the exit status and standard error. */
const node = (program, ...options) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [...options, "--input-type=module", "-e", program], { stdio: ["ignore", "ignore", "pipe"] });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (more) => (text += more));
    child.on("close", (status) => resolve({ status, text }));
  });

test("a server that is not closed fails the process, and does not keep it", async () => {
  const start = 'import { serve } from "looptape"; const fake = await serve("hello.yaml");';
  const unknown = /^looptape: looptape serve hello\.yaml was not closed, so its result is unknown: await close\(\)\n$/;
  const failed = /^looptape serve hello\.yaml: exit status 1\nFAILURE\nNo request came/;
  const request = 'await fetch(`${fake.baseURLs.openai}/chat/completions`, { method: "POST", headers: { Authorization: "Bearer x", "Content-Type": "application/json" }, body: \'{"model": "m", "messages": [{"role": "user", "content": "x"}]}\' });';
  // As mocha does, this runner sets the exit status when the process ends.
  const runner = 'process.once("beforeExit", () => process.on("exit", () => (process.exitCode = 0)));';
  // As Jest does, this runner calls a hook of the test file, and no event of the process.
  const hooks = 'const hooks = []; globalThis.afterAll = (hook) => hooks.push(hook); const { serve } = await import("looptape"); await serve("hello.yaml"); await hooks[0](); process.reallyExit(0);';
  const worker = 'import { Worker } from "node:worker_threads"; new Worker(\'import("looptape").then(({ serve }) => serve("hello.yaml"))\', { eval: true }).on("exit", (status) => (process.exitCode = status));';
  for (const [program, status, text] of [
    [start, 1, failed],
    [start.replace("await serve", "serve"), 1, failed],
    [runner + start, 1, failed],
    [worker, 1, failed],
    [hooks, 1, /LooptapeError: looptape serve hello\.yaml: exit status 1\nFAILURE\nNo request came/],
    [start + "process.exitCode = 3;", 3, failed],
    [start + "process.exit(0);", 1, unknown],
    [start + "process.exit(3);", 3, unknown],
    [start + request, 0, /^$/],
    [start + request + "await fake.close();", 0, /^$/],
    ['import { test } from "node:test"; import { serve } from "looptape"; test("not closed", () => serve("hello.yaml"));', 1, failed],
  ]) {
    const got = await node(program);
    assert.equal(got.status, status, program + got.text);
    assert.match(got.text, text, program);
  }
});

test("a worker", async () => {
  const program = 'import("looptape").then(async ({ serve }) => require("node:worker_threads").parentPort.postMessage((await serve("hello.yaml")).url)); setInterval(() => {}, 1000);';
  // As Jest does, this runner calls a hook of the test file, and no event of the process.
  const hooks = 'const hooks = []; globalThis.afterAll = (hook) => hooks.push(hook); const { serve } = await import("looptape"); await serve("hello.yaml"); await hooks[0](); process.reallyExit(0);';
  const worker = new Worker(program, { eval: true });
  const url = await new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
  assert.equal((await fetch(`${url}/health`)).status, 204);
  await worker.terminate();
  await ended(url);
});

test("binaries that cannot run", async () => {
  const run = async (LOOPTAPE_BINARY) => {
    const before = process.env.LOOPTAPE_BINARY;
    process.env.LOOPTAPE_BINARY = LOOPTAPE_BINARY;
    try {
      return await serve("hello.yaml");
    } finally {
      if (before === undefined) delete process.env.LOOPTAPE_BINARY;
      else process.env.LOOPTAPE_BINARY = before;
    }
  };
  await failsWith(run(join(tmpdir(), "no-looptape")), /cannot start .*no-looptape: .*ENOENT/, false);
  await failsWith(run("echo"), /echo printed no address, but "serve hello\.yaml --format=json --until-eof"/, false);
  await failsWith(run("hello.yaml"), /cannot start hello\.yaml: .*(EACCES|ENOENT|UNKNOWN)/, false);
});
