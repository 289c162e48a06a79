import * as callbacks from "@langchain/core/callbacks/manager";
import * as messages from "@langchain/core/messages";
import * as singletons from "@langchain/core/singletons";
import * as tracer from "@langchain/core/tracers/tracer_langchain";
import * as langgraph from "@langchain/langgraph";
import * as pregel from "@langchain/langgraph/pregel";
import * as schemas from "@langchain/langgraph/zod/schema";
import * as checkpoint from "@langchain/langgraph-checkpoint";
import type { KitModules } from "./graph-kit.ts";

/** Imported as the built-in graphs import them: from the same copy, also where all of it was joined into one file. */
export const serverModules: KitModules = {
  langgraph,
  pregel,
  checkpoint,
  messages,
  singletons,
  callbacks,
  tracer,
  schemas,
};
