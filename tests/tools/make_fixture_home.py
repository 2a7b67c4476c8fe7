#!/usr/bin/env python3
"""Writes the invented home of Claude Code that tests and documentation run in: tests/fixtures/claude/home.

    python3 tests/tools/make_fixture_home.py [FOLDER]

Two projects, six sessions; tests/fixtures/README.md says what each file is for. Nothing in it is anybody's.
"""
import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

import make     # noqa: E402

HOME = os.path.join(TESTS, 'fixtures', 'claude', 'home')
SHOP, LEDGER = '/home/dev/shop', '/home/dev/\u8bb0\u8d26'
SHOP_KEY, LEDGER_KEY = '.claude/projects/-home-dev-shop/', '.claude/projects/-home-dev---/'
LOGIN = 'a1b7c2d4-0001-4a01-8a01-000000000001'
FORK = 'b2c8d3e5-0002-4a02-8a02-000000000002'
IMPORT = 'c3d9e4f6-0003-4a03-8a03-000000000003'
REVIEW = 'd4eaf5a7-0004-4a04-8a04-000000000004'
RETRIES = 'e5fba6b8-0005-4a05-8a05-000000000005'
TORN = 'f6acb7c9-0006-4a06-8a06-000000000006'
GONE = '07bdc8da-0007-4a07-8a07-000000000007'
DAY = 86400
SONNET, OPUS, HAIKU = 'claude-sonnet-4-5-20250929', 'claude-opus-4-5-20251101', 'claude-haiku-4-5-20251001'


def refused():
    """Return the text of a tool use that the person refused."""
    return ("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
            'the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.')


