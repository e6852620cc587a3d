// The loop of ai (generateText and streamText) does the work of package work with the model
// double of the library. It prints lines in the format of Go benchmarks:
//
//     node bench.mjs [--count 6] [--seconds 0.5] [--check]
//
// --check only checks that the loop does the whole work: each call once, and the final text.
import { parseArgs } from 'node:util';
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';

const { values: flags } = parseArgs({
  options: {
    count: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '0.5' },
    check: { type: 'boolean', default: false },
  },
});

// The texts of package work.
const prompt = 'Find out about the weather.';
const about = 'Returns the weather of a city on a day.';
const answer = 'Sunny, 21 degrees.';
const final = 'It is sunny everywhere.';

// responses returns the script: n steps of k calls, and the final text.
function responses(n, k) {
  const usage = {
    inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 20, text: 20, reasoning: 0 },
  };
  const response = (content, unified) => ({ content, finishReason: { unified, raw: unified }, usage, warnings: [] });
  const list = Array.from({ length: n }, (_, i) =>
    response(
      Array.from({ length: k }, (_, j) => ({
        type: 'tool-call',
        toolCallId: `call_${i}_${j}`,
        toolName: 'weather',
        input: `{"city":"Oslo","day":${i * k + j}}`,
      })),
      'tool-calls',
    ),
  );
  return [...list, response([{ type: 'text', text: final }], 'stop')];
}

// chunks returns the parts of a response as a stream. Arguments and text have two deltas, as in
// package work.
function chunks({ content, finishReason, usage, warnings }) {
  const halves = text => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
  const parts = content.flatMap(part =>
    part.type === 'text'
      ? [{ type: 'text-start', id: '0' }, ...halves(part.text).map(delta => ({ type: 'text-delta', id: '0', delta })), { type: 'text-end', id: '0' }]
      : [
          { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName },
          ...halves(part.input).map(delta => ({ type: 'tool-input-delta', id: part.toolCallId, delta })),
          { type: 'tool-input-end', id: part.toolCallId },
          part,
        ],
  );
  return [{ type: 'stream-start', warnings }, ...parts, { type: 'finish', finishReason, usage }];
}

// Raw arguments are decoded, as ai always does, and not validated.
const raw = {
  type: 'object',
  properties: { city: { type: 'string' }, day: { type: 'integer' } },
  required: ['city', 'day'],
  additionalProperties: false,
};
const inputs = {
  raw: jsonSchema(raw),
  typed: z.object({ city: z.string(), day: z.number().int() }),
};

// loop returns a function that does the whole work once. With stream, it reads the run through
// the full stream of the library.
function loop(kind, n, k, stream, onCall) {
  const script = stream ? responses(n, k).map(chunks) : responses(n, k);
  const weather = tool({
    description: about,
    inputSchema: inputs[kind],
    execute: onCall ? async ({ day }) => (onCall(day), answer) : async () => answer,
  });
  return async () => {
    let next = 0;
    const model = new MockLanguageModelV4({
      doGenerate: async () => script[next++],
      doStream: async () => ({ stream: convertArrayToReadableStream(script[next++]) }),
    });
    model.doGenerateCalls = model.doStreamCalls = { push() {} }; // keep no record, as the other doubles
    const options = { model, prompt, tools: { weather }, stopWhen: isStepCount(n + 1) };
    let text = '';
    if (stream) {
      for await (const part of streamText(options).fullStream) if (part.type === 'text-delta') text += part.text;
    } else {
      ({ text } = await generateText(options));
    }
    if (text !== final) throw new Error(`the text is ${JSON.stringify(text)}, want ${JSON.stringify(final)}`);
  };
}

async function check(kind, n, k, stream) {
  const days = [];
  await loop(kind, n, k, stream, day => days.push(day))();
  const got = days.sort((a, b) => a - b).join();
  const want = Array.from({ length: n * k }, (_, i) => i).join();
  if (got !== want) throw new Error(`${kind}, ${n} steps of ${k} calls: the tool got the calls ${got}, want ${want}`);
}

// measure repeats the work for a number of seconds, at least once, after a warm-up of the same
// time at most.
async function measure(kind, n, k, stream, seconds) {
  const run = loop(kind, n, k, stream);
  const timed = async () => {
    let runs = 0;
    const begun = process.hrtime.bigint();
    let ns;
    do {
      await run();
      runs++;
      ns = Number(process.hrtime.bigint() - begun);
    } while (ns < seconds * 1e9);
    return { runs, ns };
  };
  await timed();
  const { runs, ns } = await timed();
  const name = `Benchmark${stream ? 'Stream' : 'Step'}/loop=ai/tools=${kind}/sink=none/N=${n}/K=${k}`;
  console.log(`${name}\t${runs}\t${(ns / runs).toFixed(0)} ns/op\t${(ns / runs / n).toFixed(1)} ns/step`);
}

for (const kind of ['raw', 'typed']) for (const k of [1, 8]) for (const stream of [false, true]) await check(kind, 12, k, stream);
if (flags.check) {
  console.log('the loop of ai does the whole work');
} else {
  for (const n of [10, 100, 1000])
    for (const k of [1, 8])
      for (const kind of ['raw', 'typed'])
        for (const stream of [false, true])
          for (let i = 0; i < Number(flags.count); i++) await measure(kind, n, k, stream, Number(flags.seconds));
}
