import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Root } from "./root.tsx";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/transcript.css";
import "./styles/parts.css";
import "./styles/panels.css";
import "./styles/tools.css";

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
