import { describe, expect, it } from "vitest";
import { parseModuleReference } from "./project-config.ts";
import { languageOf, pythonEmbedding } from "./project-language.ts";

describe("the language of what a project file names", () => {
  it.each([
    ["./src/agent.ts:graph", "javascript"],
    ["./src/agent.mjs:graph", "javascript"],
    ["agent.js:graph", "javascript"],
    ["./src/agent:graph", "javascript"],
    ["./src/agent.py:graph", "python"],
    ["agent.py:make_graph", "python"],
    ["my_agent.graph:graph", "python"],
    ["my_agent:graph", "python"],
  ])("%s is %s", (reference, language) => {
    expect(languageOf(parseModuleReference(reference))).toBe(language);
  });

  it.each([
    ["openai:text-embedding-3-small", undefined],
    ["./embed.ts:embed", undefined],
    ["./embed.py:embed", { file: "./embed.py", exportName: "embed" }],
    ["my_agent.embed:embed", { file: "my_agent.embed", exportName: "embed" }],
  ])("the embedding function %s", (embed, expected) => {
    expect(pythonEmbedding(embed)).toEqual(expected);
  });
});