def login():
    """Return the rows of the session that others fork: a failing test, a database that is not there, a decision, a title."""
    s = make.Session(LOGIN, SHOP, '2.1.112', 'main', mark='a')
    rows = [
        s.meta('permission-mode', permissionMode='default'),
        s.user('Fix the login token refresh: users are logged out after an hour.', promptId='p1', permissionMode='default'),
        s.assistant(thinking='', id='msg_login1', usage=make.usage(300, 10, 0, 4000, hour=0), model=SONNET, stop='tool_use'),
        s.assistant('I will look at the session code first.', id='msg_login1', usage=make.usage(300, 10, 0, 4000, hour=0), model=SONNET,
                    stop='tool_use'),
        s.assistant(tool='Read', input={'file_path': SHOP + '/src/auth/session.py'}, id='msg_login1',
                    usage=make.usage(300, 10, 0, 4000, hour=0), model=SONNET),
        s.result(content='     1\tTOKEN_LIFETIME = 3600\n     2\tdef expiry(now):\n     3\t    return now + TOKEN_LIFETIME',
                 extra={'type': 'text', 'file': {'filePath': SHOP + '/src/auth/session.py', 'numLines': 3, 'startLine': 1, 'totalLines': 3}}),
        s.assistant(tool='Bash', input={'command': 'pytest -q tests/test_login.py', 'description': 'Run the login tests'}, id='msg_login2',
                    usage=make.usage(80, 5, 4000, 600, hour=0), model=SONNET),
        s.result(content='Exit code 1\nE   psycopg2.OperationalError: connect ECONNREFUSED 127.0.0.1:5432', error=True,
                 extra='Error: Exit code 1\nE   psycopg2.OperationalError: connect ECONNREFUSED 127.0.0.1:5432', later=4),
        s.assistant('The database is not running.', id='msg_login3', usage=make.usage(60, 5, 4600, 300, hour=0), model=SONNET, stop='tool_use'),
        s.assistant(tool='Bash', input={'command': 'docker compose up -d db && pytest -q tests/test_login.py'}, id='msg_login3',
                    usage=make.usage(60, 5, 4600, 300, hour=0), model=SONNET),
        s.result(content='2 passed in 0.41s', extra={'stdout': '2 passed in 0.41s', 'stderr': '', 'interrupted': False}, later=9),
        s.assistant(tool='AskUserQuestion', input={'questions': [{
            'question': 'Where should the refresh token live?', 'header': 'Token', 'multiSelect': False, 'options': [
                {'label': 'Cookie', 'description': 'httpOnly cookie'}, {'label': 'Storage', 'description': 'local storage'}]}]},
            id='msg_login4', usage=make.usage(120, 5, 4900, 200, hour=0), model=SONNET),
        s.result(content='User has answered your questions: "Where should the refresh token live?"="Cookie".',
                 extra={'answers': {'Where should the refresh token live?': 'Cookie'}, 'questions': []}, later=30),
        s.attachment('queued_command', prompt='also add a test for the session expiry', commandMode='prompt', origin={'kind': 'human'}),
        s.assistant(tool='Edit', input={'file_path': SHOP + '/src/auth/session.py', 'old_string': 'TOKEN_LIFETIME = 3600',
                                        'new_string': 'TOKEN_LIFETIME = 30 * 86400'}, id='msg_login5',
                    usage=make.usage(90, 5, 5100, 250, hour=0), model=SONNET),
        s.result(content='The file /home/dev/shop/src/auth/session.py has been updated.',
                 extra={'filePath': SHOP + '/src/auth/session.py', 'oldString': 'TOKEN_LIFETIME = 3600',
                        'newString': 'TOKEN_LIFETIME = 30 * 86400', 'originalFile': None, 'userModified': False,
                        'structuredPatch': [{'oldStart': 1, 'oldLines': 1, 'newStart': 1, 'newLines': 1,
                                             'lines': ['-TOKEN_LIFETIME = 3600', '+TOKEN_LIFETIME = 30 * 86400']}]}),
        s.assistant('The refresh token now lives in an httpOnly cookie for 30 days, and the auth session expiry has a test.',
                    id='msg_login6', usage=make.usage(70, 5, 5350, 100, hour=0), model=SONNET),
        s.system('turn_duration', durationMs=61000),
    ]
    copied = [row for row in rows if 'uuid' in row]
    rows += [
        s.meta('ai-title', aiTitle='Fix login token refresh'),
        s.meta('custom-title', customTitle='Login tokens'),
        s.meta('agent-name', agentName='Login tokens'),
        s.meta('last-prompt', lastPrompt='also add a test for the session expiry', leafUuid=copied[-1]['uuid']),
        s.meta('file-history-snapshot', messageId=copied[0]['uuid'], isSnapshotUpdate=False,
               snapshot={'messageId': copied[0]['uuid'], 'trackedFileBackups': {}, 'timestamp': make.stamp(1)}),
        s.user('thanks, and what was the old lifetime?', promptId='p2', later=600),
        s.assistant('It was 3600 seconds.', id='msg_login7', usage=make.usage(20, 5, 5450, 50, hour=0), model=SONNET),
        # Metadata is written again and again.
        s.meta('ai-title', aiTitle='Fix login token refresh'),
        s.meta('custom-title', customTitle='Login tokens'),
    ]
    return rows, copied


def fork(copied):
    """Return the rows of a fork: what it copied (same ids and times, its own session id), and one prompt of its own."""
    rows = [dict(row, sessionId=FORK) for row in copied]
    s = make.Session(FORK, SHOP, '2.1.112', 'token-storage', mark='b', start=DAY)
    s.parent = copied[-1]['uuid']
    return rows + [
        s.user('Try the same with local storage instead of a cookie.', promptId='p3'),
        s.assistant(tool='Write', input={'file_path': SHOP + '/src/auth/storage.py', 'content': 'KEY = "refresh-token"\n'}, id='msg_fork1',
                    usage=make.usage(110, 8, 5500, 400, hour=0), model=OPUS),
        s.result(content='File created successfully at: /home/dev/shop/src/auth/storage.py',
                 extra={'type': 'create', 'filePath': SHOP + '/src/auth/storage.py', 'content': 'KEY = "refresh-token"\n', 'structuredPatch': []}),
        s.assistant('Local storage works, but scripts can read the token there.', id='msg_fork2',
                    usage=make.usage(55, 8, 5900, 120, hour=0), model=OPUS),
        s.meta('last-prompt', lastPrompt='Fix the login token refresh: users are logged out after an hour.'),
    ]


