import { basename, dirname, join } from "node:path";
import type { Plugin } from "esbuild";
import type { UiTask } from "./ui-bundle.ts";

/** What `LoadExternalComponent` has in its page already; two copies of React would not know one another's hooks. */
const ofThePage = ["react", "react-dom", "@langchain/langgraph-sdk"];

export const entryName = "entrypoint";
export const entryNamespace = "treadle-ui-entry";

/** What the page calls: hands the component to the page's own React, to be drawn inside the shadow root. */
export function entryPlugin({ file, directory }: Pick<UiTask, "file" | "directory">): Plugin {
  const path = join(directory, file);
  const contents = `import components from ${JSON.stringify(`./${basename(path)}`)};
export function render(name, shadowRootId) {
  const component = Object.prototype.hasOwnProperty.call(components, name) ? components[name] : undefined;
  if (component === undefined) {
    throw new Error("There is no component " + JSON.stringify(name) + " in " + ${JSON.stringify(file)} + "; it exports " + Object.keys(components).join(", ") + ".");
  }
  const host = document.getElementById(shadowRootId);
  // The message was taken off the page while this was loading.
  if (!host || !host.shadowRoot) return;
  const target = host.shadowRoot.appendChild(document.createElement("div"));
  window[Symbol.for("LGUI_EXT_STORE")].respond(shadowRootId, component, target);
}
`;
  return {
    name: "treadle-ui-entry",
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${entryName}$`) }, ({ kind }) =>
        kind === "entry-point" ? { path: entryName, namespace: entryNamespace } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: entryNamespace }, () => ({
        contents,
        loader: "js",
        resolveDir: dirname(path),
      }));
    },
  };
}

/** Packages that come from the page, asked for the way the client offers them. */
export function sharedPlugin(shared: readonly string[]): Plugin {
  const names = [...ofThePage, ...shared].map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const namespace = "treadle-ui-shared";
  return {
    name: namespace,
    setup(build) {
      build.onResolve({ filter: new RegExp(`^(?:${names.join("|")})(?:/|$)`) }, ({ path }) => ({
        path,
        namespace,
      }));
      build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
        contents: `module.exports = globalThis[Symbol.for("LGUI_REQUIRE")](${JSON.stringify(path)});`,
        loader: "js",
      }));
    },
  };
}
