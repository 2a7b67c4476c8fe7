"""Command lines: the program behind wrappers, what it works on, and whether it runs tests."""
import hashlib

import pytest

from echolib import shell, shell_programs

TESTS = (
    'pytest', 'pytest tests/', 'py.test -q', 'python -m pytest', 'python3 -m pytest tests/test_a.py -k name', 'python3.11 -m unittest discover', 'uv run pytest', 'uv run --with x --python 3.12 pytest -q',
    'uv run python -m pytest', 'poetry run pytest', 'pipenv run pytest', 'pdm run pytest', 'hatch run pytest', 'conda run -n env pytest', 'coverage run -m pytest', 'tox -e py311', 'nox', 'nose2',
    'python manage.py test', 'python3 test_app.py', 'python tests/test_app.py', './test.sh', './scripts/run_tests.sh', 'bash run-tests.sh', 'bun test', 'bun run test', 'npm test', 'npm t', 'npm run test', 'npm run test -- --watch',
    'npm run test:unit', 'npm run e2e', 'npm --prefix web test', 'yarn test', 'yarn jest', 'yarn run test', 'yarn workspace web test', 'pnpm test', 'pnpm t', 'pnpm run test', 'pnpm --filter web test', 'pnpm exec vitest run',
    'npx vitest', 'npx -y jest', 'npx --yes playwright test', 'bunx jest', 'jest', 'vitest run', 'mocha', 'node --test', 'node node_modules/.bin/jest', 'deno test', 'deno task test', 'ng test', 'nx test web', 'turbo run test',
    'go test ./...', 'cd pkg && go test ./...', 'gotestsum', 'cargo test', 'cargo t', 'cargo nextest run', 'cargo +nightly test', 'mvn test', 'mvn -q clean verify', './mvnw test', './gradlew test', 'gradle check', 'gradlew :app:testDebug',
    'sbt test', 'make test', 'make -C src check', 'make -j4 unittest', 'just test', 'ctest --output-on-failure', 'cmake --build build --target test', 'bazel test //...', 'rspec', 'bundle exec rspec spec/a_spec.rb', 'rake test', 'bin/rails test',
    'phpunit', './vendor/bin/phpunit', 'php artisan test', 'php vendor/bin/phpunit', 'composer test', 'dotnet test', 'swift test', 'mix test', 'flutter test', 'zig build test', 'xcodebuild -scheme App test', 'prove -l t', 'bats test/', 'lein test', 'stack test',
    'time bun test', 'time -p pytest', 'timeout 60 pytest', 'timeout -k 5 60s npm test', 'env A=1 pytest', 'CI=1 bun test', "FOO=1 BAR='a b' pytest", 'sudo -u app pytest', 'nice -n 5 make test', 'nohup pytest &', "bash -c 'pytest -q'", 'bash -lc "cd app && npm test"',
    'sh -c "timeout 9 python -m pytest"', 'docker exec -it web pytest', 'docker exec -u root -e A=1 web python manage.py test', 'docker compose exec web pytest', 'docker compose -f dev.yml run --rm web npm test', 'docker-compose exec -T web pytest',
    'docker run --rm -v "$PWD:/w" -w /w image pytest', 'kubectl exec -n dev pod -- pytest', 'xvfb-run -a npm test', 'build && npm test', 'npm ci && npm run build && npm test', '(cd x && pytest)', 'pytest 2>&1 | tail -5', 'pytest > out.txt; cat out.txt', '! pytest',
    'for f in a b; do pytest $f; done', 'if pytest; then echo ok; fi', 'source .venv/bin/activate && pytest', '. venv/bin/activate; python -m pytest', '/usr/local/bin/pytest', 'C:\\\\Python\\\\pytest.exe', '"/opt/my tools/pytest" -x', 'cd "a b" && pytest', 'set -e\npytest\n',
    'cross-env NODE_ENV=test jest', 'mise exec -- pytest', 'nix develop -c pytest', 'cat x | xargs pytest', 'php bin/console test', 'django-admin test')
NO_TESTS = (
    '', ' ', 'ls', 'npm run build', "git commit -m 'test'", 'git commit -m "npm test passes"', 'ls attest', 'cat jest.config.js', 'grep -rn "go test" src/', 'echo pytest', 'pip install pytest', 'which pytest', 'pytest --version', 'pytest --collect-only', 'jest --help',
    'npm install --save-dev jest', 'npm install test', 'vim test_app.py', 'cat test_app.py', 'rm -rf tests', 'test -f README.md', '[ -d tests ] && ls tests', 'cd tests', 'mkdir -p test/unit', 'docker ps', 'docker compose up -d', 'docker build -t test .', 'uv pip install pytest',
    'poetry add pytest', 'make', 'make build', 'make latest', 'go build ./...', 'cargo build', 'cargo test --no-run', 'git checkout test', 'git log --grep test', 'curl http://localhost/test', 'python app.py', 'python -m http.server', 'python -c "import pytest"', 'node server.js',
    "bash -c 'echo pytest'", 'kubectl get pods', 'terraform plan', 'psql -d test', 'createdb test', 'export TEST=1', 'touch tests/__init__.py', 'cat <<EOF\npytest\nEOF', "sed -i 's/pytest/nose/' setup.cfg", 'npx create-react-app test', 'gh pr view', 'aws s3 ls test', 'contest', 'latest --run')
