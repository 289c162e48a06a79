import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = "http://127.0.0.1:8124";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/console/",
  plugins: [react()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
  },
  // For work on the pages: `vite web/console`, beside a running server.
  server: {
    proxy: Object.fromEntries(
      ["/v1", "/v2", "/api", "/d/", "/threads", "/runs", "/assistants", "/store", "/info", "/ok"].map(
        (path) => [path, server],
      ),
    ),
  },
});
