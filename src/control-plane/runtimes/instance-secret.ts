/** The header by which the gateway and the health probe prove to a server that it is them. */
export const instanceSecretHeader = "x-treadle-instance-secret";
