"""What is known of programs on command lines: wrappers, interpreters, subcommands, test runners. Data of shell.py.

Any change needs a new version (analysis_versions): verdicts are stored in the index.
"""
# Programs that run another one. Value: what of their own stands before it besides options: '' nothing, 'number' a duration or
# count, 'name' a container or the like; a pair (verbs, value) where a verb makes them a wrapper.
WRAPPERS = {
    'sudo': '', 'doas': '', 'time': '', 'nice': '', 'nohup': '', 'command': '', 'exec': '', 'env': '', 'xargs': '', 'stdbuf': '', 'setsid': '',
    'caffeinate': '', 'unbuffer': '', 'strace': '', 'ltrace': '', 'builtin': '', 'winpty': '', 'chronic': '', 
    'timeout': 'number', 'gtimeout': 'number', 'flock': 'name', 'chroot': 'name', 'ionice': '', 'taskset': 'name', 'parallel': '',
    'npx': '', 'bunx': '', 'pnpx': '', 'uvx': '', 'pipx': (('run',), ''), 'cross-env': '', 'dotenv': '', 'env-cmd': '', 'xvfb-run': '', 'direnv': (('exec',), 'name'),
    'uv': (('run',), ''), 'poetry': (('run',), ''), 'pipenv': (('run',), ''), 'pdm': (('run',), ''), 'hatch': (('run',), ''), 'rye': (('run',), ''),
    'pixi': (('run',), ''), 'conda': (('run',), ''), 'mamba': (('run',), ''), 'micromamba': (('run',), ''), 'bundle': (('exec',), ''), 'mise': (('exec', 'x'), ''),
    'asdf': (('exec',), ''), 'rbenv': (('exec',), ''), 'nvm': (('exec',), 'name'), 'pnpm': (('exec', 'dlx'), ''), 'yarn': (('exec', 'dlx'), ''), 'npm': (('exec', 'x'), ''),
    'docker': (('exec', 'run', 'compose'), 'name'), 'podman': (('exec', 'run', 'compose'), 'name'), 'docker-compose': (('exec', 'run'), 'name'),
    'kubectl': (('exec',), 'name'), 'nix': (('develop', 'shell'), ''), 'nix-shell': '', 'coverage': (('run',), ''), 'devbox': (('run',), ''), 'op': (('run',), ''),
    'doppler': (('run',), ''),
}
# Their options that take the next word.
OPTIONS_WITH_VALUE = {
    'git': ('-C', '-c'), 'make': ('-C', '-f', '-j'), 'yarn': ('--cwd',), 'go': ('-C',), 'mvn': ('-f', '-pl'), 'gradle': ('-p',), 'gradlew': ('-p',),
    'sudo': ('-u', '-g', '-h', '-p'), 'nice': ('-n',), 'ionice': ('-c', '-n'), 'env': ('-u', '-C', '-S'), 'xargs': ('-n', '-P', '-I', '-L', '-d'), 'stdbuf': ('-o', '-e', '-i'),
    'timeout': ('-s', '-k', '--signal', '--kill-after'), 'gtimeout': ('-s', '-k'), 'time': ('-f', '-o'), 'exec': ('-a',), 'parallel': ('-j',),
    'npx': ('-p', '--package', '-c', '--prefix'), 'uvx': ('--from', '--with', '-p', '--python'), 'dotenv': ('-e', '-f'), 'env-cmd': ('-f', '-e'), 'xvfb-run': ('-s', '-n'),
    'uv': ('--with', '--extra', '--group', '-p', '--python', '--project', '--directory', '--env-file', '--package', '--with-requirements', '--no-group', '--only-group'),
    'poetry': ('-C', '--directory', '-P', '--project'), 'pdm': ('-p', '--project'), 'hatch': ('-e', '--env'), 'pixi': ('-e', '--environment', '--manifest-path'),
    'conda': ('-n', '--name', '-p', '--prefix'), 'mamba': ('-n', '-p'), 'micromamba': ('-n', '-p'), 'pnpm': ('-C', '--dir', '--filter', '-F'), 'npm': ('--prefix', '-w', '--workspace'),
    'docker': ('-e', '--env', '-u', '--user', '-w', '--workdir', '-v', '--volume', '--name', '-p', '--env-file', '--network', '--entrypoint', '-f', '--file', '--mount', '--platform',
               '--context', '-H', '-m', '--memory', '--cpus'),
    'podman': ('-e', '--env', '-u', '--user', '-w', '--workdir', '-v', '--volume', '--name', '-p', '--network', '--entrypoint'),
    'docker-compose': ('-f', '--file', '-e', '-u', '--user', '-w', '--workdir', '-p', '--project-name'),
    'kubectl': ('-n', '--namespace', '-c', '--container', '--context'), 'coverage': ('--source', '--include', '--omit', '--rcfile', '--data-file'),
}
# Programs that run a script, a module or another line.
INTERPRETERS = {
    'python': 'python', 'python2': 'python', 'python3': 'python', 'py': 'python', 'pypy3': 'python', 'node': 'node', 'deno': 'node', 'bun': 'node', 'ts-node': 'node', 'tsx': 'node',
    'ruby': 'ruby', 'perl': 'perl', 'php': 'php', 'bash': 'shell', 'sh': 'shell', 'zsh': 'shell', 'dash': 'shell', 'fish': 'shell', 'ksh': 'shell', 'pwsh': 'shell', 'powershell': 'shell',
    'rscript': 'r', 'julia': 'julia', 'lua': 'lua'}
