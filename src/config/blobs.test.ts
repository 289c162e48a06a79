import { describe, expect, test } from "vitest";
import { describeConfig, readConfig } from "./index.ts";

const read = (environment: Record<string, string> = {}) =>
  readConfig({ TREADLE_DATA_DIR: "/data", ...environment }).blobs;

test("default: the data folder, which is this server's own", () => {
  expect(read()).toEqual({ place: { kind: "folder", folder: "/data/deployments" }, isShared: false });
});

test("a folder by its URL", () => {
  expect(read({ TREADLE_BLOB_URL: "file:///srv/treadle%20blobs" })).toEqual({
    place: { kind: "folder", folder: "/srv/treadle blobs" },
    isShared: true,
  });
});

describe("a bucket", () => {
  const keys = { TREADLE_BLOB_ACCESS_KEY_ID: "AK", TREADLE_BLOB_SECRET_ACCESS_KEY: "hush" };

  test.each([
    ["s3://lake", ""],
    ["s3://lake/", ""],
    ["s3://lake/treadle", "treadle/"],
    ["s3://lake//a/b/", "a/b/"],
  ])("%s has the prefix %j", (url, prefix) => {
    expect(read({ TREADLE_BLOB_URL: url })).toMatchObject({
      place: { kind: "s3", prefix, bucket: { bucket: "lake", credentials: null, endpointUrl: null } },
      isShared: true,
    });
  });

  test("its own settings come before the machine's", () => {
    const machine = { AWS_REGION: "eu-west-1", AWS_ENDPOINT_URL_S3: "http://machine:1" };
    const place = (more: Record<string, string>) =>
      read({ TREADLE_BLOB_URL: "s3://lake", ...machine, ...more }).place;
    expect(place({})).toMatchObject({ bucket: { region: "eu-west-1", endpointUrl: "http://machine:1" } });
    const own = { TREADLE_BLOB_REGION: "here", TREADLE_BLOB_ENDPOINT_URL: "http://own:1", ...keys };
    expect(place(own)).toMatchObject({
      bucket: {
        region: "here",
        endpointUrl: "http://own:1",
        credentials: { accessKeyId: "AK", secretAccessKey: "hush" },
      },
    });
  });

  test("one half of the credentials is refused, without a word of it", () => {
    const half = { TREADLE_BLOB_URL: "s3://lake", TREADLE_BLOB_SECRET_ACCESS_KEY: "hush" };
    expect(() => read(half)).toThrow(/TREADLE_BLOB_ACCESS_KEY_ID and TREADLE_BLOB_SECRET_ACCESS_KEY go/);
    expect(() => read(half)).not.toThrow(/hush/);
  });

  test("secrets are masked", () => {
    const shown = describeConfig({ ...keys, TREADLE_BLOB_SESSION_TOKEN: "hush" });
    expect(JSON.stringify(shown)).not.toContain("hush");
  });
});

test.each(["lake", "s3://", "https://bucket.example", "file://host/path", "s3://lake?x=1"])(
  "%s is refused",
  (url) => {
    expect(() => read({ TREADLE_BLOB_URL: url })).toThrow(/TREADLE_BLOB_URL: must be s3:\/\/bucket/);
  },
);
