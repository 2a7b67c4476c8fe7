"""What lies beside a transcript of Kimi: title, directory, model, and which parser a file needs.

None of it is needed: a missing or broken file leaves its facts out.
"""
import os
import re

from ..base.files import json_object, open_regular
from ..events import META, Event
from ..records import parse_line, read_records
from .kimi import directories
from .kimi_text import content_text, mark, prompt_id, word

_HEAD_BYTES = 1 << 16
_PLAIN = re.compile(r'[A-Za-z0-9_-][A-Za-z0-9_.-]{0,100}\Z')
# Stands for the session a fork was made from, where nothing names it.
_UNNAMED = '?'


def _part(value, key):
    """-> the object under a key, {} where there is none."""
    found = value.get(key)
    return found if type(found) is dict else {}


def _is_plain(name):
    """True for a name from a record that can be a file's here: nothing that leads elsewhere or that no file can be called."""
    return bool(_PLAIN.match(name))


def head_mark(path):
    """-> what tells a transcript apart that its copies share: the first times in it; '' where there is none."""
    out = []
    try:
        with open_regular(path) as handle:
            for _ in range(2):
                for data in parse_line(handle.readline(_HEAD_BYTES))[0]:
                    for key in ('created_at', 'timestamp', 'time'):
                        if type(data.get(key)) in (int, float):
                            out.append('%r' % data[key])
                            break
                    if 'created_at' not in data and out:
                        return '-'.join(out)
    except OSError:
        return ''
    return '-'.join(out)


def layout(path):
    """-> 'code', 'cli' or 'context': how a transcript is written, told from its place, else from its first records."""
    folder, name = os.path.split(path)
    if name == 'wire.jsonl' and os.path.basename(os.path.dirname(folder)) in ('agents', 'subagents'):
        return 'code' if os.path.basename(os.path.dirname(folder)) == 'agents' else 'cli'
    try:
        with open_regular(path) as handle:
            for _ in range(3):
                for data in parse_line(handle.readline(_HEAD_BYTES))[0]:
                    if type(data.get('message')) is dict and 'timestamp' in data:
                        return 'cli'
                    if 'role' in data:
                        return 'context'
                    if 'created_at' in data or 'time' in data:
                        return 'code'
    except OSError:
        # Told by whoever reads it.
        return 'cli'
    return 'cli' if name == 'wire.jsonl' else 'context'


def parser_of(source, coverage, state):
    """-> (parser, facts) of a file. facts(state) -> list of META events of what lies beside it, as far as they are news."""
    kind = layout(source.path)
    here = os.path.dirname(source.path)
    agent = source.role != 'main'
    if kind == 'code':
        return _code(source, coverage, state, here, agent)
    folder = os.path.dirname(os.path.dirname(here)) if agent else here
    if os.path.basename(source.path) not in ('wire.jsonl', 'context.jsonl'):
        # Before sessions had folders: <group>/<session>.jsonl.
        folder = source.path[:-6]
    group = os.path.dirname(folder)
    root = os.path.dirname(os.path.dirname(group))

    def facts(known):
        told = {'cwd': directory_of(root, os.path.basename(group))}
        if not agent:
            told.update(_cli_titles(folder))
        return _news(source, known, told)
    session = os.path.basename(folder)
    if kind == 'context':
        from .kimi_context_parse import ContextParser, is_marker_line
        parser = ContextParser(coverage, source, state, session)
        parser.skip = is_marker_line
        return parser, facts
    from .kimi_cli_parse import WireParser
    has = {}

    def has_file(name):
        if name not in has:
            has[name] = _is_plain(name) and os.path.isfile(os.path.join(folder, 'subagents', name, 'wire.jsonl'))
        return has[name]
    scope = source.chain if agent else head_mark(source.path) or session
    return WireParser(coverage, source, state, scope, model_of(root, here if agent else ''), has_file), facts


def _code(source, coverage, state, here, agent):
    from .kimi_code_parse import CodeParser
    folder = os.path.dirname(os.path.dirname(here))
    about = json_object(os.path.join(folder, 'state.json'))
    scope = '%s/%s' % (head_mark(source.path), os.path.basename(here))

    def facts(known):
        told = {'cwd': _code_directory(about, folder)}
        if told['cwd']:
            state['cwd'] = told['cwd']
        if not agent:
            told.update(_code_titles(about))
        if word(about.get('forkedFrom')) or _part(about, 'custom').get('imported_from_kimi_cli') is True:
            told['foreign'] = word(about.get('forkedFrom')) or word(_part(about, 'custom').get('kimi_cli_session_id')) or _UNNAMED
        return _news(source, known, told)
    imported = None
    custom = _part(about, 'custom')
    if not agent and custom.get('imported_from_kimi_cli') is True:
        imported = _older(source.path, word(custom.get('kimi_cli_session_id')))
    return CodeParser(coverage, source, state, scope, imported), facts


def _news(source, known, told):
    """-> list of META events of facts that differ from those told before (known, changed in place)."""
    before = known.get('facts', {})
    out = []
    for label in ('cwd', 'foreign', 'custom-title', 'ai-title'):
        text = told.get(label) or ''
        if text != before.get(label, ''):
            chain = source.chain if source.role != 'main' else ''
            title = label.endswith('title')
            shown = '' if text == _UNNAMED else text
            out.append(Event(META, label, None, chain, 0, '%s:%s' % (label, text) if title else None, None, shown, None, 1, 0, 0,
                             0 if title else -1))
    known['facts'] = dict((label, text) for label, text in told.items() if text)
    return out


