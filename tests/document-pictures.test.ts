import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The page of each area, and those people begin with. */
const pages = [
  "agent",
  "auth-service",
  "bulk-export",
  "chat",
  "concepts",
  "console",
  "deployments",
  "streaming",
  "traces",
];
const documents = ["README.md", ...pages.map((name) => `docs/${name}.md`)];

it.each(documents)("%s has a picture that is there, small, and in words too", (path) => {
  const text = readFileSync(join(root, path), "utf8");
  const pictures = [...text.matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)];
  expect(pictures.length).toBeGreaterThan(0);
  for (const [, words, address] of pictures) {
    const file = join(root, dirname(path), address!);
    expect(words!.length).toBeGreaterThan(20);
    expect(existsSync(file), file).toBe(true);
    expect(statSync(file).size).toBeLessThan(address!.endsWith(".svg") ? 10_000 : 200_000);
    if (address!.endsWith(".svg")) {
      const drawing = readFileSync(file, "utf8");
      expect(drawing).toMatch(/aria-label="[^"]{20,}"/);
      // In the dark it has other colours, or it has a ground of its own.
      expect(drawing).toMatch(/prefers-color-scheme:dark|<rect width="\d+" height="\d+"[^>]* fill="#/);
      expect(drawing).not.toMatch(/<script|href=/);
    }
  }
});
