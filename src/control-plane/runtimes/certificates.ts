import { readFile } from "node:fs/promises";

/** Variables that name one file of certificates, and those that name a folder. Builds alone have those of npm and pip. */
const fileNames = [
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"],
  ...["npm_config_cafile", "NPM_CONFIG_CAFILE", "PIP_CERT"],
];
const folderNames = ["SSL_CERT_DIR"];
/** Where they are in a container. */
export const certificateFolder = "/etc/treadle/certificates";

export type Certificate = { from: string; to: string; file: string; text: string };

/**
 * For servers that do not see the files of this machine: which of those that its operator named to bring along, and the environment
 * that names them there. A value that a deployment has chosen itself is its own: it names no file of this machine.
 */
export async function carryCertificates(
  machine: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): Promise<{ environment: Record<string, string>; certificates: Certificate[] }> {
  const changed = { ...environment };
  const certificates: Certificate[] = [];
  for (const name of [...fileNames, ...folderNames]) {
    const from = machine[name];
    if (from === undefined || environment[name] !== from) continue;
    delete changed[name];
    const same = certificates.find((each) => each.from === from);
    if (same) {
      changed[name] = same.to;
      continue;
    }
    const text = folderNames.includes(name) ? null : await readFile(from, "utf8").catch(() => null);
    if (text === null) continue;
    const file = `${name}.pem`;
    const to = `${certificateFolder}/${file}`;
    certificates.push({ from, to, file, text });
    changed[name] = to;
  }
  return { environment: changed, certificates };
}
