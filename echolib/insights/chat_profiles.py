"""Who takes part in a conversation: how much, when, about what and in which tone. Everything is counted, nothing is judged."""
import re
from collections import namedtuple
from math import log

from ..base import clock
from ..base.fold import tokens
from ..base.text import width
from .chat_messages import MEDIA, TEXT
from .chat_words import STOP, STOP_ENDS

Profile = namedtuple('Profile', (
    'who', 'name', 'also',      # see Message; also: other names of the same person
    'bot',
    'messages', 'share',        # with text or media; part of all such messages
    'texts', 'media', 'characters',
    'answers', 'liked',         # answers to a certain message; reactions received
    'first', 'last',            # ms, None without times
    'active_days', 'hours',     # days with a message; list of 24 counts, both in the reader's zone
    'tone',                     # see tone()
    'topics',                   # list of (word, messages of this person that hold it)
    'quotes',                   # list of Messages
))

_TOPICS, _QUOTES = 12, 20
# Said in more than this part of all messages, a word is no topic; below so many messages that says nothing.
_COMMON, _MANY = 0.15, 40
_LONGEST_GRAM = 4
# The scripts without gaps lie behind this character. So many words are looked at for topics.
_GAPLESS, _LOOKED_AT = '\u0e00', 80
_SHORTEST_QUOTE, _LONGEST_QUOTE = 12, 280
_LINK = re.compile(r'(?:https?://|www\.)\S+')
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_HANGUL = re.compile('[\uac00-\ud7a3]+\\Z')
_KANA = re.compile('[\u3040-\u309f\u30fc]+\\Z')
_ASKS = re.compile('[?\uff1f\u061f\u2047-\u2049\u2753\u2754]')
_CALLS = re.compile('[!\uff01\u2757\u2755\u203c\u2048\u2049]')
_THANKS = re.compile(
    r'\b(?:thanks?|thx|tysm|cheers|danke|dankesch\w+|merci|gracias|obrigad[oa]|grazie|bedankt|tack|dzi\u0119kuj\u0119|dzi\u0119ki|te\u015fekk\u00fcr\w*|c\u1ea3m \u01a1n'
    r'|\u0441\u043f\u0430\u0441\u0438\u0431\u043e|\u0434\u044f\u043a\u0443\u044e|\u0634\u0643\u0631\u0627\w*|\u05ea\u05d5\u05d3\u05d4)\b'
    '|\u8c22\u8c22|\u8b1d\u8b1d|\u611f\u8c22|\u611f\u8b1d|\u591a\u8c22|\u591a\u8b1d|\u3042\u308a\u304c\u3068\u3046|\uac10\uc0ac|\uace0\ub9c8\uc6cc|\uace0\ub9d9|\u0927\u0928\u094d\u092f\u0935\u093e\u0926'
    '|\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13', re.I)
_EMOJI = re.compile('(?<!\u200d)[\u2600-\u27bf\u2b50\u2b55\U0001f300-\U0001f3fa\U0001f400-\U0001faff]|[\U0001f1e6-\U0001f1ff]{2}')


def profiles(messages, zone):
    """-> list of Profiles of the people in a list of Messages, those who wrote most first."""
    said, order = {}, []
    for one in messages:
        if one.who and one.kind in (TEXT, MEDIA):
            if one.who not in said:
                said[one.who] = []
                order.append(one.who)
            said[one.who].append(one)
    total = sum(len(mine) for mine in said.values())
    held = dict((who, [words(one.text) if one.kind == TEXT else {} for one in said[who]]) for who in order)
    everywhere, shown = {}, {}
    for found in held.values():
        for one in found:
            for key, surface in one.items():
                everywhere[key] = everywhere.get(key, 0) + 1
                shown.setdefault(key, {})
                shown[key][surface] = shown[key].get(surface, 0) + 1
    out = [_profile(who, said[who], held[who], total, everywhere, shown, zone) for who in order]
    out.sort(key=lambda p: (-p.messages, p.name, p.who))
    return out


def _profile(who, mine, held, total, everywhere, shown, zone):
    names = []
    for one in mine:
        if one.name in names:
            names.remove(one.name)
        names.append(one.name)
    texts = [one for one in mine if one.kind == TEXT]
    times = [one.time for one in mine if one.time is not None]
    hours = [0] * 24
    for time in times:
        hours[clock.local_hour(time, zone)] += 1
    topics = topics_of(held, everywhere, total)
    return Profile(
        who, names[-1], names[:-1], any(one.bot for one in mine), len(mine), len(mine) / float(total), len(texts), len(mine) - len(texts),
        sum(len(one.text) for one in texts), sum(1 for one in mine if one.answers), sum(one.liked for one in mine),
        min(times) if times else None, max(times) if times else None, len(set(clock.local_day(time, zone) for time in times)), hours,
        tone([one.text for one in texts]),
        [(_surface(key, shown), count) for key, count in topics], quotes(mine, held, topics))


def _surface(key, shown):
    """-> a word as it is mostly written."""
    return max(sorted(shown[key]), key=lambda s: shown[key][s]) if key in shown else key


