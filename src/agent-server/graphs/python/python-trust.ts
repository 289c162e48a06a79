import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";

export type PythonTrust = { variables: Record<string, string>; remove(): Promise<void> };

/**
 * Python trusts the authorities that this process trusts. Node adds those of `NODE_EXTRA_CA_CERTS` to its own; Python knows only variables
 * that replace all of its own, two of them: one of OpenSSL, and one of the library `requests`. So it gets a file with all of them. What
 * somebody has set for Python stays.
 */
export async function trustForPython(
  environment: Readonly<Record<string, string | undefined>>,
  logger: Logger,
): Promise<PythonTrust> {
  const { NODE_EXTRA_CA_CERTS: extra, SSL_CERT_FILE: given, REQUESTS_CA_BUNDLE: bundle } = environment;
  if (given) return { variables: { REQUESTS_CA_BUNDLE: bundle || given }, remove: async () => {} };
  if (!extra) return { variables: {}, remove: async () => {} };
  const text = await readFile(extra, "utf8").catch((error: unknown) => {
    logger.warn(
      { file: extra, reason: errorMessage(error) },
      "Python does not get the certificates of NODE_EXTRA_CA_CERTS",
    );
    return null;
  });
  if (text === null) return { variables: {}, remove: async () => {} };
  const known = new Set([...getCACertificates("bundled"), ...getCACertificates("system")]);
  // A folder of its own: in one that others write to, theirs could be there first.
  const folder = await mkdtemp(join(tmpdir(), "treadle-certificates-"));
  const file = join(folder, "authorities.pem");
  await writeFile(file, [...known, text, ""].join("\n"), { mode: 0o600 });
  return {
    variables: { SSL_CERT_FILE: file, REQUESTS_CA_BUNDLE: bundle || file },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
