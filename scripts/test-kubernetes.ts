import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { type Cluster, startCluster } from "../tests/support/kubernetes/cluster.ts";
import { buildPrograms } from "./kubernetes/build-programs.ts";

/**
 * `npm run test:kubernetes`: what needs a Kubernetes cluster. The one that KUBECONFIG names, else one made on this
 * machine, whose programs are built with Go once. `--if-possible` prints when this machine cannot, and exits with 0.
 * Other arguments go to Vitest.
 */
const ifPossible = process.argv.includes("--if-possible");
const given = process.argv.slice(2).filter((arg) => arg !== "--if-possible");

/** They wait for many pods at once, which takes a small machine longer than they wait. */
const wide = [
  ...["builds", "chart", "listener", "namespaces", "network-policies"],
  ...["node-loss", "outages", "replicas", "scaling", "sleep"],
];
const isSmall = availableParallelism() < 4;

/** Where others wait for the rest, a small machine runs those that need few pods, and says which it leaves out. */
function chosenFiles(): string[] {
  if (given.length > 0) return given;
  if (!ifPossible || !isSmall) return ["tests/kubernetes"];
  console.log(`Left out on fewer than 4 processors: ${wide.join(", ")}. Run: npm run test:kubernetes`);
  return ["tests/kubernetes", ...wide.flatMap((name) => ["--exclude", `tests/kubernetes/${name}.test.ts`])];
}

function vitest(environment: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    // One file at a time: all of them share one node.
    const child = spawn("vitest", ["run", "--no-file-parallelism", ...chosenFiles()], {
      stdio: "inherit",
      env: { ...process.env, TREADLE_TEST_KUBERNETES: "true", ...environment },
    });
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

/** Longer than a slow machine needs; where others wait for the rest, it must not take the time of everything. */
const buildMinutes = ifPossible ? 20 : 120;

/** A cluster, or why this machine cannot have one. */
async function prepare(): Promise<{ cluster: Cluster; programs: string } | { missing: string }> {
  if (process.getuid?.() !== 0) return { missing: "a cluster on this machine needs root" };
  try {
    const programs = await buildPrograms(buildMinutes);
    const begun = performance.now();
    const cluster = await startCluster(programs);
    console.log(`A Kubernetes cluster runs after ${Math.round((performance.now() - begun) / 1000)} s.`);
    return { cluster, programs };
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) };
  }
}

async function runOn({ cluster, programs }: { cluster: Cluster; programs: string }): Promise<number> {
  try {
    if (cluster.unenforced !== null)
      console.log(`Network policies are NOT enforced in this cluster, and not tested: ${cluster.unenforced}`);
    return await vitest({
      ...(cluster.unenforced === null ? {} : { TREADLE_TEST_CLUSTER_UNENFORCED: "true" }),
      KUBECONFIG: cluster.kubeconfig,
      TREADLE_TEST_CLUSTER_HOST: cluster.hostAddress,
      TREADLE_TEST_CLUSTER_PROGRAMS: programs,
    });
  } finally {
    await cluster.stop();
  }
}

if (process.env.KUBECONFIG) process.exit(await vitest({}));
const prepared = await prepare();
if ("cluster" in prepared) process.exit(await runOn(prepared));
console.error(
  `The Kubernetes tests are NOT run: ${prepared.missing}. Install Go, or set KUBECONFIG to a cluster of your own.`,
);
process.exit(ifPossible ? 0 : 1);
