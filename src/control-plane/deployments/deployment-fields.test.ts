import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { DeploymentBody } from "../../../tests/support/deployments.ts";

let plane: ControlPlaneServer;
let folder: TempFolder;
let database: TestDatabase;
const unknown = "00000000-0000-4000-8000-00000000abcd";

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("deployment-fields");
  plane = await startControlPlane({
    databaseUrl: database.url,
    folder: folder.path,
    settings: { allowLocalRepositories: false },
  });
});

afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
});

/** A deployment that waits for its source, so nothing is built. */
const waiting = (name: string, more: Record<string, unknown> = {}) => ({
  ...{ name, source: "internal_source", source_config: { deployment_type: "dev" }, secrets: [] },
  source_revision_config: {},
  ...more,
});
const post = (body: unknown, headers = {}) =>
  plane.call<DeploymentBody>("POST", "/v2/deployments", body, headers);
const detail = (answer: { body: unknown }) => JSON.stringify(answer.body);

describe("fields that are checked and kept", () => {
  it("rounds processors to tenths, and shows the address of a proxy", async () => {
    const source_config = { resource_spec: { cpu: 0.26, cpu_limit: 1.24, queue_cpu: 0.149, memory_mb: 512 } };
    const { body } = await post(waiting("tenths", { source_config }));
    expect(body).toMatchObject({
      source_config: { resource_spec: { cpu: 0.3, cpu_limit: 1.2, queue_cpu: 0.1, memory_mb: 512 } },
    });
    const path = `/v2/deployments/${body.id}`;
    const custom_url = "https://agents.example.com/tenths";
    const set = await plane.call("PATCH", path, { source_config: { custom_url } });
    expect(set.body).toMatchObject({ source_config: { custom_url } });
    for (const wrong of [
      "nonsense",
      "javascript:alert(1)",
      "https://user:pass@example.com/",
      "ftp://example.com",
    ])
      expect((await plane.call("PATCH", path, { source_config: { custom_url: wrong } })).status).toBe(422);
  });

  it("refuses filters that nothing could pass", async () => {
    for (const filter of ["image_version=1.2.3", "tag_value_ids=a,b"])
      expect((await plane.call("GET", `/v2/deployments?${filter}`)).status).toBe(422);
  });

  it("opens the address command line tools print, also below /api-host", async () => {
    for (const prefix of ["", "/api-host"]) {
      const path = `${prefix}/o/${plane.workspaceId}/host/deployments/${unknown}`;
      const answer = await fetch(`${plane.url}${path}`, { redirect: "manual" });
      expect([answer.status, answer.headers.get("location")]).toEqual([302, `/deployments/${unknown}`]);
    }
  });
});

describe("what has no effect is refused", () => {
  it("refuses what could never be built or started", async () => {
    const image = { source: "external_docker", source_revision_config: { image_uri: "example.com/agent:1" } };
    const answers = [
      await post(waiting("image", image)),
      await post(waiting("image", { ...image, source: "internal_docker" })),
      await post(waiting("template", { source: "internal_template" })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(detail(answers[0]!)).toContain("TREADLE_RUNTIME=docker");
    expect(detail(answers[2]!)).toContain("internal_template is not supported");
  });

  it("refuses another name or source in a change, and takes the ones it has", async () => {
    const { body } = await post(waiting("named"));
    const change = (patch: object) => plane.call("PATCH", `/v2/deployments/${body.id}`, patch);
    expect(detail(await change({ name: "other" }))).toContain("name cannot be changed");
    expect(detail(await change({ source: "github" }))).toContain("source cannot be changed");
    expect((await change({ name: "named", source: "internal_source" })).status).toBe(200);
  });
});
