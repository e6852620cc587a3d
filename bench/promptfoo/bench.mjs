// Judges cases, which come as JSON on standard input, by assertions of promptfoo, so many
// times, and answers verdicts and the nanoseconds of an assertion by kind, the best of all
// rounds:
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

async function judge(call) {
  try {
    const { pass } = await assertions.runAssertion(call);
    return pass ? 'pass' : 'fail';
  } catch {
    return 'error';
  }
}

const kinds = new Map();
for (const c of cases) kinds.set(c.kind, [...(kinds.get(c.kind) ?? []), c]);

const verdicts = [];
const ns = {};
for (let round = 0; round < rounds; round++) {
  for (const [kind, list] of kinds) {
    const begun = process.hrtime.bigint();
    for (const { at, call } of list) verdicts[at] = await judge(call);
    const took = Number(process.hrtime.bigint() - begun) / list.length;
    ns[kind] = Math.min(ns[kind] ?? Infinity, took);
  }
}
process.stdout.write(JSON.stringify({ verdicts, ns }), () => process.exit(0));
