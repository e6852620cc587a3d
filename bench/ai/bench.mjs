// The work of package work, done by the loop of ai (generateText) with the
// library's own model double. It prints lines in the format of Go benchmarks:
//
//     node bench.mjs [--count 6] [--seconds 0.5] [--check]
//
// --check holds the loop to the whole work instead: each call once, and the text.
import { parseArgs } from 'node:util';
import { generateText, isStepCount, jsonSchema, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
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
const about = 'Tells the weather of a city on a day.';
const answer = 'Sunny, 21 degrees.';
const final = 'It is sunny everywhere.';

// turns are the script: n steps of k calls, and the final text.
function turns(n, k) {
  const usage = {
    inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 20, text: 20, reasoning: 0 },
  };
  const turn = (content, unified) => ({ content, finishReason: { unified, raw: unified }, usage, warnings: [] });
  const list = Array.from({ length: n }, (_, i) =>
    turn(
      Array.from({ length: k }, (_, j) => ({
        type: 'tool-call',
        toolCallId: `call_${i}_${j}`,
        toolName: 'weather',
        input: `{"city":"Oslo","day":${i * k + j}}`,
      })),
      'tool-calls',
    ),
  );
  return [...list, turn([{ type: 'text', text: final }], 'stop')];
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

// loop returns a function that does the whole work once.
function loop(kind, n, k, onCall) {
  const script = turns(n, k);
  const weather = tool({
    description: about,
    inputSchema: inputs[kind],
    execute: onCall ? async ({ day }) => (onCall(day), answer) : async () => answer,
  });
  return async () => {
    let next = 0;
    const model = new MockLanguageModelV4({ doGenerate: async () => script[next++] });
    model.doGenerateCalls = { push() {} }; // keep no record, as the other doubles
    const { text } = await generateText({ model, prompt, tools: { weather }, stopWhen: isStepCount(n + 1) });
    if (text !== final) throw new Error(`the text is ${JSON.stringify(text)}, want ${JSON.stringify(final)}`);
  };
}

async function check(kind, n, k) {
  const days = [];
  await loop(kind, n, k, day => days.push(day))();
  const got = days.sort((a, b) => a - b).join();
  const want = Array.from({ length: n * k }, (_, i) => i).join();
  if (got !== want) throw new Error(`${kind}, ${n} steps of ${k} calls: the tool got the calls ${got}, want ${want}`);
}

// measure repeats the work for that many seconds, once at least, after a warm-up
// of at most the same.
async function measure(kind, n, k, seconds) {
  const run = loop(kind, n, k);
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
  const name = `BenchmarkStep/loop=ai/tools=${kind}/sink=none/N=${n}/K=${k}`;
  console.log(`${name}\t${runs}\t${(ns / runs).toFixed(0)} ns/op\t${(ns / runs / n).toFixed(1)} ns/step`);
}

for (const kind of ['raw', 'typed']) for (const k of [1, 8]) await check(kind, 12, k);
if (flags.check) {
  console.log('the loop of ai does the whole work');
} else {
  for (const n of [10, 100, 1000])
    for (const k of [1, 8])
      for (const kind of ['raw', 'typed'])
        for (let i = 0; i < Number(flags.count); i++) await measure(kind, n, k, Number(flags.seconds));
}
