import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bulkExportSealedColumns } from "../../src/bulk-export/sealed-columns.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { type BulkExportApp, createBulkExportApp } from "../support/bulk-export-app.ts";
import type { CephRgw } from "../support/components/ceph-rgw.ts";
import { freePort } from "../support/components/free-port.ts";
import { s3Request } from "../support/components/s3-request.ts";
import { startTcpProxy } from "../support/components/tcp-proxy.ts";
import { createBucket, listKeys } from "../support/exported-files.ts";
import { startRedirectingStorage } from "../support/redirecting-storage.ts";
import { useCephRgw } from "../support/shared-ceph.ts";
import { startTlsStorage } from "../support/tls-storage.ts";

const path = "/api/v1/bulk-exports/destinations";
let rgw: CephRgw;
let app: BulkExportApp;
beforeAll(async () => {
  [rgw, app] = await Promise.all([useCephRgw(), createBulkExportApp({ limits: { checkTimeoutMs: 4_000 } })]);
  await createBucket(rgw, "good");
}, 180_000);
afterAll(async () => {
  await app?.stop();
  await rgw?.stop();
});

type Change = {
  config?: Record<string, unknown>;
  credentials?: Record<string, unknown> | null;
  top?: Record<string, unknown>;
};

const bodyWith = ({ config, credentials, top }: Change = {}) => ({
  destination_type: "s3",
  display_name: "My bucket's name",
  config: {
    bucket_name: "good",
    prefix: "/a/b/",
    region: "us-east-1",
    endpoint_url: rgw.endpoint,
    ...config,
  },
  credentials:
    credentials === null
      ? undefined
      : { access_key_id: rgw.accessKey, secret_access_key: rgw.secretKey, ...credentials },
  ...top,
});
const create = (change?: Change) => app.call("POST", path, { body: bodyWith(change) });
const count = async () => ((await app.call("GET", path)).body as unknown[]).length;

describe("200", () => {
  test("keeps a destination that can be written to, and never shows its credentials", async () => {
    const answer = await create();
    expect(answer).toMatchObject({
      status: 200,
      body: {
        tenant_id: app.workspaceId,
        destination_type: "s3",
        config: { bucket_name: "good", prefix: "a/b" },
        credentials_keys: ["access_key_id", "secret_access_key"],
      },
    });
    const { id } = answer.body as { id: string };
    for (const where of [path, `${path}/${id}`]) {
      const text = JSON.stringify((await app.call("GET", where)).body);
      expect(text).not.toContain(rgw.secretKey);
      expect(text).not.toContain(rgw.accessKey);
    }
    const { rows } = await raw<{ credentials_sealed: string }>`select credentials_sealed
      from bulk_export_destinations where id = ${id}`.execute(app.database.sql);
    expect(rows[0]!.credentials_sealed).not.toContain(rgw.secretKey);
    const opened = app.secretBox.open(rows[0]!.credentials_sealed, bulkExportSealedColumns[0]!.context(id));
    expect(JSON.parse(opened)).toMatchObject({ secret_access_key: rgw.secretKey });
    expect(await listKeys(rgw, "good")).toEqual([]);
  });

  test("names a session token among the credentials it keeps", async () => {
    const answer = await create({ credentials: { session_token: "temporary" } });
    expect(answer.body).toMatchObject({
      credentials_keys: ["access_key_id", "secret_access_key", "session_token"],
    });
  });

  test("addressing, checksums and arguments of the objects reach the storage", async () => {
    const styles = [
      { config_kwargs_s3: { addressing_style: "path" } },
      { request_checksum_calculation: "when_supported" },
      { request_checksum_calculation: "when_required", s3_additional_kwargs: { StorageClass: "STANDARD" } },
      { endpoint_url: `${rgw.endpoint}/good`, include_bucket_in_prefix: false, bucket_name: null },
    ];
    for (const config of styles) expect(await create({ config })).toMatchObject({ status: 200 });
    // It has no key service, so asking for one is refused by it: the argument arrived.
    const encrypted = { s3_additional_kwargs: { ServerSideEncryption: "aws:kms", SSEKMSKeyId: "none" } };
    expect(await create({ config: encrypted })).toMatchObject({ status: 400 });
    const virtual = {
      endpoint_url: "http://storage.invalid",
      config_kwargs_s3: { addressing_style: "virtual" },
    };
    expect((await create({ config: virtual })).body).toMatchObject({
      detail: expect.stringContaining("storage.invalid cannot be resolved"),
    });
  });
});

