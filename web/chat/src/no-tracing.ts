/**
 * Stands in for the tracing client in the bundle: the message classes bring it along, a page never uses it, and it would
 * be a quarter of what the browser has to load.
 */
export class Client {}

export class RunTree {}

export const isRunTree = () => false;

export const isTraceableFunction = () => false;

export const getCurrentRunTree = () => undefined;

export const getDefaultProjectName = () => "default";

export const convertToDottedOrderFormat = () => ({ dottedOrder: "", microsecondPrecisionDatestring: "" });

export class BaseTracer {}

export const isBaseTracer = () => false;

export class ConsoleCallbackHandler {}

export class LangChainTracer {}
