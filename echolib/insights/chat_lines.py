"""Chat exports that are plain text: WhatsApp, QQ, WeChat, LINE, chat logs with a stamp or just a speaker before each message.

A style is a way of beginning a message. The one that begins most lines of a file is the file's.
"""
import re
from collections import namedtuple

from .chat_messages import SYSTEM, Chat, message

# name; begins(line, fresh) -> _Start or None, fresh: nothing or a blank line stands before; format: see Chat.
_Style = namedtuple('_Style', 'name format begins')
# date: (a, b, c) as written or None; clock: (h, m, s) or None; speaker: '' for what nobody said; text: the rest of the line.
_Start = namedtuple('_Start', 'date clock speaker text who')

_DATE = r'(?P<a>\d{1,4})(?:[./-]|年 ?)(?P<b>\d{1,2})(?:[./-]|月 ?)(?P<c>\d{1,4})日?(?:\([^)\n]{1,4}\))?'
_CLOCK = (r'(?P<before>上午|下午|凌晨|早上|中午|晚上|午前|午後|오전|오후|[AaPp]\.?[Mm]\.?)?[ \u202f\u00a0]?(?P<h>\d{1,2})[:.](?P<m>\d\d)(?:[:.](?P<s>\d\d)(?:\.\d+)?)?'
          r'(?:[ \u202f\u00a0]?(?P<after>[AaPp]\.?[ \u00a0]?[Mm]\.?))?')
_STAMP = _DATE + r'(?:,|,? |T)[ \u202f\u00a0]?' + _CLOCK
_DASHED = re.compile(r'\u200e?' + _STAMP + r' [-\u2013] (?P<rest>.*)\Z')
_BRACKET = re.compile(r'\u200e?\[' + _STAMP + r'\] ?(?P<rest>.*)\Z')
_NICK = re.compile(r'\[?(?:(?:' + _DATE + r'[ T])?' + _CLOCK + r'\]? )?[ ]?<[@+%~&]?(?P<name>[^<>\s][^<>\n]{0,40})> (?P<rest>.*)\Z')
_NUMBERED = re.compile(_STAMP + r'[ \t]{1,8}(?P<name>\S[^\n]{0,80}?)[ \t]{0,8}(?:\((?P<id>[\w.@-]{4,60})\)|<(?P<mail>[^<>\s]{4,80})>)?\Z')
_BEHIND = re.compile(r'(?P<name>\S[^\n]{0,60}?)(?:\((?P<id>\w{4,60})\))?[:：]?[ \t\u3000]{1,8}(?:' + _DATE + r'[ \t]{1,8})?' + _CLOCK + r'\Z')
_STAMPED = re.compile(r'\[?' + _STAMP + r'\]?[ \t]*(?:\|[ \t]*)?(?P<rest>\S.*)\Z')
_TABBED = re.compile(_CLOCK + r'\t(?P<name>[^\t\n]{0,80})\t(?P<rest>.*)\Z')
_SPEAKER = re.compile(r'(?:\[?' + _CLOCK + r'\]? )?(?:\*\*)?(?P<name>[^\W\d_][^:：\n|<>{}()\[\]"=/\\*]{0,39}?)(?:\*\*)?[:：](?:\*\*)?(?:[ \t\u3000]+|(?<=：))(?P<rest>\S.*)\Z')
# A day above the messages of that day.
_DAY = re.compile(r'[\s\-\u2014\u2015=_*#]*' + _DATE + r'(?:[ ,]*[^\W\d]{1,12})?[\s\-\u2014\u2015=_*#]*\Z')
_RULE = re.compile(r'\s*(?:[=\-_*\u2014]{4,})\s*\Z')
_QQ_HEAD = re.compile(r'消息(?:记录|分组|对象)')
_QQ_WITH = re.compile(r'消息对象[:：]\s*(.+)')
_LONGEST = 1 << 20
_SAMPLE = 4000


