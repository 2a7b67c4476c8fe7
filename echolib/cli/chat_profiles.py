"""chat-profiles.py: who says what in conversations between people, and such conversations as sessions that search finds."""
import os

from ..base import clock, paths
from ..base import text as texts
from ..base.errors import EchoError, IndexUnusable
from . import options as opt
from .common import Cleaner, amount, dump, iso, text_path
from .run import run
from .trends_common import TZ

SUMMARY = 'People in exported group chats: how much they write, when, about what; and such chats as sessions that search finds.'
_EXPORT = 'an export of a chat (file or folder), or the name of an imported one'
_PROFILE_COLUMNS = 'NAME WHO MESSAGES SHARE FIRST LAST ACTIVE_DAYS PEAK_HOUR QUESTIONS EXCLAMATIONS THANKS LINKS EMOJI MEDIAN_LENGTH TOPICS'.split()
_LIST_COLUMNS = 'NAME FORMAT MESSAGES PEOPLE FIRST LAST IMPORTED SESSION_ID PATH'.split()
_MOST = 7400


def profile():
    """-> Command profile."""
    return opt.Command(
        'profile', 'Who takes part in a chat: messages, hours, topics, tone, quotes.', (('export', True, _EXPORT),),
        (opt.option('--also', 'list', None, 'another export of the same chat; what both hold counts once', 'EXPORT'),
         opt.option('--person', 'text', None, 'only this person, with more quotes', 'NAME'), opt.limit(10, 'people'), TZ, opt.FORMAT, opt.NO_REDACT),
        ('profile "WhatsApp Chat with Family.txt"', 'profile result.json --person Ann', 'profile slack-export --format json'), _profile)


def _path(word):
    return paths.typed(word)


def _chats(word, zone):
    """-> list of Chats of an export, or of the imported conversation of that name."""
    from ..insights import chat_files, dialogs
    from ..insights.chat_messages import Chat
    path = _path(word)
    if not os.path.exists(path):
        found = dialogs.find(word)
        if found is None:
            raise EchoError('there is no file or folder %s, and no imported chat of that name (chat-profiles.py list)' % text_path(word))
        return [Chat(found.format, found.chat, found.name, dialogs.messages(found), 0, [])]
    return chat_files.chats(path, zone)


def _profile(args, out):
    from ..insights import chat_profiles
    from ..insights.chat_messages import merged
    zone = clock.zone(args.tz)
    chats = _chats(args.export, zone)
    said = [one for chat in chats for one in chat.messages]
    for word in args.also:
        for chat in _chats(word, zone):
            said = merged(said, chat.messages)
            chats.append(chat)
    people = chat_profiles.profiles(said, zone)
    if args.person:
        people = _person(people, args.person)
    shown = people[:args.limit or None]
    clean = Cleaner(args)
    counted = [one for one in said if one.who and one.kind in ('text', 'media')]
    times = [one.time for one in counted if one.time is not None]
    data = {'title': clean(chats[0].title) if len(set(c.title for c in chats)) == 1 else None, 'chats': len(chats), 'format': chats[0].format,
            'messages': len(counted), 'other': len(said) - len(counted), 'passed': sum(c.passed for c in chats),
            'people': len(set(one.who for one in counted)), 'first': iso(min(times)) if times else None, 'last': iso(max(times)) if times else None,
            'zone': zone.name, 'notes': sorted(set(note for chat in chats for note in chat.notes)),
            'profiles': [_object(p, clean) for p in shown]}
    if args.format == 'json':
        dump(out, data)
    elif args.format == 'tsv':
        out.line('\t'.join(_PROFILE_COLUMNS))
        for p in data['profiles']:
            tone = p['tone']
            out.line('\t'.join(clean.cell(v) for v in (
                p['name'], p['who'], str(p['messages']), '%.3f' % p['share'], p['first'], p['last'], str(p['active_days']), _peak(p['hours']),
                '%.3f' % tone['questions'], '%.3f' % tone['exclamations'], '%.3f' % tone['thanks'], '%.3f' % tone['links'], '%.2f' % tone['emoji'],
                '' if tone['median_length'] is None else '%g' % tone['median_length'], ', '.join(t['word'] for t in p['topics']))))
    else:
        _text(out, data, len(people), clean, zone, bool(args.person))


def _person(people, name):
    """-> list of the one person of a name or id; EchoError says who there is."""
    found = [p for p in people if name in (p.who, p.name) or name in p.also] or [p for p in people if name.lower() in p.name.lower()]
    if not found:
        raise EchoError("nobody is called '%s'; there are %s" % (texts.printable(name), ', '.join(texts.printable(p.name) for p in people[:12])))
    return found


