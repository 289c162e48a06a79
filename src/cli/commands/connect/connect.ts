import { z } from "zod";
import { currentEnvironment } from "../../../config/index.ts";
import { AppError } from "../../../platform/errors.ts";
import { isUuid } from "../../../platform/ids.ts";
import * as answers from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import { formatAge, plural } from "../../terminal/amounts.ts";
import { openBrowser } from "../../terminal/browser.ts";
import { waitUnlessInterrupted } from "../../terminal/interruption.ts";
import { suggestion } from "../../terminal/near-names.ts";
import { printTable, statusStyle } from "../../terminal/table.ts";
import { plainLine } from "../../terminal/text.ts";
import type { ConnectOptions, RevokeOptions } from "./options.ts";

const waitSeconds = 25;

export async function connect(providerId: string, options: ConnectOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const asked = await api
    .call(answers.authorization, "POST", "/v2/auth/authenticate", {
      body: {
        provider: providerId,
        scopes: options.scope ?? [],
        ...(options.agent === undefined ? {} : { agent_id: options.agent }),
        ...(options.user === undefined ? {} : { user_id: options.user }),
        ...(options.another ? { force_new: true } : {}),
      },
    })
    .catch(async (error: unknown) => {
      throw error instanceof AppError && error.code === "client.not_found"
        ? await unknownProvider(api, providerId, error)
        : error;
    });
  if (asked.status === "completed") {
    const found = await findConnection(api, providerId, asked.token_id);
    output.data(found ?? { status: asked.status });
    output.line(`Already connected to ${providerId}${asWhom(found)}. Give --another for a further account.`);
    return;
  }
  if (asked.url === undefined || asked.auth_id === undefined)
    throw notConnected(providerId, `the server answered ${asked.status}`);
  const url = plainLine(asked.url);
  // On stderr: with --json a person must still be able to open it.
  output.note(`Open this address and consent:\n\n  ${url}\n`);
  if (options.browser && output.watched && (await openBrowser(url, currentEnvironment())))
    output.note("It was opened in a browser.");
  if (!output.json) output.note("Waiting…");
  await waitForConsent(api, providerId, asked.auth_id, options.timeout);
  const found = await findConnection(api, providerId, undefined);
  output.data(found ?? { status: "completed" });
  output.line(`${output.paint("green", "✓")} Connected to ${providerId}${asWhom(found)}.`);
}

async function waitForConsent(
  api: ApiClient,
  providerId: string,
  authId: string,
  timeoutMs: number,
): Promise<void> {
  const goesOn = `The address works for an hour; \`treadle connections ${providerId}\` shows whether it was used.`;
  await waitUnlessInterrupted({ timeoutMs, goesOn }, async (signal) => {
    for (;;) {
      const { status, detail } = await api.call(answers.waited, "GET", `/v2/auth/wait/${authId}`, {
        query: { timeout: waitSeconds },
        signal,
      });
      if (status === "completed") return;
      if (status !== "pending" && status !== "timeout")
        throw notConnected(providerId, detail ?? "the consent was refused, or it is too old");
    }
  });
}

export async function listConnections(providerId: string | undefined, options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await readConnections(api, providerId);
  output.data(found);
  if (found.length === 0) {
    output.line("There are no connected accounts. `treadle connect PROVIDER` connects one.");
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "PROVIDER" },
      { head: "ACCOUNT", flexible: true },
      { head: "STATUS" },
      { head: "FOR", flexible: true },
      { head: "SCOPES", flexible: true },
      { head: "CONNECTED" },
      { head: "ID" },
    ],
    found.map((each) => [
      { text: each.provider_id, style: "bold" },
      `${each.provider_account_label ?? "unnamed"}${each.is_default ? " (default)" : ""}`,
      { text: each.status, style: statusStyle(each.status) },
      each.agent_id ? `agent ${each.agent_id}` : (each.user_id ?? "you"),
      each.scopes.join(" "),
      formatAge(each.created_at, now),
      each.id,
    ]),
  );
}

export async function revokeConnection(given: string, options: RevokeOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const all = await readConnections(api, undefined);
  const found = all.filter((each) => (isUuid(given) ? each.id === given : each.provider_id === given));
  if (found.length === 0) {
    throw new AppError({
      code: "client.connection_unknown",
      kind: "not_found",
      message: `You have no connection ${given}.${suggestion(
        given,
        all.map((each) => each.provider_id),
      )} \`treadle connections\` shows what there is.`,
    });
  }
  for (const each of found) {
    await api.run("DELETE", `/v2/auth/tokens/${each.id}`, { query: options.force ? { force: true } : {} });
  }
  output.data({ revoked: found.map(({ id }) => id) });
  output.line(
    `Revoked: ${plural(found.length, "connection")} to ${[...new Set(found.map((each) => each.provider_id))].join(", ")}.`,
  );
}

function readConnections(api: ApiClient, providerId: string | undefined) {
  return api.call(z.array(answers.connection), "GET", "/v2/auth/tokens", {
    query: { provider_id: providerId },
  });
}

async function findConnection(api: ApiClient, providerId: string, id: string | undefined) {
  const all = await readConnections(api, providerId);
  return id === undefined ? all.at(0) : all.find((each) => each.id === id);
}

function asWhom(found: answers.AccountConnection | undefined): string {
  return found?.provider_account_label ? ` as ${plainLine(found.provider_account_label)}` : "";
}

async function unknownProvider(api: ApiClient, given: string, cause: AppError): Promise<AppError> {
  const own = await api.call(z.array(answers.provider), "GET", "/v2/auth/providers");
  const platform = await api.call(z.array(answers.provider), "GET", "/v2/auth/platform-providers");
  const names = [...own, ...platform].map((each) => each.provider_id);
  const known =
    names.length === 0
      ? "There is none yet: docs/auth-service.md says how to make one."
      : `There are: ${names.join(", ")}.`;
  return new AppError({
    code: "client.connection_unknown",
    kind: "not_found",
    message: `There is no OAuth provider ${given}.${suggestion(given, names)} ${known}`,
    cause,
  });
}

function notConnected(providerId: string, reason: string): AppError {
  return new AppError({
    code: "client.not_connected",
    kind: "conflict",
    message: `Not connected to ${providerId}: ${plainLine(reason)}. Try again with \`treadle connect ${providerId}\`.`,
  });
}
