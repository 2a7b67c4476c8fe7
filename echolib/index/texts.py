"""From a document of the index back to its text: the source is reread at its offset."""
from ..adapters import Source, registry
from ..base import paths
from . import schema
from .documents import document_text

# Columns of a file that texts need.
FILE_COLUMNS = 'id, path, role, chain, sid, root, session'


class Texts(object):
    """Rereads documents; keeps what it needs of each file at hand.

    db: connection to index.db.
    """

    def __init__(self, db):
        self.db = db
        self.files = {}
        self.agents = dict(db.execute('select id, agent from roots'))
        self.lost = set()

    def file(self, number):
        """-> (adapter, Source, session id number) of a file id."""
        found = self.files.get(number)
        if found is None:
            self.load((number,))
            found = self.files.get(number)
        return found

    def load(self, numbers):
        """Look up many files at once; those that are gone are left out."""
        wanted = set(number for number in numbers if number not in self.files)
        for row in schema.rows_of(self.db, 'select %s from files where id in (%%s)' % FILE_COLUMNS, wanted):
            source = Source(paths.restored(row[1]), row[2], row[3], row[4], 0, 0)
            self.files[row[0]] = (registry.get(self.agents[row[5]]), source, row[6])

    def event(self, file, offset, length, part):
        """-> the event of a document, None when the file no longer holds it."""
        found = self.file(file)
        if found is None:
            return None
        adapter, source, _ = found
        try:
            events = adapter.events_at(source, offset, length)
        except OSError:
            self.lost.add(source.path)
            return None
        for event in events:
            if event.part == part and event.text:
                return event
        return None

    def text(self, file, offset, length, part):
        """-> the text of a document as it was searched, '' when it is no longer there."""
        event = self.event(file, offset, length, part)
        if event is None:
            return ''
        adapter, source, _ = self.file(file)
        return document_text(adapter, source, event)
