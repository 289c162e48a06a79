/** A project's own HTTP application. */
export type HttpApp = { fetch(request: Request, ...rest: unknown[]): Response | Promise<Response> };