def tone(texts):
    """-> dict of how someone writes: of all messages with text the parts that hold a question mark, an exclamation mark, a word
    of thanks, a link (questions, exclamations, thanks, links; 0 to 1), emoji a message, and the median length in characters
    (None without texts)."""
    count = float(len(texts)) or 1.0
    part = lambda test: sum(1 for text in texts if test(text)) / count
    bare = [_LINK.sub(' ', text) for text in texts]
    lengths = sorted(len(text) for text in texts)
    half = len(lengths) // 2
    return {'questions': sum(1 for text in bare if _ASKS.search(text)) / count, 'exclamations': sum(1 for text in bare if _CALLS.search(text)) / count,
            'thanks': part(_THANKS.search), 'links': part(_LINK.search), 'emoji': sum(len(_EMOJI.findall(text)) for text in texts) / count,
            'median_length': None if not lengths else lengths[half] if len(lengths) % 2 else (lengths[half - 1] + lengths[half]) / 2.0}


def words(text):
    """-> {word as it is compared: as it was written} of a text: words where a script writes gaps, each two to four characters
    that stand together where it does not."""
    out = {}
    for word in _WORD.findall(_LINK.sub(' ', text)):
        if word not in _known:
            if len(_known) > 100000:
                _known.clear()
            _known[word] = _keys(word)
        for key, surface in _known[word]:
            if key not in out:
                out[key] = surface
    return out


_known = {}


def _keys(word):
    """-> list of (word as it is compared, as it was written) that one run of letters gives."""
    if _HANGUL.match(word):
        return [(word, word)] if len(word) > 1 and word not in STOP else []
    out, run, parts = [], [], tokens(word)
    for part in parts:
        if len(part) == 1 and part > _GAPLESS:
            run.append(part)
            continue
        _grams(run, out)
        run = []
        if len(part) >= (3 if part < '\u0250' else 2) and part not in STOP and word.lower() not in STOP:
            out.append((part, word.lower() if len(parts) == 1 else part))
    _grams(run, out)
    return out


def _grams(run, out):
    for size in range(2, _LONGEST_GRAM + 1):
        for at in range(len(run) - size + 1):
            gram = ''.join(run[at:at + size])
            if gram[0] not in STOP_ENDS and gram[-1] not in STOP_ENDS and not _KANA.match(gram) and gram not in STOP:
                out.append((gram, gram))


def topics_of(held, everywhere, total):
    """-> list of (word, messages) of what someone's messages are about: said in two messages at least, weighted by how rarely
    the conversation as a whole says it.

    held: list of words() of each message; everywhere: {word: messages of anybody}; total: messages in all.
    """
    mine = {}
    for one in held:
        for key in one:
            mine[key] = mine.get(key, 0) + 1
    rare = [key for key, count in mine.items() if count > 1 and (total < _MANY or everywhere[key] <= _COMMON * total)]
    # Of characters that stand together more say more.
    score = dict((key, mine[key] * log(1.0 + total / float(everywhere[key])) * (0.6 + 0.2 * len(key) if key > _GAPLESS else 1.0)) for key in rare)
    out = []
    for key, count in _joined([(key, mine[key]) for key in sorted(rare, key=lambda k: (-score[k], k))[:_LOOKED_AT]]):
        if not any(key in longer and 2 * many > count or longer in key for longer, many in out if longer > _GAPLESS):
            out.append((key, count))
    return out[:_TOPICS]


def _joined(found):
    """-> the list with runs of characters joined that overlap and are said as often: they are pieces of one phrase."""
    found = list(found)
    at = 0
    while at < len(found):
        key, count = found[at]
        for place, (other, many) in enumerate(found):
            if place != at and key > _GAPLESS and other > _GAPLESS and min(len(key), len(other)) >= _LONGEST_GRAM and key[-3:] == other[:3] \
                    and abs(count - many) * 10 <= max(count, many) and len(key) + len(other) < 40:
                found[min(at, place)] = key + other[3:], min(count, many)
                del found[max(at, place)]
                at = -1
                break
        at += 1
    return found


def quotes(mine, held, topics):
    """-> list of Messages worth quoting, at most 20: the most liked first, then those with most of the person's topics, then the
    oldest; short ones, very long ones and repeats left out."""
    chosen, seen = [], set()
    keys = set(key for key, _ in topics)
    keys |= set(key[:_LONGEST_GRAM] for key in keys if key > _GAPLESS)
    for place, (one, found) in enumerate(zip(mine, held)):
        if one.kind != TEXT or len(one.text) > _LONGEST_QUOTE:
            continue
        bare = _LINK.sub('', one.text)
        folded = ' '.join(tokens(one.text))
        if (len(bare) >= _SHORTEST_QUOTE or width(bare) >= _SHORTEST_QUOTE) and folded not in seen:
            seen.add(folded)
            chosen.append((-one.liked, -len(keys & set(found)), place, one))
    chosen.sort(key=lambda entry: entry[:3])
    return [entry[3] for entry in chosen[:_QUOTES]]
