"""Messages of conversations between people, whatever program exported them: one shape, one identity, merged without doubling."""
import re
from collections import namedtuple

Message = namedtuple('Message', (
    'id',       # the export's own id of it, '' without one
    'time',     # ms UTC, None where the export gives none
    'who',      # tells a participant: the export's id of the person, else the name; '' for what nobody said
    'name',     # the participant's name as shown
    'text',     # what was written; '' where there is only a picture or the like
    'kind',     # TEXT, MEDIA, SYSTEM or DELETED
    'liked',    # reactions it got
    'answers',  # True for an answer to a certain message
    'bot',      # True when a program said it
))
TEXT, MEDIA, SYSTEM, DELETED = 'text', 'media', 'system', 'deleted'

Chat = namedtuple('Chat', (
    'format',   # whatsapp, telegram, slack, discord, wechat, qq, line, csv, json, lines
    'id',       # the export's own id of the conversation, '' without one
    'title',    # what it is called
    'messages',  # list of Messages, oldest first
    'passed',   # lines or records that were passed over
    'notes',    # list of sentences for the reader
))

_MEDIA = re.compile(
    r'\s*(?:<[^<>\n]{3,80}>|\[[^\[\]\n:：]{1,12}\]|\u200e?[^\n]{0,80}\b(?:omitted|weggelassen|ausgelassen|omitid[oa]|omis[es]?|omess[oai]|file attached)\)?'
    r'|[^\n]{1,120}\((?:file attached|Datei angehängt|archivo adjunto|fichier joint|文件附件|添付ファイル)\))\s*\Z', re.I)
_GONE = re.compile(
    r'\s*(?:this message was deleted|you deleted this message|message deleted|diese nachricht wurde gelöscht|se eliminó este mensaje'
    r'|ce message a été supprimé|此消息已删除|此訊息已刪除|.{0,40}撤回了一条消息)\.?\s*\Z', re.I)
_EDITED = re.compile(r'\s{0,4}<(?:this message was edited|edited)>\s*\Z', re.I)


def message(time, name, text, **more):
    """-> Message of a speaker and a text; its kind is told from the text unless `kind` is given."""
    text = (text or '').replace('\u200e', '').strip()
    if text.endswith('>'):
        text = text[:-60] + _EDITED.sub('', text[-60:])
    name = ' '.join((name or '').replace('\u200e', '').split()).lstrip('~').strip()
    kind = more.pop('kind', None) or (DELETED if _GONE.match(text) else MEDIA if not text or _MEDIA.match(text) else TEXT)
    who = '' if kind == SYSTEM else more.get('who') or name
    return Message(more.get('id', ''), time, who, name, text, kind, more.get('liked', 0), more.get('answers', False),
                   more.get('bot', False))


def identity(one):
    """-> what is the same in every export that holds a message. Names are not: people change them, and address books differ."""
    return (one.id,) if one.id else (one.time, one.text)


def merged(older, newer):
    """-> list of the messages of two exports of one conversation: each once; where both have one, as the newer has it.

    Equal messages without an id (a smile twice in one minute) are as many as in the export that has most of them.
    """
    out, places, left = [], {}, {}
    for one in older:
        places.setdefault(identity(one), []).append(len(out))
        out.append(one)
    for key, found in places.items():
        left[key] = list(found)
    for one in newer:
        waiting = left.get(identity(one))
        if waiting:
            out[waiting.pop(0)] = one
        else:
            out.append(one)
    return ordered(out)


def once(messages):
    """-> list of the messages without repeats of an id."""
    places, out = {}, []
    for one in messages:
        if one.id and one.id in places:
            out[places[one.id]] = one
        else:
            if one.id:
                places[one.id] = len(out)
            out.append(one)
    return out


def ordered(messages):
    """-> list by time; a message without one stays behind its predecessor."""
    last, keyed = -1 << 62, []
    for place, one in enumerate(messages):
        last = one.time if one.time is not None else last
        keyed.append((last, place, one))
    keyed.sort(key=lambda entry: entry[:2])
    return [one for _, _, one in keyed]


def share(one, other):
    """-> the part of the shorter of two lists of messages that the other has as well, 0 to 1."""
    left, same = {}, 0
    for said in other:
        key = identity(said)
        left[key] = left.get(key, 0) + 1
    for said in one:
        key = identity(said)
        if left.get(key):
            left[key] -= 1
            same += 1
    shorter = min(len(one), len(other))
    return same / float(shorter) if shorter else 0.0
