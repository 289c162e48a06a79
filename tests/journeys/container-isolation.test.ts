import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureBubblewrap } from "../support/components/bubblewrap.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");
/** The entries of `security_opt` in a compose file, in a list of either style. */
function securityOptions(file: string): string[] {
  const text = /security_opt:(.*(?:\n +- .*)*)/.exec(read(file))?.[1] ?? "";
  return [...text.matchAll(/[a-z-]+[=:][a-z]+/g)].map(([option]) => option);
}

let docker: Docker;
let image: string;
beforeAll(async () => {
  await ensureBubblewrap();
  docker = await startDocker();
  image = await docker.buildNodeImage();
}, 240_000);
afterAll(() => docker?.stop());

/** What the platform finds out about its machine, in a container as compose starts it. */
async function isolationIn(options: readonly string[]): Promise<{ kind: string; problem: string | null }> {
  const walls = `${root}src/control-plane/sandbox/walls.ts`;
  const code = `import { Walls } from ${JSON.stringify(walls)};
console.log(JSON.stringify(await new Walls({ setting: "auto", mustPass: [] }).isolation()));`;
  const said = await docker.run(
    [
      ...["run", "--rm", "--network", "none", "--user", "1000:1000", "--cap-drop", "ALL", "--read-only"],
      ...["--tmpfs", "/tmp:exec,mode=1777"],
      ...options.flatMap((option) => ["--security-opt", option]),
      // The programs of this machine, and Treadle as it lies here.
      ...["/usr", "/etc", root].flatMap((path) => ["--volume", `${path}:${path}:ro`]),
      ...[image, process.execPath, "--input-type=module", "--eval", code],
    ],
    { timeoutMs: 120_000 },
  );
  return JSON.parse(said) as { kind: string; problem: string | null };
}

describe("the walls inside a container", { timeout: 180_000 }, () => {
  const usual = securityOptions("deploy/compose.yaml");
  const more = securityOptions("deploy/compose.sandbox.yaml");

  it("are none as compose starts it, and the platform knows", async () => {
    expect(usual).toEqual(["no-new-privileges:true"]);
    const found = await isolationIn(usual);
    expect(found.kind).toBe("none");
    expect(found.problem).toMatch(/namespace|permit/i);
  });

  it("are a sandbox with what compose.sandbox.yaml adds, each of it needed", async () => {
    expect(more).toEqual(["seccomp=unconfined", "systempaths=unconfined", "apparmor=unconfined"]);
    expect(await isolationIn([...usual, ...more])).toMatchObject({ kind: "sandbox", problem: null });
    for (const left of ["seccomp=unconfined", "systempaths=unconfined"]) {
      const others = more.filter((option) => option !== left);
      expect({ left, kind: (await isolationIn([...usual, ...others])).kind }).toEqual({ left, kind: "none" });
    }
  });

  it("are asked for in the image and in the chart as well", () => {
    expect(read("deploy/Dockerfile")).toMatch(/apt-get install .*bubblewrap/);
    const pod = read("deploy/chart/templates/statefulset.yaml");
    for (const text of ["Unconfined", "hostUsers: false", 'include "treadle.containerSecurity"'])
      expect(pod).toContain(text);
    expect(read("deploy/chart/templates/_roles.tpl")).toContain("procMount: Unmasked");
  });
});
