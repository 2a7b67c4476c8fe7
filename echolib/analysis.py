"""Events to numbers: one fold per file, associative, so that a grown file adds its new part and order changes nothing.

A file's events become facts: the smallest things that are counted (an API call, a prompt, a tool use, a compaction,
an interruption, a subagent). A fact has a key that is the same in every copy of it; of all files that hold a key one
owns it, and only the owner's fact counts in totals. Everything that is reported is a sum of what owned facts
contribute (contributions), or is read from the file's profile.
"""
from collections import namedtuple
from zlib import crc32

from .analysis_calls import look
from .corrections import code
from .events import (
    BUCKETS, COMPACTION, DECLINED, ERROR, COLLATERAL, INTERRUPTION, META, OK, PROMPT, REPLY, SLASH, TOOL_CALL,
    TOOL_RESULT, USAGE, cache_hit_rate, is_lower_bound, opens_turn)

# Kinds of facts, as stored. The number is part of the index schema.
CALL, TURN, TOOL, COMPACT, STOP, AGENT, RETRY = 1, 2, 3, 4, 5, 6, 7

Fact = namedtuple('Fact', (
    'kind',     # one of the numbers above
    'time',     # int ms UTC or None
    'side',     # 0 main chain, else the number of a subagent's chain
    'name',     # call: model; turn: its label; tool: name; compaction: trigger; agent: id
    'status',   # call: 1 final count known; tool: see STATUS; turn: characters typed
    # call: tokens; compaction: input = tokens before; turn: input = code of the correction it is (see corrections), 0;
    # tool: what it does, mark of its input, of what it is about, of the part it reads (see analysis_calls), ms of its result
    'input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h',
    'visible',  # call: bytes of content seen
    'extra',    # call: 'speed|geo|tier|searches|fetches|stop', shortened; turn: key of the response after it, or '';
                # tool: a skill's name, a subagent's type, a command's head
))

_new = tuple.__new__     # a Fact of values that are known to be right

# What became of a tool use; the larger wins when two lines speak of one use.
OPEN, STATUS = 0, {OK: 1, COLLATERAL: 2, ERROR: 3, DECLINED: 4}
FAILED, REFUSED = STATUS[ERROR], STATUS[DECLINED]
FIRST_PROMPT_CHARS = 2000


def merge(a, b):
    """-> the one fact that two lines (or two readings) of the same key make; order does not matter."""
    time = b.time if a.time is None else a.time if b.time is None else min(a.time, b.time)
    side = min(a.side, b.side)
    if a.kind == CALL:
        # The largest count wins: clients write one line a content block while output_tokens grows.
        best = b if _tokens(b) > _tokens(a) else a
        return _new(Fact, (CALL, time, side, max(a.name, b.name), max(a.status, b.status)) + best[5:10] + (
            a.visible + b.visible, a.extra if a.extra == b.extra else _join_extra(a.extra, b.extra)))
    if a.kind == TOOL:
        return Fact(TOOL, time, side, max(a.name, b.name), max(a.status, b.status), max(a.input, b.input), max(a.output, b.output),
                    max(a.cache_read, b.cache_read), max(a.cache_write_5m, b.cache_write_5m), max(a.cache_write_1h, b.cache_write_1h), 0,
                    max(a.extra, b.extra))
    # The word about what follows a prompt may come alone, before or after the prompt itself.
    best = min((a, b), key=_age)
    return best._replace(time=time, side=side, extra=max(a.extra, b.extra))


def first_of(a, b):
    """-> of two files' facts with one key the one that stands for both: of the main chain, then the earlier."""
    return min(a, b, key=lambda fact: (fact.side, fact.time is None, fact.time or 0) + fact[3:])


def _tokens(fact):
    given, output, cache_read, short, long = fact[5:10]
    return output, given + cache_read + short + long, given, cache_read, short


def _join_extra(a, b, _made={}):
    """What either line says of a call: the larger word of each field."""
    made = _made.get((a, b))
    if made is None:
        words = [max(pair, key=_length_first) for pair in zip(_split_extra(a), _split_extra(b))]
        made = '|'.join(words if words[6] else words[:6])
        if len(_made) < 5000:
            _made[a, b] = made
    return made


