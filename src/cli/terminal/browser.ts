import { spawn } from "node:child_process";
import { once } from "node:events";

type Display = Readonly<Record<string, string | undefined>>;

/** The command that opens an address here, or null where no browser can be shown. */
export function browserCommand(platform: NodeJS.Platform, environment: Display): [string, string[]] | null {
  if (environment.BROWSER) return [environment.BROWSER, []];
  if (environment.SSH_CONNECTION) return null;
  if (platform === "darwin") return ["open", []];
  if (platform === "win32") return ["rundll32", ["url.dll,FileProtocolHandler"]];
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? ["xdg-open", []] : null;
}

/** Whether the address was handed to a browser; the person has it in writing either way. */
export async function openBrowser(url: string, environment: Display): Promise<boolean> {
  const found = browserCommand(process.platform, environment);
  if (found === null || !/^https?:\/\//.test(url)) return false;
  const [command, args] = found;
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.unref();
  return once(child, "spawn").then(
    () => true,
    () => false,
  );
}
