// Compiled, not run: the module in a project of CommonJS for a version of Node that cannot require it.
import type { ServeReport } from "looptape" with { "resolution-mode": "import" };

export async function run(): Promise<ServeReport> {
  const { serve } = await import("looptape");
  return (await serve("weather.yaml")).close();
}
