// Evaluates cases from standard input (JSON) with assertions of promptfoo, ROUNDS times. Prints the
// results, and the nanoseconds per assertion by kind in the best round:
//
//     node bench.mjs ROUNDS < cases.json
import { json } from 'node:stream/consumers';
import { assertions } from 'promptfoo';

const rounds = Number(process.argv[2]);
const cases = (await json(process.stdin)).map(({ kind, answer, value }, at) => ({
  at,
  kind,
  call: {
    assertion: { type: kind === 'json' ? 'equals' : kind, value },
    test: { vars: {} },
    providerResponse: { output: answer },
  },
}));

async function evaluate(call) {
  try {
    const { pass } = await assertions.runAssertion(call);
    return pass ? 'pass' : 'fail';
  } catch {
    return 'error';
  }
}

const kinds = new Map();
for (const c of cases) kinds.set(c.kind, [...(kinds.get(c.kind) ?? []), c]);

const results = [];
const ns = {};
for (let round = 0; round < rounds; round++) {
  for (const [kind, list] of kinds) {
    const begun = process.hrtime.bigint();
    for (const { at, call } of list) results[at] = await evaluate(call);
    const took = Number(process.hrtime.bigint() - begun) / list.length;
    ns[kind] = Math.min(ns[kind] ?? Infinity, took);
  }
}
process.stdout.write(JSON.stringify({ results, ns }), () => process.exit(0));
