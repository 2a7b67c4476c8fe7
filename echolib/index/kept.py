"""What is worked out of a session when it is first asked for and kept in index.db until a file of the session changes.

The writer of the index drops a session's row with every change it takes in (see ownership), so a row that is there holds.
"""
import json
import sqlite3


def segments(db, session, version):
    """-> what `keep` was given for a session's row id by the same version, None when there is nothing."""
    row = db.execute('select found from segments where session = ? and version = ?', (session, version)).fetchone()
    return json.loads(row[0]) if row else None


def keep(view, found, version):
    """Store {session row id: JSON value}, unless another process is writing or the index cannot be written.

    Only what was read after the index was brought up to date may be kept; of another view nothing is.
    """
    if view.state != 'current' or not found or not view.store.lock():
        return
    try:
        view.db.execute('begin immediate')
        view.db.executemany('insert or replace into segments values (?,?,?)', [
            (session, version, json.dumps(value, ensure_ascii=False)) for session, value in sorted(found.items())])
        view.db.execute('commit')
    except sqlite3.OperationalError:
        # A read-only or full folder: the next one to ask works it out again.
        if view.db.in_transaction:
            view.db.execute('rollback')
    finally:
        view.store.unlock()
