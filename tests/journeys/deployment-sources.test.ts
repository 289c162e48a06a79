import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];

beforeAll(async () => {
  site = await startDeploymentSite("sources", {
    settings: { bakeMs: 500, healthMs: 60_000 },
  });
  ({ plane, git } = site);
});
afterAll(() => site?.stop());

type Sourced = RevisionBody & {
  source: string;
  source_revision_config: { source_tarball_path: string | null };
};

const answerOf = async ({ url }: DeploymentBody) =>
  ((await (await fetch(`${url}/version`)).json()) as { answer: string }).answer;
const environmentOf = async ({ url }: DeploymentBody) =>
  (await (await fetch(`${url}/environment`)).json()) as Record<string, string | undefined>;

/** Packs a project and uploads it; the path to name it by. */
async function upload(deploymentId: string, answer: string): Promise<string> {
  const source = join(site.folder.path, "scratch", answer);
  const files = quickProject(answer) as Record<string, string>;
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(source, path)), { recursive: true });
    await writeFile(join(source, path), text);
  }
  const file = `${source}.tar.gz`;
  await create({ gzip: true, file, cwd: source }, Object.keys(files));
  const { body } = await plane.call<{ upload_url: string; object_path: string }>(
    "POST",
    `/v2/deployments/${deploymentId}/upload-url`,
  );
  const put = await fetch(body.upload_url, { method: "PUT", body: await readFile(file) });
  expect(put.status).toBe(200);
  return body.object_path;
}

/** A change that makes a revision, and what became of it. */
async function change(id: string, body: Record<string, unknown>): Promise<Sourced> {
  const patched = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${id}`, body);
  expect([patched.status, JSON.stringify(patched.body)]).toEqual([200, expect.any(String)]);
  const done = (await revisionDone(plane, id, patched.body.latest_revision_id!)) as Sourced;
  expect([done.status, done.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  return done;
}

async function uploaded(name: string) {
  const { body } = await plane.call<DeploymentBody>("POST", "/v2/deployments", {
    name,
    source: "internal_source",
    source_config: { install_command: quickInstall },
    source_revision_config: {},
  });
  const source_tarball_path = await upload(body.id, `${name}-archive`);
  await change(body.id, { source_revision_config: { source_tarball_path } });
  expect(await answerOf(body)).toBe(`${name}-archive`);
  return body;
}

describe("a deployment made from an archive", () => {
  it("goes over to git, stays there, and follows the branch", { timeout: 120_000 }, async () => {
    const deployment = await uploaded("to-git");
    const repository = await git.createRepository("to-git", quickProject("from-git"));
    const switched = await change(deployment.id, {
      revision_source: "github",
      source_config: { repo_url: repository.url },
      source_revision_config: { repo_ref: "main" },
    });
    expect(switched).toMatchObject({
      source: "github",
      source_revision_config: { source_tarball_path: null },
    });
    expect(await answerOf(deployment)).toBe("from-git");
    expect(await environmentOf(deployment)).toMatchObject({
      LANGSMITH_LANGGRAPH_GIT_REPO: repository.url,
      LANGSMITH_LANGGRAPH_GIT_REF: "main",
    });

    const kept = await change(deployment.id, { secrets: [{ name: "SUFFIX", value: "-new" }] });
    expect(kept).toMatchObject({ source: "github" });
    expect(await answerOf(deployment)).toBe("from-git");
    const path = `/v2/deployments/${deployment.id}`;
    const elsewhere = await plane.call("PATCH", path, {
      revision_source: "github",
      source_config: { repo_url: "https://example.com/other.git" },
    });
    expect(elsewhere.status).toBe(400);

    const following = await plane.call("PATCH", path, { source_config: { build_on_push: true } });
    expect(following.status).toBe(200);
    const sha = await repository.commit(quickProject("pushed"), "Push");
    const poll = plane.recurringJobs.find(({ kind }) => kind === "control_plane.poll_branches")!;
    await poll.handler({ signal: new AbortController().signal } as never);
    const { body } = await plane.call<{ resources: Sourced[] }>("GET", `${path}/revisions?limit=1`);
    const pushed = await revisionDone(plane, deployment.id, body.resources[0]!.id);
    expect(pushed).toMatchObject({
      status: "DEPLOYED",
      source: "github",
      source_revision_config: { repo_commit_sha: sha },
    });
    expect(await answerOf(deployment)).toBe("pushed");
  });

  it("can be brought back to the archive by redeploying it", { timeout: 120_000 }, async () => {
    const deployment = await uploaded("and-back");
    const path = `/v2/deployments/${deployment.id}`;
    const { body: before } = await plane.call<DeploymentBody>("GET", path);
    const repository = await git.createRepository("and-back", quickProject("for-a-while"));
    await change(deployment.id, {
      revision_source: "github",
      source_config: { repo_url: repository.url },
      source_revision_config: { repo_ref: "main" },
    });
    expect(await answerOf(deployment)).toBe("for-a-while");
    const again = await plane.call<DeploymentBody>(
      "POST",
      `${path}/revisions/${before.latest_revision_id}/redeploy`,
    );
    const done = await revisionDone(plane, deployment.id, again.body.latest_revision_id!);
    expect(done).toMatchObject({ status: "DEPLOYED", source: "internal_source" });
    expect(await answerOf(deployment)).toBe("and-back-archive");
  });
});

describe("a deployment made from git", () => {
  it("goes over to an archive, stays there, and comes back for a commit", { timeout: 120_000 }, async () => {
    const repository = await git.createRepository("to-archive", quickProject("first"));
    const { deployment } = await deploy(
      plane,
      gitDeployment("to-archive", repository.url, {
        source_config: { repo_url: repository.url, install_command: quickInstall },
      }),
    );
    const source_tarball_path = await upload(deployment.id, "packed");
    const switched = await change(deployment.id, {
      revision_source: "internal_source",
      source_revision_config: { source_tarball_path },
    });
    expect(switched).toMatchObject({ source: "internal_source", source_revision_config: { repo_ref: null } });
    expect(await answerOf(deployment)).toBe("packed");
    expect(await environmentOf(deployment)).not.toHaveProperty("LANGSMITH_LANGGRAPH_GIT_REPO");
    await change(deployment.id, { secrets: [{ name: "SUFFIX", value: "-new" }] });
    expect(await answerOf(deployment)).toBe("packed");

    const commit = await repository.commit(quickProject("second"), "Second");
    const back = await change(deployment.id, { source_revision_config: { repo_ref: commit } });
    expect(back).toMatchObject({ source: "github", source_revision_config: { source_tarball_path: null } });
    expect(await answerOf(deployment)).toBe("second");
  });
});
