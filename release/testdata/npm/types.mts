// Compiled, not run: the types of the module with strict checks.
import { check, checkSync, LooptapeError, record, replay, serve, type CassetteResult, type CheckReport, type ServeReport } from "looptape";
import { expect, test } from "looptape/vitest";

await using fake = await serve("weather.yaml", { quirk: ["QG-02"], suppress: { "INV-05": "it summarizes" }, timeout: "30s" });
const url: string = fake.baseURLs.openai + fake.baseURLs.other + fake.env.OPENAI_API_KEY;
const report: ServeReport = await fake.close();
const result: CassetteResult = await (await replay(new URL("x.tape", import.meta.url), { allowUnused: true })).close();
await (await record("x.tape", { upstream: { openai: url } })).close();
const checked: CheckReport = await check([{ role: "user", content: "x" }], { strict: true });
const failures: string[] = [...report.failures, ...result.failures, ...checkSync(["a", "b"]).violations.map((v) => v.message)];
try {
  await fake.close();
} catch (error) {
  if (error instanceof LooptapeError && error.report?.format === "looptape-serve") {
    failures.push(`${error.exitStatus} ${error.report.violations[0]?.hint}`);
  }
}

test("types", async ({ looptape }) => {
  const { baseURLs } = await looptape.serve("weather.yaml", { maxRequests: 5 });
  expect(baseURLs.gemini).toBe(url);
  expect([{ role: "user" }]).toPassCheck({ strict: true });
  expect(checked.ok).toBe(true);
});

// @ts-expect-error: an unknown option
await serve("weather.yaml", { quirks: "QG-02" });
// @ts-expect-error: no option
expect([]).toPassCheck("strict");
// @ts-expect-error: a path is required
await serve();
