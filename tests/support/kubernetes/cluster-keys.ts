import { generateKeyPairSync } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "../components/run-command.ts";

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];

/** An authority of its own, the API server's certificate, and that of an administrator. */
export async function makeKeys(folder: string, address: string): Promise<void> {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => runCommand("openssl", ["req", "-x509", ...newKey, ...args]);
  const authority = ["-CA", at("ca.crt"), "-CAkey", at("ca.key")];
  const files = (name: string) => ["-keyout", at(`${name}.key`), "-out", at(`${name}.crt`)];
  await openssl("-subj", "/CN=treadle-test-authority", ...files("ca"));
  const serving = ["-addext", `subjectAltName=IP:${address},IP:127.0.0.1`];
  await openssl("-subj", "/CN=kube-apiserver", ...serving, ...authority, ...files("server"));
  const usage = ["-addext", "extendedKeyUsage=clientAuth"];
  await openssl("-subj", "/O=system:masters/CN=admin", ...usage, ...authority, ...files("admin"));
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(at("accounts.key"), privateKey.export({ type: "pkcs8", format: "pem" }));
  await writeFile(at("accounts.pub"), publicKey.export({ type: "spki", format: "pem" }));
}

/** In the words of kubectl; JSON is YAML. */
export async function writeKubeconfig(folder: string, server: string): Promise<string> {
  const data = async (name: string) => (await readFile(join(folder, name))).toString("base64");
  const path = join(folder, "kubeconfig");
  const cluster = { server, "certificate-authority-data": await data("ca.crt") };
  const user = {
    "client-certificate-data": await data("admin.crt"),
    "client-key-data": await data("admin.key"),
  };
  const text = JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "treadle" },
    clusters: [{ name: "treadle", cluster }],
    users: [{ name: "admin", user }],
    contexts: [{ name: "treadle", context: { cluster: "treadle", user: "admin" } }],
  });
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
