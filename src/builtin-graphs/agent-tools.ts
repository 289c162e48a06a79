import { createHash } from "node:crypto";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { interrupt } from "@langchain/langgraph";
import { z } from "zod";
import { answeringTool } from "./answering-tool.ts";
import { approvalRequest, readDecision } from "./approval-decision.ts";
import { evaluateArithmetic, formatNumber } from "./arithmetic.ts";
import { searchNotes } from "./offline-notes.ts";

export type Clock = () => Date;

export function createAgentTools(now: Clock): StructuredToolInterface[] {
  return [getWeather, createGetTime(now), calculate, searchNotesTool, runGuardedAction];
}

const getWeather = answeringTool(({ city }) => describeWeather(city), {
  name: "get_weather",
  description: "The weather in a city. Sample data: invented, but always the same for a city.",
  schema: z.object({ city: z.string().describe("Name of the city.") }),
});

function describeWeather(city: string): string {
  const digest = createHash("sha256").update(city.toLowerCase()).digest();
  const skies = ["clear", "partly cloudy", "cloudy", "light rain", "windy", "foggy"];
  const celsius = 4 + (digest[0]! % 26);
  const sky = skies[digest[1]! % skies.length];
  return `${city}: ${celsius} °C, ${sky}, humidity ${35 + (digest[2]! % 55)} % (offline sample data).`;
}

const createGetTime = (now: Clock) =>
  answeringTool(({ place }) => describeTime(place, now()), {
    name: "get_time",
    description: "The time now in a time zone (Europe/Paris) or in a city a time zone is named after.",
    schema: z.object({ place: z.string().describe("Time zone or city.") }),
  });

function describeTime(place: string, now: Date): string {
  const zone = findTimeZone(place);
  const shown = new Intl.DateTimeFormat("en-GB", {
    dateStyle: "full",
    timeStyle: "short",
    timeZone: zone ?? "UTC",
  }).format(now);
  return zone ? `${place}: ${shown} (${zone}).` : `I know no time zone for ${place}; in UTC it is ${shown}.`;
}

function findTimeZone(place: string): string | undefined {
  const wanted = place.trim().toLowerCase().replaceAll(" ", "_");
  if (wanted === "utc" || wanted === "gmt") return "UTC";
  return Intl.supportedValuesOf("timeZone").find((zone) => {
    const name = zone.toLowerCase();
    return name === wanted || name.endsWith(`/${wanted}`);
  });
}

const calculate = answeringTool(({ expression }) => formatNumber(evaluateArithmetic(expression)), {
  name: "calculate",
  description: "Works out an arithmetic expression with + - * / % ^ and brackets.",
  schema: z.object({ expression: z.string() }),
});

export const searchNotesTool = answeringTool(({ query }) => searchNotes(query), {
  name: "search_notes",
  description: "Searches the built-in notes about agents and this platform.",
  schema: z.object({ query: z.string() }),
});

const runGuardedAction = answeringTool(
  ({ action }) => {
    const request = approvalRequest("run_guarded_action", { action }, `The agent wants to: ${action}`);
    const { approved, note, editedArgs } = readDecision(interrupt(request));
    if (!approved) return `Not done: "${action}" was rejected${note ? ` (${note})` : ""}.`;
    const final = typeof editedArgs?.action === "string" ? editedArgs.action : action;
    return `Approved: "${final}". This demonstration tool changes nothing outside the conversation, so that is all that happened.`;
  },
  {
    name: "run_guarded_action",
    description:
      "Does something that needs a person's approval first, such as deleting, sending or deploying.",
    schema: z.object({ action: z.string().describe("What to do, in words.") }),
  },
);
