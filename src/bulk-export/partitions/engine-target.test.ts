import { describe, expect, test } from "vitest";
import type { BucketSettings } from "../../platform/blob/blob-store.ts";
import { type Address, NetworkGuard } from "../../platform/network/network-guard.ts";
import { checkedForEngine, engineTarget } from "./engine-target.ts";

const settings: BucketSettings = {
  ...{ bucket: "b-1", region: null, endpointUrl: null, bucketInEndpoint: false, addressingStyle: "auto" },
  ...{ accelerate: false, checksumMode: null, signBodies: false, putArguments: {} },
  credentials: { accessKeyId: "key", secretAccessKey: "secret" },
};
const urlOf = (
  more: Partial<BucketSettings>,
  key = "a/export_id=1/part-0.parquet",
  allowPrivateAddresses = true,
) => engineTarget({ settings: { ...settings, ...more }, key, metadata: {}, allowPrivateAddresses })?.url;

test("an object has one address, on AWS and elsewhere", () => {
  expect(urlOf({})).toBe("https://s3.us-east-1.amazonaws.com/b-1/a/export_id=1/part-0.parquet");
  expect(urlOf({ region: "eu-west-3" })).toBe(
    "https://s3.eu-west-3.amazonaws.com/b-1/a/export_id=1/part-0.parquet",
  );
  expect(urlOf({ endpointUrl: "http://storage:9000" })).toBe(
    "http://storage:9000/b-1/a/export_id=1/part-0.parquet",
  );
});

test("a name that a caller chose is looked up by us alone where not every address is permitted", () => {
  const strict = (endpointUrl: string | null) => urlOf({ endpointUrl }, "a", false);
  expect(strict("https://storage.example")).toBeUndefined();
  expect(strict("https://203.0.113.7:9000")).toBe("https://203.0.113.7:9000/b-1/a");
  expect(strict("https://[2001:db8::1]")).toBe("https://[2001:db8::1]/b-1/a");
  expect(strict(null)).toBe("https://s3.us-east-1.amazonaws.com/b-1/a");
});

describe("an endpoint for an engine", () => {
  const names: Record<string, Address[]> = {
    storage: [{ address: "10.1.2.3", family: 4 }],
    six: [{ address: "fd00::1", family: 6 }],
    metadata: [{ address: "169.254.169.254", family: 4 }],
  };
  const network = new NetworkGuard({
    allowPrivateAddresses: true,
    resolve: async (name) => names[name] ?? [],
  });
  const checked = async (endpointUrl: string | null) =>
    (await checkedForEngine({ ...settings, endpointUrl }, network)).endpointUrl;

  test("is the address that was checked, or has a name that its certificate proves", async () => {
    expect(await checked("http://storage:9000")).toBe("http://10.1.2.3:9000");
    expect(await checked("http://six/path")).toBe("http://[fd00::1]/path");
    expect(await checked("https://storage:9000")).toBe("https://storage:9000");
    expect(await checked(null)).toBeNull();
  });

  test.each(["http://metadata", "https://metadata", "http://169.254.169.254", "http://[fe80::1]"])(
    "may not be %s, whatever is permitted",
    async (url) => {
      await expect(checked(url)).rejects.toMatchObject({ code: "network.address_refused" });
    },
  );
});

test.each<[string, Partial<BucketSettings>, string?]>([
  ["no credentials of its own", { credentials: null }],
  ["arguments for every object", { putArguments: { StorageClass: "GLACIER" } }],
  ["a name for each bucket", { endpointUrl: "http://storage:9000", addressingStyle: "virtual" }],
  ["the bucket in its address", { endpointUrl: "http://b.storage:9000", bucketInEndpoint: true }],
  ["another way to AWS", { accelerate: true }],
  ["a region that would be another host", { region: "x.example/" }],
  ["a pattern in a key", {}, "a/*.parquet"],
  ["a set in a key", {}, "a/{1,2}.parquet"],
  ["a quote in a key", {}, "a'b"],
])("%s is not for an engine", (_, more, key) => {
  expect(urlOf(more, key)).toBeUndefined();
});