def _begin(found, speaker, text, who=''):
    parts = found.groupdict()
    date = (parts['a'], parts['b'], parts['c']) if parts.get('a') else None
    clock = None
    if parts.get('h') is not None:
        clock = (_hour(int(parts['h']), (parts.get('before') or parts.get('after') or '').lower().replace('.', '').replace(' ', '')),
                 int(parts['m']), int(parts.get('s') or 0))
        if clock[0] > 23 or clock[1] > 59 or clock[2] > 60:
            return None
    return _Start(date, clock, speaker, text, who)


def _hour(hour, half):
    """-> 0 to 23 of an hour with its half of the day; '' for a clock of 24 hours."""
    if not half or hour > 12:
        return hour
    if half == '中午':
        return hour + 12 if hour < 11 else hour
    return hour % 12 + 12 * (half in ('pm', '下午', '晚上', '午後', '오후'))


def _named(found):
    """The start of a message whose rest is `Name: text`; without a name it is the program's own word."""
    rest = found.group('rest')
    name, colon, text = rest.partition(': ')
    if not colon and rest.endswith(':'):
        name, colon, text = rest[:-1], ':', ''
    if not colon:
        name, colon, text = rest.partition('：')
    if colon and 0 < len(name) <= 80:
        # A text that begins with this mark is the program's: encryption, a changed subject, who joined.
        if text.startswith('\u200e') and 'omitted' not in text and '<' not in text:
            return _begin(found, '', text)
        return _begin(found, name, text)
    return _begin(found, '', rest)


def _matcher(pattern, make):
    def begins(line, fresh):
        found = pattern.match(line)
        return make(found) if found is not None else None
    return begins


def _behind(line, fresh):
    found = _BEHIND.match(line) if fresh else None
    return _begin(found, found.group('name'), '', found.group('id') or '') if found is not None else None


def _stamped(found):
    started = _named(found)
    return started if started is not None and started.speaker else None


def _speaker(line, fresh):
    found = _SPEAKER.match(line)
    if found is None or len(found.group('name').split()) > 4 or found.group('rest').startswith('//'):
        return None
    return _begin(found, found.group('name'), found.group('rest'))


_STYLES = (
    _Style('dashed', 'whatsapp', _matcher(_DASHED, _named)),
    _Style('bracket', 'whatsapp', _matcher(_BRACKET, _named)),
    _Style('nick', 'lines', _matcher(_NICK, lambda m: _begin(m, m.group('name'), m.group('rest')))),
    _Style('tabbed', 'line', _matcher(_TABBED, lambda m: _begin(m, m.group('name'), m.group('rest')))),
    _Style('stamped', 'lines', _matcher(_STAMPED, _stamped)),
    _Style('numbered', 'qq', _matcher(_NUMBERED, lambda m: _begin(m, m.group('name'), '', m.group('id') or m.group('mail') or ''))),
    _Style('behind', 'wechat', _behind),
    _Style('speaker', 'lines', _speaker))


def _starts(style, lines):
    """-> list of (number of the line, _Start) of a style in these lines."""
    out, fresh = [], True
    for number, line in enumerate(lines):
        start = style.begins(line, fresh) if len(line) < _LONGEST else None
        if start is not None:
            out.append((number, start))
        fresh = not line.strip() or bool(_DAY.match(line) or _RULE.match(line))
    return out


def style_of(lines):
    """-> the _Style of a file's first lines, None when they are no chat."""
    lines = lines[:_SAMPLE]
    full = [line for line in lines if line.strip()]
    best, most = None, 0
    for style in _STYLES:
        starts = _starts(style, lines)
        speakers = [start.speaker for _, start in starts if start.speaker]
        # Any prose has a line with a colon, and settings consist of them: speakers come again, and there are two of them.
        if style.name == 'speaker' and not (len(set(speakers)) >= 2 and len(speakers) >= 1.5 * len(set(speakers))
                                            and len(starts) >= 0.5 * len(full)):
            continue
        if style.name in ('numbered', 'behind'):
            # Their text stands below: a list of dated names is no chat.
            heads = set(number for number, _ in starts)
            starts = [entry for entry in starts if _body(lines, entry[0]) not in heads]
        if speakers and len(starts) > most:
            best, most = style, len(starts)
    return best


