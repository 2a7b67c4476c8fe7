"""Every file runs on Python 3.6, opens text with a named encoding, and swallows no error silently."""
import ast
import io
import re
import sys
import tokenize

import pytest

from helpers import catches, dotted, read, sources

FILES = sources('echolib', 'scripts', 'tests')

# Newer than 3.6. Allowed where a try catches their absence (ImportError, AttributeError) or an if asks for it first.
MODULES = '''
    annotationlib compression contextvars dataclasses graphlib importlib.metadata importlib.resources tomllib zoneinfo
'''.split()
# Removed since, so that a newer Python lacks them.
GONE = '''
    asynchat asyncore cgi cgitb crypt distutils imghdr imp mailcap nntplib nis pipes smtpd sndhdr telnetlib uu xdrlib
    collections.Callable collections.Iterable collections.Iterator collections.Mapping collections.MutableMapping
    collections.Sequence collections.Set time.clock inspect.getargspec ast.Num ast.Str ast.NameConstant
'''.split()
NAMES = MODULES + GONE + '''
    argparse.BooleanOptionalAction ast.get_source_segment ast.unparse asyncio.run asyncio.to_thread asyncio.TaskGroup
    asyncio.timeout contextlib.aclosing contextlib.asynccontextmanager contextlib.AsyncExitStack contextlib.chdir
    contextlib.nullcontext datetime.UTC functools.cache functools.cached_property functools.singledispatchmethod
    hashlib.file_digest itertools.batched itertools.pairwise math.cbrt math.comb math.dist math.exp2 math.isqrt math.lcm
    math.nextafter math.perm math.prod math.sumprod math.ulp os.memfd_create os.pidfd_open os.waitstatus_to_exitcode
    random.randbytes re.Match re.NOFLAG re.Pattern shlex.join statistics.correlation statistics.covariance
    statistics.fmean statistics.geometric_mean statistics.linear_regression statistics.multimode
    statistics.NormalDist statistics.quantiles sys.addaudithook sys.breakpointhook sys.orig_argv sys.pycache_prefix
    sys.stdlib_module_names sys.unraisablehook threading.excepthook threading.get_native_id
    time.clock_gettime_ns time.monotonic_ns time.perf_counter_ns time.process_time_ns time.thread_time_ns time.time_ns
    tracemalloc.reset_peak typing.Annotated typing.Final typing.ForwardRef typing.Literal typing.Protocol typing.Self
    typing.TypeAlias typing.TypedDict typing.final typing.get_args typing.get_origin typing.override
    typing.runtime_checkable unicodedata.is_normalized unittest.IsolatedAsyncioTestCase
'''.split()
# Methods and attributes that only newer Pythons have, whatever object they are asked of.
ATTRIBUTES = '''
    backup bit_count blobopen file_digest fromisocalendar fromisoformat is_relative_to isascii link_to monotonic_ns
    perf_counter_ns process_time_ns reconfigure removeprefix removesuffix serialize time_ns walk_up with_stem
'''.split()
BUILTINS = 'aiter anext breakpoint EncodingWarning ExceptionGroup BaseExceptionGroup'.split()
# Arguments that only newer Pythons take: the function's last name -> argument names.
ARGUMENTS = {
    'run': 'capture_output text', 'Popen': 'text user group umask process_group', 'call': 'text', 'check_call': 'text',
    'check_output': 'text', 'add_subparsers': 'required', 'ArgumentParser': 'exit_on_error suggest_on_error color',
    'unlink': 'missing_ok', 'copytree': 'dirs_exist_ok', 'rmtree': 'onexc dir_fd', 'zip': 'strict', 'sum': 'start',
    'namedtuple': 'defaults', 'create_function': 'deterministic', 'connect': 'autocommit',
    'basicConfig': 'encoding force',
    'md5': 'usedforsecurity', 'sha1': 'usedforsecurity', 'sha256': 'usedforsecurity', 'new': 'usedforsecurity',
    'TemporaryDirectory': 'ignore_cleanup_errors delete', 'NamedTemporaryFile': 'errors delete_on_close',
    'shutdown': 'cancel_futures', 'compress': 'mtime wbits',
    'bisect': 'key', 'bisect_left': 'key', 'bisect_right': 'key',
    'insort': 'key', 'insort_left': 'key', 'insort_right': 'key', 'write_text': 'newline', 'read_text': 'newline',
    'hex': 'sep bytes_per_sep', 'glob': 'root_dir include_hidden recurse_symlinks case_sensitive',
    'shuffle': 'random', 'dump': 'encoding', 'dumps': 'encoding', 'loads': 'encoding', 'load': 'encoding',
    'extract': 'filter', 'extractall': 'filter',
}
GENERICS = '''
    dict frozenset list set tuple type collections.Counter collections.OrderedDict collections.defaultdict
    collections.deque
'''.split()
SYNTAX = {'NamedExpr': 'walrus', 'Match': 'match', 'TryStar': 'except*', 'TypeAlias': 'type statement',
          'TemplateStr': 't-string'}
