import { describe, expect, it } from "vitest";
import { describeConfig, forgetSecrets, readConfig } from "./index.ts";

describe("the engine of traces", () => {
  it("is PostgreSQL unless a ClickHouse is named", () => {
    expect(readConfig({}).clickHouse).toBeUndefined();
    const url = "https://treadle:a%40b@clickhouse.example.com:8443/treadle";
    expect(readConfig({ TREADLE_TRACES_URL: url }).clickHouse).toEqual({ url, cluster: undefined });
    expect(
      readConfig({ TREADLE_TRACES_URL: "http://[::1]:8123/t", TREADLE_TRACES_CLUSTER: "{cluster}" })
        .clickHouse,
    ).toEqual({ url: "http://[::1]:8123/t", cluster: "{cluster}" });
  });

  it.each([
    "clickhouse://treadle:secret@host/treadle",
    "treadle:secret@host/treadle",
    "https://treadle:secret@host:8443",
    "https://treadle:secret@host:8443/",
    "https://treadle:secret@host:8443/a/b",
    "https://treadle:secret@host:8443/treadle?async_insert=1",
    "https://treadle:secret@host:8443/treadle#x",
  ])("refuses %s, and says what it must be without showing it", (url) => {
    const read = () => readConfig({ TREADLE_TRACES_URL: url });
    expect(read).toThrow(
      expect.objectContaining({
        code: "config.invalid",
        message: expect.stringContaining(
          "TREADLE_TRACES_URL: must be https://user:password@host:8443/database",
        ),
      }),
    );
    expect(read).toThrow(expect.objectContaining({ message: expect.not.stringContaining("secret") }));
  });

  it("writes the files of exports itself where it is one server", () => {
    const one = { TREADLE_TRACES_URL: "http://host:8123/treadle" };
    const cluster = { ...one, TREADLE_TRACES_CLUSTER: "c" };
    expect(readConfig(one).exportByEngine).toBe(true);
    expect(readConfig({ ...one, TREADLE_TRACES_EXPORT: "treadle" }).exportByEngine).toBe(false);
    expect(readConfig(cluster).exportByEngine).toBe(false);
    expect(() => readConfig({ ...cluster, TREADLE_TRACES_EXPORT: "engine" })).toThrow(
      expect.objectContaining({ code: "config.invalid" }),
    );
  });

  it("refuses a cluster of nothing", () => {
    expect(() => readConfig({ TREADLE_TRACES_CLUSTER: "a" })).toThrow(
      expect.objectContaining({
        code: "config.invalid",
        message: expect.stringContaining("TREADLE_TRACES_URL"),
      }),
    );
  });

  it("is a secret: shown masked, and not left in the environment", () => {
    const environment = { TREADLE_TRACES_URL: "https://treadle:hidden@host:8443/treadle" };
    expect(describeConfig(environment).find(({ name }) => name === "TREADLE_TRACES_URL")).toMatchObject({
      value: "********",
      source: "environment",
    });
    forgetSecrets(environment);
    expect(environment).toEqual({});
  });
});
