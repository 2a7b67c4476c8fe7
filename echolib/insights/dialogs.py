"""Conversations between people that the user imported: a file each in our own data folder, where the universal adapter reads them.

A conversation that is imported again takes in what is new; it never lies there twice.
"""
import json
import os
import re
from collections import namedtuple
from zlib import crc32

from ..adapters.universal import DIALOGS
from ..base import bounded_json, clock, paths
from ..base.errors import EchoError
from ..base.files import make_private, open_regular
from .chat_messages import Message, merged, share

# sid: its session's id; format, chat: what Chat calls format and id; source: name of the export; imported: ms.
Dialog = namedtuple('Dialog', 'name sid format chat source imported messages people first last path')
# Exports of one conversation have this part of the shorter one in common.
_SAME = 0.5


def folder(environ=os.environ):
    """-> the folder of imported conversations; EchoError where there is no home for it."""
    top = paths.data_dir(environ)
    if top is None:
        raise EchoError('there is no home folder to keep conversations in; set SESSION_DIGGER_DATA_DIR')
    return os.path.join(top, DIALOGS)


def listed(environ=os.environ):
    """-> list of the imported Dialogs by name; files that are none are passed over."""
    out = []
    try:
        names = sorted(os.listdir(folder(environ)))
    except (OSError, EchoError):
        return out
    for name in names:
        path = os.path.join(folder(environ), name)
        if name.endswith('.jsonl'):
            try:
                with open_regular(path) as handle:
                    found = _dialog(bounded_json.loads(handle.readline().decode('utf-8', 'replace')), path)
            except (OSError, ValueError, RecursionError):
                # Not ours, or damaged: doctor names it.
                continue
            if found is not None:
                out.append(found)
    out.sort(key=lambda one: (one.name, one.sid))
    return out


def _dialog(head, path):
    if not isinstance(head, dict) or not isinstance(head.get('dialog'), str):
        return None
    word = lambda key: head[key] if isinstance(head.get(key), str) else ''
    count = lambda key: head[key] if type(head.get(key)) is int else 0
    return Dialog(word('title') or head['dialog'], head['dialog'], word('format'), word('chat'), word('source'), clock.parse_time(head.get('imported')),
                  count('messages'), count('people'), clock.parse_time(head.get('first')), clock.parse_time(head.get('last')), path)


def messages(dialog):
    """-> list of the Messages of a Dialog."""
    out = []
    with open_regular(dialog.path) as handle:
        for line in handle:
            try:
                record = bounded_json.loads(line.decode('utf-8', 'replace'))
            except (ValueError, RecursionError):
                # A damaged line: doctor names it.
                continue
            if isinstance(record, dict) and 'name' in record:
                out.append(Message(record.get('id') or '', clock.parse_time(record.get('time')), record.get('who') or '', record.get('name') or '',
                                   record.get('text') or '', record.get('kind') or 'text', record.get('liked') or 0, bool(record.get('answers')),
                                   bool(record.get('bot'))))
    return out


def find(name, environ=os.environ):
    """-> the Dialog of a name or session id (its beginning will do, where it fits no other), None without one."""
    known = listed(environ)
    for test in (lambda one: one.name == name or one.sid == name, lambda one: one.name.lower() == name.lower(),
                 lambda one: len(name) > 3 and one.sid.startswith(name)):
        found = [one for one in known if test(one)]
        if len(found) == 1:
            return found[0]
    return None


def add(chat, source, name=None, environ=os.environ, now=None):
    """Keep a Chat; -> (Dialog, number of messages it had before: None for a new one).

    name: what to call it. A Dialog of that name, or of the same conversation, takes the messages in.
    """
    known = listed(environ)
    have = next((one for one in known if one.name == name), None) if name else _same(chat, known)
    before = messages(have) if have is not None else []
    if have is not None:
        chat = chat._replace(messages=merged(before, chat.messages))
        dialog = have._replace(name=name or have.name, source=source)
    else:
        title = _free(name or chat.title, known)
        mark = '\0'.join((chat.format, chat.id or title))
        sid = 'dialog-%s-%08x' % (re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')[:40] or chat.format, crc32(mark.encode('utf-8', 'replace')))
        dialog = Dialog(title, sid, chat.format, chat.id, source, None, 0, 0, None, None, os.path.join(folder(environ), sid + '.jsonl'))
    times = [one.time for one in chat.messages if one.time is not None]
    dialog = dialog._replace(imported=clock.now() if now is None else now, messages=len(chat.messages),
                             people=len(set(one.who for one in chat.messages if one.who)),
                             first=min(times) if times else None, last=max(times) if times else None)
    if have is None or before != chat.messages or have.name != dialog.name:
        _write(dialog, chat)
    return dialog, len(before) if have is not None else None


def _same(chat, known):
    """-> the Dialog that holds this conversation already, None without one."""
    best, most = None, _SAME
    for one in known:
        if chat.id and one.chat:
            if (chat.format, chat.id) == (one.format, one.chat):
                return one
        elif one.format == chat.format:
            common = share(messages(one), chat.messages)
            if common >= most:
                best, most = one, common
    return best


def _free(title, known):
    taken, number = set(one.name for one in known), 1
    name = ' '.join(title.split())[:80] or 'chat'
    while name in taken:
        number += 1
        name = '%s (%d)' % (' '.join(title.split())[:80], number)
    return name


def _write(dialog, chat):
    top = os.path.dirname(dialog.path)
    head = {'dialog': dialog.sid, 'title': dialog.name, 'format': dialog.format, 'chat': dialog.chat, 'source': dialog.source,
            'imported': clock.format_time(dialog.imported), 'messages': dialog.messages, 'people': dialog.people,
            'first': clock.format_time(dialog.first) or None, 'last': clock.format_time(dialog.last) or None}
    part = '%s.%d.part' % (dialog.path, os.getpid())
    try:
        make_private(top)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, 'w', encoding='utf-8', errors='replace', newline='\n') as out:
            out.write(json.dumps(head, ensure_ascii=False) + '\n')
            same = {}
            for one in chat.messages:
                record = dict((key, value) for key, value in one._asdict().items() if value or key == 'name')
                record.update(dialog=dialog.sid, time=clock.format_time(one.time) or None)
                if not one.id:
                    # What tells it apart, in this file and in the next import's.
                    key = '%s.%08x' % ('' if one.time is None else one.time, crc32(one.text.encode('utf-8', 'replace')))
                    same[key] = same.get(key, 0) + 1
                    record['key'] = key if same[key] == 1 else '%s.%d' % (key, same[key])
                out.write(json.dumps(record, ensure_ascii=False) + '\n')
        os.replace(part, dialog.path)
    except OSError as error:
        try:
            os.unlink(part)
        except OSError:
            # Never made.
            pass
        raise EchoError('cannot write %s: %s' % (dialog.path, error.strerror or error))


def remove(dialog):
    """Delete a Dialog's file."""
    try:
        os.unlink(dialog.path)
    except OSError as error:
        raise EchoError('cannot delete %s: %s' % (dialog.path, error.strerror or error))
