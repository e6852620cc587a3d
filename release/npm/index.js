// Starts the command looptape for tests. See https://github.com/looptape/looptape/blob/main/docs/javascript.md.
import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { binary } from "./binary.js";
import { closeLater } from "./unclosed.js";

export class LooptapeError extends Error {
  constructor(message, { report, exitStatus } = {}) {
    super(message);
    this.name = "LooptapeError";
    this.report = report;
    this.exitStatus = exitStatus;
  }
}

export async function serve(scenario, options) {
  return start("serve", path(scenario), options);
}

export async function replay(cassette, options) {
  return start("replay", path(cassette), options);
}

export async function record(cassette, options) {
  return start("record", `--output=${path(cassette)}`, options);
}

export async function check(input, { cwd, ...options } = {}) {
  const { args, stdin } = checkCommand(input, options);
  const run = launch(args, cwd);
  run.child.stdin.end(stdin);
  return checkReport(await run.ended);
}

export function checkSync(input, { cwd, ...options } = {}) {
  const { args, stdin } = checkCommand(input, options);
  return checkReport(spawnSync(binary(), args, { cwd, input: stdin, encoding: "utf8", maxBuffer: Infinity, windowsHide: true }));
}

/** A running serve, replay or record. */
class Server {
  #run;
  #name;
  #onClose;
  #closed;

  constructor(run, name, address, onClose) {
    this.#run = run;
    this.#name = name;
    this.#onClose = onClose;
    this.url = address.url;
    this.baseURLs = address.base_urls;
    this.env = address.env;
    reference(run.child, "unref"); // a server that is not closed ends with this process
  }

  get name() {
    return this.#name;
  }

  get closed() {
    return this.#closed !== undefined;
  }

  close() {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose]() {
    if (!this.closed) {
      await this.close();
    }
  }

  async #close() {
    this.#onClose();
    reference(this.#run.child, "ref");
    this.#run.child.stdin.end();
    const ended = await this.#run.ended;
    const report = parse(ended.stdout.slice(ended.stdout.indexOf("\n") + 1));
    if (ended.status !== 0) {
      throw failure(this.#name, ended, report);
    }
    return report;
  }
}

function start(command, file, { cwd, ...options } = {}) {
  const name = `looptape ${command} ${file.replace(/^--output=/, "-o ")}`;
  return closeLater(name, (onClose) => open(name, [command, file, ...flags(options), "--format=json", "--until-eof"], cwd, onClose));
}

async function open(name, args, cwd, onClose) {
  const run = launch(args, cwd);
  const first = await Promise.race([run.line, run.ended]);
  if (typeof first !== "string") {
    throw failure(name, first);
  }
  const address = addressOf(first);
  if (!address) {
    run.child.kill();
    throw new LooptapeError(`${name}: ${binary()} printed no address, but ${JSON.stringify(first.slice(0, 200))}: use the looptape of the same version`);
  }
  return new Server(run, name, address, onClose);
}

/** Returns the address that a line has, if it has one. */
function addressOf(line) {
  try {
    const address = JSON.parse(line);
    return address.url && address.base_urls && address.env ? address : undefined;
  } catch {
    return undefined;
  }
}

/** Starts the binary. The promise line is the first line of its output, and ended its end with all output. */
function launch(args, cwd) {
  const child = spawn(binary(), args, { cwd, stdio: "pipe", windowsHide: true });
  const output = { stdout: [], stderr: [] };
  const ended = new Promise((resolve) => {
    const end = (result) => resolve({ ...result, stdout: output.stdout.join(""), stderr: output.stderr.join("") });
    child.on("error", (error) => end({ error, cwd }));
    child.on("close", (status, signal) => end({ status, signal }));
  });
  const line = new Promise((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output.stdout.push(text);
      if (resolve && text.includes("\n")) {
        resolve(output.stdout.join("").split("\n", 1)[0]);
        resolve = undefined;
      }
    });
  });
  child.stderr.setEncoding("utf8").on("data", (text) => output.stderr.push(text));
  child.stdin.on("error", () => {}); // the process has ended; ended has the reason
  return { child, line, ended };
}

/** Lets a process, with its pipes, keep this process alive or not. */
function reference(child, method) {
  for (const handle of [child, ...child.stdio]) {
    handle[method]();
  }
}

function path(file) {
  const name = file?.href ? fileURLToPath(file.href) : file;
  if (typeof name !== "string" || name === "") {
    throw new TypeError(`looptape: want the path of a file, got ${JSON.stringify(file)}`);
  }
  return name.startsWith("-") ? `./${name}` : name;
}

/** Converts options to flags: {allowUnused: true, model: ["a", "b"], suppress: {"INV-07": "why"}}. */
function flags(options) {
  return Object.entries(options).flatMap(([name, value]) => {
    const flag = "--" + name.replace(/[A-Z]/g, (letter) => "-" + letter.toLowerCase());
    if (name === "timeout" && typeof value === "number") {
      value += "ms";
    }
    const pairs = (object) => Object.entries(object).map((pair) => pair.join("="));
    const values = Array.isArray(value) ? value : typeof value === "object" && value ? pairs(value) : [value];
    return values.filter((one) => one !== undefined && one !== null && one !== false).map((one) => `${flag}=${one}`);
  });
}

const isPath = (input) => typeof input === "string" || typeof input?.href === "string";

/** Strings and URLs are files; anything else is a run. */
function checkCommand(input, options) {
  const files = isPath(input) ? [input] : input;
  if (Array.isArray(files) && files.length > 0 && files.every(isPath)) {
    return { args: ["check", ...flags(options), "--format=json", ...files.map(path)] };
  }
  const stdin = JSON.stringify(input);
  if (stdin === undefined) {
    throw new TypeError(`looptape: want a file, files or messages to check, got ${typeof input}`);
  }
  return { args: ["check", ...flags(options), "--format=json", "-"], stdin };
}

function checkReport(ended) {
  const report = parse(ended.stdout);
  if (!report) {
    throw failure("looptape check", ended);
  }
  return { ok: ended.status === 0, ...report };
}

function parse(text) {
  return text?.trim() ? JSON.parse(text) : undefined;
}

function failure(name, { error, cwd, status, signal, stderr }, report) {
  const why = error ? `cannot start ${binary()}${cwd ? ` in ${cwd}` : ""}: ${error.message}` : signal ? `ended by ${signal}` : `exit status ${status}`;
  return new LooptapeError(`${name}: ${why}\n${stderr ?? ""}`.trimEnd(), { report, exitStatus: status ?? undefined });
}