INTERPRETERS.update(('python3.%d' % minor, 'python') for minor in range(6, 16))
# How many words behind the program name what it does.
SUBCOMMANDS = {
    'gh': 2, 'aws': 2, 'gcloud': 2, 'az': 2, 'git': 1, 'npm': 1, 'pnpm': 1, 'yarn': 1, 'bun': 1, 'deno': 1, 'docker': 1, 'podman': 1, 'docker-compose': 1, 'kubectl': 1, 'helm': 1,
    'pip': 1, 'pip3': 1, 'pipx': 1, 'uv': 1, 'poetry': 1, 'pipenv': 1, 'pdm': 1, 'hatch': 1, 'conda': 1, 'go': 1, 'cargo': 1, 'rustup': 1, 'make': 1, 'just': 1, 'dotnet': 1, 'mvn': 1, 'mvnw': 1,
    'gradle': 1, 'gradlew': 1, 'terraform': 1, 'tofu': 1, 'systemctl': 1, 'apt': 1, 'apt-get': 1, 'brew': 1, 'rails': 1, 'rake': 1, 'composer': 1, 'artisan': 1, 'mix': 1, 'swift': 1, 'flutter': 1,
    'dart': 1, 'bazel': 1, 'nx': 1, 'turbo': 1, 'lerna': 1, 'vercel': 1, 'netlify': 1, 'wrangler': 1, 'supabase': 1, 'prisma': 1, 'alembic': 1, 'svn': 1, 'hg': 1, 'jj': 1, 'bundle': 1, 'gem': 1,
    'stack': 1, 'cabal': 1, 'sbt': 1, 'zig': 1, 'xcodebuild': 1, 'claude': 1, 'task': 1, 'nix': 1, 'ansible-playbook': 0, 'playwright': 1, 'cypress': 1, 'ng': 1, 'forge': 1, 'hardhat': 1}
# Programs that only set the scene for what follows.
SETTING = frozenset(('cd', 'pushd', 'popd', 'export', 'set', 'unset', 'source', '.', 'echo', 'printf', 'true', 'sleep', 'umask', 'ulimit', 'alias', 'clear', 'mkdir', 'wait', 'trap', 'shopt', 'local',
                     'declare', 'module', 'pwd', ':', 'nvm'))

TEST_PROGRAMS = frozenset((
    'pytest', 'py.test', 'pytest-3', 'unittest', 'nose2', 'nosetests', 'nose', 'tox', 'nox', 'trial', 'ward', 'behave', 'robot', 'testify', 'jest', 'vitest', 'mocha', 'ava', 'jasmine', 'karma', 'tap', 'qunit',
    'web-test-runner', 'wtr', 'rspec', 'cucumber', 'minitest', 'phpunit', 'pest', 'codecept', 'behat', 'ctest', 'gotestsum', 'ginkgo', 'busted', 'bats', 'shunit2', 'shellspec', 'prove', 'nunit3-console',
    'xunit.console', 'vstest.console', 'testcafe', 'nightwatch', 'newman', 'detox', 'ptr', 'stestr', 'xctest', 'parallel_rspec', 'parallel_test', 'cargo-nextest', 'elm-test', 'elm-test-rs', 'bats-core', 'googletest',
    'doctest', 'pytest-xdist', 'jest-cli', 'japa', 'uvu', 'zora', 'tape', 'tst'))
# First word behind the program that makes it a test run.
TEST_WORDS = {
    'go': ('test',), 'cargo': ('test', 't', 'nextest', 'tarpaulin'), 'dotnet': ('test', 'vstest'), 'swift': ('test',), 'mix': ('test',), 'dart': ('test',), 'flutter': ('test',), 'deno': ('test',), 'bun': ('test',),
    'npm': ('test', 't', 'tst', 'it', 'install-test'), 'pnpm': ('test', 't'), 'rake': ('test', 'spec'), 'rails': ('test', 'spec', 'test:all', 'test:system'), 'bazel': ('test', 'coverage'), 'bazelisk': ('test',),
    'buck': ('test',), 'buck2': ('test',), 'pants': ('test',), 'lein': ('test', 'midje'), 'stack': ('test',), 'cabal': ('test', 'v2-test', 'new-test'), 'zig': ('test',), 'playwright': ('test',), 'cypress': ('run',), 'hatch': ('test',),
    'pdm': ('test',), 'ng': ('test', 'e2e'), 'nx': ('test', 'e2e'), 'turbo': ('test',), 'ember': ('test',), 'wasm-pack': ('test',), 'forge': ('test',), 'hardhat': ('test',), 'truffle': ('test',), 'anchor': ('test',),
    'meson': ('test',), 'composer': ('test', 'tests'), 'molecule': ('test', 'verify'), 'helm': ('test',), 'terraform': ('test',), 'tofu': ('test',), 'opa': ('test',), 'dbt': ('test',), 'moon': ('test',), 'rush': ('test',),
    'crystal': ('spec',), 'nim': ('test',), 'nimble': ('test',), 'dune': ('test', 'runtest'), 'gleam': ('test',), 'rebar3': ('eunit', 'ct'), 'raco': ('test',), 'vapor': ('test',), 'maestro': ('test',), 'tusk': ('test',)}
