import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GitFiles } from "./components/git-repository.ts";
import { waitUntil } from "./components/wait-until.ts";
import type { Answer } from "./control-plane.ts";

/** Whatever answers the control plane's paths. */
export type PlaneCalls = {
  call<Body>(method: string, path: string, body?: unknown): Promise<Pick<Answer<Body>, "status" | "body">>;
};

export type RevisionBody = {
  id: string;
  number: number;
  status: string;
  status_message: string | null;
  failure: { file: string | null; line: number | null; reason: string; output: string[] } | null;
  progress: number;
  source_revision_config: { repo_ref: string | null; repo_commit_sha: string | null };
  image: { reference: string; digest: string } | null;
  events: { kind: string; status: string | null; message: string }[];
};

export type DeploymentBody = {
  id: string;
  tenant_id: string;
  name: string;
  slug: string;
  url: string;
  status: string;
  source_config: { custom_url: string };
  source_revision_config: { graph_config_path: string | null; langgraph_config_path: string | null };
  secrets: { name: string; value: string }[];
  latest_revision_id: string | null;
  active_revision_id: string | null;
  runs_on: { kind: string; name: string | null };
};

/** The files of one of the examples, as a repository holds them. */
export async function readExample(name: string): Promise<GitFiles> {
  const folder = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
  const files: GitFiles = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.parentPath.includes("node_modules")) continue;
    const path = join(entry.parentPath, entry.name);
    files[path.slice(folder.length + 1)] = await readFile(path, "utf8");
  }
  return files;
}

const open = new Set(["CREATING", "QUEUED", "AWAITING_BUILD", "BUILDING", "AWAITING_DEPLOY", "DEPLOYING"]);

/** The revision once it is done, whatever became of it. */
export async function revisionDone(
  plane: PlaneCalls,
  deploymentId: string,
  revisionId: string,
  timeoutMs = 120_000,
): Promise<RevisionBody> {
  let last: RevisionBody | undefined;
  return waitUntil(
    async () => {
      const path = `/v2/deployments/${deploymentId}/revisions/${revisionId}`;
      const answer = await plane.call<RevisionBody>("GET", path);
      last = answer.body;
      return answer.status === 200 && !open.has(last.status) ? last : undefined;
    },
    {
      what: `revision ${revisionId} to be done`,
      timeoutMs,
      intervalMs: 100,
      evidence: () => JSON.stringify(last, null, 1),
    },
  );
}

export function gitDeployment(name: string, repoUrl: string, more: Record<string, unknown> = {}) {
  return {
    name,
    source: "github",
    source_config: { repo_url: repoUrl, deployment_type: "dev", build_on_push: false },
    source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
    secrets: [],
    ...more,
  };
}

/** Creates a deployment and waits for its first revision. */
export async function deploy(plane: PlaneCalls, body: unknown, timeoutMs?: number) {
  const created = await plane.call<DeploymentBody>("POST", "/v2/deployments", body);
  if (created.status !== 201)
    throw new Error(`POST answered ${created.status}: ${JSON.stringify(created.body)}`);
  const revision = await revisionDone(plane, created.body.id, created.body.latest_revision_id!, timeoutMs);
  return { deployment: created.body, revision };
}
