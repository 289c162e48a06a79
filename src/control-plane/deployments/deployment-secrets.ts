import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { keepMasked, type Secret } from "../desired-state/secret-rules.ts";
import { deploymentSecretsContext } from "../encryption/sealed-columns.ts";
import { checkSecrets, type RuleSettings, refused } from "./deployment-rules.ts";

/** The secrets of deployments, sealed in their rows. */
export class DeploymentSecrets {
  readonly #box: SecretBox;
  readonly #rules: RuleSettings;

  constructor(box: SecretBox, rules: RuleSettings) {
    this.#box = box;
    this.#rules = rules;
  }

  open({ id, secrets_sealed: sealed }: Pick<Deployment, "id" | "secrets_sealed">): Secret[] {
    return JSON.parse(this.#box.open(sealed, deploymentSecretsContext(id))) as Secret[];
  }

  seal(deploymentId: string, secrets: Secret[]): string {
    return this.#box.seal(JSON.stringify(secrets), deploymentSecretsContext(deploymentId));
  }

  /** What it has once these are given: all of them, each with its new value or, where that is the mask, its old one. */
  next(current: Deployment, given: Secret[] | undefined): Secret[] {
    const before = this.open(current);
    if (given === undefined) return before;
    checkSecrets(given, this.#rules);
    const merged = keepMasked(given, before);
    if (Array.isArray(merged)) return merged;
    throw refused(`The secret ${merged.unknown} has no stored value. Send its value instead of the mask.`);
  }
}
