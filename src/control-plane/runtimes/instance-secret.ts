/** The header by which the gateway and the health probe prove to a server that it is them. */
export const instanceSecretHeader = "x-treadle-instance-secret";
/** The caller of a request, as the platform describes it. Gateways remove it from what clients send. */
export const callerHeader = "x-treadle-caller";