def _cli_titles(folder):
    """-> {label: title} of a session of the Python client. One it did not get from its user or the model is the text of
    whichever turn ended first, a subagent's too: that is no title."""
    about = json_object(os.path.join(folder, 'state.json'))
    title = word(about.get('custom_title'))
    if not title and not about.get('title_generated'):
        about = json_object(os.path.join(folder, 'metadata.json'))
        title = word(about.get('title'))
        if title == 'Untitled':
            title = ''
    if not title or about.get('title_generated') is False:
        return {}
    told = {'custom-title': title}
    if title.startswith(('Fork: ', 'Undo: ')):
        # Rows copied from another session, which nothing else names.
        told['foreign'] = _UNNAMED
    return told


def _code_titles(about):
    """-> {label: title} of a session of Kimi Code (state.json of either version)."""
    title = word(about.get('title')) or word(about.get('customTitle'))
    kind = about.get('titleKind')
    if not title or kind == 'replaceable' and title.startswith('Fork: '):
        return {}
    return {'custom-title' if kind == 'custom' or about.get('isCustomTitle') is True or about.get('customTitle') else 'ai-title': title}


def directory_of(root, group):
    """-> the directory a sessions folder of the Python client stands for, '' when kimi.json does not list it."""
    return directories(root).get(group.rsplit('_', 1)[-1], '')


def listed(root):
    """See kimi.listed."""
    found = set()
    try:
        for record in read_records(os.path.join(root, 'session_index.jsonl')):
            sid = word(record.data.get('sessionId'))
            if sid:
                (found.discard if record.data.get('deleted') is True else found.add)(sid)
    except OSError:
        # Older clients, and Kimi CLI, have none.
        return set()
    return found


def _code_directory(about, folder):
    """-> the directory of a session of Kimi Code: its state, the index of sessions, the list of workspaces."""
    found = word(about.get('cwd')) or word(about.get('workDir'))
    if found:
        return found
    group = os.path.dirname(folder)
    root = os.path.dirname(os.path.dirname(group))
    sid = os.path.basename(folder)
    index = os.path.join(root, 'session_index.jsonl')
    try:
        for record in read_records(index):
            if record.data.get('sessionId') == sid and word(record.data.get('workDir')):
                found = record.data['workDir']
    except OSError:
        # No index: the list of workspaces may know.
        found = ''
    return found or word(_part(_part(json_object(os.path.join(root, 'workspaces.json')), 'workspaces'), os.path.basename(group)).get('root'))


def model_of(root, agent_folder=''):
    """-> the model of a transcript of the Python client, which no row names: a subagent's own where its meta.json tells it,
    else the default of today's configuration (an estimate), '' where there is none."""
    models, default = _configured(root)
    if agent_folder:
        launch = _part(json_object(os.path.join(agent_folder, 'meta.json')), 'launch_spec')
        default = word(launch.get('effective_model')) or word(launch.get('model_override')) or default
    return models.get(default, default)


def _configured(root):
    """-> ({alias: model}, default alias) of config.toml or config.json."""
    try:
        with open_regular(os.path.join(root, 'config.toml')) as handle:
            return _from_toml(handle.read().decode('utf-8', 'replace'))
    except OSError:
        about = json_object(os.path.join(root, 'config.json'))
    models = _part(about, 'models')
    return dict((name, word(_part(models, name).get('model'))) for name in models if _part(models, name).get('model')), word(
        about.get('default_model'))


def _from_toml(text):
    """The two facts that are needed of a TOML file: default_model, and `model` in each [models.<alias>]."""
    models, default, section = {}, '', ''
    for line in text.split('\n'):
        line = line.strip()
        if line.startswith('['):
            section = line.strip('[] \t').split('#')[0].strip()
            continue
        key, equals, value = line.partition('=')
        if not equals or key.strip() not in ('default_model', 'model'):
            continue
        value = value.strip()
        quote = value[:1]
        value = value[1:].split(quote)[0] if quote in ('"', "'") else ''
        if key.strip() == 'default_model' and not section:
            default = value
        elif key.strip() == 'model' and section.startswith('models.'):
            models[section[7:].strip('"\' ')] = value
    return models, default


def _older(path, sid):
    """-> facts about the session of the Python client that one was made from: time (of the rows made from it), scope (of
    its call ids), id(text, state) -> the identity of one of its prompts."""
    from . import kimi
    when, wire = None, ''
    try:
        with open_regular(path) as handle:
            for data in parse_line(handle.readline(_HEAD_BYTES))[0]:
                when = data.get('created_at')
    except OSError:
        # Told by whoever reads it.
        when = None
    for root in kimi.roots():
        wire = wire or _wire_of(os.path.join(root, 'sessions'), sid)
    typed = _prompts(wire) if wire else {}

    def identity(text, state):
        one = prompt_id(sid, text, state)
        number = state['texts'][mark(text)] - 1
        known = typed.get(text, ())
        return known[number] if number < len(known) else one
    return {'time': when, 'scope': head_mark(wire) or sid if wire else sid, 'id': identity}


def _wire_of(top, sid):
    if not _is_plain(sid):
        return ''
    try:
        names = sorted(os.listdir(top))
    except OSError:
        return ''
    for name in names:
        path = os.path.join(top, name, sid, 'wire.jsonl')
        if os.path.isfile(path):
            return path
    return ''


def _prompts(wire):
    """-> {text: identities of the prompts with it, in order} of a wire.jsonl of the Python client."""
    out = {}
    try:
        for record in read_records(wire, skip=lambda line: b'"TurnBegin"' not in line[:200]):
            message = record.data.get('message')
            payload = message.get('payload') if type(message) is dict else None
            if type(payload) is dict and message.get('type') == 'TurnBegin':
                text = content_text(payload.get('user_input'))
                out.setdefault(text, []).append('%r/turn/%s' % (record.data.get('timestamp'), mark(text)))
    except OSError:
        return {}
    return out
