import { readFile } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { runCommand } from "./components/run-command.ts";
import { createTempFolder } from "./components/temp-folder.ts";

export type TlsStorage = {
  url: string;
  /** The file with its certificate, which is its own authority. */
  certificate: string;
  /** What each PUT declared as the hash of its body. */
  bodyHashes(): string[];
  stop(): Promise<void>;
};

/** A storage behind TLS, with a certificate this process trusts until `stop`. */
export async function startTlsStorage(target: string): Promise<TlsStorage> {
  const folder = await createTempFolder("tls");
  const [key, cert] = [join(folder.path, "key.pem"), join(folder.path, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const how = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
  await runCommand("openssl", ["req", ...how, ...subject, "-keyout", key, "-out", cert]);
  const trusted = getCACertificates("default");
  const certificate = await readFile(cert, "utf8");
  setDefaultCACertificates([...trusted, certificate]);
  const { hostname, port } = new URL(target);
  const hashes: string[] = [];
  const server = createServer({ key: await readFile(key), cert: certificate }, (incoming, answer) => {
    const { method, headers, url } = incoming;
    if (method === "PUT") hashes.push(String(headers["x-amz-content-sha256"]));
    const outgoing = plainRequest({ host: hostname, port, path: url, method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers);
      found.pipe(answer);
    });
    outgoing.on("error", () => answer.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    certificate: cert,
    bodyHashes: () => hashes,
    async stop() {
      setDefaultCACertificates(trusted);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await folder.remove();
    },
  };
}
