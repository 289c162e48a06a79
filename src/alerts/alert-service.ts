import type { Clock } from "../platform/clock.ts";
import type { Database, Sql } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import { AppError, invalidField } from "../platform/errors.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import { newId, newSecret } from "../platform/ids.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { type AlertDelivery, type AlertEvent, type AlertRule, isReceiver } from "./alert.ts";
import { type AlertNotifier, noMailServer, type SealedWebhook } from "./alert-notifier.ts";
import { kindProblem } from "./alert-rules.ts";
import type { AlertPatch, AlertView, NewAlert } from "./alert-schemas.ts";
import type { AlertSources } from "./alert-sources.ts";
import * as store from "./alert-store.ts";
import { eventText } from "./alert-text.ts";
import { alertWebhookContext } from "./sealed-columns.ts";

export type AlertServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  network: NetworkGuard;
  sources: AlertSources;
  notifier: AlertNotifier;
  sendsMail: boolean;
};

const maxRules = 100;
const testPauseMs = 10_000;

export type MadeRule = { rule: AlertView; webhookSecret: string | null };
export type History = { events: AlertEvent[]; deliveries: AlertDelivery[] };

/** Rules as people make and change them; the worker looks at them. */
export class AlertService {
  readonly #options: AlertServiceOptions;

  constructor(options: AlertServiceOptions) {
    this.#options = options;
  }

  async list(caller: Caller): Promise<AlertView[]> {
    const { sql } = this.#options.database;
    return this.#views(sql, caller, await store.listRules(sql, caller.workspaceId));
  }

  get(caller: Caller, id: string): Promise<AlertView> {
    return this.#view(this.#options.database.sql, caller, id);
  }

  async create(caller: Caller, input: NewAlert): Promise<MadeRule> {
    const { database, clock } = this.#options;
    const id = newId();
    const now = clock.now();
    await this.#checkScope(caller, input);
    if (input.webhook_url) await this.#checkWebhook(input.webhook_url);
    const webhook = input.webhook_url ? this.#seal(id, input.webhook_url, input.webhook_secret) : null;
    const rule: AlertRule = {
      ...{ id, workspace_id: caller.workspaceId, name: input.name, kind: input.kind, scope: input.scope },
      scope_id: input.scope_id ?? null,
      window_minutes: input.window_minutes,
      threshold: input.threshold ?? (input.kind === "export_failed" ? 1 : null),
      ...{ min_runs: input.min_runs, emails: input.emails, enabled: input.enabled },
      ...{ webhook_host: webhook?.host ?? null, webhook_sealed: webhook?.sealed ?? null },
      ...{ state: "ok", state_since: now, created_at: now, updated_at: now },
      ...{ muted_until: null, last_value: null, problem: null, evaluated_at: null, tested_at: null },
    };
    this.#check(rule);
    await database.transaction(async (tx) => {
      if ((await store.lockWorkspaceRules(tx, caller.workspaceId)) >= maxRules) throw tooMany();
      await store.insertRule(tx, { ...rule, createdBy: caller.userId });
    });
    return { rule: await this.get(caller, id), webhookSecret: webhook?.secret ?? null };
  }