_TARGETS = r'(?:\S+ )*?(?:test|tests|check|unittest|spec|pytest)(?:[-_:]\S+)?(?: |$)|(?:\S+ )*?\S+[-_:]tests?(?: |$)'
_SCRIPT_NAME = r'(?:tests?|spec|e2e|unit|jest|vitest)(?:[:_-]\S+)?(?: |$)|\S+[:_-](?:test|tests|e2e)(?: |$)'
# What else makes a program with its words (options left out) a test run.
TEST_ARGUMENTS = dict((
    ('make', _TARGETS), ('gmake', _TARGETS), ('ninja', _TARGETS), ('just', _TARGETS), ('task', _TARGETS), ('mage', _TARGETS), ('invoke', _TARGETS), ('inv', _TARGETS), ('scons', _TARGETS), ('waf', _TARGETS),
    ('npm', '(?:run|run-script) (?:%s)' % _SCRIPT_NAME), ('pnpm', '(?:run )?(?:%s)' % _SCRIPT_NAME), ('yarn', '(?:run |workspace \\S+ |workspaces run )?(?:run )?(?:%s)' % _SCRIPT_NAME),
    ('bun', 'run (?:%s)' % _SCRIPT_NAME), ('deno', 'task (?:%s)' % _SCRIPT_NAME), ('node', '(?:run )?\\S*(?:node_modules/\\S*/)?(?:jest|vitest|mocha)(?:\\.m?js)?(?: |$)'), ('turbo', 'run (?:%s)' % _SCRIPT_NAME),
    ('lerna', 'run (?:%s)' % _SCRIPT_NAME), ('nx', '(?:run \\S+:test|run-many|affected)(?: |$).*test|run \\S+:(?:test|e2e)'), ('composer', 'run(?:-script)? (?:%s)' % _SCRIPT_NAME),
    ('mvn', '(?:\\S+ )*(?:test|verify|surefire:test|integration-test|failsafe:\\S+)(?: |$)'), ('mvnw', '(?:\\S+ )*(?:test|verify|integration-test)(?: |$)'),
    ('gradle', '(?:\\S+ )*(?:\\S*[tT]est|:?\\S*:?check|\\S*:test\\S*)(?: |$)'), ('gradlew', '(?:\\S+ )*(?:\\S*[tT]est|:?\\S*:?check|\\S*:test\\S*)(?: |$)'),
    ('sbt', '.*\\btest'), ('xcodebuild', '(?:\\S+ )*test'), ('cmake', '(?:\\S+ )*(?:test|check|RUN_TESTS)(?: |$)'), ('zig', 'build test'), ('php', '(?:artisan|bin/console) test|\\S*(?:phpunit|pest)(?: |$)'),
    ('artisan', 'test'), ('python', '\\S*manage\\.py test|setup\\.py test|\\S*(?:pytest|runtests)(?:\\.py)?(?: |$)'), ('python3', '\\S*manage\\.py test|setup\\.py test|\\S*(?:pytest|runtests)(?:\\.py)?(?: |$)'),
    ('manage.py', 'test'), ('django-admin', 'test'), ('r', 'cmd check'), ('rscript', '.*test'), ('perl', 'Build test'), ('cargo', '\\+\\S+ (?:test|t|nextest)(?: |$)'),
    ('coverage', '(?:run )?pytest'), ('cypress', 'run'), ('docker', 'compose run \\S+ test$')))
TEST_SCRIPT = (
    r'(?:run[-_.]?)?(?:all[-_]?|unit[-_]?|integration[-_]?|e2e[-_]?)?(?:tests?|specs?)(?:[-_.][\w.-]*)?$|test_[\w-]+\.(?:py|sh|js|ts|rb)$|[\w-]+[._-](?:test|spec|tests)\.(?:py|sh|m?js|tsx?|rb)$')
# With one of these a runner tells something and runs no test.
NO_TEST_OPTIONS = frozenset(('--version', '--help', '--collect-only', '--co', '--listTests', '--list', '--list-tests', '--fixtures', '--markers', '--showConfig', '--dry-run', '--no-run', '-N'))
