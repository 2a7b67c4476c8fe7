"""The first prompts of sessions, reread at the places the index knows, without reading the transcripts."""
import itertools

from .. import transcript
from . import schema
from .texts import Texts


def first_prompts(view, sources, rows, most):
    """-> {session row id: list of (line, text)} of the main conversations' first prompts, at most `most` of each.

    sources(row): a session's Sources; used where the index holds no texts.
    """
    if not view.shards:
        return dict((row.id, list(itertools.islice(_read(row, sources(row)), most))) for row in rows)
    wanted = dict((row.id, []) for row in rows)
    shards = dict((number, (db, end)) for number, db, end in view.shards)
    texts = Texts(view.db)
    for file, session, shard, ranges in view.db.execute(
            "select id, session, shard, ranges from files where role = 'main' and ranges != '' order by birth is null, birth, id").fetchall():
        found = wanted.get(session)
        if found is None or len(found) >= most or shard not in shards:
            continue
        db, counted = shards[shard]
        for first, end in schema.pieces(ranges):
            for line, offset, length, part in db.execute(
                    'select line, offset, length, part from docs where id >= ? and id < ? and kind = ? and file = ? order by id limit ?',
                    (first, min(end, counted), schema.PROMPT_DOC, file, most - len(found))).fetchall():
                event = texts.event(file, offset, length, part)
                if event is not None and not event.chain:
                    found.append((line, event.text))
            if len(found) >= most:
                break
    return wanted


def _read(row, sources):
    main = [source for source in sources if source.role == 'main']
    for item in transcript.items(row.agent, main):
        if item.kind == 'prompt' and not item.chain:
            yield item.line, item.body
