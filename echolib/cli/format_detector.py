"""format-detector.py: what session files are, and how unknown ones could be read."""
import json
import os

from ..base import paths
from ..base import text as texts
from ..base.errors import EchoError, UsageError
from . import options as opt
from .common import Cleaner, dump, text_path
from .run import run

SUMMARY = 'Tell which agent and format session files have, how sure that is, and how unknown ones could be read.'
COLUMNS = 'PATH FORMAT AGENT CONFIDENCE READ EVIDENCE SAMPLE_KEYS MAPPING'.split()
_MOST = 7600


def command():
    """-> Command."""
    return opt.Command(
        '', SUMMARY, (('path', opt.MANY, 'files, and folders to walk'),),
        (opt.limit(40, 'files of each folder'), opt.FORMAT, opt.NO_REDACT),
        ('~/.claude --limit 5', '~/.claude/projects ~/.claude/history.jsonl --format tsv', '~/.claude --limit 1 --format json'),
        _run)


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('format-detector.py', SUMMARY, {}, argv, command())


def _run(args, out):
    from ..adapters import formats
    if not args.path:
        raise UsageError('which file or folder? Give a path, such as ~/.claude (help: format-detector.py --help)')
    found, left, wrong = [], [], []
    for path in args.path:
        path = paths.typed(path)
        listed = formats.files(path, args.limit) if os.path.isdir(path) else (path,)
        for number, one in enumerate(listed):
            if args.limit and number == args.limit:
                left.append(path)
                break
            try:
                found.append(formats.detect(one))
            except OSError as error:
                wrong.append('cannot read %s: %s' % (text_path(one), error.strerror or error))
    for line in wrong:
        out.note(line)
    if wrong and not found:
        raise EchoError('nothing could be looked at; give the path of a file or folder that is there')
    clean = Cleaner(args)
    if args.format == 'json':
        dump(out, {'files': [_row(one, clean) for one in found], 'more_in': [text_path(path) for path in left]})
    elif args.format == 'tsv':
        out.line('\t'.join(COLUMNS))
        for one in found:
            row = _row(one, clean)
            out.line('\t'.join(clean.cell(value) for value in (
                row['path'], row['format'], row['agent'], row['confidence'], 'yes' if row['read'] else 'no', '; '.join(row['evidence']),
                ' '.join(row['sample_keys']), json.dumps(row['mapping'], ensure_ascii=False) if row['mapping'] else '')))
    else:
        _text(out, found, clean)
    for path in left:
        out.note('%s holds more files than were looked at; --limit 0 looks at all' % text_path(path))
    if not found:
        out.note('no file there ends as session files do')


def _row(one, clean):
    mapping = one.mapping
    return {'path': text_path(one.path), 'format': one.format, 'agent': one.agent or None, 'confidence': one.confidence, 'read': one.read,
            'evidence': [clean(text) for text in one.evidence], 'sample_keys': [texts.clip(clean(key), 60) for key in one.keys],
            'mapping': None if mapping is None else dict(
                (key, dict((name, clean(where)) for name, where in value.items()) if isinstance(value, dict) else clean(value))
                for key, value in mapping.items())}


def _text(out, found, clean):
    used = 0
    for number, one in enumerate(found):
        row = _row(one, clean)
        lines = [clean.line(row['path']), '    %s, %s, %s%s' % (
            row['format'], 'agent %s' % row['agent'] if row['agent'] else 'agent unknown',
            'sure: %s' % row['confidence'] if row['confidence'] != 'none' else 'not sure at all', '' if row['read'] else ', not read')]
        lines += ['    %s' % clean.line(text) for text in row['evidence']]
        if row['sample_keys']:
            lines.append('    keys: %s' % clean.line(' '.join(row['sample_keys'])))
        if row['mapping']:
            lines.append('    for agents.json: %s' % clean.line(json.dumps(row['mapping'], ensure_ascii=False)))
        used += sum(len(line) + 1 for line in lines)
        if used > _MOST:
            out.line('... %d more files: --format tsv' % (len(found) - number))
            return
        for line in lines:
            out.line(line)
    if any(one.mapping for one in found):
        out.line('agents.json lies in the data folder (see references/universal.md): {"agents": [ENTRY, ...]}')
