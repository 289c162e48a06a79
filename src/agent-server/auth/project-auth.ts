type AuthCallback = (...args: unknown[]) => unknown;

/** A project's own authentication and authorization, as its file names them. */
export type LoadedAuth = {
  authenticate: AuthCallback | undefined;
  /** Keyed `resource:action`, `resource`, `*:action` or `*`. */
  callbacks: Readonly<Record<string, AuthCallback>>;
  disableStudioAuth: boolean;
};