describe("400, nothing stored, and the message tells what to change", () => {
  const detail = (answer: { body: unknown }) => (answer.body as { detail: string }).detail;

  test("an access key that does not exist", async () => {
    const before = await count();
    const answer = await create({ credentials: { access_key_id: "NOBODY" } });
    expect(answer.status).toBe(400);
    expect(detail(answer)).toContain("access key id does not exist");
    expect(await count()).toBe(before);
  });

  test("a wrong secret", async () => {
    const answer = await create({ credentials: { secret_access_key: "wrong-secret" } });
    expect(answer.status).toBe(400);
    expect(detail(answer)).toContain("secret access key is wrong");
    expect(detail(answer)).not.toContain("wrong-secret");
  });

  test("a bucket that is not there", async () => {
    const answer = await create({ config: { bucket_name: "missing" } });
    expect(answer.status).toBe(400);
    expect(detail(answer)).toContain("bucket missing does not exist");
  });

  test("a bucket of somebody else", async () => {
    const other = await rgw.createUser();
    const credentials = { access_key_id: other.accessKey, secret_access_key: other.secretKey };
    const answer = await create({ credentials });
    expect(answer.status).toBe(400);
    expect(detail(answer)).toContain("no permission");
  });

  test("nobody listening, an unknown name, and silence", async () => {
    const refused = await create({ config: { endpoint_url: `http://127.0.0.1:${await freePort()}` } });
    expect(refused.status).toBe(400);
    expect(detail(refused)).toContain("cannot be reached");
    const before = await count();
    const proxy = await startTcpProxy({ target: rgw.endpoint });
    proxy.blackHole();
    const silent = await create({ config: { endpoint_url: proxy.urlFor(rgw.endpoint) } });
    expect(silent.status).toBe(400);
    expect(detail(silent)).toContain("did not respond in time");
    await proxy.stop();
    expect(await count()).toBe(before);
  });

  test("a bucket in another region", async () => {
    // RGW knows one region only, so a server of our own answers as AWS does.
    const storage = await startRedirectingStorage("eu-central-1");
    const answer = await create({ config: { endpoint_url: storage.url } });
    expect(answer.status).toBe(400);
    expect(detail(answer)).toContain("not in this region but in eu-central-1");
    await storage.stop();
  });

  test("private addresses where they are not permitted, metadata addresses always", async () => {
    const guarded = await createBulkExportApp({ started: false, area: { allowPrivateAddresses: false } });
    const answer = await guarded.call("POST", path, { body: bodyWith() });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("private address") },
    });
    await guarded.stop();
    const metadata = await create({ config: { endpoint_url: "http://169.254.169.254" } });
    expect(metadata).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("reserved address") },
    });
  });
});

describe("422", () => {
  const wrong: [string, Change, string][] = [
    ["no bucket", { config: { bucket_name: null } }, "config.bucket_name"],
    ["a short bucket name", { config: { bucket_name: "ab" } }, "config.bucket_name"],
    ["an endpoint that is no address", { config: { endpoint_url: "ftp://x" } }, "config.endpoint_url"],
    ["credentials in the endpoint", { config: { endpoint_url: "http://a:b@x" } }, "config.endpoint_url"],
    [
      "an unknown argument",
      { config: { s3_additional_kwargs: { Nope: "x" } } },
      "config.s3_additional_kwargs.Nope",
    ],
    [
      "an unknown style",
      { config: { config_kwargs_s3: { addressing_style: "odd" } } },
      "config.config_kwargs_s3.addressing_style",
    ],
    ["a role", { config: { aws_role_arn: "arn:aws:iam::1:role/x" } }, "config.aws_role_arn"],
    ["a name with odd characters", { top: { display_name: "<b>" } }, "display_name"],
    ["an empty name", { top: { display_name: "" } }, "display_name"],
    ["another type", { top: { destination_type: "gcs" } }, "destination_type"],
    ["an empty secret", { credentials: { secret_access_key: "" } }, "credentials.secret_access_key"],
  ];
  test.each(wrong)("%s", async (_name, change, field) => {
    const { status, body } = await create(change);
    expect(status).toBe(422);
    const locs = (body as { detail: { loc: unknown[] }[] }).detail.map((one) => one.loc.slice(1).join("."));
    expect(locs).toContain(field);
  });

  test("no credentials where the machine's own may not be used", async () => {
    const guarded = await createBulkExportApp({ started: false, area: { ambientCredentials: false } });
    expect((await guarded.call("POST", path, { body: bodyWith({ credentials: null }) })).status).toBe(422);
    await guarded.stop();
  });
});

test("credentials are rotated only to ones that work", async () => {
  const { id } = (await create()).body as { id: string };
  const bad = { credentials: { access_key_id: rgw.accessKey, secret_access_key: "wrong" } };
  expect((await app.call("PATCH", `${path}/${id}`, { body: bad })).status).toBe(400);
  const other = await rgw.createUser();
  const policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { AWS: [other.arn] },
        Action: "s3:*",
        Resource: ["arn:aws:s3:::good", "arn:aws:s3:::good/*"],
      },
    ],
  });
  await s3Request({ ...rgw, method: "PUT", path: "/good", query: { policy: "" }, body: policy });
  const good = {
    credentials: { access_key_id: other.accessKey, secret_access_key: other.secretKey, session_token: null },
  };
  expect(await app.call("PATCH", `${path}/${id}`, { body: good })).toMatchObject({
    status: 200,
    body: { id, credentials_keys: ["access_key_id", "secret_access_key"] },
  });
  expect((await app.call("PATCH", `${path}/${randomUUID()}`, { body: good })).status).toBe(404);
});

test("over TLS bodies are not hashed for the signature, unless the destination says so", async () => {
  const storage = await startTlsStorage(rgw.endpoint);
  const behindTls = (signed?: boolean) =>
    create({
      config: {
        endpoint_url: storage.url,
        ...(signed === undefined ? {} : { config_kwargs_s3: { payload_signing_enabled: signed } }),
      },
    });
  expect(await behindTls()).toMatchObject({ status: 200 });
  expect(storage.bodyHashes()).toEqual(["UNSIGNED-PAYLOAD"]);
  expect(await behindTls(true)).toMatchObject({ status: 200 });
  expect(storage.bodyHashes()[1]).toMatch(/^[0-9a-f]{64}$/);
  await storage.stop();
});
