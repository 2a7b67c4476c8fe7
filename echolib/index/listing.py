"""The list of known sessions as plain values."""
import os

from ..adapters import registry
from ..base import clock, paths
from . import access
from .catalog import Catalog, Filter


def listing(scope='all', agent=None, limit=0, grep=None):
    """See echolib.list_sessions."""
    view = access.open_view(lambda text: None)
    try:
        catalog = Catalog(view.db)
        project = None if scope == 'all' else catalog.project_of(os.getcwd()) if scope == 'current' else os.path.abspath(scope)
        rows = catalog.rows(Filter(project, registry.resolve(agent), None, None, grep, None), clock.now())
        return [{'session_id': r.sid, 'agent': r.agent, 'created': clock.format_time(r.created), 'modified': clock.format_time(r.modified),
                 'msg_count': r.msg_count, 'branch': r.branch, 'summary': r.title, 'first_prompt': r.first_prompt,
                 'project_path': r.project, 'full_path': paths.restored(r.path)} for r in (rows[:limit] if limit else rows)]
    finally:
        view.store.close()
