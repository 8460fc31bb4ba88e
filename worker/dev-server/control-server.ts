// The keeper's side of the control port: who is attached, what they are told. The kernel closes a dead process's
// connection, also after SIGKILL, so this list is never wrong for long.
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';

import type { Attachment, AttachmentMessage, KeeperState } from './protocol.ts';
import { receive, send } from './protocol.ts';

/** An open control port. */
export interface ControlServer {
  readonly port: number;
  /** Changes the state and tells everybody. */
  setState(state: KeeperState): void;
  attachments(): readonly Attachment[];
  /** Resolves when nobody has been attached for this long, in milliseconds, or as soon as the last one has said so. */
  idleFor(milliseconds: number): Promise<void>;
  close(): void;
}

/** Opens a control port on the loopback interface; who does not know the token is sent away. */
export async function openControlServer(token: string): Promise<ControlServer> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return new Control(server, token);
}

class Control implements ControlServer {
  readonly port: number;
  readonly #server: Server;
  readonly #token: string;
  readonly #attached = new Map<Socket, Attachment>();
  readonly #sockets = new Set<Socket>();
  #state: KeeperState = { name: 'candidate' };
  #lastLeft = Date.now();
  #onLastLeave = (): void => {};

  constructor(server: Server, token: string) {
    this.#server = server;
    this.#token = token;
    // A listening TCP server's address is always an `AddressInfo`.
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => this.#accept(socket));
  }

  setState(state: KeeperState): void {
    this.#state = state;
    for (const socket of this.#attached.keys()) send(socket, { type: 'state', state });
  }

  attachments(): readonly Attachment[] {
    return [...this.#attached.values()];
  }

  async idleFor(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#lastLeft = Date.now();
      const timer = setInterval(() => {
        if (this.#attached.size === 0 && Date.now() - this.#lastLeft >= milliseconds) this.#onLastLeave();
      }, 100);
      this.#onLastLeave = () => {
        clearInterval(timer);
        resolve();
      };
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.end();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    receive(socket, (message) => this.#answer(socket, message as AttachmentMessage));
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (this.#attached.delete(socket)) this.#lastLeft = Date.now();
    });
  }

  #answer(socket: Socket, message: AttachmentMessage): void {
    if (message.type === 'hello') {
      if (message.token !== this.#token) return void socket.destroy();
      send(socket, { type: 'state', state: this.#state });
      if (message.kind !== 'probe') {
        this.#attached.set(socket, { pid: message.pid, kind: message.kind, worker: null });
      }
      return undefined;
    }
    const attachment = this.#attached.get(socket);
    if (attachment === undefined) return void socket.destroy();
    if (message.type === 'announce') this.#attached.set(socket, { ...attachment, worker: message.worker });
    if (message.type === 'list') {
      const attachments = this.attachments().filter((other) => other !== attachment);
      send(socket, { type: 'attachments', attachments });
    }
    if (message.type === 'leave') this.#leave(socket);
    return undefined;
  }

  #leave(socket: Socket): void {
    this.#attached.delete(socket);
    this.#lastLeft = Date.now();
    if (this.#attached.size === 0 && this.#state.name === 'ready') this.#onLastLeave();
    else socket.end();
  }
}
