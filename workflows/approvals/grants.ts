// What a person allowed for the rest of the session: one tool of one server each, for a time. Pure.
import { DEFAULT_GRANT_FOR_MS, type ApprovalGrant, type DecidedCall } from '../../shared/approvals.ts';

/** A tool by its names. */
interface Named {
  readonly server: string;
  readonly tool: string;
}

/** Grants of a session, as one turn knows them. */
export class Grants {
  private grants: readonly ApprovalGrant[];
  private readonly grantForMs: number;

  constructor(before: readonly ApprovalGrant[], grantForMs = DEFAULT_GRANT_FOR_MS) {
    this.grants = before;
    this.grantForMs = grantForMs;
  }

  /** Grants a tool from now on; it replaces an earlier grant of the same tool. */
  add({ server, tool }: Named, { approver, decidedAt }: DecidedCall): void {
    const others = this.grants.filter((grant) => !isOf(grant, { server, tool }));
    const expiresAt = decidedAt + this.grantForMs;
    this.grants = [...others, { server, tool, approver, grantedAt: decidedAt, expiresAt }];
  }

  /** The grant that takes a call made at this time. */
  find(call: Named, at: number): ApprovalGrant | undefined {
    return this.grants.find((grant) => isOf(grant, call) && at < grant.expiresAt);
  }

  /** All that hold at this time. */
  held(at: number): readonly ApprovalGrant[] {
    return this.grants.filter((grant) => at < grant.expiresAt);
  }
}

function isOf(grant: ApprovalGrant, { server, tool }: Named): boolean {
  return grant.server === server && grant.tool === tool;
}
