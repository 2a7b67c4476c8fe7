"""What lines say that figures point at: references to open, inputs, errors, prompts, fit to print."""
from ..analysis_session import read
from ..base import text as texts
from ..transcript_entries import masked_call


class Evidence(object):
    """Reads sessions of a catalog once each. clean: a Cleaner."""

    def __init__(self, catalog, clean):
        self.catalog, self.clean = catalog, clean
        self._last = None, None, None

    def of(self, row):
        """-> (Reading, chains that have a file of their own) of a session's Row."""
        if self._last[0] != row.id:
            self._last = None, None, None
            sources = self.catalog.sources(row)
            self._last = row.id, read(row.agent, sources), set(source.chain for source in sources if source.role != 'main')
        return self._last[1:]

    def notes(self, row, keys):
        """-> [(reference, Note)] of stored keys, those that are still there."""
        reading, chains = self.of(row)
        places = reading.places(keys)
        found = [reading.note(places[key]) for key in keys if key in places]
        return [(reference(row.sid, note, chains), note) for note in found if note is not None]


def reference(sid, note, chains):
    """-> SESSION:LINE of a Note, or SESSION/AGENT:LINE."""
    return '%s/%s:%d' % (sid, note.chain, note.line) if note.chain in chains and note.chain else '%s:%d' % (sid, note.line)


def said(note, clean, most=300):
    """-> {input, error} of a call's Note, masked and cut; error only where it failed."""
    out = {'input': texts.cut(masked_call(note.text, note.data, clean)[0] if note.data is not None else clean(note.text), most)}
    if note.error:
        out['error'] = texts.cut(clean(note.error), most)
    return out