def importing():
    """Return the files of a session with subagents below it, a spilled output, a refusal, an interruption, a compaction."""
    start = 2 * DAY
    s = make.Session(IMPORT, SHOP, '2.1.332', 'main', mark='c', start=start)
    spill = '/home/dev/.claude/projects/-home-dev-shop/%s/tool-results/b4k2x9q.txt' % IMPORT
    whole = ''.join('row %04d  order imported\n' % n for n in range(1, 161)) + 'row 0161  needle: duplicate key okapi\n'
    rows = [
        s.meta('queue-operation', operation='enqueue', timestamp=make.stamp(start), content='Import the old orders'),
        s.meta('queue-operation', operation='dequeue', timestamp=make.stamp(start)),
        s.user('Import the old orders from dump.csv', promptId='p4', promptSource='typed', origin={'kind': 'human'}),
        s.assistant(tool='Agent', input={'description': 'Look at the dump', 'prompt': 'Describe the columns of dump.csv.',
                                         'subagent_type': 'Explore'}, call='toolu_c1', id='msg_imp1',
                    usage=make.usage(150, 20, 0, 9000, hour=9000), model=OPUS, effort='high'),
        s.result('toolu_c1', [{'type': 'text', 'text': 'Four columns: id, date, total, status.'}], later=40, extra={
            'status': 'completed', 'agentId': 'a9f8e7d6c5b4a3021', 'agentType': 'Explore', 'totalTokens': 2600, 'totalToolUseCount': 1,
            'prompt': 'Describe the columns of dump.csv.', 'content': [{'type': 'text', 'text': 'Four columns: id, date, total, status.'}],
            'usage': make.usage(40, 6, 2300, 100)}),
        s.assistant(tool='Bash', input={'command': 'python3 import.py dump.csv'}, id='msg_imp2',
                    usage=make.usage(60, 10, 9000, 500, hour=0), model=OPUS),
        s.result(content='<persisted-output>\nOutput too large (4.1KB). Full output saved to: %s\n\nPreview (first 2KB):\n%s...\n</persisted-output>'
                 % (spill, whole[:200]),
                 extra={'stdout': whole[:400], 'stderr': '', 'interrupted': False, 'persistedOutputPath': spill,
                        'persistedOutputSize': len(whole)}, later=20),
        s.assistant(tool='Bash', input={'command': 'rm -rf /home/dev/shop/data'}, id='msg_imp3',
                    usage=make.usage(45, 10, 9500, 300, hour=0), model=OPUS),
        s.result(content=refused(), error=True, extra='User rejected tool use', toolDenialKind='user-rejected', later=5),
        s.user([{'type': 'text', 'text': '[Request interrupted by user for tool use]'}], later=0),
        s.user('No, keep the data. Skip the duplicates instead.', promptId='p5', promptSource='typed', origin={'kind': 'human'}, later=60),
        s.assistant('I will skip rows whose id is already there.', id='msg_imp4', usage=make.usage(35, 10, 9800, 200, hour=0), model=OPUS),
        s.compaction('auto', 155000),
        s.user('This session is being continued from a previous conversation that ran out of context. The conversation is '
               'summarized below:\nThe user imports old orders from dump.csv; duplicates are skipped, the data folder stays.',
               isCompactSummary=True, isVisibleInTranscriptOnly=True),
        s.attachment('plan_file_reference', planFilePath='/home/dev/.claude/plans/calm-green-otter.md',
                     planContent='# Import plan\n1. Read dump.csv\n2. Skip duplicates'),
        s.attachment('skill_listing', content='- changelog: writes the changelog', skillCount=1, isInitial=False),
        s.assistant(tool='Bash', input={'command': 'python3 import.py dump.csv --skip-duplicates'}, id='msg_imp5',
                    usage=make.usage(40, 3000, 0, 2500, hour=0), model=OPUS),
        s.result(content='160 orders imported, 1 skipped', extra={'stdout': '160 orders imported, 1 skipped', 'stderr': ''}),
        s.assistant('160 orders are imported; one duplicate was skipped.', id='msg_imp6', usage=make.usage(30, 10, 5500, 100, hour=0),
                    model=OPUS),
        s.meta('ai-title', aiTitle='Import old orders'),
        s.meta('cost-state', totalCostUSD=0.1234, modelUsage={}),
    ]
    agent = make.Session(IMPORT, SHOP, '2.1.332', 'main', agent='a9f8e7d6c5b4a3021', mark='d', start=start + 3)
    agent_rows = [
        agent.user('Describe the columns of dump.csv.'),
        agent.assistant(tool='Bash', input={'command': 'head -1 dump.csv'}, id='msg_sub1', usage=make.usage(30, 6, 0, 2200, hour=0), model=HAIKU),
        agent.result(content='id,date,total,status'),
        agent.assistant('Four columns: id, date, total, status.', id='msg_sub2', usage=make.usage(40, 6, 2200, 100, hour=0), model=HAIKU),
    ]
    nested = make.Session(IMPORT, SHOP, '2.1.332', 'main', agent='a0c1d2e3f4a5b6071', mark='e', start=start + 90)
    nested_rows = [
        nested.user('Check the imported totals.'),
        nested.assistant(tool='Read', input={'file_path': SHOP + '/missing.csv'}, id='msg_sub3',
                         usage=make.usage(25, 4, 0, 1800, hour=0), model=HAIKU),
        nested.result(content='<tool_use_error>File does not exist.</tool_use_error>', error=True),
        nested.assistant('There is no such file.', id='msg_sub4', usage=make.usage(15, 4, 1800, 60, hour=0), model=HAIKU),
    ]
    below = SHOP_KEY + IMPORT + '/'
    return {
        SHOP_KEY + IMPORT + '.jsonl': rows,
        below + 'subagents/agent-a9f8e7d6c5b4a3021.jsonl': agent_rows,
        below + 'subagents/agent-a9f8e7d6c5b4a3021.meta.json': [json.dumps(
            {'agentType': 'Explore', 'description': 'Look at the dump', 'toolUseId': 'toolu_c1', 'spawnDepth': 1}).encode()],
        below + 'subagents/workflows/wf_check1/agent-a0c1d2e3f4a5b6071.jsonl': nested_rows,
        below + 'tool-results/b4k2x9q.txt': [whole.encode()],
    }


