"""Chat exports that are records: Telegram, Slack, Discord, QQ and WeChat in JSON, any list of messages, and tables (CSV)."""
import csv
import io
import re

from ..base import clock
from .chat_messages import DELETED, MEDIA, SYSTEM, Chat, message

# What exports call the parts of a message, the surest first; compared in lower case without blanks, dashes and underscores.
_NAMES = ('senderdisplayname', 'sendername', 'fromname', 'authorname', 'nickname', 'displayname', 'username', 'sender', 'author', 'from', 'user',
          'speaker', 'who', 'name', 'participant', 'nick', '发送人', '发送者', '发言人', '说话人', '昵称', '用户', '姓名', '名字', 'talker', 'remark')
_IDS = ('senderusername', 'senderid', 'fromid', 'authorid', 'userid', 'senderuin', 'wxid', 'qq')
_TEXTS = ('text', 'content', 'message', 'msg', 'body', 'strcontent', 'messagetext', '消息内容', '内容', '消息', '文本', '聊天内容')
_TIMES = ('timestamp', 'datetime', 'createtime', 'strtime', 'formattedtime', 'time', 'date', 'ts', 'createdat', 'sentat', '时间', '发送时间', '日期时间', '日期')
_OWN = ('id', 'messageid', 'msgid', 'msgsvrid', 'svrid', 'uuid', 'seq')
_LISTS = ('messages', 'data', 'items', 'chat', 'records', 'conversation', 'history', 'msgs')
_LOOSE = re.compile(r'\s*(\d{4})[./年-](\d{1,2})[./月-](\d{1,2})日?(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?)?\s*\Z')
_EXCEL = re.compile(r'\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:,? +(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp][Mm]))?)?\s*\Z')
_SLACK_MARK = re.compile(r'<([@#!])?([^<>|]+)(?:\|([^<>]*))?>')


def _key(name):
    return re.sub(r'[\s_.-]+', '', name).lower() if isinstance(name, str) else ''


def _word(value):
    """-> text of a text or a number, '' for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ''


def _time(value, zone):
    """-> ms of a time in an export; one without a zone is of `zone`."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str):
        found = _LOOSE.match(value)
        if found:
            return _wall(found.groups(), zone)
        found = _EXCEL.match(value)
        if found:
            a, b, year, h, m, s, half = found.groups()
            day, month = (b, a) if half or int(b) > 12 else (a, b)
            hour = int(h) % 12 + 12 * (half.lower() == 'pm') if half else h
            return _wall((year, month, day, hour, m, s), zone)
    return clock.parse_time(value)


def _wall(parts, zone):
    year, month, day, h, m, s = [int(part or 0) for part in parts]
    if not (1970 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= clock.days_in_month(year, month) and h < 24 and m < 60 and s <= 60):
        return None
    return zone.to_utc(year, month, day, h, m, s)


def _list(value):
    return value if isinstance(value, list) else []


def _dict(value):
    return value if isinstance(value, dict) else {}


def _reactions(value):
    """-> number of reactions in the list that Telegram, Slack and Discord keep of them."""
    return sum(r['count'] for r in _list(value) if isinstance(r, dict) and type(r.get('count')) is int and 0 < r['count'] < 10 ** 6)


# Telegram

def _rich(value):
    """-> text of what may be a list of pieces, some of them with a style."""
    if isinstance(value, list):
        return ''.join(_rich(piece.get('text') if isinstance(piece, dict) else piece) for piece in value)
    return _word(value)


def telegram(value, zone):
    """-> list of Chats of Telegram's result.json, of one conversation or of a whole account; None for anything else."""
    whole = _dict(value.get('chats')).get('list')
    chats = [c for c in whole if isinstance(c, dict)] if isinstance(whole, list) else [value]
    if not any(isinstance(m, dict) and ('from_id' in m or 'actor_id' in m or 'date_unixtime' in m)
               for c in chats for m in _list(c.get('messages'))[:20]):
        return None
    out = []
    for chat in chats:
        found, passed = [], 0
        for m in _list(chat.get('messages')):
            if not isinstance(m, dict):
                passed += 1
                continue
            time = _time(_word(m.get('date_unixtime')) or m.get('date'), zone)
            if m.get('type') == 'service':
                found.append(message(time, '', '%s %s' % (_word(m.get('actor')), _word(m.get('action'))), id=_word(m.get('id')), kind=SYSTEM))
                continue
            text = _rich(m.get('text'))
            media = any(key in m for key in ('media_type', 'photo', 'file', 'location_information', 'poll', 'contact_information'))
            found.append(message(
                time, _word(m.get('from')) or 'Deleted account', text, id=_word(m.get('id')), who=_word(m.get('from_id')),
                kind=None if text.strip() else MEDIA if media else DELETED, liked=_reactions(m.get('reactions')),
                answers='reply_to_message_id' in m))
        if found:
            out.append(Chat('telegram', _word(chat.get('id')), _word(chat.get('name')) or 'Saved Messages', found, passed, []))
    return out


