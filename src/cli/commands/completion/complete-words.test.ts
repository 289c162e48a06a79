import { Command, Option } from "commander";
import { expect, test } from "vitest";
import { completeWords, type NamedThing } from "./complete-words.ts";

function program(): Command {
  const root = new Command("treadle").option("--url <address>").option("--json").version("1.0.0");
  root.command("logs").argument("[deployment]").option("-f, --follow").option("--revision <number>");
  root.command("hidden", { hidden: true });
  const runs = root.command("runs");
  runs.command("list", { isDefault: true }).argument("[deployment]").option("--status <status>");
  runs.command("start").argument("[assistant]").option("-d, --deployment <name>");
  root.command("keys").addOption(new Option("--role <role>").choices(["viewer", "admin"]));
  root.command("completion").argument("<shell>", "bash, zsh, fish");
  const alerts = root.command("alerts");
  alerts.command("get").alias("show").argument("<alert>");
  alerts.command("create").argument("<name>").option("--deployment <name>");
  return root;
}

const namesOf = async (thing: NamedThing) => (thing === "alert" ? ["agents fail"] : ["agent", "bot"]);

test.each([
  [[""], ["logs", "runs", "keys", "completion", "alerts", "help"]],
  [["lo"], ["logs"]],
  [["logs", "b"], ["bot"]],
  [["logs", "bot", ""], []],
  [["logs", "--re"], ["--revision"]],
  [["logs", "--revision", ""], []],
  [["--url", "http://x", "logs", "a"], ["agent"]],
  [["logs", "--json", "a"], ["agent"]],
  [
    ["runs", ""],
    ["list", "start", "help", "agent", "bot"],
  ],
  [["runs", "--st"], ["--status"]],
  [
    ["runs", "start", "-d", ""],
    ["agent", "bot"],
  ],
  [["keys", "--role", "v"], ["viewer"]],
  [["completion", "z"], ["zsh"]],
  [["alerts", "get", ""], ["agents fail"]],
  [["alerts", "show", "a"], ["agents fail"]],
  [["alerts", "create", ""], []],
  [["alerts", "create", "slow", "--deployment", "b"], ["bot"]],
  [["-"], ["--url", "--json", "--version", "--help"]],
])("%j becomes %j", async (words, expected) => {
  expect(await completeWords(program(), words, namesOf)).toEqual(expected);
});

test("nobody is asked for deployments where none is meant", async () => {
  const refuse = () => Promise.reject(new Error("asked"));
  expect(await completeWords(program(), ["keys", "--"], refuse)).toContain("--role");
});