def review(leaf):
    """Return the files of a session of 2.0.77: subagents beside it, warm-up among them, a summary of another session."""
    start = 9 * DAY
    s = make.Session(REVIEW, SHOP, '2.0.77', 'main', mark='f', start=start, generation=make.OLD)
    rows = [
        s.meta('summary', summary='Login token refresh fixed', leafUuid=leaf),
        s.user('Review the retry limit in the payment client.'),
        s.assistant(tool='Task', input={'description': 'Find the limit', 'prompt': 'Find where the retry limit is set.',
                                        'subagent_type': 'general-purpose'}, id='msg_rev1', usage=make.usage(130, 12, 0, 7000), model=SONNET),
        s.result(content=[{'type': 'text', 'text': 'MAX_ATTEMPTS = 5 in src/payment/client.py'}], later=15),
        s.assistant('The retry limit is five attempts; after that the maximum attempts error is raised.', id='msg_rev2',
                    usage=make.usage(70, 12, 7000, 300), model=SONNET),
    ]
    agent = make.Session(REVIEW, SHOP, '2.0.77', 'main', agent='b7c8d9e', mark='1', start=start + 3, generation=make.OLD)
    agent_rows = [
        agent.user('Find where the retry limit is set.'),
        agent.assistant(tool='Grep', input={'pattern': 'MAX_ATTEMPTS', 'path': 'src'}, id='msg_rev3', usage=make.usage(20, 6, 0, 1500), model=SONNET),
        agent.result(content='src/payment/client.py:7:MAX_ATTEMPTS = 5'),
        agent.assistant('MAX_ATTEMPTS = 5 in src/payment/client.py', id='msg_rev4', usage=make.usage(25, 6, 1500, 80), model=SONNET),
    ]
    warm = make.Session(REVIEW, SHOP, '2.0.77', 'main', agent='f00ba47', mark='2', start=start - 2, generation=make.OLD)
    warm_rows = [warm.user('Warmup'), warm.assistant('Ready to help.', id='msg_rev5', usage=make.usage(9, 3, 0, 900), model=HAIKU)]
    return {SHOP_KEY + REVIEW + '.jsonl': rows, SHOP_KEY + 'agent-b7c8d9e.jsonl': agent_rows, SHOP_KEY + 'agent-f00ba47.jsonl': warm_rows}