def _split_extra(extra):
    return (extra.split('|') + [''] * 7)[:7]


def _length_first(word):
    # Numbers without leading zeros compare as numbers so.
    return len(word), word


def _age(fact):
    return (not fact.name and fact.kind == TURN, fact.time is None, fact.time or 0, fact.name, fact.status, fact.input)


def side_of(chain, _made={'': 0}):
    """-> the number of a chain: 0 for the main one."""
    made = _made.get(chain)
    if made is None:
        made = crc32(chain.encode('utf-8', 'surrogatepass')) or 1
        if len(_made) < 5000:
            _made[chain] = made
    return made


class FileAnalysis(object):
    """The fold over one file's events.

    facts: {key: Fact} of what was read; profile: dict of what the file says about its session (plain values only, so
    that it can be stored and gone on with).
    """

    def __init__(self, profile=None):
        self.facts = {}
        self.profile = {} if profile is None else profile

    def add_agent(self, chain):
        """Count the subagent whose file this is."""
        self._put('a' + chain, Fact(AGENT, None, side_of(chain), chain, 0, 0, 0, 0, 0, 0, 0, ''))

    def add(self, event):
        """Take one event in."""
        kind, label, time, chain, _, ident, message, text, data, line, _, _, _ = event
        profile = self.profile
        if time is not None:
            if 'birth' not in profile:
                profile['birth'] = profile['first'] = profile['last'] = time
            elif time > profile['last']:
                profile['last'] = time
            elif time < profile['first']:
                profile['first'] = time
        if kind == USAGE:
            model, given, output, cache_read, short, long, final, visible = data[:8]
            self._put('c' + ident, _new(Fact, (CALL, time, side_of(chain), model, final, given, output, cache_read, short, long,
                                               visible, _extra(data[8:]))))
            if not chain:
                if profile.get('waiting'):
                    self._follow(event)
                sent = given + cache_read + short + long
                if sent:
                    profile['context'] = sent
            if 'spent' not in profile:
                profile['called'] = 1
                if output or given + cache_read + short + long:
                    profile['spent'] = 1
        elif kind == TOOL_CALL:
            what, same, target, part, word = look(label, data, text)
            self._put('t' + ident, _new(Fact, (TOOL, time, side_of(chain), label, OPEN, what, same, target, part, 0, 0, word)))
        elif kind == TOOL_RESULT:
            self._put('t' + data.call_id, _new(Fact, (TOOL, time, side_of(chain), '', STATUS[label], 0, 0, 0, 0, time or 0, 0, '')))
        elif kind == PROMPT:
            if opens_turn(event):
                key = 'p' + ident
                wrong = code(text) if label != SLASH else 0
                self._put(key, Fact(TURN, time, 0, label, len(text), wrong, 0, 0, 0, 0, 0, ''))
                if profile.get('renames'):
                    profile.setdefault('waiting', []).append(key)
                if label == SLASH:
                    if 'first_slash' not in profile:
                        profile['first_slash'] = text[:FIRST_PROMPT_CHARS]
                elif 'first_prompt' not in profile:
                    profile['first_prompt'] = without_images(text)[:FIRST_PROMPT_CHARS]
        elif kind == META:
            self._meta(event)
        elif kind == COMPACTION:
            self._put('k' + ident, Fact(COMPACT, time, side_of(chain), label, 0, data.pre_tokens or 0, 0, 0, 0, 0, 0, ''))
        elif kind == INTERRUPTION:
            self._put('i' + ident, Fact(STOP, time, 0, '', 0, 0, 0, 0, 0, 0, 0, ''))
        elif kind == REPLY and not label and not chain:
            if 'reply' not in profile:
                profile['reply'] = text[:200]
            if 'called' not in profile and (message or line) != profile.get('response'):
                profile['response'] = message or line
                profile['responses'] = profile.get('responses', 0) + 1

    def _put(self, key, fact):
        have = self.facts.get(key)
        if have is None:
            self.facts[key] = fact
        elif have[2:10] == fact[2:10] and have[11] == fact[11] and have[0] == CALL and have[1] is not None and (
                fact[1] is not None and fact[1] >= have[1]):
            # One more line of a response with the same counts: the common case.
            self.facts[key] = _new(Fact, have[:10] + (have[10] + fact[10], have[11]))
        elif have[0] == TOOL and have[4] == OPEN and fact[4] and not fact[3] and have[2] == fact[2] and (
                have[1] is not None and fact[1] is not None and fact[1] >= have[1]):
            # The result behind its call.
            self.facts[key] = _new(Fact, have[:4] + fact[4:5] + have[5:9] + (max(have[9], fact[9]), 0, have[11]))
        else:
            self.facts[key] = merge(have, fact)

    def _follow(self, event):
        # Copies made by 1.0.0 to 1.0.60 give prompts new ids: the response after a prompt tells whose it is.
        for key in self.profile.pop('waiting'):
            self._put(key, Fact(TURN, None, 0, '', 0, 0, 0, 0, 0, 0, 0, 'c' + event.id))

    def _meta(self, event):
        label, text, profile = event.label, event.text, self.profile
        if label in ('cwd', 'branch'):
            if text:
                profile.setdefault(label, text)
                profile['last_' + label] = text
        elif label in ('custom-title', 'ai-title', 'agent-name', 'mode', 'version', 'entrypoint', 'pr'):
            profile[label] = text
            if label == 'version':
                # What an old client wrote stays so, whoever goes on with the file.
                profile['renames'] = profile.get('renames', False) or renames_copies(text)
                versions = profile.setdefault('versions', [])
                if text not in versions and len(versions) < 50:
                    versions.append(text)
        elif label == 'summary':
            summaries = profile.setdefault('summaries', [])
            if [event.data, text] not in summaries and len(summaries) < 200:
                summaries.append([event.data, text])
        elif label == 'foreign':
            profile['foreign'] = True
        elif label == 'retry':
            self._put('r' + event.id, Fact(RETRY, event.time, 0, '', 0, 0, 0, 0, 0, 0, 0, ''))
        elif label == 'subagent':
            self._put('a' + event.id, Fact(AGENT, event.time, side_of(event.id), event.id, 0, 0, 0, 0, 0, 0, 0, ''))