# command -> (head, target)
READ = {
    'git commit -m "msg" --amend': ('git commit', 'git commit msg'), 'git push origin main': ('git push', 'git push origin main'), '/usr/bin/git log': ('git log', 'git log'), 'git -C /repo status': ('git status', 'git status'),
    "FOO=1 BAR='a b' npm run build": ('npm run build', 'npm run build'), 'cd /tmp && bun test': ('bun test', 'bun test'), 'cd /tmp': ('cd', 'cd /tmp'), '': ('', ''), 'sudo git pull': ('git pull', 'git pull'), 'time make all': ('make all', 'make all'),
    'python3 -m pytest tests/a.py -q': ('pytest', 'pytest tests/a.py'), 'pytest -x tests/a.py': ('pytest', 'pytest tests/a.py'), 'uv run ruff check src': ('ruff', 'ruff check src'), "grep -rn 'foo' src | head": ('grep', 'grep foo src'),
    'python3 build.py --fast': ('python3', 'python3 build.py'), 'python3 build.py --part 3 all': ('python3', 'python3 build.py'), 'head -n 5 a.txt': ('head', 'head a.txt'), "python3 -c 'import os; print(1)'": ('python3', 'python3'), 'python3 - <<EOF\nprint(1)\nEOF': ('python3', 'python3 -'), 'docker compose up -d web': ('docker compose up', 'docker compose up web'),
    'docker exec -it db psql -c "select 1"': ('psql', 'psql'), 'kubectl get pods -n dev': ('kubectl get', 'kubectl get pods'), 'gh pr view 12 --json title': ('gh pr view', 'gh pr view title'), 'npm ci && npm test': ('npm test', 'npm test'), 'echo hi': ('echo', 'echo hi'),
    'export A=1; ls -la /x': ('ls', 'ls /x'), 'for f in *.py; do wc -l $f; done': ('wc', 'wc $f'), 'cargo build --release 2>&1 | tail -20': ('cargo build', 'cargo build'), 'curl -s https://x.test/a': ('curl', 'curl https://x.test/a'),
    'echo "unfinished': ('echo', 'echo unfinished'), "ls 'x": ('ls', 'ls x'), 'a\\ b c': ('a b', 'a b c'), '&& ls': ('ls', 'ls'), '((': ('', ''), 'sudo': ('sudo', 'sudo'), 'env A=1': ('env', 'env A=1'), 'uv': ('uv', 'uv'), 'docker compose exec': ('docker compose exec', 'docker compose exec')}


@pytest.mark.parametrize('text', TESTS)
def test_test_runs_are_known(text):
    assert shell.read(text).test is True


@pytest.mark.parametrize('text', NO_TESTS)
def test_what_only_names_a_test_is_none(text):
    assert shell.read(text).test is False


@pytest.mark.parametrize('text', sorted(READ))
def test_heads_and_targets(text):
    assert shell.read(text)[:2] == READ[text]


@pytest.mark.parametrize('given, command', [
    ({'command': 'ls'}, 'ls'), ({'cmd': 'ls'}, 'ls'), ({'command': ['bash', '-lc', 'ls -l']}, 'ls -l'), ({'command': ['ls', '-l']}, 'ls -l'), ({'command': 'view', 'path': '/x'}, ''), ({'command': 'ls -l', 'path': '/x'}, 'ls -l'),
    ({'command': 5}, ''), ({'command': None, 'cmd': 'x'}, 'x'), ({'command': [1, 'a']}, 'a'), ({}, ''), (None, ''), ('ls', ''), (['ls'], '')])
def test_the_command_of_an_input(given, command):
    assert shell.command_of(given) == command


@pytest.mark.parametrize('text', ['\x00', '"' * 5000, "'" * 5001, '(' * 100000, 'a ' * 100000, '\\' * 3001, "bash -c '" * 500, 'sudo ' * 3000, 'env A=1 ' * 3000, 'docker exec ' * 999, 'x' * 10 ** 6, '\ud800 ls', 'if ' * 999, '<<<<<<', '2>&1', '$(' * 500,
                                  'npm run ' + 'a:' * 1000, 'make ' + 'a- ' * 1000, 'gradle ' + ':a' * 1000])
def test_any_text_is_read_quickly(text):
    found = shell.read(text)
    assert len(found.head) <= 60 and len(found.target) <= 200 and found.test in (True, False)


def test_every_known_runner_is_a_test_run_by_itself():
    assert [name for name in sorted(shell_programs.TEST_PROGRAMS) if not shell.read(name + ' x').test] == []
    assert ['%s %s' % (name, word) for name in sorted(shell_programs.TEST_WORDS) for word in shell_programs.TEST_WORDS[name] if not shell.read('%s %s' % (name, word)).test] == []


def test_a_changed_rule_needs_a_new_version():
    """Verdicts are stored: raise the version (analysis_versions) together with any change of the rules, then write both here."""
    names = [name for name in sorted(vars(shell_programs)) if name.isupper()]
    def plain(value):
        if isinstance(value, dict):
            return sorted((key, plain(one)) for key, one in value.items())
        if isinstance(value, frozenset):
            return sorted(value)
        return value
    text = repr([(name, plain(getattr(shell_programs, name))) for name in names] + [shell._TOKEN])
    assert (shell.VERSION, hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]) == (1, '55f04beda2c3588a')
