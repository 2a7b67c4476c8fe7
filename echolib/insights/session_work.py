"""The working figures of one session, with what they rest on: made from a Reading (analysis_session), for display."""
from .. import analysis
from .. import analysis_work as work

# From so many on a figure is worth a line.
TEST_STREAK, REREADS, CORRECTIONS = 3, 4, 3


def figures(reading, price, window):
    """-> dict of plain values, see references/metrics.md; what points at lines holds places in reading.facts under 'places'.

    price: see analysis.contributions.  window(model) -> tokens or None.
    """
    facts = reading.facts

    def cost(fact):
        found = analysis.cost_of(fact, price)
        return None if found is None else sum(found)

    tally = {}
    for fact in facts:
        analysis.apply(tally, fact, 1, price)
    active, idle = work.active(facts)
    loops, again = work.retry_loops(facts), work.repeated_calls(facts)
    wrong, stopped = work.corrections(facts), work.interrupted(facts)
    streak = work.test_fail_streak(facts)
    runs = work.test_runs(facts)
    skills = work.skills(facts, cost)
    out = {
        'active_ms': active, 'idle_ms': idle, 'first_prompt_tokens': work.first_prompt_tokens(facts),
        'prompt_chars': tally.get('prompt_chars', 0), 'retries': tally.get('retries', 0),
        'web_searches': tally.get('web_searches', 0), 'web_fetches': tally.get('web_fetches', 0),
        'sidechain': {'api_calls': tally.get('side_calls', 0), 'known_cost_usd': analysis.usd(tally.get('side_cost', 0))},
        'turn_depths': work.turn_depths(facts), 'stop_reasons': work.stop_reasons(facts),
        'permission_modes': _modes(reading), 'branches': list(reading.branches), 'versions': list(reading.versions),
        'context_windows': dict((fact.name, window(fact.name)) for fact in facts if fact.kind == analysis.CALL and fact.name),
        'skills': dict((name, {'calls': s.calls, 'errors': s.errors, 'turns': s.turns, 'cost_usd': None if s.unpriced else analysis.usd(s.cost),
                               'known_cost_usd': analysis.usd(s.cost)}) for name, s in skills.items()),
        'subagent_types': dict((name or '(unnamed)', {
            'subagents': row[0], 'api_calls': row[1].calls, 'tokens': row[1].tokens, 'cost_usd': None if row[1].unpriced else analysis.usd(row[1].cost),
            'known_cost_usd': analysis.usd(row[1].cost)}) for name, row in reading.subagents(cost).items()),
        'commands': dict((head, {'calls': row[0], 'errors': row[1]}) for head, row in work.commands(facts).items()),
        'files': dict((path, {'reads': row[0], 'edits': row[1], 'writes': row[2]}) for path, row in reading.files().items()),
        'test_runs': {'runs': runs[0], 'failed': runs[1]},
        'test_fail_streak': len(streak.places), 'redundant_reads': len(work.redundant_reads(facts)),
        'repeated_calls': sum(len(run.places) - 1 for run in again),
        'correction_turns': len(wrong), 'interruption_turns': len(stopped),
        'places': {'test_fail_streak': list(streak.places), 'retry_loops': loops, 'repeated_calls': again, 'correction_turns': wrong,
                   'interruption_turns': stopped, 'rereads': work.rereads(facts)},
    }
    out['retry_loops'] = len(loops)
    out['reread_files'] = len(out['places']['rereads'])
    return out


def _modes(reading):
    out = {}
    for place, fact in enumerate(reading.facts):
        if fact.kind == analysis.TURN and fact.name:
            mode = reading.mode(place)
            out[mode] = out.get(mode, 0) + 1
    return out


def reread_files(reading, places):
    """-> [(path, readings)] of lists of places (work.rereads)."""
    out = []
    for one in places:
        files = reading.note(one[0]).files
        out.append((files[0][1] if files else '', len(one)))
    return out