def retries():
    """Return a session in Chinese: a skill, a plan that was approved, a slash command, an API error."""
    s = make.Session(RETRIES, LEDGER, '2.1.112', 'main', mark='3', start=16 * DAY)
    plan = '# \u8ba1\u5212\n1. \u91cd\u8bd5\u6b21\u6570\u6539\u4e3a 5\n2. \u6307\u6570\u9000\u907f'
    rows = [
        s.user('\u628a\u652f\u4ed8\u63a5\u53e3\u7684\u91cd\u8bd5\u6b21\u6570\u6539\u6210 5\uff0c\u5e76\u4fee\u590d\u767b\u5f55\u4ee4\u724c\u8fc7\u671f\u7684\u95ee\u9898', permissionMode='plan'),
        s.assistant('\u6211\u5148\u770b\u4e00\u4e0b\u4ee3\u7801\u3002', tool='Skill', input={'skill': 'changelog'}, id='msg_zh1',
                    usage=make.usage(100, 9, 0, 6000, hour=2000), model=SONNET),
        s.result(content='Launching skill: changelog', extra={'success': True, 'commandName': 'changelog'}),
        s.user([{'type': 'text', 'text': 'Base directory for this skill: /home/dev/.claude/skills/changelog\n# Changelog'}], isMeta=True,
               sourceToolUseID='toolu_31'),
        s.assistant(tool='ExitPlanMode', input={'plan': plan}, id='msg_zh2', usage=make.usage(90, 9, 6000, 400, hour=0), model=SONNET),
        s.result(content='User has approved your plan. You can now start coding.', extra={'plan': plan, 'isAgent': False}, later=45),
        s.assistant(tool='Edit', input={'file_path': LEDGER + '/pay.py', 'old_string': '\u91cd\u8bd5 = 3', 'new_string': '\u91cd\u8bd5 = 5'},
                    id='msg_zh3', usage=make.usage(60, 9, 6400, 200, hour=0), model=SONNET),
        s.result(content='<tool_use_error>String to replace not found in file.</tool_use_error>', error=True,
                 extra='Error: String to replace not found in file.'),
        s.assistant(tool='Edit', input={'file_path': LEDGER + '/pay.py', 'old_string': 'RETRIES = 3', 'new_string': 'RETRIES = 5'},
                    id='msg_zh4', usage=make.usage(60, 9, 6600, 150, hour=0), model=SONNET),
        s.result(content='The file has been updated.', extra={'filePath': LEDGER + '/pay.py', 'oldString': 'RETRIES = 3',
                                                              'newString': 'RETRIES = 5', 'structuredPatch': []}),
        s.assistant('\u91cd\u8bd5\u6b21\u6570\u5df2\u7ecf\u662f 5 \u6b21\uff0c\u4ee4\u724c\u8fc7\u671f\u524d\u4f1a\u81ea\u52a8\u5237\u65b0\u3002', id='msg_zh5', usage=make.usage(80, 9, 6750, 90, hour=0), model=SONNET),
        s.user('<command-message>ship</command-message>\n<command-name>/ship</command-name>\n<command-args>\u8d2d\u7269\u8f66</command-args>', later=120),
        s.user([{'type': 'text', 'text': 'Commit and push \u8d2d\u7269\u8f66'}], isMeta=True, later=0),
        s.assistant('\u5df2\u63d0\u4ea4\u3002 \u2705', id='msg_zh6', usage=make.usage(15, 9, 6840, 60, hour=0), model=SONNET),
        s.user('<command-name>/cost</command-name>\n            <command-message>cost</command-message>\n            <command-args></command-args>'),
        s.user('<local-command-stdout>Total cost: $0.11</local-command-stdout>', later=0),
        s.user('\u518d\u89e3\u91ca\u4e00\u6b21\u6307\u6570\u9000\u907f', later=300),
        s.assistant('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
                    id='9a8b7c6d-1111-4222-8333-444455556666', model='<synthetic>', usage=make.usage(0, 0), stop='stop_sequence',
                    requestId=make.ABSENT, isApiErrorMessage=True, error='server_error'),
        s.meta('ai-title', aiTitle='\u91cd\u8bd5\u6b21\u6570\u4e0e\u767b\u5f55\u4ee4\u724c'),
    ]
    return {LEDGER_KEY + RETRIES + '.jsonl': rows}


