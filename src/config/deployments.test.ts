import { expect, test } from "vitest";
import { readConfig } from "./index.ts";

const hostOf = (host: string) => readConfig({ TREADLE_AGENT_HOST: host }).deployments.agentHost;

test("deployed servers take requests at one address", () => {
  for (const host of ["127.0.0.1", "localhost", "10.0.0.7", "fd00::7", "::1"])
    expect(hostOf(host)).toBe(host);
});

test.each(["0.0.0.0", "::", "worker-1.internal", "10.0.0.7:80", "10.0.0"])(
  "a machine cannot be reached at %s, and the setting says what it must be",
  (host) => expect(() => hostOf(host)).toThrow(/TREADLE_AGENT_HOST: must be one IP address of this machine/),
);