# A '=' before the end of a replacement field: f'{x=}'.
SELF_DOCUMENTING = re.compile(r'''(?<!\{)\{[^{}'"=]*[^{}'"=<>!\s]\s*=\s*(?:![rsa])?(?::[^{}]*)?\}''')


def aliases(tree):
    """Return what the names that imports bind stand for: {'m': 'math', 'prod': 'math.prod'}."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update((alias.asname, alias.name) if alias.asname else (alias.name.split('.')[0],) * 2
                         for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update((alias.asname or alias.name, '%s.%s' % (node.module, alias.name)) for alias in node.names)
    return names


def asks(node):
    """True for a statement or expression that makes sure of something before it uses it."""
    return catches(node, 'ImportError', 'ModuleNotFoundError', 'AttributeError') or isinstance(
        node, (ast.If, ast.IfExp)) and any(word in ast.dump(node.test) for word in ("'version_info'", "'hasattr'"))


def unguarded(tree):
    """Yield the nodes outside of all such statements."""
    for node in ast.iter_child_nodes(tree):
        if asks(node):
            parts = node.handlers + node.finalbody if isinstance(node, ast.Try) else []
        else:
            yield node
            parts = [node]
        for part in parts:
            for inner in unguarded(part):
                yield inner


def newer_names(tree, source):
    """Yield what Python 3.6, or the newest Python, does not have."""
    bound = aliases(tree)
    for node in unguarded(tree):
        problem = ''
        if isinstance(node, ast.Import):
            problem = ' '.join(alias.name for alias in node.names if alias.name in NAMES)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = ['%s.%s' % (node.module, alias.name) for alias in node.names]
            problem = ' '.join(name for name in [node.module] + names if name in NAMES + ['__future__.annotations'])
        elif isinstance(node, ast.Attribute):
            first, _, rest = dotted(node).partition('.')
            name = '%s.%s' % (bound.get(first, first), rest)
            problem = name if name in NAMES or node.attr in ATTRIBUTES else ''
        elif isinstance(node, ast.Name):
            problem = node.id if node.id in BUILTINS and node.id not in bound else ''
        elif isinstance(node, ast.Call):
            problem = ' '.join(newer_arguments(node))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            name = bound.get(node.value.id, node.value.id)
            problem = '%s[...]' % name if name in GENERICS else ''
        elif isinstance(node, ast.arguments):
            problem = 'positional-only arguments' if getattr(node, 'posonlyargs', None) else ''
        elif type(node).__name__ == 'JoinedStr':
            problem = "f'{x=}'" if SELF_DOCUMENTING.search(segment(node, source)) else ''
        else:
            problem = SYNTAX.get(type(node).__name__, '')
        for annotation in (getattr(node, 'annotation', None), getattr(node, 'returns', None)):
            if annotation is not None and 'BitOr' in ast.dump(annotation):
                problem = 'X | Y in an annotation'
        if problem:
            yield 'line %d: %s' % (getattr(node, 'lineno', 0), problem)


def newer_arguments(call):
    """Yield the arguments of a call that 3.6 does not take."""
    name = dotted(call.func).rpartition('.')[2] or getattr(call.func, 'attr', '')
    known = ARGUMENTS.get(name, '').split()
    for keyword in call.keywords:
        if keyword.arg in known:
            yield '%s(%s=)' % (name, keyword.arg)
    if isinstance(call.func, ast.Attribute) and name == 'hex' and call.args and dotted(call.func) != 'float.hex':
        yield 'hex() with a separator'
    if isinstance(call.func, ast.Attribute) and name == 'to_bytes' and len(call.args) + len(call.keywords) < 2:
        yield 'to_bytes() without length and order'


def segment(node, source):
    """Return the source of an f-string; '' where this Python cannot tell (3.6 refuses f'{x=}' itself)."""
    return ast.get_source_segment(source, node) or '' if sys.version_info >= (3, 8) else ''


def text_mode(call):
    """Return the place after which a call that opens a file as text takes the encoding; None for any other call.

    A mode that is not written out counts as none, and so does the open() of an object without a mode.
    """
    base, _, name = (dotted(call.func) or getattr(call.func, 'attr', '')).rpartition('.')
    if name in ('TemporaryFile', 'NamedTemporaryFile'):
        place, mode = 0, 'w+b'
    elif name == 'SpooledTemporaryFile':
        place, mode = 1, 'w+b'
    elif name == 'open' and base in ('gzip', 'bz2', 'lzma'):
        place, mode = 1, 'rb'
    elif name == 'fdopen' or name == 'open' and (base == 'io' or isinstance(call.func, ast.Name)):
        place, mode = 1, 'r'
    elif name == 'open' and base not in ('os', 'tarfile', 'zipfile', 'webbrowser', 'dbm', 'shelve', 'wave'):
        place, mode = 0, 'rb'
    else:
        return None
    given = call.args[place:place + 1] + [word.value for word in call.keywords if word.arg == 'mode']
    if given:
        try:
            mode = ast.literal_eval(given[0])
        except ValueError:
            return None
    if base in ('gzip', 'bz2', 'lzma') and 't' not in mode:
        return None
    return place + 2 if isinstance(mode, str) and re.match('^[rwxatU+]+$', mode) else None


def unnamed_encodings(tree):
    """Yield calls that open a text file, or read or write one whole, without naming the encoding."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not any(word.arg in ('encoding', None) for word in node.keywords):
            name = getattr(node.func, 'attr', '')
            place = {'read_text': 0, 'write_text': 1}.get(name, text_mode(node))
            if place is not None and len(node.args) <= place:
                yield 'line %d: %s()' % (node.lineno, dotted(node.func) or name)


