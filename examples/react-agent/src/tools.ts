import { tool } from "@langchain/core/tools";
import { z } from "zod";

/** Adds and multiplies; enough to show a tool at work without any network. */
export const calculator = tool(
  ({ left, operator, right }) => {
    switch (operator) {
      case "+":
        return String(left + right);
      case "-":
        return String(left - right);
      case "*":
        return String(left * right);
      default:
        return right === 0 ? "Division by zero." : String(left / right);
    }
  },
  {
    name: "calculator",
    description: "Works out one operation on two numbers.",
    schema: z.object({ left: z.number(), operator: z.enum(["+", "-", "*", "/"]), right: z.number() }),
  },
);

export const clock = tool(() => new Date().toISOString(), {
  name: "clock",
  description: "Tells the time.",
  schema: z.object({}),
});

export const tools = [calculator, clock];
