import { serve } from "looptape";
import { test } from "vitest";

await serve("weather.yaml");

test("nothing", () => {});