def _object(p, clean):
    return {'who': clean(p.who), 'name': clean(p.name), 'also': [clean(n) for n in p.also], 'bot': p.bot, 'messages': p.messages, 'share': round(p.share, 4),
            'texts': p.texts, 'media': p.media, 'characters': p.characters, 'answers': p.answers, 'liked': p.liked,
            'first': iso(p.first) or None, 'last': iso(p.last) or None, 'active_days': p.active_days, 'hours': p.hours,
            'tone': dict((k, v if v is None else round(v, 4)) for k, v in p.tone.items()),
            'topics': [{'word': clean(word), 'messages': count} for word, count in p.topics],
            'quotes': [{'text': clean(q.text), 'time': iso(q.time) or None, 'liked': q.liked} for q in p.quotes]}


def _peak(hours):
    """-> the hour with most messages, '' without any."""
    return '%d' % max(range(24), key=lambda h: (hours[h], -h)) if any(hours) else ''


def _busy(hours):
    """-> the shortest run of hours, over midnight too, that holds two thirds of the messages, as '20-23 h'; '' without any."""
    total = sum(hours)
    for size in range(1, 25):
        best = max(range(24), key=lambda h: (sum(hours[(h + i) % 24] for i in range(size)), -h))
        if total and sum(hours[(best + i) % 24] for i in range(size)) * 3 >= total * 2:
            return '%d-%d h' % (best, (best + size) % 24 or 24)
    return ''


def _many(count, what, more=''):
    return '%s %s' % (amount(count), what if count == 1 else more or what + 's')


def _span(first, last):
    """-> ', from day to day' of two ISO texts; '' without them."""
    if not first:
        return ''
    return ', %s' % first[:10] + (' to %s' % last[:10] if last[:10] != first[:10] else '')


def _text(out, data, people, clean, zone, one):
    out.line('%s of %s%s (%s, %s); hours are those of %s' % (
        _many(data['messages'], 'message'), _many(data['people'], 'person', 'people'), _span(data['first'], data['last']), data['format'],
        _many(data['chats'], 'chat'), data['zone'] if data['zone'] != 'local' else 'this machine'))
    for note in data['notes']:
        out.line('note: ' + note)
    if data['passed']:
        out.line('%s lines or records were passed over' % amount(data['passed']))
    blocks, used, left = [], 0, 0
    for p in data['profiles']:
        block = _block(p, clean, 12 if one else 2)
        if used + len(block) > _MOST and blocks:
            left = people - len(blocks)
            break
        used += len(block) + 1
        blocks.append(texts.clip(block, _MOST))
    out.line(texts.fence('\n'.join(blocks), 'chat', (data['first'] or '')[:10]))
    left = left or people - len(blocks)
    out.line('%sOne person: chat-profiles.py profile EXPORT --person NAME. Make it searchable: chat-profiles.py import EXPORT' % (
        'and %s more people (--limit 0 --format tsv). ' % amount(left) if left else ''))


def _block(p, clean, most):
    tone, said = p['tone'], []
    span = '%s on %s' % (_span(p['first'], p['last']), _many(p['active_days'], 'day')) if p['first'] else ''
    lines = ['%s%s: %s (%.0f %%)%s%s' % (
        texts.cut(clean.line(p['name']), 60), ' [bot]' if p['bot'] else '', _many(p['messages'], 'message'), 100 * p['share'], span,
        ', mostly %s' % _busy(p['hours']) if any(p['hours']) else '')]
    if p['also']:
        lines.append('  also called ' + texts.cut(clean.line(', '.join(p['also'])), 120))
    if p['topics']:
        lines.append('  topics: ' + ', '.join('%s %d' % (texts.cut(clean.line(t['word']), 40), t['messages']) for t in p['topics']))
    for what, form in (('questions', '%.0f %% questions'), ('exclamations', '%.0f %% exclamations'), ('thanks', '%.0f %% thanks'), ('links', '%.0f %% links')):
        if tone[what]:
            said.append(form % (100 * tone[what]))
    if tone['emoji']:
        said.append('%.2f emoji a message' % tone['emoji'])
    if tone['median_length'] is not None:
        lines.append('  tone: ' + ', '.join(said + ['median length %g' % tone['median_length']]))
    for quote in p['quotes'][:most]:
        lines.append('  %s"%s"' % (quote['time'][:10] + ' ' if quote['time'] else '', texts.cut(clean.line(quote['text']), 200)))
    return '\n'.join(lines)


# conversations as sessions

def imported():
    """-> Command import."""
    return opt.Command(
        'import', 'Copy a chat into our own folder, as a session that search finds; again, or longer: it takes in what is new.',
        (('export', True, 'an export of a chat (file or folder)'),),
        (opt.option('--name', 'text', None, 'what to call it; an imported chat of that name takes the messages in', 'NAME'), TZ, opt.FORMAT, opt.NO_REDACT),
        ('import "WhatsApp Chat with Family.txt"', 'import result.json --name family'), _import)


