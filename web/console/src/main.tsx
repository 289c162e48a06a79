import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { preloadPage } from "./pages.ts";
import { isStudio } from "./studio-mode.ts";
import { applyTheme } from "./theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/palette.css";
import "./styles/sign-in.css";
import "./styles/parts.css";
import "./styles/table.css";
import "./styles/data.css";

applyTheme();
// Until the server has answered who is signed in.
if (!isStudio) preloadPage(location.pathname);
const Studio = lazy(() => import("./studio/studio.tsx"));
createRoot(document.getElementById("app")!).render(
  <StrictMode>
    {isStudio ? (
      <Suspense>
        <Studio />
      </Suspense>
    ) : (
      <App />
    )}
  </StrictMode>,
);
