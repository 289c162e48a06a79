import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";

let plane: ControlPlaneServer;
let folder: TempFolder;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("listener-routes");
  plane = await startControlPlane({ databaseUrl: database.url, folder: folder.path });
});

afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
});

describe("listeners", () => {
  it("are kept, changed and deleted", async () => {
    const body = { compute_type: "k8s", compute_id: "cluster", compute_config: { k8s_namespaces: ["a"] } };
    const made = await plane.call<{ id: string }>("POST", "/v2/listeners", body);
    expect(made.status).toBe(201);
    expect((await plane.call("POST", "/v2/listeners", body)).status).toBe(409);
    const path = `/v2/listeners/${made.body.id}`;
    const changed = await plane.call("PATCH", path, { version: "2" });
    expect(changed.body).toMatchObject({ version: "2", compute_config: { k8s_namespaces: ["a"] } });
    expect((await plane.call<{ resources: unknown[] }>("GET", "/v2/listeners")).body.resources).toHaveLength(
      1,
    );
    expect((await plane.call("DELETE", path)).status).toBe(204);
    expect((await plane.call("GET", path)).status).toBe(404);
  });
});
