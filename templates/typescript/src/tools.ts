import { tool } from "@langchain/core/tools";
import { z } from "zod";

const weather = tool(({ city }) => `It is 21 degrees and sunny in ${city}.`, {
  name: "weather",
  description: "The weather in a city.",
  schema: z.object({ city: z.string() }),
});

export const tools = [weather];
