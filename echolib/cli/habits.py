"""What skill-gap-finder.py and remember.py share: the opened view, what is read from it, and how places are named."""
import os

from ..base import text as texts
from ..base.errors import EchoError
from . import options as opt
from .common import Asked, Cleaner, iso, when
from .search import reference


def least(default):
    """-> the --min-sessions option."""
    return opt.option('--min-sessions', 'int', default, 'what is told must have happened in so many different sessions (default %d)' % default, 'N')


class Opened(object):
    """rows: the chosen sessions; harvest: their records; look: a Lookback over them; clean: a Cleaner that always masks when asked."""

    def __init__(self, args, out):
        from ..index.search import Searcher
        from ..index.texts import Texts
        from ..insights.harvest import Harvest
        from ..insights.lookback import Lookback
        self.args, self.out = args, out
        self.clean = Cleaner(args)
        self.asked = Asked(args, out, text=True)
        try:
            view = self.asked.view
            self.rows = self.asked.rows()
            if not view.shards and self.rows:
                raise EchoError('this needs the full-text index, which SQLite here cannot make (no FTS5); another Python may have it')
            since, until = self.asked.since, self.asked.until
            self.harvest = Harvest(view, self.asked.catalog, self.rows, since, until)
            self.look = Lookback(Searcher(view.db, view.shards, Texts(view.db)), self.asked.catalog, set(row.id for row in self.rows), since, until)
        except Exception:
            self.asked.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.asked.close()

    def row(self, place):
        """-> Row of a Place's session."""
        return self.harvest.rows[place.session]

    def ref(self, place, short=False, line=None):
        """-> the reference of a Place, or of another line of its file."""
        row = self.row(place)
        full = reference(row, self.harvest.texts.file(place.file)[1], place.line if line is None else line)
        return self.asked.catalog.short_id(row.sid) + full[len(row.sid):] if short else full

    def day(self, ms):
        """-> the day of a time in the reader's zone, '-' for none."""
        return when(ms, self.asked.now, self.asked.zone)[:10]

    def place(self, place):
        """-> the JSON object of a Place."""
        row = self.row(place)
        return {'ref': self.ref(place), 'session_id': row.sid, 'project_path': row.project, 'timestamp': iso(place.time)}

    def quote(self, text, room=200):
        """-> a text as one quoted line: printable, masked, neutral, cut."""
        return texts.cut(texts.neutralise(self.clean.line(text[:4 * room + 400])), room)

    def quoted(self, text, room=200, most=6):
        """-> up to `most` quoted lines of a text."""
        lines = [self.quote(line, room) for line in text.split('\n') if line.strip()]
        return lines[:most] + (['\u2026'] if len(lines) > most else [])


def times(count, sessions):
    """-> '5 times in 3 sessions'."""
    return '%d time%s in %d session%s' % (count, '' if count == 1 else 's', sessions, '' if sessions == 1 else 's')


def folder_of(path, what):
    """-> the folder a file is to be written into; EchoError where it is not there."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise EchoError('there is no folder %s to write %s into; make it first' % (texts.printable(folder), what))
    return folder
