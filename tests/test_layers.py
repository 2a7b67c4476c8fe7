"""Imports point downwards only, only cli prints, scripts hold no logic."""
import ast
import importlib.util
import os
import sys
import sysconfig
from collections import namedtuple
from functools import lru_cache

import pytest

from helpers import catches, dotted, names_in, read, sources

# From the lowest layer up. A module is placed by the first word of its name below echolib: pricing_names is pricing.
LAYERS = (('base',), ('records',), ('events',), ('adapters',), ('analysis', 'corrections', 'pricing', 'shell', 'transcript'), ('index',),
          ('insights',), ('cli',))
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Whatever has no layer stands above all: echolib itself, and doors for other programs. It imports only when called.
TOP = len(LAYERS)
CLI = RANK['cli']

# target: a dotted name; lazy: inside a function; guarded: in a try that catches ImportError; line
Import = namedtuple('Import', 'target lazy guarded line')


def module_name(path):
    """Return 'echolib.index.build' for 'echolib/index/build.py', and the package's name for its __init__."""
    name = path[:-len('.py')].replace('/', '.')
    return name[:-len('.__init__')] if name.endswith('.__init__') else name


MODULES = {module_name(path): path for path in sources('echolib')}


def rank(name):
    """Return the layer of a module."""
    parts = name.split('.')
    return RANK.get(parts[1].split('_')[0], TOP) if len(parts) > 1 else TOP


def resolve(name, known):
    """Return the part of a dotted name that is a module (echolib.base.text.fold -> echolib.base.text)."""
    while '.' in name and name not in known:
        name = name.rpartition('.')[0]
    return name


def leading_text(node):
    """Return the constant text an expression begins with: 'a.b.' of 'a.b.' + name; '' where it begins with none."""
    if isinstance(node, ast.BinOp):
        return leading_text(node.left).split('%')[0]
    if isinstance(node, ast.JoinedStr):
        return leading_text(node.values[0]) if node.values else ''
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return ''
    return value if isinstance(value, str) else ''


def imports(tree, module, is_package):
    """Yield every import of a module, those by import_module() and __import__() too."""
    package = module if is_package else module.rpartition('.')[0]

    def absolute(level, name):
        if not level:
            return name
        parts = package.split('.')
        return '.'.join(parts[:len(parts) - level + 1] + ([name] if name else []))

    def walk(node, lazy, guarded):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, lazy, guarded, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node.level, node.module)
            for alias in node.names:
                yield Import('%s.%s' % (base, alias.name), lazy, guarded, node.lineno)
        elif isinstance(node, ast.Call) and getattr(node.func, 'attr', getattr(node.func, 'id', '')) in (
                'import_module', '__import__') and node.args:
            text = leading_text(node.args[0])
            dots = len(text) - len(text.lstrip('.'))
            if text:
                yield Import(absolute(dots, text[dots:]).rstrip('.'), lazy, guarded, node.lineno)
        lazy = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        tries = catches(node, 'ImportError', 'ModuleNotFoundError')
        for child in ast.iter_child_nodes(node):
            inside = guarded or tries and not isinstance(child, ast.ExceptHandler)
            for found in walk(child, lazy, inside):
                yield found
    return walk(tree, False, False)


def upward(module, found, known):
    """Return what is wrong with an import, or ''."""
    if found.target.split('.')[0] != 'echolib':
        return ''
    if found.target == 'echolib.__version__':
        return ''
    target = resolve(found.target, known)
    if rank(module) == TOP:
        return '' if found.lazy else 'line %d: %s imports %s before it is called' % (found.line, module, target)
    if rank(target) > rank(module):
        return 'line %d: %s imports %s, which lies above it' % (found.line, module, target)
    return ''


def cycles(graph):
    """Return the import cycles of a graph (module -> modules), each from its alphabetically first module on."""
    found, done = set(), set()

    def visit(module, path):
        if module in path:
            ring = path[path.index(module):]
            first = ring.index(min(ring))
            found.add(tuple(ring[first:] + ring[:first]))
        elif module not in done:
            for target in sorted(graph.get(module, ())):
                visit(target, path + [module])
            done.add(module)
    for module in sorted(graph):
        visit(module, [])
    return sorted(found)


