import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { type Environment, tracingSetting } from "../graphs/library-tracing.ts";

const answer = z.array(z.looseObject({ url: z.string() }));
const timeoutMs = 10_000;

/** Links for feedback from the tracing service of the environment; undefined where none is named. */
export function feedbackLinks(environment: Environment) {
  const endpoint = tracingSetting(environment, "ENDPOINT");
  const apiKey = tracingSetting(environment, "API_KEY");
  if (!endpoint || !apiKey) return undefined;
  return async (_workspaceId: string, runId: string, keys: readonly string[]) => {
    const unique = [...new Set(keys)];
    const response = await fetch(`${endpoint.replace(/\/+$/, "")}/feedback/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
      body: JSON.stringify(unique.map((key) => ({ run_id: runId, feedback_key: key }))),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (!response.ok) {
      throw new AppError({
        code: "run.feedback_links_refused",
        kind: "bad_gateway",
        message: `The tracing service responded ${response.status} to the request for feedback links.`,
        detail: { answer: text.slice(0, 500) },
      });
    }
    const links = linksIn(text);
    if (links?.length !== unique.length) {
      throw new AppError({
        code: "run.feedback_links_unreadable",
        kind: "bad_gateway",
        message: `The tracing service at ${endpoint} was asked for ${unique.length} links for feedback and answered ${links ? `with ${links.length}` : "with something else"}. Check that LANGSMITH_ENDPOINT is the address of its API.`,
        detail: { answer: text.slice(0, 500) },
      });
    }
    return Object.fromEntries(unique.map((key, index) => [key, links[index]!.url]));
  };
}

function linksIn(text: string): z.output<typeof answer> | undefined {
  try {
    return answer.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
