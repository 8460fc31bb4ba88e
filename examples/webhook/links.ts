// Links that carry one decision each: signed, bound to the call as it was shown, good once and for a while. Whoever has the link
// may decide; it says nothing of who that is.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { SHORTEST_SECRET } from './settings.ts';

/** What a link decides. */
export interface LinkContent {
  readonly id: string;
  /** Of the call that the message showed. */
  readonly digest: string;
  readonly decision: 'approve' | 'deny';
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The same for both links of a message: one of them may be used, once. */
  readonly message: string;
}

/** Why a link is not good. */
export type LinkProblem = 'forged' | 'expired' | 'used';

/** Makes and reads links with one secret. */
export class Links {
  private readonly secret: string;
  /** Messages whose links were used. In memory: after a restart the turn itself refuses another decision. */
  private readonly used = new Map<string, number>();

  constructor(secret: string) {
    if (secret.length < SHORTEST_SECRET)
      throw new Error(`the secret of the links needs ${SHORTEST_SECRET} characters or more`);
    this.secret = secret;
  }

  /** Both tokens of a message. */
  make(call: Pick<LinkContent, 'id' | 'digest'>, forMs: number): { readonly approve: string; readonly deny: string } {
    const common = { id: call.id, digest: call.digest, expiresAt: Date.now() + forMs, message: randomUUID() };
    return { approve: this.sign({ ...common, decision: 'approve' }), deny: this.sign({ ...common, decision: 'deny' }) };
  }

  /** What a token says, or what is wrong with it. */
  read(token: string): LinkContent | LinkProblem {
    const [body = '', signature = ''] = token.split('.');
    const [given, right] = [Buffer.from(signature, 'base64url'), this.signatureOf(body)];
    if (given.length !== right.length || !timingSafeEqual(given, right)) return 'forged';
    // Only `sign` makes bodies with a right signature.
    const content = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as LinkContent;
    if (content.expiresAt <= Date.now()) return 'expired';
    return this.used.has(content.message) ? 'used' : content;
  }

  /** Uses a message's links up; false where they were already. */
  use({ message, expiresAt }: LinkContent): boolean {
    for (const [old, until] of this.used) if (until <= Date.now()) this.used.delete(old);
    if (this.used.has(message)) return false;
    this.used.set(message, expiresAt);
    return true;
  }

  /** Makes a message's links good again, where its decision could not be sent. */
  giveBack({ message }: LinkContent): void {
    this.used.delete(message);
  }

  /** Whether a text is the secret, in a time that tells nothing. */
  isSecret(given: string): boolean {
    return timingSafeEqual(this.signatureOf(given), this.signatureOf(this.secret));
  }

  private sign(content: LinkContent): string {
    const body = Buffer.from(JSON.stringify(content)).toString('base64url');
    return `${body}.${this.signatureOf(body).toString('base64url')}`;
  }

  private signatureOf(body: string): Buffer {
    return createHmac('sha256', this.secret).update(body).digest();
  }
}
