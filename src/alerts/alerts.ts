import type { Area } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import type { Logger } from "../platform/logger.ts";
import { type MailConfig, MailSender } from "../platform/mail/mail-sender.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { AlertNotifier, deliveryJobKind } from "./alert-notifier.ts";
import { alertRoutes } from "./alert-routes.ts";
import { AlertService } from "./alert-service.ts";
import type { AlertSources } from "./alert-sources.ts";
import { AlertWorker } from "./alert-worker.ts";

export type AlertsOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  network: NetworkGuard;
  publicUrl(): string;
  mail: MailConfig | null;
  sources: AlertSources;
};

export const evaluationJobKind = "alerts.evaluate";

/** Watches what the workspaces' agents and exports do, and notifies people when it goes wrong and when it is well again. */
export function createAlerts(options: AlertsOptions): Area {
  const { database, clock } = options;
  const mail = options.mail && new MailSender(options.mail);
  const notifier = new AlertNotifier({ ...options, mail });
  const worker = new AlertWorker({ ...options, notifier });
  return {
    routes: alertRoutes(new AlertService({ ...options, notifier, sendsMail: mail !== null })),
    jobHandlers: { [deliveryJobKind]: (context) => notifier.deliver(context) },
    recurringJobs: [
      every({
        ...{ database, clock, kind: evaluationJobKind, everyMs: 60_000, maxAttempts: 1 },
        handler: ({ signal }) => worker.evaluate(signal),
      }),
    ],
    workers: [],
    start: async () => {},
    stop: async () => mail?.close(),
  };
}