def silent_handlers(tree, source):
    """Yield handlers that hide errors: bare ones, and those that do nothing with no class named or no reason given."""
    commented = {token.start[0] for token in tokenize.generate_tokens(io.StringIO(source).readline)
                 if token.type == tokenize.COMMENT}
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            lines = range(node.lineno, node.body[-1].lineno + 1)
            if node.type is None:
                yield 'line %d: bare except' % node.lineno
            elif not all(isinstance(step, (ast.Pass, ast.Continue)) for step in node.body):
                continue
            elif {'Exception', 'BaseException'}.intersection(map(dotted, ast.walk(node.type))):
                yield 'line %d: everything is caught and nothing done' % node.lineno
            elif not commented.intersection(lines):
                yield 'line %d: no comment says why nothing is done' % node.lineno
        elif isinstance(node, ast.Call) and dotted(node.func).rpartition('.')[2] == 'suppress':
            if {'Exception', 'BaseException'}.intersection(map(dotted, node.args)):
                yield 'line %d: everything is suppressed' % node.lineno


def parse(source):
    """Return the tree of a source by the grammar of 3.6, as far as this Python knows it."""
    if sys.version_info >= (3, 8):
        return ast.parse(source, feature_version=(3, 6))
    return ast.parse(source)


@pytest.mark.parametrize('path', FILES)
def test_runs_on_36(path):
    source = read(path)
    assert list(newer_names(parse(source), source)) == []


@pytest.mark.parametrize('path', FILES)
def test_text_is_opened_with_an_encoding(path):
    assert list(unnamed_encodings(parse(read(path)))) == []


@pytest.mark.parametrize('path', FILES)
def test_no_error_is_swallowed(path):
    source = read(path)
    assert list(silent_handlers(parse(source), source)) == []


