#!/usr/bin/env python3
"""The evaluation set: conversations about coding work, questions as people ask them, and which messages answer them.

    python3 tests/evaluation/known_answers.py FOLDER

writes FOLDER/home, queries.jsonl and qrels.tsv, the layout of other sets with known answers. Each conversation of
conversations.txt starts with `== name directory time`; `>` is a prompt and `<` a reply. MESSAGES in questions.tsv are
places in the conversation from 1 on; the first answers best.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def conversations():
    """-> list of (name, directory, time, [(role, text)]) in the order of the file."""
    out = []
    with open(os.path.join(HERE, 'conversations.txt'), encoding='utf-8') as lines:
        for line in lines:
            line = line.rstrip('\n')
            if line.startswith('== '):
                name, directory, time = line[3:].split(' ')
                out.append((name, directory, time, []))
            elif line:
                out[-1][3].append(({'>': 'user', '<': 'assistant'}[line[0]], line[2:]))
    return out


def questions():
    """-> list of (kind, text, name of the conversation, [places])."""
    with open(os.path.join(HERE, 'questions.tsv'), encoding='utf-8') as lines:
        rows = [line.rstrip('\n').split('\t') for line in lines][1:]
    return [(kind, text, name, [int(place) for place in places.split(',')]) for kind, text, name, places in rows]


def session_id(number):
    """-> the session id of the conversation of that number, from 0 on."""
    return '%08x-0000-4000-8000-%012x' % ((number * 2654435761 + 97) & 0xffffffff, number)


def uuid(number, place):
    """-> the id of a message (place from 1 on)."""
    return '%08x-%04x-4000-8000-000000000000' % (number + 1, place)


def records(number, conversation):
    """-> the records of one conversation as Claude Code writes them."""
    name, directory, time, messages = conversation
    out = []
    for place, (role, text) in enumerate(messages, 1):
        minutes = int(time[11:13]) * 60 + int(time[14:16]) + 2 * place
        message = {'role': role, 'content': text}
        if role == 'assistant':
            message = {'model': 'claude-sonnet-4-5-20250929', 'id': 'msg_%d_%d' % (number, place), 'type': 'message', 'role': role,
                       'content': [{'type': 'text', 'text': text}], 'stop_reason': 'end_turn', 'stop_sequence': None,
                       'usage': {'input_tokens': 10, 'cache_creation_input_tokens': 0, 'cache_read_input_tokens': 0, 'output_tokens': 20}}
        out.append({'parentUuid': uuid(number, place - 1) if place > 1 else None, 'isSidechain': False, 'userType': 'external', 'cwd': directory,
                    'sessionId': session_id(number), 'version': '2.1.112', 'gitBranch': 'main', 'type': role, 'message': message,
                    'uuid': uuid(number, place), 'timestamp': '%sT%02d:%02d:00.000Z' % (time[:10], minutes // 60 % 24, minutes % 60)})
    return out


def write(folder):
    """Write the set; -> {name of a conversation: number}."""
    numbers = {}
    for number, conversation in enumerate(conversations()):
        numbers[conversation[0]] = number
        place = os.path.join(folder, 'home', '.claude', 'projects', conversation[1].replace('/', '-'))
        if not os.path.isdir(place):
            os.makedirs(place)
        with open(os.path.join(place, session_id(number) + '.jsonl'), 'w', encoding='utf-8') as out:
            for record in records(number, conversation):
                out.write(json.dumps(record, ensure_ascii=False) + '\n')
    with open(os.path.join(folder, 'queries.jsonl'), 'w', encoding='utf-8') as queries, \
            open(os.path.join(folder, 'qrels.tsv'), 'w', encoding='utf-8') as answers:
        for place, (kind, text, name, messages) in enumerate(questions(), 1):
            queries.write(json.dumps({'qid': 'q%02d' % place, 'text': text, 'project': '', 'kind': kind}, ensure_ascii=False) + '\n')
            for message in messages:
                answers.write('q%02d\t%s\t%s\n' % (place, session_id(numbers[name]), uuid(numbers[name], message)))
    return numbers


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])
