/** The workspace that an address names, as the tracing SDK prints them: `/o/{workspace}/…`. */
export function linkedWorkspace(path: string): string | null {
  return (
    /^\/o\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/i.exec(path)?.[1]?.toLowerCase() ?? null
  );
}
