import { dirname } from "node:path";
import { currentEnvironment } from "../../../config/index.ts";
import { findLocalServer } from "../../client/local-server.ts";
import { namesServer } from "../../client/names-server.ts";
import { findConnection } from "../../client/session.ts";
import { makeSignInLink } from "../../server/sign-in-link.ts";
import { openBrowser } from "../../terminal/browser.ts";
import { createOutput } from "../../terminal/output.ts";
import type { OpenOptions } from "./options.ts";

/** The console of this machine's server, signed in; of another server, its own way in. */
export async function openConsole(given: string | undefined, options: OpenOptions): Promise<void> {
  const output = createOutput(options);
  const page = `/${(given ?? "").replace(/^\/+/, "")}`;
  const dataDir = await localDataDir(options);
  const url =
    dataDir === null
      ? `${(await findConnection(options)).url}${page}`
      : (await makeSignInLink({ dataDir }, page)).link;
  output.data({ url });
  const opened = options.browser && output.watched && (await openBrowser(url, currentEnvironment()));
  output.line(output.paint("cyan", url));
  if (opened) output.note("Opened in the browser.");
  if (dataDir !== null && !output.json) output.note("The link signs in once, within 15 minutes.");
}

/** The data folder of the server that is meant; undefined: the usual one; null: a server elsewhere. */
async function localDataDir(options: OpenOptions): Promise<string | undefined | null> {
  if (!(await namesServer(options))) return options.dataDir;
  const { urlFrom } = await findConnection(options);
  const local = await findLocalServer({ dataDir: options.dataDir, cwd: process.cwd() });
  return local !== null && local.path === urlFrom ? dirname(local.path) : null;
}
