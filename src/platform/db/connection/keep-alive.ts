/** Of a client: the system's own first look at a silent server would come after two hours. */
export const clientKeepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 15_000 };

/** Of a session, to be selected: the server ends it, and with it its locks, when the client is gone without a word. */
export const serverKeepAlive = `set_config('tcp_keepalives_idle', '15', false),
  set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false)`;
