import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Answers one request with git's own CGI program, which serves the bare repositories below `root`. */
export function serveGitHttp(
  root: string,
  remoteUser: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const header = (name: string) => request.headers[name]?.toString() ?? "";
  const cgi = spawn("git", ["http-backend"], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      REMOTE_ADDR: request.socket.remoteAddress ?? "",
      REMOTE_USER: remoteUser ?? "",
      CONTENT_TYPE: header("content-type"),
      CONTENT_LENGTH: header("content-length"), // empty for a chunked push: git then reads to the end
      HTTP_CONTENT_ENCODING: header("content-encoding"),
      HTTP_GIT_PROTOCOL: header("git-protocol"),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const complaints: Buffer[] = [];
  cgi.stderr.on("data", (chunk: Buffer) => complaints.push(chunk));
  cgi.stdin.on("error", () => {}); // git may answer without reading the whole request
  request.pipe(cgi.stdin);
  response.once("close", () => cgi.kill());

  let head = Buffer.alloc(0);
  const readHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    cgi.stdout.off("data", readHead);
    let status = 200;
    for (const line of head.subarray(0, end).toString("latin1").split("\r\n")) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon);
      const value = line.slice(colon + 1).trim();
      if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
      else response.appendHeader(name, value);
    }
    response.writeHead(status);
    response.write(head.subarray(end + 4));
    cgi.stdout.pipe(response);
  };
  cgi.stdout.on("data", readHead);
  const fail = (reason: string) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { "content-type": "text/plain" }).end(`git http-backend: ${reason}\n`);
  };
  cgi.once("error", (error) => fail(error.message));
  cgi.once("close", (code) => {
    if (!response.headersSent) fail(`exit code ${code}: ${Buffer.concat(complaints).toString("utf8")}`);
  });
}
