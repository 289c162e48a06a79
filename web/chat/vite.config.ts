import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/chat/",
  plugins: [react()],
  resolve: {
    alias: [
      {
        find: /^langsmith(\/.*)?$/,
        replacement: fileURLToPath(new URL("src/no-tracing.ts", import.meta.url)),
      },
      {
        // The library's own tracers, which its message classes bring along as well.
        find: /^\.\.\/tracers\/(base|console|tracer_langchain)\.js$/,
        replacement: fileURLToPath(new URL("src/no-tracing.ts", import.meta.url)),
      },
    ],
  },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
  },
  // For work on the page: `vite web/chat`, beside a running server.
  server: { proxy: { "/api": "http://127.0.0.1:8124" } },
});
