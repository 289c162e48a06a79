import { afterAll, beforeAll, expect, it } from "vitest";
import type { GitRepository } from "../support/components/git-repository.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, deploy, gitDeployment } from "../support/deployments.ts";
import { gitlabHeaders, gitlabMergeRequest, gitlabPush } from "../support/gitlab-hooks.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

/** What GitLab sends to the webhook of an integration. */
let site: DeploymentSite;
let repository: GitRepository;
let deployment: DeploymentBody;
let integration: { id: string; webhook_url: string; webhook_secret: string };

beforeAll(async () => {
  site = await startDeploymentSite("gitlab", { settings: { gitPollMs: 3_600_000 } });
  const { plane, git } = site;
  repository = await git.createRepository("tracked", quickProject("one"));
  const body = { name: "team", host: new URL(git.url).host, ssh_private_key: "a key" };
  integration = (await plane.call<typeof integration>("POST", "/v1/integrations/github", body)).body;
  const source_config = { repo_url: repository.url, install_command: quickInstall, build_on_push: true };
  ({ deployment } = await deploy(plane, gitDeployment("tracked", repository.url, { source_config })));
  // The repository is open to read; the integration only says whose webhook it is.
  await site.database.database.query(
    {
      name: "",
      text: "update deployments set source_config = source_config || jsonb_build_object('integration_id', $1::text)",
    },
    [integration.id],
  );
}, 120_000);
afterAll(() => site?.stop());

const project = () => ({ id: 482, url: repository.url.replace(/\.git$/, "") });

async function send(event: string, body: unknown, secret = integration.webhook_secret) {
  const answer = await fetch(integration.webhook_url, {
    method: "POST",
    headers: gitlabHeaders(event, secret),
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, ids: (JSON.parse(text) as { revision_ids?: string[] }).revision_ids, text };
}

it("is refused with another secret token, or none", async () => {
  const body = gitlabPush({ project: project(), before: "a".repeat(40), after: "b".repeat(40) });
  for (const secret of ["another secret of ours", ""]) {
    const refused = await send("Push Hook", body, secret);
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining("secret token")]);
  }
});

it("builds what was pushed, once", async () => {
  const after = await repository.commit(quickProject("two"), "Two");
  const body = gitlabPush({ project: project(), before: "a".repeat(40), after });
  const first = await send("Push Hook", body);
  expect([first.status, first.ids]).toEqual([202, [expect.any(String)]]);
  expect((await send("Push Hook", body)).ids).toEqual([]);
  const tag = { ...body, object_kind: "tag_push", event_name: "tag_push", ref: "refs/tags/v1" };
  expect((await send("Tag Push Hook", tag)).ids).toEqual([]);
  expect((await send("Pipeline Hook", { object_kind: "pipeline" })).ids).toEqual([]);
});

it("makes, updates and removes the preview of a merge request", async () => {
  const { plane } = site;
  await plane.call("PUT", `/v2/deployments/${deployment.id}/previews`, { enabled: true });
  type Preview = DeploymentBody & { is_preview: boolean };
  const previews = async () =>
    (await plane.call<{ resources: Preview[] }>("GET", "/v2/deployments")).body.resources.filter(
      (each) => each.is_preview,
    );
  const request = (action: string, sha: string, change = {}) =>
    send(
      "Merge Request Hook",
      gitlabMergeRequest({ project: project(), action, iid: 7, branch: "feature/x", sha, change }),
    );
  const first = await repository.commit(quickProject("preview"), "Preview", "feature/x");
  expect((await request("open", first, { source_project_id: 9 })).ids).toEqual([]);
  expect((await request("open", first)).ids).toHaveLength(1);
  expect((await previews()).map(({ name }) => name)).toEqual(["tracked-pr-7-feature-x"]);
  const second = await repository.commit(quickProject("again"), "Again", "feature/x");
  expect((await request("update", second)).ids).toEqual([]);
  expect((await request("update", second, { oldrev: first })).ids).toHaveLength(1);
  expect((await request("merge", second)).ids).toEqual([]);
  expect(await previews()).toEqual([]);
});