def tokens_unknown(profiles):
    """True when the files of a session (their profiles) hold answers of a model and not one token count."""
    return any('reply' in profile for profile in profiles) and not any('spent' in profile for profile in profiles)


def responses(profiles):
    """-> number of answers in the main chain of a session whose calls nobody wrote down (else those tell)."""
    return 0 if any('called' in profile for profile in profiles) or not profiles else profiles[0].get('responses', 0)


def without_tokens(keys, answers):
    """-> shared keys of a session whose tokens nobody wrote down: unknown (None), not 0. answers: see responses()."""
    return dict(keys, tokens=dict.fromkeys(BUCKETS), reasoning_inside_output=None, cost_usd=None, cache_hit_rate=None, total_is_lower_bound=True,
                api_calls=keys['api_calls'] or None, assistant_messages=keys['assistant_messages'] or answers)


def _field(text):
    return text.replace('|', '/') if '|' in text else text


def without_images(text):
    """A prompt's words: the marks that stand for pasted images and documents left out, unless there is nothing else."""
    if '[image]' not in text and '[document]' not in text:
        return text
    words = '\n'.join(line for line in text.split('\n') if line not in ('[image]', '[document]'))
    return words if words.strip() else text


def is_replay(chain):
    """True for the id of an auxiliary agent of the client, which replays its parent (98 % of its message ids) or holds
    the client's own text: compaction, side question, prompt suggestion (2.0 to 2.1.8x)."""
    return chain.startswith(('acompact-', 'aside_question-', 'aprompt_suggestion-'))


def renames_copies(version):
    """True for client versions whose resumed files repeat earlier rows under new ids (1.0.0 to 1.0.60; 1.0.128 does not)."""
    parts = version.split('.')
    return parts[:2] == ['1', '0'] and len(parts) > 2 and parts[2].isdecimal() and len(parts[2]) < 10 and int(parts[2]) < 128


