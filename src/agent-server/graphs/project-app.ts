/** A project's own HTTP application. */
export type HttpApp = {
  fetch(request: Request, ...rest: unknown[]): Response | Promise<Response>;
  /** Whether it is asked at all, where its routes are known; others are the server's at once. */
  serves?(request: Request): boolean;
  /** Whatever it answers is the answer: what it has no route for it passes on by itself. Otherwise 404 says so. */
  passesOn?: boolean;
};
