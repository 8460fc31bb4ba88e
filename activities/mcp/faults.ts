// What can go wrong between a request and its answer, before it has a name of the catalogue: the pool knows the server
// and the tool, the transports below it know only whether the request can have arrived.

/** The request provably did not reach the server. */
export class NotSentFault extends Error {
  override readonly name = 'NotSentFault';
}

/** The request may have reached the server, and its answer will not come. */
export class LostFault extends Error {
  override readonly name = 'LostFault';
}

/** The server refused this request unseen; the connection serves others as before. */
export class RefusedFault extends NotSentFault {}

/** The server no longer knows the session: the request was refused unseen, a new session may be asked. */
export class SessionGoneFault extends NotSentFault {}

/** A message above the limit. */
export class MessageTooLargeFault extends Error {
  override readonly name = 'MessageTooLargeFault';
  readonly limitBytes: number;

  constructor(limitBytes: number) {
    super(`a message of more than ${limitBytes} bytes`);
    this.limitBytes = limitBytes;
  }
}

/** No answer and no progress within the deadline. */
export class DeadlineFault extends Error {
  override readonly name = 'DeadlineFault';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}