  /** A new URL keeps the secret that its receivers know; one that had to be made is in the answer, once. */
  async change(caller: Caller, id: string, patch: AlertPatch): Promise<MadeRule> {
    const { database, clock } = this.#options;
    const { webhook_url, webhook_secret, muted_until, ...plain } = patch;
    if (webhook_secret !== undefined && !webhook_url)
      throw invalidField(["body", "webhook_secret"], "webhook_secret is set together with webhook_url");
    if (webhook_url) await this.#checkWebhook(webhook_url);
    return database.transaction(async (tx) => {
      const current = await this.#load(tx, caller, id, { lock: true });
      const known = webhook_secret ?? this.#secretOf(current);
      const webhook = webhook_url ? this.#seal(id, webhook_url, known) : null;
      const given = Object.entries(plain).filter(([, value]) => value !== undefined);
      const next: AlertRule = {
        ...current,
        ...Object.fromEntries(given),
        ...(webhook && { webhook_host: webhook.host, webhook_sealed: webhook.sealed }),
        ...(webhook_url === null && { webhook_host: null, webhook_sealed: null }),
        ...(muted_until !== undefined && {
          muted_until: muted_until === null ? null : new Date(muted_until),
        }),
        updated_at: clock.now(),
      };
      this.#check(next);
      await store.saveRule(tx, next);
      const webhookSecret = known === undefined ? (webhook?.secret ?? null) : null;
      return { rule: await this.#view(tx, caller, id), webhookSecret };
    });
  }

  async remove(caller: Caller, id: string): Promise<void> {
    if (!(await store.deleteRule(this.#options.database.sql, caller.workspaceId, id))) throw notFound(id);
  }

  /** Sends what a firing would, to everybody it would go to. Whether it arrived is the answer. */
  async test(caller: Caller, id: string, signal: AbortSignal): Promise<History> {
    const { database, clock, notifier } = this.#options;
    const now = clock.now();
    const rule = await this.get(caller, id);
    if (!(await store.markTested(database.sql, id, now, testPauseMs))) throw testedJustNow();
    const message = eventText(rule, "test", { value: null, scopeName: await this.#scopeName(rule) });
    const about = { rule_id: rule.id, workspace_id: rule.workspace_id };
    const event: AlertEvent = {
      ...{ ...about, id: newId(), kind: "test", value: null, message, muted: false, at: now },
    };
    await store.insertEvent(database.sql, event);
    return { events: [event], deliveries: await notifier.sendNow(rule, event, signal) };
  }

  async history(
    caller: Caller,
    of: { ruleId: string | null; limit: number; offset: number },
  ): Promise<History> {
    const { sql } = this.#options.database;
    if (of.ruleId !== null) await this.#load(sql, caller, of.ruleId);
    const events = await store.listEvents(sql, { workspaceId: caller.workspaceId, ...of });
    return {
      events,
      deliveries: await store.listDeliveries(
        sql,
        events.map(({ id }) => id),
      ),
    };
  }

  async #view(sql: Sql, caller: Caller, id: string): Promise<AlertView> {
    const [view] = await this.#views(sql, caller, [await this.#load(sql, caller, id)]);
    return view!;
  }

  async #views(sql: Sql, caller: Caller, rules: readonly AlertRule[]): Promise<AlertView[]> {
    const ids = rules.map(({ id }) => id);
    const rows = await store.listUndelivered(sql, caller.workspaceId, ids);
    return rules.map((rule) => ({
      ...rule,
      undelivered: rows.filter((row) => row.rule_id === rule.id && isReceiver(rule, row)),
    }));
  }

  #check(rule: AlertRule): void {
    const problem = kindProblem(rule);
    if (problem) throw invalidField(["body", problem.field], problem.message);
    if (rule.emails.length > 0 && !this.#options.sendsMail) throw noMailServer();
    if (rule.emails.length === 0 && rule.webhook_host === null)
      throw refused("Nobody would be notified. Send webhook_url or emails.");
  }

  async #checkScope({ workspaceId }: Caller, { scope, scope_id: id }: NewAlert): Promise<void> {
    if (scope === "workspace") {
      if (id) throw invalidField(["body", "scope_id"], "scope_id is not used with the scope workspace");
      return;
    }
    if (!id) throw invalidField(["body", "scope_id"], `scope_id is required: the id of the ${scope}`);
    const { sources } = this.#options;
    const found =
      scope === "project" ? sources.project(workspaceId, id) : sources.deployment(workspaceId, id);
    if (await found) return;
    throw new AppError({
      code: "alert.scope_not_found",
      kind: "not_found",
      message: `There is no ${scope} with the id ${id} in this workspace.`,
    });
  }

  async #scopeName({ scope, scope_id: id, workspace_id }: AlertRule): Promise<string | null> {
    const { sources } = this.#options;
    if (id === null) return null;
    const found =
      scope === "project" ? sources.project(workspace_id, id) : sources.deployment(workspace_id, id);
    return (await found)?.name ?? null;
  }

  async #checkWebhook(url: string): Promise<void> {
    try {
      await this.#options.network.checkUrl(url);
    } catch (error) {
      // A name that does not resolve now may well do so when something has happened.
      if (!(error instanceof AppError)) throw error;
      if (error.code !== "network.name_unknown") throw invalidField(["body", "webhook_url"], error.message);
    }
  }

  #seal(ruleId: string, url: string, secret: string = newSecret()) {
    const content: SealedWebhook = { url, secret };
    const sealed = this.#options.secretBox.seal(JSON.stringify(content), alertWebhookContext(ruleId));
    return { host: new URL(url).host, sealed, secret };
  }

  #secretOf({ id, webhook_sealed: sealed }: AlertRule): string | undefined {
    if (sealed === null) return undefined;
    const content = this.#options.secretBox.open(sealed, alertWebhookContext(id));
    return (JSON.parse(content) as SealedWebhook).secret;
  }

  async #load(sql: Sql, caller: Caller, id: string, options?: { lock: boolean }): Promise<AlertRule> {
    const found = await store.findRule(sql, caller.workspaceId, id, options);
    if (!found) throw notFound(id);
    return found;
  }
}

function notFound(id: string): AppError {
  return new AppError({ code: "alert.not_found", kind: "not_found", message: `Alert ID ${id} not found.` });
}

function refused(message: string): AppError {
  return new AppError({ code: "alert.refused", kind: "invalid", message });
}

function tooMany(): AppError {
  return new AppError({
    code: "alert.too_many",
    kind: "conflict",
    message: `A workspace can have at most ${maxRules} alerts. Delete one first.`,
  });
}

function testedJustNow(): AppError {
  return new AppError({
    code: "alert.tested_just_now",
    kind: "rate_limited",
    message: `This alert was tested a moment ago. Try again in ${testPauseMs / 1000} seconds.`,
    headers: { "retry-after": String(testPauseMs / 1000) },
  });
}
