import { AppError } from "../../platform/errors.ts";

export const isolationSettings = ["auto", "required", "off"] as const;
export type IsolationSetting = (typeof isolationSettings)[number];

/**
 * What stands between deployed code and everything else on the machine. `sandbox`: namespaces, a file system of its
 * own and, where the platform is root, a user of its own. `users`: only that user. `none`: it runs as the platform
 * does. `containers`: the docker runtime's.
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
};

/** What is in force on this machine. A user that cannot be switched to is never passed over in silence. */
export function decideIsolation({ setting, isRoot, sandbox, closedFolder }: MachineFacts): Isolation {
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
  if (!isRoot) return { setting, kind: "none", problem, fix, refusal: null };
  if (closedFolder === null) return { setting, kind: "users", problem, fix, refusal: null };
  const refusal =
    `Nothing is deployed here: Treadle runs as root, ${problem}, and a user without privileges cannot access ${closedFolder}. ` +
    `${fix} Or start Treadle in a folder that other users can access, or as an ordinary user.`;
  return { setting, kind: "users", problem, fix, refusal };
}

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
      return "Deployed code runs in containers.";
    case "users":
      return `Each deployment runs as its own user, without a sandbox: ${isolation.problem}. ${isolation.fix}`;
    case "none":
      return `Deployed code of all workspaces runs as the platform's own user and can read its files and keys: ${isolation.problem}. ${isolation.fix}`;
  }
}
