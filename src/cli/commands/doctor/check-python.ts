import { join } from "node:path";
import { type Config, childEnvironments } from "../../../config/index.ts";
import type { Verdict } from "./checks.ts";

const why = "optional: projects with Python graphs need it";

/** The Pythons that builds of deployments choose from, and uv, which installs fast and fetches other Pythons. */
export async function checkPython({ dataDir, deployments }: Config): Promise<Verdict> {
  const { machinePythons } = await import("../../../control-plane/builds/python/python-builder.ts");
  const { compareVersions, minorOf, oldestPython } = await import(
    "../../../control-plane/builds/python/python-version.ts"
  );
  const { findProgram } = await import("../../../control-plane/sandbox/find-program.ts");
  const { build: environment } = childEnvironments();
  const folder = join(dataDir, "deployments");
  const pythons = machinePythons({ folder, environment, named: deployments.pythons });
  const { usable } = await pythons.find({ forOthers: false });
  const able = usable.filter(({ version }) => compareVersions(version, oldestPython) >= 0);
  const uv = await findProgram("uv", environment.PATH ?? "");
  const fix = `Install Python ${minorOf(oldestPython)} or newer with its venv module (for example \`apt install python3 python3-venv\`), or name one in TREADLE_PYTHONS.`;
  if (able.length === 0) return { status: "warning", message: `not found (${why})`, fix };
  const versions = [...new Set(able.map(({ version }) => version.join(".")))].join(", ");
  return { status: "ok", message: `${versions}; uv ${uv ? "is there" : "is fetched when a build needs it"}` };
}
