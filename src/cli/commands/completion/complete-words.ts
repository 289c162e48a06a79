import type { Command, Option } from "commander";

export const namedThings = ["deployment", "alert"] as const;
export type NamedThing = (typeof namedThings)[number];

/** What the last of the words may become. `names` is asked only where a deployment or an alert is meant. */
export async function completeWords(
  program: Command,
  words: readonly string[],
  names: (of: NamedThing) => Promise<string[]>,
): Promise<string[]> {
  const current = words.at(-1) ?? "";
  const place = walk(program, words.slice(0, -1));
  const fitting = (found: readonly string[]) => found.filter((word) => word.startsWith(current));
  if (place.option) {
    if (place.option.argChoices) return fitting(place.option.argChoices);
    const thing = thingCalled(place.option.attributeName());
    return thing ? fitting(await names(thing)) : [];
  }
  if (current.startsWith("-")) return fitting(optionsOf(place.command));
  const commands = subcommandsOf(place.command);
  const argument = argumentsOf(place.command)[place.operands];
  // Where the default subcommand takes a deployment, `treadle runs <TAB>` may mean either.
  const thing = thingCalled(argument?.name());
  const known = thing ? await names(thing) : (argument?.argChoices ?? choicesIn(argument?.description));
  return fitting(place.operands === 0 ? [...commands, ...known] : known);
}

const thingCalled = (name: string | undefined) => namedThings.find((thing) => thing === name);

type Place = { command: Command; operands: number; option: Option | null };

function walk(program: Command, words: readonly string[]): Place {
  let command = program;
  let operands = 0;
  let option: Option | null = null;
  for (const word of words) {
    if (option) {
      option = null;
      continue;
    }
    if (word.startsWith("-")) {
      const found = allOptions(command).find((each) => each.long === word || each.short === word);
      option = found && (found.required || found.optional) && !word.includes("=") ? found : null;
      continue;
    }
    const next =
      operands === 0
        ? command.commands.find((each) => each.name() === word || each.aliases().includes(word))
        : undefined;
    if (next) command = next;
    else operands += 1;
  }
  return { command, operands, option };
}

function allOptions(command: Command): Option[] {
  const own = [...command.options, ...(defaultOf(command)?.options ?? [])];
  return command.parent ? [...own, ...allOptions(command.parent)] : own;
}

function optionsOf(command: Command): string[] {
  const names = allOptions(command)
    .filter((option) => !option.hidden && (option.long !== "--version" || command.parent === null))
    .map((option) => option.long ?? option.short ?? "");
  return [...new Set([...names, "--help"])].filter((name) => name !== "");
}

function subcommandsOf(command: Command): string[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.map((each) => each.name());
}

function argumentsOf(command: Command): Command["registeredArguments"] {
  return command.registeredArguments.length > 0
    ? command.registeredArguments
    : (defaultOf(command)?.registeredArguments ?? []);
}

/** By the house's rule the subcommand that runs without a name is `list`. */
function defaultOf(command: Command): Command | undefined {
  return command.commands.find((each) => each.name() === "list");
}

/** `bash, zsh, fish`: an argument whose description is the list of what it may be. */
function choicesIn(description: string | undefined): string[] {
  return description && /^[a-z]+(, [a-z]+)+$/.test(description) ? description.split(", ") : [];
}
