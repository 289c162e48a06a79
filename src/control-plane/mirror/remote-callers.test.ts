import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFakeMonotonicClock } from "../../../tests/support/fake-monotonic-clock.ts";
import { AppError } from "../../platform/errors.ts";
import type { Authenticator } from "../../platform/http/access/caller.ts";
import { AcceptedCredentials } from "./accepted-credentials.ts";
import { PlatformClient } from "./platform-client.ts";
import { RemoteCallers } from "./remote-callers.ts";

const known = {
  caller: {
    ...{ organization_id: randomUUID(), user_id: "somebody", role: "editor", via: "api_key" },
    ...{ scopes: null, deployment_id: null },
  },
  refusal: null,
};

const workspaceId = randomUUID();

/** Has no keys of its own. */
const local: Authenticator = {
  authenticate: async () => {
    throw new AppError({ code: "listener.caller_unknown", kind: "unauthenticated", message: "Not of here." });
  },
  loopbackCaller: () => Promise.reject(new Error("nobody asks")),
};

let platform: Server;
let answer: { status: number; body: unknown };
let questions: number;
let held: Promise<void>;
let clock: ReturnType<typeof createFakeMonotonicClock>;
let callers: RemoteCallers;
let accepted: AcceptedCredentials;
beforeEach(async () => {
  answer = { status: 200, body: known };
  questions = 0;
  held = Promise.resolve();
  platform = createServer(async (request, response) => {
    questions += 1;
    request.resume();
    await held;
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
  const { port } = platform.address() as AddressInfo;
  clock = createFakeMonotonicClock();
  const client = new PlatformClient({
    ...{ url: `http://127.0.0.1:${port}`, apiKey: "the listener's", listenerId: randomUUID() },
  });
  accepted = new AcceptedCredentials();
  callers = new RemoteCallers({ local, client, workspaceId, accepted, clock });
});
afterEach(() => new Promise((resolve) => platform.close(resolve)));

const ask = (key = "a key") => callers.authenticate(new Headers({ "x-api-key": key }));
const later = (ms: number) => clock.advance(ms);

it("serves who was known while the platform is away, without waiting for it each time", async () => {
  expect(await ask()).toMatchObject({ userId: "somebody" });
  answer = { status: 503, body: {} };
  await later(31_000);
  expect(await ask()).toMatchObject({ userId: "somebody" });
  expect(await ask()).toMatchObject({ userId: "somebody" });
  expect(questions).toBe(2);
  await expect(ask("another key")).rejects.toMatchObject({ code: "listener.platform_away" });
  await later(11_000);
  expect(await ask()).toMatchObject({ userId: "somebody" });
  expect(questions).toBe(4);
  await later(24 * 60 * 60_000);
  await expect(ask()).rejects.toMatchObject({ code: "listener.platform_away" });
});

it("gives a caller the platform's rights in this workspace, and nothing that the answer does not say", async () => {
  const more = { workspaceId: randomUUID(), workspace_id: randomUUID(), mayUseAccounts: true };
  const caller = { ...known.caller, role: "admin", ...more, apiKeyId: randomUUID(), tracingProject: "x" };
  answer = { status: 200, body: { caller, refusal: null } };
  const found = await callers.authenticate(new Headers({ "x-api-key": "k", "x-tenant-id": "elsewhere" }));
  expect(found).toEqual({
    ...{ organizationId: known.caller.organization_id, workspaceId, userId: "somebody", role: "admin" },
    ...{ via: "api_key", scopes: null, mayUseAccounts: false },
  });
});

it("asks the platform about headers alone: a cookie or an address is nobody there", async () => {
  await expect(callers.authenticate(new Headers({ cookie: "session=x" }))).rejects.toThrow("Not of here.");
  expect(questions).toBe(0);
});

it("serves nobody when the platform refuses the listener itself", async () => {
  await ask();
  await later(31_000);
  for (const status of [401, 404]) {
    answer = { status, body: { detail: "Not you." } };
    await expect(ask()).rejects.toMatchObject({ code: "listener.platform_refused" });
  }
});

it("forgets who is known no more", async () => {
  await ask();
  await later(31_000);
  answer = { status: 200, body: { caller: null, refusal: "Revoked." } };
  await expect(ask()).rejects.toMatchObject({ code: "listener.caller_unknown", message: "Revoked." });
});

it("remembers what the platform has accepted, and nothing that was beside it", async () => {
  await callers.authenticate(new Headers({ "x-api-key": "chosen", authorization: "Bearer of-the-project" }));
  await callers.authenticate(new Headers({ authorization: "bearer  chosen-too" }));
  expect(["chosen", "chosen-too", "of-the-project"].map((text) => accepted.has(text))).toEqual([
    ...[true, true, false],
  ]);
  answer = { status: 200, body: { caller: null, refusal: "Revoked." } };
  await later(31_000);
  await expect(ask("chosen")).rejects.toThrow("Revoked.");
  await expect(ask("a stranger's")).rejects.toThrow("Revoked.");
  expect([accepted.has("chosen"), accepted.has("a stranger's")]).toEqual([true, false]);
});

it("asks once about a credential that many use at the same time", async () => {
  const release = Promise.withResolvers<void>();
  held = release.promise;
  const all = Promise.all([ask(), ask(), ask()]);
  release.resolve();
  expect(await all).toHaveLength(3);
  expect(questions).toBe(1);
});