def _extra(words, _made={}):
    """-> the stored form of (speed, geo, tier, searches, fetches, stop reason, reasoning): '' when they say nothing."""
    made = _made.get(words)
    if made is None:
        speed, geo, tier, searches, fetches, stop, reasoning = words
        made = ''
        if speed or geo or tier or searches or fetches or stop or reasoning:
            made = '%s|%s|%s|%d|%d|%s' % (
                '' if speed == 'standard' else _field(speed), '' if geo in ('not_available', 'global') else _field(geo),
                '' if tier == 'standard' else _field(tier), searches, fetches, _field(stop))
            if reasoning:
                made += '|%d' % reasoning
        if len(_made) < 5000:
            _made[words] = made
    return made


def _counters(model, _made={}):
    """-> names of a model's counters: calls and reasoning, the five buckets, their costs, unpriced calls and tokens."""
    names = _made.get(model)
    if names is None:
        head = 'm|%s|' % model
        names = ([head + 'calls', head + 'reasoning'], [head + b for b in BUCKETS], [head + 'cost_' + b for b in BUCKETS],
                 head + 'unpriced_calls', head + 'unpriced_tokens')
        if len(_made) < 5000:
            _made[model] = names
    return names


_NO_WORDS = (None, None, None)


def _extra_words(extra, _made={}):
    """-> (speed, geo, tier, searches, fetches, stop reason, reasoning) of a call's extra, None for what it does not say."""
    made = _made.get(extra)
    if made is None:
        made = tuple(word or None for word in _split_extra(extra))
        if len(_made) < 5000:
            _made[extra] = made
    return made


def cost_of(fact, price):
    """-> a call's costs by bucket (whole 1e-12 USD), None without a price. price: see contributions."""
    return price(fact.name, fact.time, *fact[5:10] + (_extra_words(fact.extra)[:3] if fact.extra else _NO_WORDS))


def contributions(fact, price=None):
    """Yield (counter name, amount) of what one owned fact adds to totals.

    price(model, time, input, output, cache_read, cache_write_5m, cache_write_1h, speed, geo, tier) -> five whole
    numbers of 1e-12 USD or None for an unknown price.  Counter names with a bar are tables: m|model|..., t|tool|....
    """
    kind = fact.kind
    if kind == CALL:
        model = fact.name or 'unknown'
        yield 'api_calls', 1
        yield 'side_calls' if fact.side else 'assistant_messages', 1
        if not is_lower_bound(fact.output, fact.status, fact.visible):
            yield 'output_known_calls', 1
        (calls, reasoned), buckets, costs, unpriced_calls, unpriced_tokens = _counters(model)
        yield calls, 1
        tokens = fact[5:10]
        # BUCKETS and Fact name the buckets in the same order.
        for name, amount in zip(buckets, tokens):
            if amount:
                yield name, amount
        if fact.extra:
            searches, fetches, _, reasoning = _extra_words(fact.extra)[3:]
            if reasoning:
                yield reasoned, int(reasoning)
            if searches and searches != '0':
                yield 'web_searches', int(searches)
            if fetches and fetches != '0':
                yield 'web_fetches', int(fetches)
        total = sum(tokens)
        if price is not None and total:
            cost = cost_of(fact, price)
            if cost is None:
                yield unpriced_calls, 1
                yield unpriced_tokens, total
            else:
                for name, amount in zip(costs, cost):
                    if amount:
                        yield name, amount
                        if fact.side:
                            yield 'side_cost', amount
    elif kind == TURN and fact.name:
        yield 'slash_commands' if fact.name == SLASH else 'user_prompts', 1
        yield 'prompt_chars', fact.status
    elif kind == TOOL:
        if fact.name:
            yield 'tool_calls', 1
            yield 't|%s|calls' % fact.name, 1
        if fact.status == FAILED:
            yield 'tool_errors', 1
            yield 't|%s|errors' % (fact.name or '(unknown)'), 1
        elif fact.status == REFUSED:
            yield 'declined', 1
            yield 't|%s|declined' % (fact.name or '(unknown)'), 1
    elif kind == COMPACT:
        yield 'subagent_compactions' if fact.side else 'compactions', 1
    elif kind == STOP:
        yield 'interruptions', 1
    elif kind == AGENT:
        yield 'subagents', 1
    elif kind == RETRY:
        yield 'retries', 1


