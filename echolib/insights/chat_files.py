"""Which chat export a file or folder is, told by what is in it, and its conversations."""
import os
import re

from ..base import bounded_json
from ..base.errors import EchoError
from ..base.files import open_regular
from . import chat_lines, chat_records
from .chat_messages import merged, once, ordered

_LARGEST = 512 << 20
_SLACK_DAY = re.compile(r'\d{4}-\d\d-\d\d\.json\Z')
_SLACK_LISTS = ('users.json', 'channels.json', 'groups.json', 'dms.json', 'mpims.json', 'integration_logs.json', 'canvases.json')
_ENDS = ('.json', '.csv', '.tsv', '.txt', '.log', '.md')
_FORMATS = ('WhatsApp text, Telegram JSON, a Slack folder, DiscordChatExporter JSON or CSV, WeChat or QQ text, JSON or CSV, LINE text, a table with '
            'columns for sender and text, JSON messages with a sender and a text, or lines that begin with who speaks')


class NoChat(EchoError):
    """A file or folder in which no conversation was found; `path`."""

    def __init__(self, path, why):
        EchoError.__init__(self, '%s: %s. What is read: %s' % (path, why, _FORMATS))
        self.path = path


def chats(path, zone):
    """-> list of the Chats in a file or folder, each message once, oldest first. NoChat where there is none.

    zone: that of times that the export gives without one.
    """
    if os.path.isdir(path):
        found = _folder(path, zone)
    else:
        found = _file(path, zone)
    found = [chat for chat in found or () if any(one.who for one in chat.messages)]
    if not found:
        raise NoChat(path, 'no conversation was recognised')
    out = {}
    for chat in found:
        chat = chat._replace(messages=once(ordered(chat.messages)))
        key = (chat.format, chat.id or chat.title)
        if key in out:
            # A conversation that was exported in parts.
            have = out[key]
            chat = chat._replace(messages=merged(have.messages, chat.messages), passed=have.passed + chat.passed)
        out[key] = chat
    return list(out.values())


def _text(path):
    size = os.path.getsize(path)
    if size > _LARGEST:
        raise EchoError('%s is larger than %d MB; export a shorter time' % (path, _LARGEST >> 20))
    with open_regular(path) as handle:
        raw = handle.read()
    if raw[:2] == b'PK':
        raise NoChat(path, 'this is an archive; unpack it first')
    if raw[:2] in (b'\xff\xfe', b'\xfe\xff'):
        return raw.decode('utf-16', 'replace')
    try:
        return raw.decode('utf-8-sig')
    except UnicodeDecodeError:
        # Older exports of Chinese programs; anything else shows where it is damaged.
        try:
            return raw.decode('gb18030')
        except UnicodeDecodeError:
            return raw.decode('utf-8', 'replace')


def _json(path):
    """-> the JSON value in a file; ValueError where there is none."""
    try:
        return bounded_json.loads(_text(path), bounded_json.DOCUMENT)
    except RecursionError:
        raise ValueError('nested too deep')


def _file(path, zone):
    name = os.path.basename(path)
    bare = os.path.splitext(name)[0]
    if bare.lower() in ('_chat', 'result', 'messages', 'chat'):
        bare = os.path.basename(os.path.dirname(os.path.abspath(path))) or bare
    text = _text(path)
    if text.lstrip()[:1] in ('{', '['):
        try:
            return _value(bounded_json.loads(text, bounded_json.DOCUMENT), path, bare, zone)
        except RecursionError:
            raise NoChat(path, 'nested too deep')
        except ValueError as error:
            # A line may begin with a stamp in brackets, too.
            found = chat_records.generic(_lines_of_json(text), bare, zone)
            if found is not None:
                return found
            if text.lstrip()[:1] == '{':
                raise NoChat(path, 'broken JSON (%s)' % str(error)[:80])
    if not name.lower().endswith('.txt'):
        found = chat_records.table(text, bare, zone)
        if found:
            return found
    chat = chat_lines.parse(text, bare, zone)
    return [chat] if chat is not None else None


def _lines_of_json(text):
    """-> list of the values of JSON lines; [] unless most lines are such."""
    out, lines = [], [line for line in text.split('\n') if line.strip()]
    for line in lines:
        try:
            out.append(bounded_json.loads(line))
        except (ValueError, RecursionError):
            # Counted by what is missing.
            continue
    return out if len(out) >= 0.9 * len(lines) else []


def _value(value, path, name, zone):
    if isinstance(value, dict):
        for reader in (chat_records.discord, chat_records.telegram):
            found = reader(value, zone)
            if found is not None:
                return found
    if isinstance(value, list) and _SLACK_DAY.match(os.path.basename(path)):
        return _channel(os.path.dirname(os.path.abspath(path)), [value])
    return chat_records.generic(value, name, zone)


def _channel(folder, days):
    """-> list of the Chat of a Slack channel's folder."""
    top = os.path.dirname(folder)
    names, ident = {}, ''
    for path in (os.path.join(top, 'users.json'), os.path.join(folder, 'users.json')):
        try:
            names.update(chat_records.slack_names(_json(path)))
        except (OSError, ValueError):
            # A channel that was copied out of its export: messages mostly name their people themselves.
            continue
    title = os.path.basename(folder)
    try:
        ident = next((c.get('id') or '' for c in _json(os.path.join(top, 'channels.json')) if isinstance(c, dict) and c.get('name') == title), '')
    except (OSError, ValueError, TypeError):
        ident = ''
    chat = chat_records.slack(days, names, '#' + title, ident)
    return [chat] if chat is not None else []


def _days(folder):
    out = []
    for name in sorted(os.listdir(folder)):
        if _SLACK_DAY.match(name):
            try:
                out.append(_json(os.path.join(folder, name)))
            except ValueError:
                # One broken day; the others stand.
                out.append([None])
    return out


def _folder(path, zone):
    path = os.path.abspath(path)
    days = _days(path)
    if days:
        return _channel(path, days)
    out = []
    for name in sorted(os.listdir(path)):
        inner = os.path.join(path, name)
        if os.path.isdir(inner):
            days = _days(inner)
            out += _channel(inner, days) if days else []
        elif name.lower().endswith(_ENDS) and name not in _SLACK_LISTS:
            try:
                out += _file(inner, zone) or []
            except NoChat:
                # Files beside the export.
                continue
    return out
