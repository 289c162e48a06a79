import { useState } from "react";
import { Card, CopyBlock } from "../../ui/index.ts";
import type { Deployment } from "./deployment-api.ts";
import { useGraphNames } from "./try-it.tsx";

const ways = ["curl", "TypeScript", "Python"] as const;

function example(way: (typeof ways)[number], url: string, graph: string): string {
  const named = JSON.stringify(graph);
  if (way === "curl") {
    return `curl ${url}/runs/wait \\
  -H "X-Api-Key: $TREADLE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"assistant_id": ${named}, "input": {"messages": [{"role": "user", "content": "Hello"}]}}'`;
  }
  if (way === "TypeScript") {
    return `import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: "${url}", apiKey: process.env.TREADLE_API_KEY });
const input = { messages: [{ role: "user", content: "Hello" }] };
console.log(await client.runs.wait(null, ${named}, { input }));`;
  }
  return `import os
from langgraph_sdk import get_sync_client

client = get_sync_client(url="${url}", api_key=os.environ["TREADLE_API_KEY"])
input = {"messages": [{"role": "user", "content": "Hello"}]}
print(client.runs.wait(None, ${named}, input=input))`;
}

/** How to talk to the deployment from a program, with the name of its graph. */
export function UseIt({ deployment }: { deployment: Deployment }) {
  const graph = useGraphNames(deployment).graphs?.[0] ?? "agent";
  const [way, setWay] = useState<(typeof ways)[number]>("curl");
  return (
    <Card className="stack">
      <fieldset className="bare row" aria-label="Language">
        {ways.map((name) => (
          <button
            key={name}
            type="button"
            className="button small"
            aria-pressed={way === name}
            onClick={() => setWay(name)}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <CopyBlock label={`${way} example`} text={example(way, deployment.url, graph)} />
    </Card>
  );
}
