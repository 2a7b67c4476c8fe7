"""A finding as the outline of a skill, or as a section for the skill that nearly covers it: Markdown of what was found.

Every statement in it comes from the sessions and names its place; what only the author can know is left as a blank to fill.
"""
import re

from ..base.fold import tokens
from .likeness import words

_PLAIN = re.compile(r'[a-z][a-z0-9]{2,19}\Z')
_EMPTY = frozenset('path hash time the and for with error use not you that this'.split())
TITLES = {'error': 'An error that comes back', 'correction': 'A correction that had to be repeated', 'retry': 'Calls tried again without a change', 'tool': 'A tool that fails often',
          'sequence': 'Commands run one after the other', 'prompt': 'A prompt typed again and again'}
BLANK = '<!-- to be filled in: %s -->'


def skill_name(finding, short):
    """-> a folder name for a finding's skill: its plain words, and its short name where it has too few."""
    wanted, told = set(finding.words), []
    for token in tokens(finding.quote)[:80]:
        # As it is written, not as it is compared.
        if _PLAIN.match(token) and token not in _EMPTY and token not in told and wanted.issuperset(words(token)):
            told.append(token)
    return '-'.join(told[:4]) if len(told) > 1 else short


def outline(name, finding, told):
    """-> SKILL.md text. told: dict of texts made fit to print: quote, counted, evidence [lines], fix [lines], quotes [lines]."""
    lines = ['---', 'name: %s' % name, 'description: >-', '  %s' % _when(finding, told), '---', '', '# %s' % name.replace('-', ' ').capitalize(), '']
    return '\n'.join(lines + section(finding, told, '##')[2:]) + '\n'


def addition(name, finding, told):
    """-> a section for an existing SKILL.md."""
    return '\n'.join(section(finding, told, '##')) + '\n'


def _when(finding, told):
    quote = told['quote'].replace('\n', ' ')[:160]
    return {
        'error': 'Use when a command fails with: %s',
        'correction': 'Use before work that this applies to: %s',
        'retry': 'Use before calling this again after it failed: %s',
        'tool': 'Use before calling the tool that fails with: %s',
        'sequence': 'Use when these are to be run one after the other: %s',
        'prompt': 'Use when asked for this: %s'}[finding.kind] % quote


def section(finding, told, mark):
    """-> lines: a heading, what was seen, what helped, and where it stands."""
    lines = ['%s %s' % (mark, TITLES[finding.kind]), '', '%s Seen:' % told['counted'], '']
    lines += ['```text'] + _unfenced(told['quotes']) + ['```', '']
    if finding.kind == 'error':
        lines += ['%s What to do' % mark, '']
        if told['fix']:
            lines += ['This came between the error and the next call of the kind that worked:', '', '```text'] + _unfenced(told['fix']) + ['```', '']
        lines += [BLANK % 'the cause, and whether this is the right way', '']
    elif finding.kind == 'sequence':
        lines += ['%s Steps' % mark, ''] + ['%d. `%s`' % (number, step.replace('`', "'")) for number, step in enumerate(told['steps'], 1)]
        lines += ['', BLANK % 'what to check between the steps, when to stop', '']
    else:
        lines += ['%s What to do' % mark, '', BLANK % {
            'correction': 'the rule, in one sentence, and why', 'retry': 'what to look at before trying again', 'tool': 'what it needs to work, and when to leave it be',
            'prompt': 'the steps, and what changes from time to time'}[finding.kind], '']
    return lines + ['%s Evidence' % mark, '', 'From past sessions (`sd-recall.py show REFERENCE` opens the place):', ''] + ['- %s' % line for line in told['evidence']]


def _unfenced(lines):
    """Lines that cannot end the fence they stand in."""
    return [line.replace('```', "'''") for line in lines]
