import { expect, test } from "vitest";
import { isWatchedFile, isWatchedFolder, watchedPlaces } from "./watched-files.ts";

const file = "/work/bot/langgraph.json";

test("the project's folder, folders it depends on elsewhere, and its env file", () => {
  const text = JSON.stringify({
    dependencies: [".", "./src", "../lib", "../lib/inner", "langchain"],
    env: "../.env",
  });
  expect(watchedPlaces(file, text)).toEqual({
    folders: ["/work/bot", "/work/lib"],
    files: [file, "/work/.env"],
  });
});

test.each(["", "{", "[]", "null", '{"dependencies": 3, "env": {"A": "1"}}'])("%j names no more", (text) => {
  expect(watchedPlaces(file, text)).toEqual({ folders: ["/work/bot"], files: [file] });
});

test("sources and what configures them count; what a graph writes does not", () => {
  const places = watchedPlaces(file, '{"env": "settings.env"}');
  const watched = (name: string) => isWatchedFile(`/work/bot/${name}`, places);
  const counted = ["a.py", "src/a.ts", "a.mjs", "langgraph.json", "settings.env", "pyproject.toml"];
  expect(counted.filter((name) => !watched(name))).toEqual([]);
  expect(["out.json", "notes.md", "data.sqlite", ".env", "a.pyc", "a.py~"].filter(watched)).toEqual([]);
});

test("environments, packages and hidden folders are not looked into", () => {
  const folders = [".venv", ".git", ".treadle-agent", "node_modules", "__pycache__", "venv"];
  expect(folders.filter(isWatchedFolder)).toEqual([]);
  expect(isWatchedFolder("src")).toBe(true);
});
