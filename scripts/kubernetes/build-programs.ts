import { type StdioOptions, spawn } from "node:child_process";
import { access, mkdir, rename, rm, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** As in `programs/go.mod`. 1.34 is the last series that runs on machines with the first version of cgroups. */
const kubernetesVersion = "v1.34.4";
const helmVersion = "v3.19.5";

const source = fileURLToPath(new URL("programs", import.meta.url));
const kubernetesNames = [
  ...["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"],
  ...["kubelet", "kube-proxy", "kubectl"],
];

const versionFlags = (entries: Record<string, string>) =>
  Object.entries(entries)
    .map(([name, value]) => `-X ${name}=${value}`)
    .join(" ");

/** What is compiled, and what it is told about its own version: Helm refuses a server that does not know its own. */
const builds = [
  {
    ...{ name: "kubernetes", package: "." },
    flags: versionFlags({
      "k8s.io/component-base/version.gitVersion": kubernetesVersion,
      "k8s.io/component-base/version.gitMajor": "1",
      "k8s.io/component-base/version.gitMinor": "34",
      "k8s.io/component-base/version.gitTreeState": "clean",
    }),
  },
  {
    ...{ name: "helm", package: "helm.sh/helm/v3/cmd/helm" },
    flags: versionFlags({
      "helm.sh/helm/v3/internal/version.version": helmVersion,
      "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": "1",
      "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": "34",
    }),
  },
  { name: "pause", package: "./pause", flags: "" },
  { name: "network-policies", package: "./network-policies", flags: "" },
];

/** Beside other caches of this user, so that a clean checkout need not compile for half an hour again. */
export function programsFolder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return join(cache, "treadle-kubernetes", `${kubernetesVersion}-helm-${helmVersion}`);
}

/** The folder with every program of a cluster; what is missing is built from the Go module proxy, within this time. */
export async function buildPrograms(limitMinutes: number): Promise<string> {
  const deadline = AbortSignal.timeout(limitMinutes * 60_000);
  const folder = programsFolder();
  await mkdir(folder, { recursive: true });
  for (const build of builds) {
    const path = join(folder, build.name);
    if (await exists(path)) continue;
    const begun = performance.now();
    console.log(`Building ${build.name} for the Kubernetes tests; the first time takes long.`);
    const flags = ["-trimpath", "-ldflags", `-s -w ${build.flags}`];
    await runGo(["build", ...flags, "-o", `${path}.new`, build.package], deadline).catch((error: unknown) => {
      if (!deadline.aborted) throw error;
      throw new Error(
        `its programs were not built within ${limitMinutes} minutes; the next time goes on from there`,
      );
    });
    await rename(`${path}.new`, path);
    console.log(`Built ${build.name} in ${Math.round((performance.now() - begun) / 1000)} s.`);
  }
  for (const name of kubernetesNames) {
    await rm(join(folder, name), { force: true });
    await symlink("kubernetes", join(folder, name));
  }
  return folder;
}

async function runGo(args: string[], signal: AbortSignal): Promise<void> {
  const environment = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-p=2 -buildvcs=false -mod=readonly" };
  const stdio: StdioOptions = ["ignore", "inherit", "inherit"];
  const child = spawn("go", args, { cwd: source, stdio, env: environment, signal });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("exit", resolve);
    child.once("error", (error) => reject(new Error(`go cannot be started: ${error.message}`)));
  });
  if (code !== 0) throw new Error(`go ${args[0]} ended with exit code ${code}`);
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
