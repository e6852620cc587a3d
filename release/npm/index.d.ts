/// <reference lib="esnext.disposable" />

/** The path of a file, or its `file:` URL, such as `new URL("weather.yaml", import.meta.url)`. */
export type File = string | { readonly href: string };

/** Options of all commands. The others are the flags of the command: `allowUnused` is `--allow-unused`. */
export interface Options {
  /** Folder in which the command runs; default: that of this process. */
  cwd?: string;
}

/** Options of the commands that serve. */
export interface ServerOptions extends Options {
  /** Listen address `HOST:PORT`; default: a free port of 127.0.0.1. */
  addr?: string;
  /** Accept requests to base URLs without the token. */
  noToken?: boolean;
  /** Largest body of a request or recorded response in MiB. */
  maxBody?: number;
  /** Origins of web pages that may send requests, or `*`. */
  allowOrigin?: string | string[];
}

export interface ServeOptions extends ServerOptions {
  /** Quirks of the responses: `ID[:FORM][@RESPONSE]`. */
  quirk?: string | string[];
  /** Key to accept; default: any. */
  key?: string;
  /** Names of models to accept; default: all. */
  model?: string | string[];
  /** Reasons to accept violations, by invariant: `{"INV-05": "it summarizes"}`. */
  suppress?: Record<string, string>;
  /** Accept responses and attempts that were never requested. */
  allowUnused?: boolean;
  /** Stop and fail after this time, in milliseconds or such as `30s`. */
  timeout?: number | string;
  /** Stop and fail after this number of requests. */
  maxRequests?: number;
  /** Wait for the delays of the scenario. */
  delays?: boolean;
  /** Write the report to this file. */
  report?: string;
}

export interface ReplayOptions extends ServerOptions {
  /** Servers in addition to those in the cassette, by name. */
  upstream?: Record<string, string>;
  /** Parts of requests to ignore in matching: `/json/pointer` or `?query`. */
  ignore?: string | string[];
  /** Additional secrets: names of headers or fields, or `/json/pointer`. */
  secret?: string | string[];
  /** Factor for the recorded delays of responses; default: no delays. */
  delayFactor?: number;
  /** Accept interactions that were not used. */
  allowUnused?: boolean;
  /** Append the used interactions to this file, for `looptape cassette verify --used`. */
  report?: string;
}

export interface RecordOptions extends ServerOptions {
  /** URLs of the servers by name; default: OpenAI, Anthropic and Gemini. */
  upstream?: Record<string, string>;
  /** Parts of requests that a replay ignores in matching. */
  ignore?: string | string[];
  /** Additional secrets: names of headers or fields, or `/json/pointer`. */
  secret?: string | string[];
  /** Names of headers or fields whose values are not secrets. */
  notSecret?: string | string[];
}

export interface CheckOptions extends Options {
  /** Fail for notes, too. */
  strict?: boolean;
  /** Accept files without a run. */
  allowEmpty?: boolean;
}

/** A running server. Its base URLs have names: openai, anthropic, gemini, and those of `upstream`. */
export interface Server<Report> {
  readonly name: string;
  readonly url: string;
  /** Whether `close` was called. */
  readonly closed: boolean;
  readonly baseURLs: { readonly openai: string; readonly anthropic: string; readonly gemini: string; readonly [name: string]: string };
  /** The environment variables with which the official SDKs use the server. */
  readonly env: { readonly [name: string]: string };
  /**
   * Stops the server. The promise rejects with a {@link LooptapeError} if the run was not as expected. A second call
   * returns the same promise.
   */
  close(): Promise<Report>;
  /** Closes the server unless `close` was called. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves a scenario as a strict fake of OpenAI, Anthropic and Gemini. */
export function serve(scenario: File, options?: ServeOptions): Promise<Server<ServeReport>>;

/** Serves the recorded responses of a cassette. */
export function replay(cassette: File, options?: ReplayOptions): Promise<Server<CassetteResult>>;

/** Records the requests to the servers of the providers into a cassette, which `close` writes. */
export function record(cassette: File, options?: RecordOptions): Promise<Server<CassetteResult>>;

/** Checks recorded runs: a file or folder, a list of them, or one run as a value, such as a list of messages. */
export function check(input: File | readonly File[] | object, options?: CheckOptions): Promise<CheckReport>;

/** Does the same as {@link check}, and returns when it is done. */
export function checkSync(input: File | readonly File[] | object, options?: CheckOptions): CheckReport;

/** The command could not start, or the run was not as expected. */
export class LooptapeError extends Error {
  /** The report of the command, unless it could not start. */
  readonly report?: ServeReport | CassetteResult;
  /** The exit status of the command, unless a signal ended it. */
  readonly exitStatus?: number;
}

/** See docs/serving.md, "Read the report". */
export interface ServeReport {
  format: "looptape-serve";
  version: number;
  requests: number;
  rejected_requests: RejectedRequest[];
  violations: RequestViolation[];
  counts: Record<string, number>;
  quirks: Record<string, number>;
  unmatched_requests: { method: string; path: string; times: number; served: string }[];
  sessions: string[];
  unused: string[];
  failures: string[];
  notes: string[];
}

export interface RejectedRequest {
  request: number;
  retry_of?: number;
  protocol: string;
  session?: string;
  id?: string;
  status: number;
  type?: string;
  param?: string;
  code?: string;
  message: string;
}

export interface RequestViolation {
  request: number;
  session?: string;
  invariant: string;
  message: string;
  hint: string;
  suppressed?: string;
}

export interface CassetteResult {
  format: "looptape-cassette-result";
  version: number;
  ok: boolean;
  failures: string[];
}

/** See docs/checking.md. */
export interface CheckReport {
  /** Whether the exit status is 0. */
  ok: boolean;
  format: "looptape-check";
  version: number;
  runs: number;
  violations: Violation[];
  counts: Record<string, number>;
  notes: number;
  unreadable: { file: string; line: number; error: string; place?: string; times?: number }[];
}

export interface Violation {
  invariant: string;
  level: "error" | "note";
  run: string;
  event: number;
  message: string;
  reason?: string;
}
