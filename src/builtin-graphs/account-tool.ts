import type { StructuredToolInterface } from "@langchain/core/tools";
import { interrupt } from "@langchain/langgraph";
import { z } from "zod";
import { AppError } from "../platform/errors.ts";
import { answeringTool } from "./answering-tool.ts";
import {
  type AccountAccess,
  askForOwner,
  type ConnectedAccounts,
  consentRequest,
  isDeclined,
} from "./connected-accounts.ts";

/**
 * Acts with the person's own account at another service. Where none is connected the run stops with the address of a
 * consent; resumed, it looks again. The token stays inside this function: neither the state nor an event holds it.
 */
export function createAccountTool(accounts: ConnectedAccounts): StructuredToolInterface {
  return answeringTool(
    async ({ provider, scopes }, config) => {
      const user = accounts.userOf(config.configurable);
      if (!user) {
        return `This run was not started with a key or session that may use a person's accounts, so there is no ${provider} account that it could use.`;
      }
      const agentId = config.configurable?.assistant_id;
      const request = { provider, scopes, ...(typeof agentId === "string" ? { agentId } : {}) };
      const look = () => orReason(() => accounts.access(user, request));
      let found = await look();
      // Resumed, the graph begins here again and earlier answers are given again: one look for each.
      while (typeof found !== "string" && found.status === "pending") {
        const { authId } = found;
        if (isDeclined(interrupt(consentRequest(found)))) {
          await accounts.decline(user, authId);
          return `Not connected: you did not connect your ${found.provider.name} account, so I cannot use it.`;
        }
        found = await look();
      }
      if (typeof found === "string") return found;
      if (found.status === "unknown_provider") return describeUnknown(provider, found.known);
      return describeAccount(found, await askForOwner(accounts, found, config.signal));
    },
    {
      name: "get_account",
      description:
        "Whose account the person has connected at a service, such as GitHub or Google. Asks them to connect it when needed.",
      schema: z.object({
        provider: z.string().describe("The service, by its id or name."),
        scopes: z.array(z.string()).optional().describe("What must be granted; left out: enough to tell."),
      }),
    },
  );
}

/** What a person can read about a failure is the answer; anything else is a failure of the run. */
async function orReason(look: () => Promise<AccountAccess>): Promise<AccountAccess | string> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof AppError && error.kind !== "internal") return error.message;
    throw error;
  }
}

function describeUnknown(asked: string, known: readonly { name: string }[]): string {
  const names = known.map(({ name }) => name).join(", ");
  const rest =
    names === ""
      ? "None is set up yet: an editor of the workspace adds one under Connections, or with POST /v2/auth/providers."
      : `These are: ${names}.`;
  return `No service called "${asked}" is set up in this workspace. ${rest}`;
}

function describeAccount(
  { provider, account }: Extract<AccountAccess, { status: "completed" }>,
  owner: string | null,
): string {
  if (owner !== null) return `Your ${provider.name} account is **${owner}**.`;
  return account === null
    ? `Your ${provider.name} account is connected. ${provider.name} does not say what it is called.`
    : `Your ${provider.name} account **${account}** is connected.`;
}
