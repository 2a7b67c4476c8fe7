"""Which series regressions looks at: one for each measure of each project, tool and model with work in it."""
from collections import namedtuple

from . import measures, shifts
from .activity import is_session, project_of
from .shifts import Unit

# subject: what the series is of: {'project', 'tool', 'model'} as far as named; measure: key of measures or one of the
# three below; share: the measure lies between 0 and 1; bad: see measures; units: list of Units in order of time.
Series = namedtuple('Series', 'measure label subject share bad unit units')

TOOL_ERRORS, MODEL_SHARE = 'tool_error_rate', 'model_share'
MODEL_COST, MODEL_OUTPUT = 'cost_per_model_call', 'output_per_model_call'
LABELS = {TOOL_ERRORS: 'calls that fail', MODEL_SHARE: 'share of API calls', MODEL_COST: 'cost per API call',
          MODEL_OUTPUT: 'output tokens per API call'}

# A model with less than this share of a project's calls is no part of its mix; one with more than one less this is all of it.
_LEAST_SHARE = 0.05
# A tool with fewer calls is not followed.
_LEAST_TOOL_CALLS = 20


class Work(object):
    """One cell with its sums and what it belongs to. project is the key of its stratum."""

    __slots__ = ('day', 'session', 'project', 'sums')

    def __init__(self, day, session, project, found):
        self.day, self.session, self.project, self.sums = day, session, project, found


def works(activity, ledgers=True):
    """-> list of Work of an Activity's dated cells, in order of time. ledgers: with what belongs to no session."""
    return [Work(cell.day, cell.session, project_of(activity.rows[cell.session]), measures.sums(cell.tally))
            for cell in activity.cells if cell.day is not None and (ledgers or is_session(activity.rows[cell.session]))]


def of_projects(found):
    """-> list of Series inside one project each: its measures, the errors of its tools, the shares of its models."""
    out, by_project = [], {}
    for work in found:
        by_project.setdefault(work.project, []).append(work)
    for project in sorted(by_project):
        inside = by_project[project]
        for measure in measures.MEASURES:
            out.append(_measured(measure, {'project': project}, inside))
        for tool in _tools(inside):
            out.append(_of_tool(tool, {'project': project, 'tool': tool}, inside))
        for model in _models(inside):
            out.append(_of_model(model, {'project': project, 'model': model}, inside))
    return [series for series in out if series.units]


def of_all(found, without=()):
    """-> list of Series over all projects but those in `without`, each project its own stratum."""
    found = [work for work in found if work.project not in without]
    out = [_measured(measure, {}, found) for measure in measures.MEASURES]
    for tool in _tools(found):
        out.append(_of_tool(tool, {'tool': tool}, found))
    for model in _models(found):
        out.append(_of_model(model, {'model': model}, found))
        out.append(_per_model_call(MODEL_COST, 'cost', lambda m: sum(m.costs) / 1e12, model, found))
        out.append(_per_model_call(MODEL_OUTPUT, 'output', lambda m: m.buckets[1], model, found))
    return [series for series in out if len(set(unit.stratum for unit in series.units)) > 1]


def _measured(measure, subject, inside):
    units = [_unit(work, measure.part(work.sums), measure.whole(work.sums)) for work in inside
             if measures.known_enough(work.sums, measure.needs)]
    return Series(measure.key, measure.label, subject, measure.share, measure.bad, measure.unit, _with_whole(units))


def _of_tool(tool, subject, inside):
    units = [_unit(work, work.sums.tools[tool][1], work.sums.tools[tool][0]) for work in inside if tool in work.sums.tools]
    return Series(TOOL_ERRORS, LABELS[TOOL_ERRORS], subject, True, 1, 'share', _with_whole(units))


def _of_model(model, subject, inside):
    units = [_unit(work, work.sums.models[model].calls if model in work.sums.models else 0, work.sums.calls) for work in inside]
    return Series(MODEL_SHARE, LABELS[MODEL_SHARE], subject, True, 0, 'share', _with_whole(units))


def _per_model_call(key, needs, amount, model, inside):
    units = [_unit(work, amount(work.sums.models[model]), work.sums.models[model].calls) for work in inside
             if model in work.sums.models and measures.known_enough(work.sums, needs)]
    return Series(key, LABELS[key], {'model': model}, False, 1, 'usd' if needs == 'cost' else 'tokens', _with_whole(units))


def _unit(work, part, whole):
    return Unit(work.day, work.project, part, whole, work.session)


def _with_whole(units):
    return [unit for unit in units if unit.whole > 0]


def _tools(inside):
    calls = {}
    for work in inside:
        for tool, counts in work.sums.tools.items():
            calls[tool] = calls.get(tool, 0) + counts[0]
    return sorted(tool for tool, count in calls.items() if count >= _LEAST_TOOL_CALLS)


def _models(inside):
    calls, total = {}, 0
    for work in inside:
        total += work.sums.calls
        for model, row in work.sums.models.items():
            calls[model] = calls.get(model, 0) + row.calls
    return sorted(model for model, count in calls.items() if _LEAST_SHARE * total <= count <= (1 - _LEAST_SHARE) * total)


def scores(series):
    """-> the scores that are tested."""
    return shifts.share_scores(series.units) if series.share else shifts.ratio_scores(series.units)