# How the rules themselves answer.
NEWER = '''
    import dataclasses
    from dataclasses import dataclass
    import importlib.metadata
    from importlib import resources
    import zoneinfo
    from functools import cache
    import functools; functools.cache
    import functools as f; f.cached_property
    import math; math.prod([1])
    from time import time_ns
    clock.time_ns()
    import typing; typing.Literal
    from typing import Protocol, List
    import re; re.Pattern
    day.fromisoformat("2026-01-01")
    "ab".removeprefix("a")
    "ab".isascii()
    sys.stdout.reconfigure(encoding="utf-8")
    subprocess.run(["x"], capture_output=True)
    check_output(["x"], text=True)
    parser.add_subparsers(required=True)
    path.unlink(missing_ok=True)
    shutil.copytree(a, b, dirs_exist_ok=True)
    zip(a, b, strict=True)
    namedtuple("A", "b", defaults=(1,))
    b"".hex(":")
    (5).to_bytes()
    x: list[int] = []
    def f(x: "int") -> dict[str, int]: pass
    def f(x: int | None): pass
    def f() -> int | None: pass
    breakpoint()
    import cgi
    from collections import Mapping
    if x: import zoneinfo
'''
OLD_ENOUGH = '''
    import importlib, functools, typing, collections
    from typing import NamedTuple, List, Dict
    x: List[int] = []
    x = a | b
    functools.lru_cache(maxsize=None)
    lists[0]; counts["list"]; dict(a=1)["a"]
    subprocess.run(["x"], stdout=PIPE, universal_newlines=True)
    text(capture_output=1)
    b"".hex()
    (5).to_bytes(2, "big")
    run = text = 1
    f"{x}={y!r:>{w}}"; f"{x == y}"; f"{{x=}}"
    def f(a, *, b): pass
    zoneinfo = None if not hasattr(time, "time_ns") else time.time_ns()
    from collections import namedtuple, OrderedDict
'''


def cases(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize('source', cases(NEWER))
def test_newer_name_is_found(source):
    assert list(newer_names(ast.parse(source), source)) != []


@pytest.mark.parametrize('source', cases(OLD_ENOUGH) + [
    'try:\n    import zoneinfo\nexcept ImportError:\n    zoneinfo = None',
    'try:\n    is_ascii = str.isascii\nexcept AttributeError:\n    is_ascii = None',
    'if sys.version_info >= (3, 7):\n    sys.stdout.reconfigure()',
])
def test_old_name_is_let_through(source):
    assert list(newer_names(ast.parse(source), source)) == []


def test_handler_and_else_of_a_guard_are_looked_at():
    source = 'try:\n    import zoneinfo\nexcept ImportError:\n    import dataclasses'
    assert list(newer_names(ast.parse(source), source)) == ['line 4: dataclasses']


@pytest.mark.parametrize('source', ['(x := 1)', 'def f(a, /): pass', 'from __future__ import annotations',
                                    "f'{x=}'", "f'{x.y = !r}'", "f'a {x=:>10} b'"])
def test_newer_syntax_is_found(source):
    try:
        tree = parse(source)
    except SyntaxError:
        return
    assert list(newer_names(tree, source)) != []


@pytest.mark.parametrize('source', [
    'open(p)', 'open(p, "r")', 'open(p, mode="w")', 'io.open(p, "a")', 'os.fdopen(fd, "w")', 'path.open("w")',
    'gzip.open(p, "rt")', 'NamedTemporaryFile("w")', 'path.read_text()', 'path.write_text("x")',
    '(a / b).open("r")', 'tempfile.TemporaryFile(mode="w+")',
])
def test_unnamed_encoding_is_found(source):
    assert len(list(unnamed_encodings(ast.parse(source)))) == 1


@pytest.mark.parametrize('source', [
    'open(p, encoding="utf-8")', 'open(p, "rb")', 'open(p, mode)', 'open(p, "r", -1, "utf-8")', 'os.open(p, flags)',
    'gzip.open(p)', 'tarfile.open(p, "r")', 'path.open("rb")', 'path.read_text("utf-8")', 'NamedTemporaryFile()',
    'path.write_text("x", "utf-8")', 'store.open(session)',
    'path.read_text(encoding="utf-8")', 'store.open()', 'open(p, **how)',
])
def test_named_encoding_is_let_through(source):
    assert list(unnamed_encodings(ast.parse(source))) == []


@pytest.mark.parametrize('handler, problems', [
    ('except:\n    x()', 1),
    ('except Exception:\n    pass  # why', 1),
    ('except (OSError, Exception):\n    # why\n    pass', 1),
    ('except OSError:\n    pass', 1),
    ('except OSError:\n    # Gone meanwhile.\n    pass', 0),
    ('except OSError:  # gone meanwhile\n    pass', 0),
    ('except OSError:\n    return_value = None', 0),
    ('except Exception as error:\n    warn(error)', 0),
])
def test_silent_handler_rule(handler, problems):
    source = 'try:\n    f()\n' + handler
    assert len(list(silent_handlers(ast.parse(source), source))) == problems
    assert len(list(silent_handlers(ast.parse('with suppress(Exception):\n    f()'), ''))) == 1