def _import(args, out):
    from ..insights import chat_files, dialogs
    chats = chat_files.chats(_path(args.export), clock.zone(args.tz))
    if args.name and len(chats) > 1:
        raise EchoError('this export holds %d chats, which cannot all be called %s; leave --name out' % (len(chats), texts.printable(args.name)))
    rows = []
    for chat in chats:
        dialog, before = dialogs.add(chat, os.path.basename(_path(args.export)), args.name)
        rows.append((dialog, before))
        for note in chat.notes:
            out.note(note)
        if chat.passed:
            out.note('%d lines or records were passed over' % chat.passed)
    clean = Cleaner(args)
    if args.format == 'json':
        dump(out, {'imported': [dict(_row(d, clean), before=before) for d, before in rows]})
    elif args.format == 'tsv':
        _table(out, [d for d, _ in rows], clean)
    else:
        for dialog, before in rows[:40]:
            out.line(_line(dialog, clean) + (', %s before' % amount(before) if before not in (None, dialog.messages) else ''))
        if len(rows) > 40:
            out.line('and %d more chats (chat-profiles.py list --limit 0)' % (len(rows) - 40))
        out.line('Search them: sd-recall.py search WORDS --agent universal')


def _row(dialog, clean):
    return {'name': clean(dialog.name), 'format': dialog.format, 'messages': dialog.messages, 'people': dialog.people, 'first': iso(dialog.first) or None,
            'last': iso(dialog.last) or None, 'imported': iso(dialog.imported) or None, 'session_id': dialog.sid, 'source': clean(dialog.source),
            'path': text_path(dialog.path)}


def _table(out, found, clean):
    out.line('\t'.join(_LIST_COLUMNS))
    for dialog in found:
        row = _row(dialog, clean)
        out.line('\t'.join(clean.cell(str(row[key.lower()] if row[key.lower()] is not None else '')) for key in _LIST_COLUMNS))


def _line(dialog, clean):
    return '%s: %s of %s%s (%s, session %s)' % (
        texts.cut(texts.neutralise(clean.line(dialog.name)), 80), _many(dialog.messages, 'message'), _many(dialog.people, 'person', 'people'),
        _span(iso(dialog.first), iso(dialog.last)), dialog.format, dialog.sid)


def listed():
    """-> Command list."""
    return opt.Command('list', 'The chats that were imported.', (), (opt.limit(30, 'chats'), opt.FORMAT, opt.NO_REDACT), ('list', 'list --format json'), _list)


def _list(args, out):
    from ..insights import dialogs
    found, clean = dialogs.listed(), Cleaner(args)
    shown = found[:args.limit or None]
    if args.format == 'json':
        dump(out, {'dialogs': [_row(d, clean) for d in shown], 'total': len(found)})
    elif args.format == 'tsv':
        _table(out, shown, clean)
    else:
        _listing(out, found, args.limit, clean)


def _listing(out, found, limit, clean):
    for dialog in found[:limit or None]:
        out.line(_line(dialog, clean))
    if limit and len(found) > limit:
        out.line('and %d more (chat-profiles.py list --limit 0)' % (len(found) - limit))
    out.line('One of them: chat-profiles.py profile NAME' if found else 'no chat was imported; chat-profiles.py import EXPORT does that')


def remove():
    """-> Command remove."""
    return opt.Command('remove', 'Delete an imported chat, its file and its text in the index.', (('dialog', False, 'its name or session id; without one they are listed'),),
                       (opt.FORMAT,), ('remove family',), _remove)


def _remove(args, out):
    from ..insights import dialogs
    found = dialogs.find(args.dialog) if args.dialog is not None else None
    if found is not None:
        dialogs.remove(found)
        _forget(out)
    elif args.dialog is not None:
        raise EchoError("no imported chat is called '%s'; chat-profiles.py list names them" % texts.printable(args.dialog))
    if args.format == 'json':
        dump(out, {'removed': found.sid if found else None, 'messages': found.messages if found else 0})
    elif args.format == 'tsv':
        out.line('SESSION_ID\tMESSAGES')
        if found:
            out.line('%s\t%d' % (found.sid, found.messages))
    elif found:
        out.line('%s is deleted, with %s' % (found.sid, _many(found.messages, 'message')))
    else:
        out.line('Nothing was deleted: which chat? Name one of:')
        _listing(out, dialogs.listed(), 30, Cleaner(args))


def _forget(out):
    """Take the text of what is gone out of the index, where there is one."""
    from ..index import build, upkeep
    from ..index.store import Store
    store = Store(paths.data_dir(), out.note)
    try:
        store.open(False)
        build.refresh(store, wait=20.0)
        upkeep.tidy(store, out.note)
    except IndexUnusable:
        # No index, no text in it.
        return
    finally:
        store.close()


COMMANDS = {'profile': profile, 'import': imported, 'list': listed, 'remove': remove}


def main(argv):
    """-> exit code of one command line (argv without the program's name); a path alone is profiled."""
    if argv and argv[0] not in COMMANDS and not argv[0].startswith('-') and os.path.exists(_path(argv[0])):
        argv = ['profile'] + list(argv)
    return run('chat-profiles.py', SUMMARY, COMMANDS, argv)