# Discord

def discord(value, zone):
    """-> list of one Chat of a channel as DiscordChatExporter writes it, None for anything else."""
    channel = value.get('channel')
    if not isinstance(channel, dict) or not isinstance(value.get('messages'), list) or 'guild' not in value:
        return None
    found, passed = [], 0
    for m in value['messages']:
        if not isinstance(m, dict) or not isinstance(m.get('author'), dict):
            passed += 1
            continue
        author = m['author']
        text = _word(m.get('content'))
        kind = None if m.get('type') in ('Default', 'Reply', None, 0, 19) else SYSTEM
        if kind is None and not text.strip():
            kind = MEDIA
        found.append(message(
            _time(m.get('timestamp'), zone), _word(author.get('nickname')) or _word(author.get('name')), text, id=_word(m.get('id')),
            who='' if kind == SYSTEM else _word(author.get('id')), kind=kind, liked=_reactions(m.get('reactions')),
            answers=isinstance(m.get('reference'), dict), bot=author.get('isBot') is True))
    names = [_word(_dict(value['guild']).get('name')), _word(channel.get('name'))]
    return [Chat('discord', _word(channel.get('id')), ' / '.join(n for n in names if n) or 'channel', found, passed, [])]


# Slack

def slack_names(value):
    """-> {user id: name} of the list in users.json."""
    out = {}
    for user in _list(value):
        if isinstance(user, dict) and isinstance(user.get('id'), str):
            profile = _dict(user.get('profile'))
            out[user['id']] = (_word(profile.get('display_name')) or _word(profile.get('real_name')) or _word(user.get('real_name'))
                               or _word(user.get('name')) or user['id'])
    return out


def slack(days, names, title, ident):
    """-> Chat of a channel. days: lists of messages, a file each; names: see slack_names. None when nothing is a message."""
    found, passed = [], 0

    def shown(mark):
        kind, target, label = mark.groups()
        if kind == '@':
            return '@' + (label or names.get(target, target))
        return (kind or '').replace('!', '@') + (label or target)
    for m in (m for day in days for m in _list(day)):
        if not isinstance(m, dict) or m.get('type') != 'message' or not (m.get('user') or m.get('bot_id') or m.get('username') or m.get('subtype')):
            passed += 1
            continue
        who = _word(m.get('user')) or _word(m.get('bot_id')) or _word(m.get('username'))
        profile = _dict(m.get('user_profile'))
        name = names.get(who) or _word(profile.get('display_name')) or _word(profile.get('real_name')) or _word(m.get('username')) or who
        text = _SLACK_MARK.sub(shown, _word(m.get('text'))).replace('&lt;', '<').replace('&gt;', '>').replace('&amp;', '&')
        subtype = m.get('subtype')
        kind = DELETED if subtype == 'tombstone' else None if subtype in (
            None, 'bot_message', 'me_message', 'thread_broadcast', 'file_share', 'file_comment') else SYSTEM
        if kind is None and not text.strip():
            kind = MEDIA
        stamp = _word(m.get('ts'))
        found.append(message(_time(stamp, zone=clock.UTC), name, text, id='%s/%s' % (stamp, who), who=who, kind=kind,
                             liked=_reactions(m.get('reactions')), answers=_word(m.get('thread_ts')) not in ('', stamp),
                             bot='bot_id' in m and 'user' not in m or subtype == 'bot_message'))
    return Chat('slack', ident, title, found, passed, []) if found else None


# any list of messages

def _flat(m):
    """-> {key: value} of a record, its inner texts and names brought up."""
    out = {}
    for name, value in m.items():
        key = _key(name)
        if isinstance(value, dict):
            inner = dict((_key(k), v) for k, v in value.items())
            if key in ('sender', 'from', 'author', 'user', 'participant'):
                shown = next((_word(inner.get(k)) for k in ('groupcard', 'card', 'remark', 'displayname', 'nickname', 'name', 'username', 'realname')
                              if _word(inner.get(k)).strip()), '')
                out[key] = shown
                out.setdefault('senderid', next((_word(inner.get(k)) for k in ('uid', 'uin', 'id', 'userid') if _word(inner.get(k))), ''))
            elif key in _TEXTS:
                out[key] = _word(inner.get('text')) or _word(inner.get('content')) or _word(inner.get('value'))
            elif key in _TIMES:
                out[key] = inner.get('date') or inner.get('created') or inner.get('value')
        elif isinstance(value, list) and key in _TEXTS:
            out[key] = _rich(value)
        elif value is not None:
            out[key] = value
    return out