def _body(lines, number):
    """-> the number of the next line that says something; that of the line itself at the end."""
    for place in range(number + 1, len(lines)):
        if lines[place].strip():
            return place
    return number


def parse(text, name, zone):
    """-> Chat of a text export, None when it is none. name: of its file, without ending; zone: that of the times in it."""
    lines = [line.rstrip() for line in text.replace('\r\n', '\n').replace('\r', '\n').split('\n')]
    style = style_of(lines)
    if style is None:
        return None
    starts = _starts(style, lines)
    notes = []
    order = _order(starts, notes)
    title, fmt, day, out, passed = _title(name), style.format, None, [], 0
    where = dict(starts)
    current = None

    def close():
        if current is not None:
            start, body = current
            told = '\n'.join(body).strip()
            out.append(message(_time(day, start, order, zone), start.speaker, told, who=start.who, kind=None if start.speaker else SYSTEM))

    for number, line in enumerate(lines):
        start = where.get(number)
        found = _DAY.match(line) if start is None or start.date is None and not start.speaker else None
        if found is not None and (style.name in ('tabbed', 'behind') or not any(s.date for _, s in starts[:5])):
            close()
            current, day = None, _calendar(found.group('a', 'b', 'c'), order or 'ymd')
        elif start is not None:
            close()
            if start.date:
                day = _calendar(start.date, order)
            current = start, [start.text] if start.text else []
        elif _QQ_HEAD.match(line):
            fmt = 'qq'
            found = _QQ_WITH.match(line)
            title = found.group(1).strip() if found else title
            close()
            current = None
        elif current is not None and not (_RULE.match(line) and style.name in ('numbered', 'behind')):
            current[1].append(line)
        elif line.strip() and not _RULE.match(line):
            passed += 1
    close()
    if fmt == 'wechat' and any(start.who.isdigit() for _, start in starts[:50]):
        fmt = 'qq'
    if not any(one.time is not None for one in out):
        notes.append('the export has no %s' % ('dates' if any(start.clock for _, start in starts) else 'times'))
    return Chat(fmt, '', title, out, passed, notes)


def _title(name):
    found = re.match(r'(?:WhatsApp[ -]Chat (?:with|mit|de|con|-)|Chat de WhatsApp con|Discussion WhatsApp avec|与(?=.+的微信)|\[LINE\] Chat (?:history )?(?:with|in)) ?(.+)\Z', name)
    return (found.group(1) if found else name).strip() or 'chat'


def _order(starts, notes):
    """-> 'ymd', 'dmy' or 'mdy', told from all dates together; '' without dates."""
    dates = [start.date for _, start in starts if start.date]
    if not dates:
        return ''
    if any(len(a) >= 3 or int(a) > 31 for a, _, _ in dates):
        return 'ymd'
    if any(int(a) > 12 for a, _, _ in dates):
        return 'dmy'
    if any(int(b) > 12 for _, b, _ in dates):
        return 'mdy'
    back = dict((order, _steps_back(dates, order)) for order in ('dmy', 'mdy'))
    if back['dmy'] != back['mdy']:
        return min(back, key=lambda order: (back[order], order))
    if any(a != b for a, b, _ in dates):
        notes.append('day and month cannot be told apart in its dates; taken as day, month, year')
    return 'dmy'


def _steps_back(dates, order):
    count, last = 0, None
    for date in dates:
        day = _calendar(date, order)
        if day is not None:
            count += last is not None and day < last
            last = day
    return count


def _calendar(date, order):
    """-> (year, month, day) of three numbers as written, None for no day of the calendar."""
    from ..base.clock import days_in_month
    a, b, c = (int(part) for part in date)
    year, month, day = (a, b, c) if order == 'ymd' else (c, b, a) if order == 'dmy' else (c, a, b)
    year += 2000 if year < 100 else 0
    return (year, month, day) if 1970 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= days_in_month(year, month) else None


def _time(day, start, order, zone):
    if day is None:
        return None
    return zone.to_utc(*day + (start.clock or (0, 0, 0)))
