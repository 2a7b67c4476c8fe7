"""sd-recall.py explain: where a total comes from."""
from ..base import text as texts
from ..base.errors import EchoError, UsageError
from . import options as opt
from .common import Asked, Cleaner, amount, dump, text_path


def command():
    """-> Command."""
    return opt.Command(
        'explain', 'Where a total comes from: what the files say, what of it repeats or is copied, what is left and counted.',
        (('ref', False, 'one session (its id or the beginning of it, or a path); without it all chosen sessions'),),
        (opt.option('--read', 'flag', False, 'for all sessions too: read every file, to count lines and repeats'),)
        + opt.SELECTION + opt.COMMON,
        ('explain', 'explain SESSION', 'explain --read --scope current --format json'), _run)


def gather(asked, ref=None, read=False):
    """-> the JSON object of explain."""
    from ..index import accounting
    catalog = asked.catalog
    row = catalog.resolve(ref).row if ref else None
    rows = [row] if row is not None else asked.counted()
    try:
        got = accounting.account(catalog, rows, asked.since, asked.until, read or row is not None)
    except OSError as error:
        raise EchoError('cannot read %s: %s' % (text_path(error.filename or 'a transcript'), error.strerror or error))
    from ..analysis import shared_keys
    total = shared_keys(catalog.tally(rows, asked.since, asked.until, asked.prices().cost))
    repeats = accounting.plus(got.lines, got.in_files, -1) if got.lines is not None else None
    sids = dict((r.id, r.sid) for r in rows)
    owners = [{'session_id': sids.get(number) or (catalog.row(number).sid if number is not None else None), 'calls': calls}
              for number, calls in got.owners.items()]
    owners.sort(key=lambda o: (-o['calls'], o['session_id'] or ''))
    return {
        'session_id': row.sid if row is not None else None, 'sessions': len(rows), 'lines': sum(r.lines or 0 for r in rows),
        'usage_lines': _object(got.lines), 'stream_repeats': _object(repeats), 'calls_in_files': _object(got.in_files),
        'replays': _object(got.replays), 'copies': _object(got.copies), 'copied_from': owners, 'placeholders': got.placeholders,
        'left': _object(got.left), 'lower_bound': _object(got.bounds), 'unpriced': total['unpriced'],
        'adds_up': got.left.calls == total['api_calls'] and got.left.tokens == total['tokens']}


def _object(one):
    return None if one is None else {'calls': one.calls, 'tokens': one.tokens, 'total_tokens': sum(one.tokens.values())}


def _run(args, out):
    if args.ref and (args.since or args.until):
        raise UsageError('--since and --until choose among sessions; with a session given leave them out')
    if args.read and (args.since or args.until):
        raise UsageError('--read counts whole files; leave out --since and --until')
    asked = Asked(args, out)
    try:
        data = gather(asked, args.ref, args.read)
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            _tsv(out, data)
        else:
            _text(out, data, Cleaner(args))
        if not data['adds_up']:
            out.note('these figures are not those of stats: the index may be damaged; index-builder.py build --rebuild makes it anew')
    finally:
        asked.close()


_STEPS = (('usage_lines', 'lines that report usage', ''), ('stream_repeats', 'a response written over several lines', '-'),
          ('calls_in_files', 'responses, each once a file', ''), ('replays', "replays in subagents' files of the same session", '-'),
          ('copies', 'copies of other sessions (fork, resume)', '-'), ('left', 'counted, as stats shows it', '='))


def _tsv(out, data):
    out.line('STEP\tCALLS\tINPUT\tOUTPUT\tCACHE_READ\tCACHE_WRITE_5M\tCACHE_WRITE_1H\tTOTAL')
    for key in [step[0] for step in _STEPS] + ['lower_bound']:
        if data[key] is not None:
            tokens = data[key]['tokens']
            out.line('\t'.join([key.upper(), str(data[key]['calls'])] + [str(tokens[b]) for b in (
                'input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')] + [str(data[key]['total_tokens'])]))


def _text(out, data, clean):
    out.line('%s, %s lines' % ('session %s' % clean.line(data['session_id']) if data['session_id'] else
                               '1 session' if data['sessions'] == 1 else '%s sessions' % amount(data['sessions']), amount(data['lines'])))
    out.line()
    out.line(' ' * 54 + 'API calls           tokens')
    for key, words, sign in _STEPS:
        one = data[key]
        # Where nothing had to be taken away in between, the step between says nothing new.
        if one is None or key == 'calls_in_files' and data['usage_lines'] is not None and not (
                data['stream_repeats']['calls'] and (data['replays']['calls'] or data['copies']['calls'])):
            continue
        if sign == '-' and not one['calls']:
            continue
        out.line('%1s %s %10s %16s' % (sign, texts.pad(words, 50), amount(one['calls']), amount(one['total_tokens'])))
    left = data['left']['tokens']
    out.line()
    out.line('counted: {:,} input, {:,} output, {:,} cache read, {:,} cache write'.format(
        left['input'], left['output'], left['cache_read'], left['cache_write_5m'] + left['cache_write_1h']))
    if data['lower_bound']['calls']:
        out.line('output is only a lower bound for %s of these calls (the client never wrote their last count)' % amount(
            data['lower_bound']['calls']))
    if data['unpriced']['calls']:
        out.line('no price is known for %s of these calls (%s tokens)' % (
            amount(data['unpriced']['calls']), amount(data['unpriced']['tokens'])))
    if data['placeholders']:
        out.line("%s: the client's own words in a response's place (<synthetic>, API errors), no call" % (
            '1 line' if data['placeholders'] == 1 else '%s lines' % amount(data['placeholders'])))
    if data['copied_from']:
        out.line('the copies count in: %s%s' % (
            ', '.join('%s (%s)' % (clean.line(o['session_id'] or '?'), amount(o['calls'])) for o in data['copied_from'][:5]),
            ' and %d more' % (len(data['copied_from']) - 5) if len(data['copied_from']) > 5 else ''))
    if data['usage_lines'] is None:
        out.line('The index keeps no count of lines; with it, reading every file: sd-recall.py explain --read')
    else:
        out.line('Every number of %s: sd-recall.py %s' % (('it', 'session-stats ' + data['session_id']) if data['session_id'] else ('them', 'stats')))
