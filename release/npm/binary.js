import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/**
 * Returns the path of the command: LOOPTAPE_BINARY, or the binary in the optional package of the platform.
 * @returns {string}
 */
export function binary() {
  if (process.env.LOOPTAPE_BINARY) {
    return process.env.LOOPTAPE_BINARY;
  }
  const platform = `${process.platform}-${process.arch}`;
  const name = `@looptape/${platform}`;
  try {
    return require.resolve(`${name}/bin/looptape${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    const packages = Object.keys(require("./package.json").optionalDependencies);
    if (!packages.includes(name)) {
      throw new Error(
        `looptape: no binary for ${platform}: the packages are ${packages.join(", ")}. ` +
          "Build it with `go install github.com/looptape/looptape/cmd/looptape@latest` and set LOOPTAPE_BINARY to its path.",
      );
    }
    throw new Error(
      `looptape: the package ${name}, which has the binary, is not installed. Install looptape again with optional dependencies ` +
        "(without --omit=optional or --no-optional). If node_modules or the lock file come from another system, remove them first. " +
        "Or set LOOPTAPE_BINARY to the path of a binary.",
    );
  }
}
