import { describe, expect, test } from "vitest";
import type { KeyIdentity } from "./api-key.ts";
import { chooseWorkspace } from "./workspace-choice.ts";

const [first, second, foreign] = [
  "0198d8f6-0000-7000-8000-000000000001",
  "0198d8f6-0000-7000-8000-000000000002",
  "0198d8f6-0000-7000-8000-000000000003",
];

function identity(overrides: Partial<KeyIdentity> = {}): KeyIdentity {
  return {
    id: "0198d8f6-0000-7000-8000-00000000000a",
    hash: "",
    organization_id: "0198d8f6-0000-7000-8000-00000000000b",
    user_id: "0198d8f6-0000-7000-8000-00000000000c",
    role: "admin",
    workspace_id: null,
    expires_at: null,
    scopes: null,
    tracing_project: null,
    created_by: null,
    memberships: [{ workspace_id: first, role: "admin" }],
    ...overrides,
  };
}
const several = identity({
  memberships: [
    { workspace_id: first, role: "admin" },
    { workspace_id: second, role: "viewer" },
  ],
});

describe("without X-Tenant-Id", () => {
  test("a key of one workspace acts in it", () => {
    for (const header of [null, "", "  "]) {
      expect(chooseWorkspace(identity(), header)).toEqual({ workspaceId: first, role: "admin" });
    }
  });

  test("a key of several must name one, and the answer lists them", () => {
    expect(() => chooseWorkspace(several, null)).toThrow(
      expect.objectContaining({
        kind: "forbidden",
        message: expect.stringMatching(new RegExp(`requires workspace specification.*${first}.*${second}`)),
      }),
    );
  });

  test("a key of none is refused", () => {
    expect(() => chooseWorkspace(identity({ memberships: [] }), null)).toThrow(
      expect.objectContaining({ kind: "forbidden", code: "workspace.none" }),
    );
  });
});

describe("with X-Tenant-Id", () => {
  test("the named workspace is used, with the role held there", () => {
    expect(chooseWorkspace(several, second.toUpperCase())).toEqual({ workspaceId: second, role: "viewer" });
  });

  test("the key's own role is the most it gives", () => {
    expect(chooseWorkspace({ ...several, role: "editor" }, first).role).toBe("editor");
    expect(chooseWorkspace({ ...several, role: "editor" }, second).role).toBe("viewer");
  });

  test("another workspace is 403", () => {
    expect(() => chooseWorkspace(several, foreign)).toThrow(expect.objectContaining({ kind: "forbidden" }));
  });

  test("text that is no uuid is 422", () => {
    expect(() => chooseWorkspace(several, "my workspace")).toThrow(
      expect.objectContaining({ kind: "unprocessable" }),
    );
  });
});
