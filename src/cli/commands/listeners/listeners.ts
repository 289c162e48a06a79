import { AppError } from "../../../platform/errors.ts";
import { createdApiKey, type Listener, listener } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { chooseListener, listenerPath, listenersPath } from "../../client/choose-listener.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { ask, canAsk } from "../../terminal/prompt.ts";
import { printTable } from "../../terminal/table.ts";
import type { CreateListenerOptions, DeleteListenerOptions } from "./options.ts";

export async function listListeners(options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const all = await api.list(listener, listenersPath);
  output.data(all);
  if (all.length === 0) {
    output.line("There are no listeners. `treadle listeners create NAME` makes one.");
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "NAME", flexible: true },
      { head: "TYPE" },
      { head: "PROCESS" },
      { head: "SEEN" },
      { head: "DEPLOYMENTS" },
      { head: "VERSION" },
      { head: "ADDRESS", flexible: true },
      { head: "ID" },
    ],
    all.map((each) => [
      { text: each.compute_id, style: "bold" },
      each.compute_type,
      each.presence,
      each.seen_at ? formatAge(each.seen_at, now) : "never",
      String(each.deployments),
      each.process?.version ?? "",
      each.process?.url ?? "",
      each.id,
    ]),
  );
}

export async function createListener(name: string, options: CreateListenerOptions): Promise<void> {
  const { api, connection, output } = await openSession(options);
  const made = await api.call(listener, "POST", listenersPath, {
    body: { compute_type: options.type, compute_id: name, compute_config: {} },
  });
  const key = options.key ? await makeKey(api, made) : null;
  output.data({ ...made, api_key_id: key?.id ?? null, key: key?.key ?? null });
  output.line(`Listener ${made.compute_id} (id ${made.id}) is made.`);
  if (key) {
    output.line(`Its key, which acts for it and for nothing else, is not shown again:`);
    output.line(output.paint("green", key.key));
  }
  output.line("Run it where its deployments are to run:");
  output.line(`  export TREADLE_PLATFORM_KEY=${key ? "…" : "trk_..."}`);
  output.line(`  treadle listener --platform ${connection.url} --listener ${made.id}`);
}

/** Bound before anybody has seen it. A listener without its key is of no use, so it goes too. */
async function makeKey(api: ApiClient, made: Listener) {
  try {
    const key = await api.call(createdApiKey, "POST", "/v2/api-keys", {
      body: {
        ...{ name: `listener ${made.compute_id}`.slice(0, 100), service: true, scopes: ["listener"] },
        expires_at: null,
      },
    });
    await api.call(listener, "PATCH", listenerPath(made.id), { body: { api_key_id: key.id } });
    return key;
  } catch (error) {
    await api.run("DELETE", listenerPath(made.id)).catch(() => undefined);
    throw error;
  }
}

export async function deleteListener(given: string, options: DeleteListenerOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseListener(api, given);
  if (!options.yes) await confirm(found);
  await api.run("DELETE", listenerPath(found.id));
  output.data({ deleted: found.id, name: found.compute_id });
  output.line(
    `Listener ${found.compute_id} is deleted. Its key opens nothing any more; revoke it with \`treadle keys revoke\`.`,
  );
}

async function confirm({ compute_id: name }: Listener): Promise<void> {
  const typed = canAsk() ? await ask(`Type ${name} to delete it: `) : null;
  if (typed === name) return;
  throw new AppError({
    code: "client.not_confirmed",
    kind: "conflict",
    message: typed === null ? `Nobody can be asked here: give --yes to delete ${name}.` : "Not deleted.",
  });
}
