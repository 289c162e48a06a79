import { z } from "zod";
import { currentEnvironment } from "../../../config/index.ts";
import { AppError } from "../../../platform/errors.ts";
import { type Destination, destination } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { suggestion } from "../../terminal/near-names.ts";
import { ask, askSecret, canAsk } from "../../terminal/prompt.ts";
import { printTable } from "../../terminal/table.ts";
import type { CreateDestinationOptions } from "./options.ts";

const path = "/api/v1/bulk-exports/destinations";

export async function listDestinations(options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await api.call(z.array(destination), "GET", path);
  output.data(found);
  if (found.length === 0) {
    output.line(
      "There are no destinations yet. `treadle export destinations create --help` says how to make one.",
    );
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "NAME" },
      { head: "PLACE", flexible: true },
      { head: "STORAGE", flexible: true },
      { head: "CREATED" },
      { head: "ID" },
    ],
    found.map((each) => [
      { text: each.display_name, style: "bold" },
      [each.config.bucket_name, each.config.prefix].filter(Boolean).join("/"),
      each.config.endpoint_url ?? `AWS ${each.config.region ?? "us-east-1"}`,
      formatAge(each.created_at, now),
      each.id,
    ]),
  );
}

export async function createDestination(name: string, options: CreateDestinationOptions): Promise<void> {
  const credentials = options.machineCredentials ? null : await readCredentials();
  const { api, output } = await openSession(options);
  const made = await api.call(destination, "POST", path, {
    body: {
      destination_type: "s3",
      display_name: name,
      config: {
        bucket_name: options.bucket,
        prefix: options.prefix ?? "",
        ...(options.region === undefined ? {} : { region: options.region }),
        ...(options.endpoint === undefined ? {} : { endpoint_url: options.endpoint }),
      },
      ...(credentials === null ? {} : { credentials }),
    },
  });
  output.data(made);
  output.line(
    `Destination ${made.display_name} works: an object was written to ${options.bucket} and removed again.`,
  );
  output.line(
    `Export to it with \`treadle export create --project NAME --destination ${JSON.stringify(made.display_name)} --from 7d --wait\`.`,
  );
}

export async function deleteDestination(given: string, options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDestination(api, given);
  await api.run("DELETE", `${path}/${found.id}`);
  output.data({ deleted: found.id, name: found.display_name });
  output.line(`Destination ${found.display_name} is deleted.`);
}

export async function chooseDestination(api: ApiClient, given: string): Promise<Destination> {
  const all = await api.call(z.array(destination), "GET", path);
  const named = all.filter((each) => each.id === given || each.display_name === given);
  const [found] = named;
  if (found && named.length === 1) return found;
  const names = all.map((each) => each.display_name);
  throw new AppError({
    code: "client.not_found",
    kind: "not_found",
    message: found
      ? `Several destinations are called ${given}. Name one by its id: ${named.map(({ id }) => id).join(", ")}.`
      : `There is no destination ${given}.${suggestion(given, names)} There are: ${names.join(", ") || "none; see `treadle export destinations create --help`"}.`,
  });
}

/** From the environment, or from the person: an argument would be in everybody's list of processes. */
async function readCredentials() {
  const environment = currentEnvironment();
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = environment;
  if (id && secret) {
    return { access_key_id: id, secret_access_key: secret, ...(token ? { session_token: token } : {}) };
  }
  if (!canAsk()) {
    throw new AppError({
      code: "client.credentials_missing",
      kind: "invalid",
      message: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --machine-credentials.",
    });
  }
  return {
    access_key_id: await ask("Access key id: "),
    secret_access_key: await askSecret("Secret access key: "),
  };
}
