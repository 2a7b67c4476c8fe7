"""Which model a logged name means: the spellings to look up, and the table of names.  Knows no rates, reads no file.

There is no prefix, substring or family match on purpose: a wrong price looks right, an unknown one says so.
"""
import re

# Longer than any real name (Bedrock ARNs are under 200); keeps hostile names cheap.
_LONGEST = 512

_EFFORT = '(?:none|minimal|low|medium|high|xhigh|max)'
_CONTEXT = re.compile(r'\s*(?:\[1m\]|\(%s\))$' % _EFFORT)
_REGION = re.compile(r'^(?:us|eu|jp|au|apac|in|global|us-gov)\.')
_VENDOR = re.compile(r'^(?:anthropic|openai|deepseek|qwen|moonshot|moonshotai|minimax|mistral|meta|xai|zai|google)(?:[.:]|--)')
# Regions for which Bedrock takes more; `global.` and names without one cost the plain rate, of `us-gov.` it is not known.
_DEARER = re.compile(r'(?:^|/)(?:us|eu|jp|au|apac)\.anthropic\.')
_ROUTE = re.compile(r':(?:thinking|nitro)$')
_VERTEX = re.compile(r'@(?:\d+|default)$')
_BEDROCK = re.compile(r'-v\d+:\d+$')
# Bedrock writes claude-opus-4-6-v1 and Vertex claude-3-5-sonnet-v2; of other makers -v2 may be another model.
_REVISION = re.compile(r'^(claude-.+)-v\d$')
# Claude 3 names had the number first in Anthropic's own order, so they are not turned round.
_TURNED = re.compile(r'^claude-([4-9](?:-\d\d?)?)-([a-z]+)(?=-|$)')
_DATE = re.compile(r'-20\d\d(?:\d{4}|-\d\d-\d\d)$')
_TAILS = (_DATE, re.compile('-latest$'), re.compile('-%s$' % _EFFORT), re.compile('-thinking$'))


def fold(name):
    """`name` as names are compared: lower case, with `.` and `_` read as `-`."""
    return name.lower().replace('.', '-').replace('_', '-')


def spellings(model):
    """Yield the folded spellings of `model` (str) to look up, the most exact first; the first that is known counts.

    Steps: context mark and path; Bedrock region and vendor; host and route marks; Claude's turned-round order;
    date, `-latest`, effort, `-thinking`.  `@date` is tried as `-date` before it is dropped, and the last step is
    repeated (Cursor logs `claude-4.5-opus-high-thinking`).
    """
    name = model.strip().lower()
    if not name or len(name) > _LONGEST:
        return
    yield fold(name)
    name = _CONTEXT.sub('', name)
    yield fold(name)
    name = name.rsplit('/', 1)[-1]
    yield fold(name)
    name = _REGION.sub('', name)
    yield fold(name)
    name = _VENDOR.sub('', name)
    yield fold(name)
    name = _ROUTE.sub('', name)
    if name.startswith('databricks-'):
        name = name[len('databricks-'):]
    if name.endswith('-maas'):
        name = name[:-len('-maas')]
    yield fold(name.replace('@', '-'))
    name = fold(_BEDROCK.sub('', _VERTEX.sub('', name)))
    yield name
    name = _REVISION.sub(r'\1', name)
    yield name
    name = _TURNED.sub(r'claude-\2-\1', name)
    yield name
    before = None
    while name != before:
        before = name
        for tail in _TAILS:
            shorter = tail.sub('', name)
            if shorter != name:
                name = shorter
                yield name


class Model:
    """One model of the table."""

    __slots__ = (
        'id',       # canonical name
        'sheet',    # its entry as in the JSON file
        'prices',   # the same prepared for computing, by pricing.py at first use; None before
    )

    def __init__(self, model_id, sheet):
        self.id, self.sheet, self.prices = model_id, sheet, None


class Names:
    """Which logged name is which Model."""

    def __init__(self, models):
        """models: id -> sheet, of which only `aliases` and `context_window` matter here."""
        self._models = {}   # folded spelling -> Model
        self._moving = {}   # folded spelling -> (folded id, first day on which it meant that)
        for model_id, sheet in models.items():
            model = Model(model_id, sheet)
            for spelling in [model_id] + (sheet.get('aliases') or []):
                self._models[fold(spelling)] = model

    def add_moving(self, names, first_day):
        """Add names that mean what they mean from `first_day` on (days from 1970); before, that is unknown."""
        self._moving.update((fold(name), (fold(to), first_day)) for name, to in names.items())

    def look_up(self, model):
        """(Model, first day of that meaning or None) of a name as logged; (None, None) when unknown."""
        for spelling in spellings(model) if isinstance(model, str) else ():
            if spelling in self._models:
                return self._models[spelling], None
            if spelling in self._moving:
                target, first_day = self._moving[spelling]
                return self._models[target], first_day
        return None, None

    def in_region(self, model):
        """True for a logged name that says in which of Bedrock's dearer regions the model ran, and has no sheet of its own."""
        return isinstance(model, str) and bool(_DEARER.search(model.lower())) and fold(model.strip()) not in self._models and fold(
            model.strip().rsplit('/', 1)[-1]) not in self._models

    def replace(self, models):
        """Put a user's `models` (id -> sheet) over what is there.

        Under a known id or alias a sheet replaces that model for all its spellings (the id's own sheet wins over
        one under an alias).  A name as the user wrote it has exactly that sheet: `us.anthropic...` may cost more.
        """
        models = dict((name, self._known(name, models[name])) for name in sorted(models))
        whole = {}
        for name, model in models.items():
            owner = self._models.get(fold(name))
            if owner is not None and (owner not in whole or fold(name) == fold(owner.id)):
                whole[owner] = model
        for spelling, owner in list(self._models.items()):
            self._models[spelling] = whole.get(owner, owner)
        for model in models.values():
            for alias in model.sheet.get('aliases') or []:
                self._models[fold(alias)] = model
        for name, model in models.items():
            self._models[fold(name)] = model

    def _known(self, name, sheet):
        """The Model of a user's sheet: it keeps the id it is known by, and the window, which is no rate."""
        known = self._models.get(fold(name))
        if known is None and fold(name) not in self._moving:
            known = self.look_up(name)[0]
        if known is None:
            return Model(name, sheet)
        if sheet.get('context_window') is None:
            sheet = dict(sheet, context_window=known.sheet.get('context_window'))
        return Model(known.id, sheet)
