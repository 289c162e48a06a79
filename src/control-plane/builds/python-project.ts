export const pipInstallers = ["auto", "pip", "uv"] as const;
export type PipInstaller = (typeof pipInstallers)[number];

/** Something of a project that its server imports. */
export type PythonImport = {
  /** `graph agent`, `auth`, … */
  what: string;
  /** A file from the folder of the project file, or the name of a module. */
  place: { file: string } | { module: string };
  exportName: string;
  /** Of a graph. */
  graphId?: string;
};

/** What a project file asks of Python; null where no part of the project is Python. */
export type PythonProject = {
  pythonVersion: string | null;
  installer: PipInstaller;
  /** From the folder of the project file. */
  pipConfigFile: string | null;
  /** `.`, `./folder`, or what an index has. */
  dependencies: string[];
  imports: PythonImport[];
};

/** Where the virtual environment of a project is: beside its project file. */
export const environmentFolder = ".venv";
