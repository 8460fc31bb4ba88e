// The part of better-sqlite3's interface that the checkpointer uses, on Node's own SQLite: nothing has to be compiled.
// The statements and the file are the same.
import { DatabaseSync } from 'node:sqlite';

/** A database as better-sqlite3 shows it. */
export class NodeDatabase {
  #database;

  constructor(path) {
    this.#database = new DatabaseSync(path);
  }

  pragma(text) {
    this.#database.prepare(`PRAGMA ${text}`).all();
  }

  exec(sql) {
    this.#database.exec(sql);
  }

  prepare(sql) {
    const statement = this.#database.prepare(sql);
    const values = (given) => given.map((value) => (value === undefined ? null : value));
    return {
      get: (...given) => statement.get(...values(given)),
      all: (...given) => statement.all(...values(given)),
      run: (...given) => statement.run(...values(given)),
    };
  }

  transaction(work) {
    return (...given) => {
      this.#database.exec('BEGIN');
      try {
        const result = work(...given);
        this.#database.exec('COMMIT');
        return result;
      } catch (error) {
        this.#database.exec('ROLLBACK');
        throw error;
      }
    };
  }

  close() {
    this.#database.close();
  }
}
