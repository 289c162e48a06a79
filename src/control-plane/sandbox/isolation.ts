import { AppError } from "../../platform/errors.ts";

export const isolationSettings = ["auto", "required", "off"] as const;
export type IsolationSetting = (typeof isolationSettings)[number];

/**
 * What stands between deployed code and everything else on the machine. `sandbox`: namespaces, a file system of its
 * own and, where the platform is root, a user of its own. `users`: only that user. `none`: it runs as the platform
 * does. `containers`: those of the docker and kubernetes runtimes.
 */
export const isolationKinds = ["sandbox", "users", "none", "containers"] as const;
export type IsolationKind = (typeof isolationKinds)[number];

export type Isolation = {
  setting: IsolationSetting;
  kind: IsolationKind;
  /** Why there is no sandbox, and what to do about it. */
  problem: string | null;
  fix: string | null;
  /** Nothing is deployed while this is not null. */
  refusal: string | null;
};

export type MachineFacts = {
  setting: IsolationSetting;
  isRoot: boolean;
  /** How the attempt to start a sandbox went. */
  sandbox: { works: true } | { works: false; reason: string; fix: string };
  /** The first folder a user other than root cannot pass; null when all can be passed. */
  closedFolder: string | null;
  /** The platform has credentials of a cluster, and builds run beside it: they get a sandbox or do not run. */
  besideCluster: boolean;
};

/** What is in force on this machine. A user that cannot be switched to is never passed over in silence. */
export function decideIsolation(facts: MachineFacts): Isolation {
  const { setting, isRoot, sandbox, closedFolder } = facts;
  if (setting === "off") {
    const problem = "TREADLE_ISOLATION=off";
    return { setting, kind: "none", problem, fix: "Set TREADLE_ISOLATION=auto.", refusal: null };
  }
  if (sandbox.works) return { setting, kind: "sandbox", problem: null, fix: null, refusal: null };
  const { reason: problem, fix } = sandbox;
  if (setting === "required") {
    const refusal = `Nothing is deployed here: TREADLE_ISOLATION=required, and ${problem}. ${fix}`;
    return { setting, kind: isRoot ? "users" : "none", problem, fix, refusal };
  }
  if (facts.besideCluster) {
    const refusal =
      `Nothing is built here: build commands could take the credentials of the cluster, because ${problem}. ${fix} ` +
      "Or set TREADLE_ISOLATION=off where everybody who deploys may have them.";
    return { setting, kind: isRoot ? "users" : "none", problem, fix, refusal };
  }
  if (!isRoot) return { setting, kind: "none", problem, fix, refusal: null };
  if (closedFolder === null) return { setting, kind: "users", problem, fix, refusal: null };
  const refusal =
    `Nothing is deployed here: Treadle runs as root, ${problem}, and a user without privileges cannot access ${closedFolder}. ` +
    `${fix} Or start Treadle in a folder that other users can access, or as an ordinary user.`;
  return { setting, kind: "users", problem, fix, refusal };
}

/** Servers run in containers of a cluster; only builds run behind these walls. */
export function inContainers(walls: Isolation): Isolation {
  return { ...walls, kind: "containers" };
}

/** Servers and builds run in containers of a cluster: nothing that is deployed runs on this machine. */
export const containersOnly: Isolation = {
  ...{ setting: "auto", kind: "containers", problem: null, fix: null, refusal: null },
};

/** For people who want to deploy anyway. */
export function isolationMissing(refusal: string): AppError {
  return new AppError({ code: "runtime.isolation_missing", kind: "conflict", message: refusal });
}

/** One sentence for people: at the start, in `treadle doctor`, on the deployments page. */
export function describeIsolation(isolation: Isolation): string {
  if (isolation.refusal !== null) return isolation.refusal;
  switch (isolation.kind) {
    case "sandbox":
      return "Deployed code runs in its own sandbox.";
    case "containers":
      return isolation.problem === null
        ? "Deployed code runs in containers."
        : `Deployed code runs in containers, but builds run without a sandbox and can read the platform's files and keys, those of the cluster too: ${isolation.problem}. ${isolation.fix}`;
    case "users":
      return `Each deployment runs as its own user, without a sandbox: ${isolation.problem}. ${isolation.fix}`;
    case "none":
      return `Deployed code of all workspaces runs as the platform's own user and can read its files and keys: ${isolation.problem}. ${isolation.fix}`;
  }
}
