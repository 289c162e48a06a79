/** A project's own HTTP application. */
export type HttpApp = {
  fetch(request: Request, ...rest: unknown[]): Response | Promise<Response>;
  /** Whether it is asked at all, where its routes are known; others are the server's at once. */
  serves?(request: Request): boolean;
  /** Its response is final: it passes on requests without a route itself. Otherwise a 404 means "no route". */
  passesOn?: boolean;
};
