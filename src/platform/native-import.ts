export type ModuleNamespace = Readonly<Record<string, unknown>>;

/**
 * An `import()` written out in this file may be rewritten by a bundler or a test runner. The user's code must be loaded
 * by Node itself, or it gets other copies of its libraries, so the call is in a separate module that nothing rewrites.
 */
const loader = "data:text/javascript,export const load = (url) => import(url);";

export async function importModule(url: string): Promise<ModuleNamespace> {
  const { load } = (await import(/* @vite-ignore */ loader)) as {
    load(url: string): Promise<ModuleNamespace>;
  };
  return load(url);
}