def apply(tally, fact, sign, price=None):
    """Add (sign 1) or take back (sign -1) what a fact contributes to a tally {counter: amount}; zeros are dropped."""
    get = tally.get
    for name, amount in contributions(fact, price):
        value = get(name, 0) + sign * amount
        if value:
            tally[name] = value
        else:
            tally.pop(name, None)


def add_tally(into, tally):
    """Sum one tally into another."""
    for name, amount in tally.items():
        into[name] = into.get(name, 0) + amount


def usd(pico):
    """Whole 1e-12 USD as USD (float)."""
    return pico / 1e12


def models_of(tally):
    """-> {model: {api_calls, tokens{}, reasoning_inside_output, cost_usd, known_cost_usd, cache_hit_rate}} of a tally."""
    table = {}
    for name, amount in tally.items():
        if name.startswith('m|'):
            model, field = name[2:].rsplit('|', 1)
            table.setdefault(model, {})[field] = amount
    out = {}
    for model in sorted(table):
        got = table[model]
        tokens = dict((b, got.get(b, 0)) for b in BUCKETS)
        known = sum(got.get('cost_' + b, 0) for b in BUCKETS)
        out[model] = {
            'api_calls': got.get('calls', 0), 'tokens': tokens, 'reasoning_inside_output': got.get('reasoning', 0),
            'cost_usd': None if got.get('unpriced_calls') else usd(known), 'known_cost_usd': usd(known),
            'cost_by_bucket': dict((b, usd(got.get('cost_' + b, 0))) for b in BUCKETS),
            'cache_hit_rate': cache_hit_rate(tokens['cache_read'], tokens['input'],
                                             tokens['cache_write_5m'] + tokens['cache_write_1h'])}
    return out


def tools_of(tally):
    """-> {tool: {calls, errors, declined}} of a tally."""
    out = {}
    for name, amount in tally.items():
        if name.startswith('t|'):
            tool, field = name[2:].rsplit('|', 1)
            out.setdefault(tool, {'calls': 0, 'errors': 0, 'declined': 0})[field] = amount
    return dict((k, out[k]) for k in sorted(out))


def shared_keys(tally):
    """-> the design's shared JSON keys that come from a tally (tokens, cost and the counters)."""
    tokens = dict((b, 0) for b in BUCKETS)
    known = calls = missing = reasoning = 0
    for name, amount in tally.items():
        if name.startswith('m|'):
            field = name.rsplit('|', 1)[1]
            if field in tokens:
                tokens[field] += amount
            elif field.startswith('cost_'):
                known += amount
            elif field == 'reasoning':
                reasoning += amount
            elif field == 'unpriced_calls':
                calls += amount
            elif field == 'unpriced_tokens':
                missing += amount
    get = tally.get
    out = dict((k, get(k, 0)) for k in (
        'subagents', 'user_prompts', 'assistant_messages', 'api_calls', 'tool_calls', 'tool_errors', 'declined',
        'interruptions', 'compactions', 'output_known_calls', 'slash_commands', 'retries'))
    out['turns'] = out['user_prompts'] + out['slash_commands']
    out['tokens'] = tokens
    out['reasoning_inside_output'] = reasoning
    out['cost_usd'] = None if calls else usd(known)
    out['known_cost_usd'] = usd(known)
    out['total_is_lower_bound'] = bool(calls) or out['output_known_calls'] < out['api_calls']
    out['unpriced'] = {'calls': calls, 'tokens': missing}
    out['cache_hit_rate'] = cache_hit_rate(tokens['cache_read'], tokens['input'],
                                           tokens['cache_write_5m'] + tokens['cache_write_1h'])
    return out