def torn():
    """Return a session that was cut: a torn line in the middle, counts where the streams began, a last line half written."""
    s = make.Session(TORN, LEDGER, '2.1.14', 'main', mark='4', start=23 * DAY, generation=make.OLD)
    answer = '\u6708\u5ea6\u62a5\u8868\u6309\u7c7b\u522b\u6c47\u603b\uff1a\u9910\u996e\u3001\u4ea4\u901a\u3001\u623f\u79df\u3002'
    rows = [
        s.user('\u505a\u4e00\u4e2a\u6708\u5ea6\u62a5\u8868'),
        s.assistant(answer, id='msg_torn1', usage=make.usage(1, 7, 0, 3000), stop=None, model=SONNET),
        make.line(s.progress('bash_progress', output='...'))[:150] + b'\n',
        s.user('add a chart'),
        s.assistant('The chart shows each month.', id='msg_torn2', usage=make.usage(1, 7, 3000, 200), stop=None, model=SONNET),
        make.line(s.user('\u8fd8\u6709\u4e00\u4ef6\u4e8b'))[:-30],
    ]
    return {LEDGER_KEY + TORN + '.jsonl': rows}


def history():
    """Return the prompt history: also of a session whose transcript is gone."""
    said = ((LOGIN, SHOP, 1, 'Fix the login token refresh: users are logged out after an hour.'),
            (GONE, SHOP, 3600, 'Rename the warehouse module'), (GONE, SHOP, 3700, '/clear'),
            (RETRIES, LEDGER, 16 * DAY, '\u628a\u652f\u4ed8\u63a5\u53e3\u7684\u91cd\u8bd5\u6b21\u6570\u6539\u6210 5\uff0c\u5e76\u4fee\u590d\u767b\u5f55\u4ee4\u724c\u8fc7\u671f\u7684\u95ee\u9898'))
    return {'.claude/history.jsonl': [
        {'display': text, 'pastedContents': {}, 'timestamp': 1772359200000 + second * 1000, 'project': project, 'sessionId': session}
        for session, project, second, text in said]}


def files():
    """Return {path below the home: its bytes}."""
    rows, copied = login()
    found = {SHOP_KEY + LOGIN + '.jsonl': rows, SHOP_KEY + FORK + '.jsonl': fork(copied)}
    for part in (importing(), review(rows[-3]['uuid']), retries(), torn(), history()):
        found.update(part)
    return {path: b''.join(map(make.line, rows)) for path, rows in found.items()}


def main(target=HOME):
    """Write the home."""
    for path, data in sorted(files().items()):
        make.write(os.path.join(target, *path.split('/')), [data])


if __name__ == '__main__':
    main(*sys.argv[1:])
