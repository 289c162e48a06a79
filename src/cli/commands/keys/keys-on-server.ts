import { AppError } from "../../../platform/errors.ts";
import { isUuid } from "../../../platform/ids.ts";
import { apiKey, createdApiKey } from "../../client/answers.ts";
import { openSession } from "../../client/session.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { printTable } from "../../terminal/table.ts";
import { type KeysOptions, keyRequest } from "./options.ts";
import { scopesText } from "./scopes-text.ts";

export async function listKeys(options: KeysOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const keys = await api.list(apiKey, "/v2/api-keys");
  output.data(keys);
  const now = new Date();
  printTable(
    output,
    [
      { head: "NAME", flexible: true },
      { head: "ROLE" },
      { head: "SCOPES" },
      { head: "KEY" },
      { head: "LAST USED" },
      { head: "EXPIRES" },
      { head: "ID" },
    ],
    keys.map((key) => [
      { text: key.name, style: "bold" },
      key.service ? `${key.role} (service)` : key.role,
      scopesText(key),
      key.prefix,
      key.last_used_at ? formatAge(key.last_used_at, now) : "never",
      key.expires_at ? formatAge(key.expires_at, now) : "never",
      key.id,
    ]),
  );
}

export async function createKey(name: string, options: KeysOptions): Promise<void> {
  const { api, connection, output } = await openSession(options);
  const made = await api.call(createdApiKey, "POST", "/v2/api-keys", {
    body: keyRequest(name, options),
  });
  output.data(made);
  output.line(output.paint("green", made.key));
  output.line(
    `Key "${made.name}" (${made.role}, ${scopesText(made)}, id ${made.id}) for ${connection.url}. It is not shown again.`,
  );
}

export async function revokeKey(id: string, options: KeysOptions): Promise<void> {
  const { api, connection, output } = await openSession(options);
  if (!isUuid(id)) throw unknownKey(id, connection.url);
  await api.run("DELETE", `/v2/api-keys/${id}`).catch((error: unknown) => {
    throw error instanceof AppError && error.code === "client.not_found"
      ? unknownKey(id, connection.url)
      : error;
  });
  output.data({ revoked: id });
  output.line(`Key ${id} is revoked.`);
}

function unknownKey(id: string, url: string): AppError {
  return new AppError({
    code: "client.not_found",
    kind: "not_found",
    message: `There is no API key with the id ${id} in this workspace of ${url}. \`treadle keys list\` shows the ids.`,
  });
}
