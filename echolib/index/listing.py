"""The list of known sessions as plain values."""
import os

from ..adapters import registry
from ..base import clock, paths
from . import access
from .catalog import Catalog, Filter


def listing(scope='all', agent=None, limit=0, grep=None, keyword=None):
    """See echolib.list_sessions. keyword: only sessions whose title, id, project, path or first prompt holds it, or in whose
    conversation the index finds it as it is written."""
    agent = registry.resolve(agent)
    view = access.open_view(lambda text: None, text=bool(keyword), agent=agent)
    try:
        catalog = Catalog(view.db)
        project = None if scope == 'all' else catalog.project_of(os.getcwd()) if scope == 'current' else os.path.abspath(
            os.path.expanduser(scope))
        rows = catalog.rows(Filter(project, agent, None, None, grep, None), clock.now())
        if keyword:
            holding = set(row.id for row in catalog.rows(Filter(project, agent, None, None, keyword, None)))
            holding |= _saying(view, keyword, set(row.id for row in rows))
            rows = [row for row in rows if row.id in holding]
        return [{'session_id': r.sid, 'agent': r.agent, 'created': clock.format_time(r.created), 'modified': clock.format_time(r.modified),
                 'msg_count': r.msg_count, 'branch': r.branch, 'summary': r.title, 'first_prompt': r.first_prompt,
                 'project_path': r.project, 'full_path': paths.restored(r.path)} for r in (rows[:limit] if limit else rows)]
    finally:
        for _, db, _ in view.shards:
            db.close()
        view.store.close()


def _saying(view, keyword, allowed):
    """-> ids of sessions (of these) whose conversation holds a text."""
    from .query import parse
    from .search import Options, Searcher
    from .texts import Texts
    query = parse('"%s"' % keyword.replace('"', ' '))
    if not view.shards or not query.terms or not allowed:
        return set()
    options = Options(allowed, None, None, None, False, False, 1, 0, False, {}, None, frozenset())
    answer = Searcher(view.db, view.shards, Texts(view.db)).search(query, options)
    found = set()
    for hit in answer.hits if not answer.partial else ():
        if not hit.missing:
            found.add(hit.session)
            found.update(hit.copies)
    return found
