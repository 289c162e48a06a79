import { agentServerErrors } from "../src/agent-server/error-catalogue.ts";
import { alertErrors } from "../src/alerts/error-catalogue.ts";
import { authServiceErrors } from "../src/auth-service/error-catalogue.ts";
import { bulkExportErrors } from "../src/bulk-export/error-catalogue.ts";
import { chatErrors } from "../src/chat-app/error-catalogue.ts";
import { chatShareErrors } from "../src/chat-shares/error-catalogue.ts";
import { commandLineErrors } from "../src/cli/error-catalogue.ts";
import { consoleErrors } from "../src/console/error-catalogue.ts";
import { controlPlaneErrors } from "../src/control-plane/error-catalogue.ts";
import { platformErrors } from "../src/platform/error-catalogue.ts";
import type { ErrorCatalogue } from "../src/platform/errors.ts";
import { traceErrors } from "../src/traces/error-catalogue.ts";
import { workspaceErrors } from "../src/workspaces/error-catalogue.ts";

/** Every catalogue, by its title in docs/errors.md. */
export const errorCatalogues = {
  "Every request": platformErrors,
  "Workspaces, keys and sign-in": workspaceErrors,
  "Control plane": controlPlaneErrors,
  "Auth service": authServiceErrors,
  Traces: traceErrors,
  "Bulk export": bulkExportErrors,
  Alerts: alertErrors,
  "Agent server": agentServerErrors,
  "Example chat": chatErrors,
  "Shared conversations": chatShareErrors,
  Console: consoleErrors,
  "Command line": commandLineErrors,
} satisfies Record<string, ErrorCatalogue>;