def prints(tree):
    """Yield the lines that write to standard output."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == 'print':
            yield 'line %d: print()' % node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in ('stdout', '__stdout__') \
                and isinstance(node.value, ast.Name) and node.value.id == 'sys':
            yield 'line %d: sys.%s' % (node.lineno, node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module == 'sys' and any(
                alias.name in ('stdout', '__stdout__') for alias in node.names):
            yield 'line %d: stdout from sys' % node.lineno


def logic(tree):
    """Return what a script holds beside its path line, one import of a main and the exit with it (by run.leave or sys.exit).

    A script that is imported as a library too hands on more names of that module.
    """
    problems, seen = [], []

    def call(node, name):
        return isinstance(node, ast.Call) and dotted(node.func) == name

    def is_exit(node):
        return (isinstance(node, ast.Expr) and (call(node.value, 'sys.exit') or call(node.value, 'leave')) and len(node.value.args) == 1
                and call(node.value.args[0], 'main'))

    for number, node in enumerate(tree.body):
        if number == 0 and isinstance(node, ast.Expr) and ast.get_docstring(tree):
            continue
        if isinstance(node, ast.Import) and all(alias.name in ('os', 'os.path', 'sys') for alias in node.names):
            continue
        if isinstance(node, ast.Expr) and call(node.value, 'sys.path.insert'):
            seen.append('path')
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module.startswith('echolib.cli.') \
                and ('main', None) in [(alias.name, alias.asname) for alias in node.names] and not any(alias.asname for alias in node.names):
            seen.append('import')
        elif isinstance(node, ast.ImportFrom) and node.module == 'echolib.cli.run' and [alias.name for alias in node.names] == ['leave']:
            continue
        elif is_exit(node):
            seen.append('exit')
        elif isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse and is_exit(node.body[0]) \
                and isinstance(node.test, ast.Compare) and dotted(node.test.left) == '__name__':
            seen.append('exit')
        else:
            problems.append('line %d: %s' % (node.lineno, type(node).__name__))
    if seen != ['path', 'import', 'exit']:
        problems.append('path, import, exit wanted once each and in this order, found: %s' % ', '.join(seen))
    return problems


@lru_cache(maxsize=None)
def of_file(path):
    """Return (module, its imports as a list) of a file of echolib."""
    module = module_name(path)
    return module, list(imports(ast.parse(read(path)), module, path.endswith('/__init__.py')))


@pytest.mark.parametrize('path', sources('echolib'))
def test_imports_point_downwards(path):
    module, found = of_file(path)
    assert [problem for problem in (upward(module, one, MODULES) for one in found) if problem] == []


def test_no_import_cycle_at_module_level():
    graph = {}
    for path in MODULES.values():
        module, found = of_file(path)
        targets = {resolve(one.target, MODULES) for one in found if not one.lazy and one.target.startswith('echolib')}
        # An import of a.b.c runs a and a.b too, unless the module lies in them: then they are running already.
        for target in list(targets):
            while '.' in target:
                target = target.rpartition('.')[0]
                if not module.startswith(target + '.'):
                    targets.add(target)
        graph[module] = targets - {module}
    assert cycles(graph) == []


def in_standard_library(name):
    """True for a top-level module that comes with Python."""
    names = getattr(sys, 'stdlib_module_names', None)
    if names is not None:
        return name in names
    if name in sys.builtin_module_names:
        return True
    spec = importlib.util.find_spec(name)
    origin = spec and spec.origin or ''
    home = os.path.realpath(sysconfig.get_paths()['stdlib'])
    return os.path.realpath(origin).startswith(home + os.sep) and 'site-packages' not in origin


@pytest.mark.parametrize('path', sources('echolib', 'scripts'))
def test_standard_library_only(path):
    foreign = [one for one in of_file(path)[1] if one.target.split('.')[0] != 'echolib'
               and not in_standard_library(one.target.split('.')[0])]
    # Some modules exist on some systems or versions only: those are imported where their absence is caught.
    assert [one for one in foreign if not (one.guarded and is_optional(one.target))] == []


def is_optional(target):
    return target.split('.')[0] in ('msvcrt', 'winreg', 'fcntl', 'resource', 'zoneinfo', 'tomllib', 'compression')


@pytest.mark.parametrize('path', sources('echolib'))
def test_only_cli_prints(path):
    if rank(module_name(path)) != CLI:
        assert list(prints(ast.parse(read(path)))) == []


@pytest.mark.parametrize('path', sources('scripts'))
def test_scripts_hold_no_logic(path):
    text = read(path)
    assert text.startswith('#!/usr/bin/env python3\n')
    tree = ast.parse(text)
    assert logic(tree) == []
    assert all(node.module in MODULES for node in tree.body if isinstance(node, ast.ImportFrom))


def test_shell_scripts_only_call_python():
    for name in names_in('scripts'):
        if name.endswith('.sh'):
            lines = [line for line in read('scripts/' + name).splitlines() if line.strip() and line[0] != '#']
            assert len(lines) <= 2 and 'python3' in lines[-1], name


# How the rules themselves answer. name -> (module, source, part of the complaint or '')
KNOWN = {'echolib', 'echolib.base', 'echolib.base.text', 'echolib.records', 'echolib.pricing_names', 'echolib.pricing',
         'echolib.index', 'echolib.index.build', 'echolib.insights', 'echolib.cli', 'echolib.cli.run', 'echolib.api'}
IMPORT_CASES = {
    'down': ('echolib.index.build', 'from ..base.text import fold', ''),
    'down, absolute': ('echolib.records', 'import echolib.base.text', ''),
    'same layer': ('echolib.pricing', 'from .pricing_names import look_up', ''),
    'sibling': ('echolib.index.build', 'from . import schema', ''),
    'up': ('echolib.base.text', 'from ..records import parse', 'echolib.records'),
    'up, absolute': ('echolib.records', 'from echolib.index import build', 'echolib.index.build'),
    'up from the package': ('echolib.pricing', 'from . import insights', 'echolib.insights'),
    'up in a function': ('echolib.base.text', 'def f():\n    from ..index import build', 'echolib.index.build'),
    'up by name': ('echolib.index.build', 'import importlib\nimportlib.import_module("echolib.cli.run")', 'cli.run'),
    'up by a relative name': ('echolib.index.build', 'import_module("..cli." + name, __package__)', 'echolib.cli'),
    'up by a built name': ('echolib.index.build', 'import_module("echolib.cli.%s" % name)', 'echolib.cli'),
    'to a module without a layer': ('echolib.cli.run', 'from ..api import search', 'echolib.api'),
    'the version': ('echolib.cli.run', 'from .. import __version__', ''),
    'something else of the package': ('echolib.cli.run', 'from .. import open_index', 'imports echolib,'),
    'door, lazily': ('echolib.api', 'def f():\n    from .index import build', ''),
    'door, at once': ('echolib.api', 'from .index import build', 'before it is called'),
    'foreign': ('echolib.base.text', 'import json, os.path', ''),
}


@pytest.mark.parametrize('name', sorted(IMPORT_CASES))
def test_import_rule(name):
    module, source, complaint = IMPORT_CASES[name]
    found = imports(ast.parse(source), module, module in ('echolib', 'echolib.base', 'echolib.index', 'echolib.cli'))
    problems = [problem for problem in (upward(module, one, KNOWN) for one in found) if problem]
    assert len(problems) == (1 if complaint else 0)
    assert complaint in ''.join(problems)


def test_cycle_rule():
    assert cycles({'a': {'b'}, 'b': {'c'}, 'c': set()}) == []
    assert cycles({'a': {'b'}, 'b': {'c'}, 'c': {'a'}}) == [('a', 'b', 'c')]
    assert cycles({'x': {'a'}, 'a': {'b'}, 'b': {'a'}}) == [('a', 'b')]


def test_print_rule():
    assert list(prints(ast.parse('import sys\nsys.stderr.write("x")\nlog.print("x")'))) == []
    for source in ('print("x")', 'import sys\nsys.stdout.write("x")', 'from sys import stdout'):
        assert len(list(prints(ast.parse(source)))) == 1, source


SCRIPT = ('"""Doc."""\nimport os\nimport sys\n'
          'sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\n'
          'from echolib.cli.x import main\n')


@pytest.mark.parametrize('rest, problems', [
    ('sys.exit(main(sys.argv[1:]))', 0),
    ('from echolib.cli.run import leave\nleave(main(sys.argv[1:]))', 0),
    ('from echolib.cli.run import run\nsys.exit(main(sys.argv[1:]))', 1),
    ('if __name__ == "__main__":\n    sys.exit(main())', 0),
    ('main()', 2),
    ('x = 1\nsys.exit(main())', 1),
    ('if True:\n    sys.exit(main())', 2),
    ('def helper():\n    pass\nsys.exit(main())', 1),
    ('import json\nsys.exit(main())', 1),
    ('from echolib.base import text\nsys.exit(main())', 1),
])
def test_script_rule(rest, problems):
    assert len(logic(ast.parse(SCRIPT + rest))) == problems