def _pick(m, names):
    for name in names:
        if _word(m.get(name)).strip():
            return _word(m[name])
    return ''


def listed(value):
    """-> (list of the messages in a JSON value, the dict around them), (None, {}) without one."""
    if isinstance(value, list):
        return value, {}
    for key, inner in value.items() if isinstance(value, dict) else ():
        if _key(key) in _LISTS and isinstance(inner, list) and any(isinstance(m, dict) for m in inner[:5]):
            return inner, value
    for key, inner in value.items() if isinstance(value, dict) else ():
        if _key(key) in _LISTS and isinstance(inner, dict):
            found, around = listed(inner)
            if found is not None:
                return found, around
    return None, {}


def generic(value, name, zone):
    """-> list of one Chat of any JSON list of messages with a sender and a text each; None for anything else."""
    found, around = listed(value)
    if found is None:
        return None
    around = dict((_key(k), v) for k, v in around.items())
    info = dict((_key(k), v) for key in ('chatinfo', 'session', 'chat', 'group', 'meta', 'metadata') for k, v in _dict(around.get(key)).items())
    fmt = 'qq' if 'chatinfo' in around and any('uin' in _dict(_dict(m).get('sender')) or 'uid' in _dict(_dict(m).get('sender')) for m in found[:20]) \
        else 'wechat' if any(isinstance(m, dict) and ('MsgSvrID' in m or 'StrContent' in m or 'isSend' in m or 'is_sender' in m) for m in found[:20]) else 'json'
    title = _pick(around, ('name', 'title', 'chatname', 'roomname')) or _pick(info, ('displayname', 'nickname', 'name', 'remark', 'title')) or name
    ident = _pick(around, ('chatid', 'roomid')) or _pick(info, ('peeruid', 'wxid', 'id', 'peeruin', 'groupid'))
    return _records(fmt, ident, title, found, zone)


def _records(fmt, ident, title, found, zone):
    out, passed = [], 0
    rows = [(_flat(m) if isinstance(m, dict) else {}) for m in found]
    for m, raw in zip(rows, found):
        who, name, text = _pick(m, _IDS), _pick(m, _NAMES), _pick(m, _TEXTS)
        if 'strcontent' in m:
            # Here the column sender has the id, whatever the person is called.
            who = _word(m.get('sender'))
        if not name and _key(_word(m.get('issender')) or _word(m.get('issend'))) == '1':
            name = 'me'
        system = m.get('system') is True or m.get('type') in ('system', 'service', '系统消息', 10000, '10000')
        if not (name or who or system) or not isinstance(raw, dict) or not (text or system or any(k in m for k in _TEXTS)):
            passed += 1
            continue
        gone = m.get('recalled') is True or m.get('deleted') is True
        out.append(message(_when(m, zone), '' if system else name or who, text, id=_pick(m, _OWN), who='' if system else who,
                           kind=SYSTEM if system else DELETED if gone else None, bot=m.get('bot') is True or m.get('isbot') is True))
    people = set(one.who for one in out if one.who)
    if not people or len(out) < passed:
        return None
    if len(set(one.id for one in out)) < len(out):
        # Numbers that come again are no identity.
        out = [one._replace(id='') for one in out]
    return [Chat(fmt, ident, title, out, passed, [])]


def _when(m, zone):
    for name in _TIMES:
        if name in m:
            found = _time(m[name], zone)
            if found is not None:
                return found
    return None


# tables

def table(text, name, zone):
    """-> list of one Chat of a table with a header, None when it has no columns for a sender and a text."""
    first = text.split('\n', 1)[0]
    mark = max('\t;,', key=first.count)
    header, out, broken = None, [], 0
    # The module itself refuses fields over 128 KB, and zero bytes.
    csv.field_size_limit(1 << 27)
    try:
        for row in csv.reader(io.StringIO(text.replace('\0', ''), newline=''), delimiter=mark):
            if header is None:
                header = [_key(cell) for cell in row]
                if not (set(header) & set(_NAMES + _IDS) and set(header) & set(_TEXTS)):
                    return None
            elif any(cell.strip() for cell in row):
                out.append(dict(zip(header, row)))
    except csv.Error:
        # What came before the damage stands.
        broken = 1
    if not out:
        return None
    fmt = 'wechat' if 'strcontent' in header else 'discord' if header[:2] == ['authorid', 'author'] else 'csv'
    found = _records(fmt, '', name, out, zone)
    return found and [found[0]._replace(passed=found[0].passed + broken)]

