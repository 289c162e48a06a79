import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const module = "sigs.k8s.io/gateway-api@v1.4.1";

/** The definition of a kind of the Gateway API, such as `httproutes`, as YAML; fetched with Go from the module proxy. */
export async function gatewayDefinition(plural: string): Promise<string> {
  const run = promisify(execFile);
  // Outside of any module: the version is the one above.
  const { stdout } = await run("go", ["mod", "download", "-json", module], {
    ...{ cwd: tmpdir(), env: { ...process.env, GOFLAGS: "-mod=mod" }, timeout: 5 * 60_000 },
  }).catch((error: Error) => {
    throw new Error(`The Gateway API is fetched with Go, and that failed: ${error.message}`);
  });
  const { Dir: folder } = JSON.parse(stdout) as { Dir: string };
  return await readFile(
    join(folder, "config", "crd", "standard", `gateway.networking.k8s.io_${plural}.yaml`),
    "utf8",
  );
}
