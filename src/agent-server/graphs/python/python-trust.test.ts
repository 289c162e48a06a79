import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTlsStorage, type TlsStorage } from "../../../../tests/support/tls-storage.ts";
import { createLogger } from "../../../platform/logger.ts";
import { trustForPython } from "./python-trust.ts";

const logger = createLogger({ level: "silent" });
const server = createServer((_request, response) => response.end("hello"));
let behind: TlsStorage;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  behind = await startTlsStorage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(async () => {
  await behind?.stop();
  server.close();
});

/** What Python gets from there, or why not. */
function ask(variables: Record<string, string>): Promise<string> {
  const script = `import sys, urllib.request
try: print(urllib.request.urlopen(sys.argv[1]).read().decode())
except Exception as error: print(error)`;
  const env = { PATH: process.env.PATH, ...variables };
  return new Promise((resolve, reject) => {
    execFile("python3", ["-c", script, behind.url], { env }, (error, output) =>
      error ? reject(error) : resolve(output.trim()),
    );
  });
}

it("Python trusts a private authority that this process was given, beside those it knows", async () => {
  expect(await ask({})).toContain("CERTIFICATE_VERIFY_FAILED");
  const trust = await trustForPython({ NODE_EXTRA_CA_CERTS: behind.certificate }, logger);
  const { SSL_CERT_FILE: file, REQUESTS_CA_BUNDLE: bundle } = trust.variables;
  expect(await ask(trust.variables)).toBe("hello");
  expect(bundle).toBe(file);
  const count = `import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 20)`;
  const known = await new Promise((resolve) => {
    const env = { PATH: process.env.PATH, ...trust.variables };
    execFile("python3", ["-c", count], { env }, (_error, output) => resolve(output.trim()));
  });
  expect(known).toBe("True");
  await trust.remove();
  expect(existsSync(dirname(file!))).toBe(false);
});

it("leaves what was set for Python, and what is not there", async () => {
  const variables = async (given: Record<string, string>) => (await trustForPython(given, logger)).variables;
  expect(await variables({})).toEqual({});
  expect(await variables({ NODE_EXTRA_CA_CERTS: "/nowhere.pem" })).toEqual({});
  const own = { SSL_CERT_FILE: "/own.pem", NODE_EXTRA_CA_CERTS: behind.certificate };
  expect(await variables(own)).toEqual({ REQUESTS_CA_BUNDLE: "/own.pem" });
  expect(await variables({ ...own, REQUESTS_CA_BUNDLE: "/b.pem" })).toEqual({ REQUESTS_CA_BUNDLE: "/b.pem" });
});
