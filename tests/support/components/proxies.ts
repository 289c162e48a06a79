import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { type ChildProcess, spawnProcess } from "./process.ts";
import { runCommand } from "./run-command.ts";
import { createTempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

export type TlsProxy = {
  /** Where it takes TLS, on this machine. */
  port: number;
  /** The certificate of the authority that signed its own. */
  ca: string;
  output(): string;
  stop(): Promise<void>;
};

const startMs = 20_000;

/** Debian's Caddy with the blocks of a Caddyfile, global options apart, and an authority of its own instead of a public one. */
export async function startCaddy(options: { globalOptions: string; sites: string[] }): Promise<TlsProxy> {
  await ensureDebianPackages(["caddy"]);
  const folder = await createTempFolder("caddy");
  const [port, httpPort] = [await freePort(), await freePort()];
  const loopback = [
    ...["admin off", "local_certs", "skip_install_trust", "default_bind 127.0.0.1"],
    ...[`https_port ${port}`, `http_port ${httpPort}`, `storage file_system ${folder.path}`],
  ];
  const file = join(folder.path, "Caddyfile");
  await writeFile(
    file,
    [`{\n${loopback.join("\n")}\n${options.globalOptions}\n}`, ...options.sites].join("\n"),
  );
  const caddy = spawnProcess("caddy", ["run", "--adapter", "caddyfile", "--config", file], {
    env: { HOME: folder.path, XDG_CONFIG_HOME: folder.path, XDG_DATA_HOME: folder.path },
  });
  await caddy.waitForLine("serving initial configuration", startMs);
  const ca = await readFile(join(folder.path, "pki/authorities/local/root.crt"), "utf8");
  return running(caddy, { port, ca }, () => folder.remove());
}

/** Debian's nginx with server blocks whose certificates are made here, one for each name. */
export async function startNginx(options: { http: string[]; names: string[] }): Promise<TlsProxy> {
  await ensureDebianPackages(["nginx", "openssl"]);
  const folder = await createTempFolder("nginx");
  const port = await freePort();
  const at = (name: string) => join(folder.path, name);
  await makeCertificates(at, options.names);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  await mkdir(at("t"));
  const config = `
    ${process.getuid?.() === 0 ? "user root;" : ""}
    pid ${at("pid")}; error_log stderr notice; daemon off; worker_processes 1;
    events {}
    http {
      access_log off;
      ${temporary.map((kind) => `${kind}_temp_path ${at(`t/${kind}`)};`).join(" ")}
      ${options.http.join("\n").replaceAll("listen 443 ssl", `listen 127.0.0.1:${port} ssl`).replaceAll("/etc/ssl/", at("/"))}
    }`;
  await writeFile(at("nginx.conf"), config);
  const nginx = spawnProcess("nginx", ["-c", at("nginx.conf"), "-e", "stderr"]);
  await nginx.waitForLine("start worker process ", startMs);
  return running(nginx, { port, ca: await readFile(at("ca.pem"), "utf8") }, () => folder.remove());
}

function running(
  child: ChildProcess,
  facts: Pick<TlsProxy, "port" | "ca">,
  remove: () => Promise<void>,
): TlsProxy {
  return {
    ...facts,
    output: () => child.output(),
    async stop() {
      await child.stop("SIGTERM", 5_000);
      await waitUntil(() => child.exit() !== undefined, { timeoutMs: 5_000, what: "the proxy to end" });
      await remove();
    },
  };
}

async function makeCertificates(at: (name: string) => string, names: readonly string[]): Promise<void> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const authority = ["-subj", "/CN=Test authority", "-keyout", at("ca.key"), "-out", at("ca.pem")];
  await runCommand("openssl", ["req", "-x509", ...key, ...authority]);
  for (const [file, host] of names.map((name) => name.split("=") as [string, string])) {
    const signed = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-addext", `subjectAltName=DNS:${host}`];
    const out = ["-subj", `/CN=${host}`, "-keyout", at(`${file}.key`), "-out", at(`${file}.pem`)];
    await runCommand("openssl", ["req", "-x509", ...key, ...signed, ...out]);
  }
}
