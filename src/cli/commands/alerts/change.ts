import { AppError } from "../../../platform/errors.ts";
import { type Alert, alert, madeAlert } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { alertPath, chooseAlert } from "../../client/choose-alert.ts";
import { chooseDeployment } from "../../client/choose-deployment.ts";
import { chooseProject } from "../../client/choose-project.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import type { Output } from "../../terminal/output.ts";
import { ask, askSecret, canAsk, readInput } from "../../terminal/prompt.ts";
import { receiversText } from "./alert-words.ts";
import type { CreateAlertOptions, DeleteAlertOptions, RuleOptions, SetAlertOptions } from "./options.ts";

const wrong = (message: string) => new AppError({ code: "client.options_invalid", kind: "invalid", message });

export async function createAlert(name: string, options: CreateAlertOptions): Promise<void> {
  if (options.deployment !== undefined && options.project !== undefined)
    throw wrong("Give either --deployment or --project.");
  if (options.webhook === undefined && options.email === undefined)
    throw wrong("Nobody would hear of it: give --webhook, --email, or both.");
  const webhook = await addressOf(options.webhook);
  const { api, output } = await openSession(options);
  const made = await api.call(madeAlert, "POST", "/v2/alerts", {
    body: {
      name,
      kind: options.kind,
      ...(await scopeOf(api, options)),
      ...ruleOf(options),
      ...(options.email === undefined ? {} : { emails: options.email }),
      ...(webhook === undefined ? {} : { webhook_url: webhook }),
    },
  });
  output.data(made);
  output.line(`Alert ${made.name} watches from now on and notifies ${receiversText(made)}.`);
  printSecret(output, made.webhook_secret);
  output.line(`\`treadle alerts test ${JSON.stringify(made.name)}\` sends a test.`);
}

export async function setAlert(given: string, options: SetAlertOptions): Promise<void> {
  const webhook = options.webhook === false ? null : await addressOf(options.webhook);
  const body = {
    ...ruleOf(options),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.email === undefined ? {} : { emails: options.email === false ? [] : options.email }),
    ...(webhook === undefined ? {} : { webhook_url: webhook }),
    ...(options.enable || options.disable ? { enabled: options.enable === true } : {}),
  };
  if (Object.keys(body).length === 0)
    throw wrong("Name what to change, for example --threshold 5. See `treadle alerts set --help`.");
  const { api, output } = await openSession(options);
  const found = await chooseAlert(api, given);
  const changed = await api.call(madeAlert, "PATCH", alertPath(found.id), { body });
  output.data(changed);
  output.line(`Alert ${changed.name} is changed.`);
  printSecret(output, changed.webhook_secret);
}

/** Null: notify again. */
export async function muteAlert(given: string, forMs: number | null, options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseAlert(api, given);
  const until = forMs === null ? null : new Date(Date.now() + forMs).toISOString();
  const changed = await api.call(alert, "PATCH", alertPath(found.id), { body: { muted_until: until } });
  output.data(changed);
  output.line(
    until === null
      ? `Alert ${found.name} notifies people again.`
      : `Alert ${found.name} sends nothing until ${until}; its history goes on.`,
  );
}

export async function deleteAlert(given: string, options: DeleteAlertOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseAlert(api, given);
  if (!options.yes) await confirm(found);
  await api.run("DELETE", alertPath(found.id));
  output.data({ deleted: found.id, name: found.name });
  output.line(`Alert ${found.name} and its history are deleted.`);
}

async function confirm({ name }: Alert): Promise<void> {
  const typed = canAsk() ? await ask(`This deletes its history too. Type ${name} to delete it: `) : null;
  if (typed === name) return;
  throw new AppError({
    code: "client.not_confirmed",
    kind: "conflict",
    message: typed === null ? `Nobody can be asked here: give --yes to delete ${name}.` : "Not deleted.",
  });
}

async function scopeOf(api: ApiClient, { deployment, project }: CreateAlertOptions) {
  if (deployment !== undefined)
    return { scope: "deployment", scope_id: (await chooseDeployment(api, deployment)).id };
  if (project !== undefined) return { scope: "project", scope_id: (await chooseProject(api, project)).id };
  return { scope: "workspace" };
}

function ruleOf({ threshold, window, minRuns }: Pick<RuleOptions, "threshold" | "window" | "minRuns">) {
  return {
    ...(threshold === undefined ? {} : { threshold }),
    ...(window === undefined ? {} : { window_minutes: window }),
    ...(minRuns === undefined ? {} : { min_runs: minRuns }),
  };
}

async function addressOf(webhook: string | undefined): Promise<string | undefined> {
  if (webhook !== "-") return webhook;
  const address = canAsk() ? await askSecret("Address of the webhook: ") : (await readInput()).trim();
  if (address === "") throw wrong("--webhook - reads the address from stdin, and there was none.");
  return address;
}

function printSecret(output: Output, secret: string | null | undefined): void {
  if (secret) output.line(`Requests are signed with this secret, which is shown only now: ${secret}`);
}
