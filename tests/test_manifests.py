"""The plugin's manifests agree with each other and with the library; the icon is what its script draws."""
import json
import os
import re
import struct
import sys
import zlib

import pytest

from helpers import ROOT, TESTS, names_in, read

sys.path.insert(0, os.path.join(TESTS, 'tools'))

import draw_icon

MANIFESTS = ('plugin.json', '.claude-plugin/plugin.json')
# Those a strict validation knows and this plugin has a use for.
FIELDS = {'$schema', 'name', 'version', 'description', 'author', 'license', 'keywords', 'homepage', 'repository',
          'skills', 'hooks'}
TOP_LEVEL = {'plugin.json', 'skills', 'scripts', 'echolib', 'references', 'tests', 'README.md'}


def manifest(path='.claude-plugin/plugin.json'):
    return json.loads(read(path))


def test_both_manifests_are_the_same_real_file():
    contents = []
    for path in MANIFESTS:
        full = os.path.join(ROOT, path)
        # Claude Code's validator does not read a linked manifest.
        assert os.path.isfile(full) and not os.path.islink(full)
        with open(full, 'rb') as data:
            contents.append(data.read())
    assert contents[0] == contents[1]


def test_manifest_says_what_it_must():
    found = manifest()
    assert set(found) - FIELDS == set()
    assert found['name'] == 'session-digger'
    assert re.match(r'^\d+\.\d+\.\d+$', found['version'])
    assert found['license'] == 'MIT'
    assert found['description'] and found['author']['name'] and found['keywords']


def test_files_the_manifest_names_exist():
    found = manifest()
    text = json.dumps(found)
    paths = re.findall(r'\$\{CLAUDE_PLUGIN_ROOT\}/([\w./-]+)', text) + list(found.get('skills', ()))
    assert [path for path in paths if not os.path.exists(os.path.join(ROOT, path))] == []


def test_repository_is_its_own_marketplace():
    market = json.loads(read('.claude-plugin/marketplace.json'))
    assert market['name'] and market['description'] and market['owner']['name']
    assert [(plugin['name'], plugin['source']) for plugin in market['plugins']] == [(manifest()['name'], './')]
    assert market['plugins'][0]['description']


def test_one_version_everywhere():
    version = manifest()['version']
    market = json.loads(read('.claude-plugin/marketplace.json'))
    said = {'marketplace entry': market['plugins'][0].get('version', version),
            'marketplace': market.get('metadata', {}).get('version', version)}
    for name in names_in('skills'):
        path = 'skills/%s/SKILL.md' % name
        if os.path.isfile(os.path.join(ROOT, path)):
            said.update((path, found) for found in re.findall(r'(?m)^\s*version:\s*["\']?([\d.]+)', read(path)))
    assert {where: found for where, found in said.items() if found != version} == {}


def test_library_has_the_version_of_the_manifest():
    if not os.path.isfile(os.path.join(ROOT, 'echolib', '__init__.py')):
        pytest.skip('echolib/__init__.py is not there yet')
    import echolib
    assert echolib.__version__ == manifest()['version']


def test_nothing_else_lies_at_the_top():
    seen = {name for name in os.listdir(ROOT) if not name.startswith('.') and name != '__pycache__'}
    assert seen - TOP_LEVEL == set()


def pixels(png):
    """Return (width, height, RGBA bytes) of a PNG file written by draw_icon."""
    assert png[:8] == b'\x89PNG\r\n\x1a\n'
    at, chunks = 8, {}
    while at < len(png):
        size, kind = struct.unpack('>I4s', png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        assert struct.unpack('>I', png[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body) & 0xffffffff
        chunks[kind] = chunks.get(kind, b'') + body
        at += 12 + size
    width, height, depth, colours = struct.unpack('>IIBB', chunks[b'IHDR'][:10])
    assert (depth, colours) == (8, 6)
    raw, step = zlib.decompress(chunks[b'IDAT']), 4 * width + 1
    rows = [raw[at:at + step] for at in range(0, len(raw), step)]
    assert len(rows) == height and all(row[0] == 0 for row in rows)
    return width, height, b''.join(row[1:] for row in rows)


def icon():
    with open(os.path.join(ROOT, '.claude-plugin', 'icon.png'), 'rb') as data:
        return data.read()


def test_icon_fits_the_directory():
    width, height, _ = pixels(icon())
    assert width == height and 512 <= width <= 2048
    assert len(icon()) < 2 * 1024 * 1024


@pytest.mark.slow
def test_icon_is_what_the_script_draws():
    width, height, kept = pixels(icon())
    drawn = pixels(draw_icon.draw().png())
    assert drawn[:2] == (width, height)
    if drawn[2] != kept:
        # Another C library's sine may round one shade differently.
        assert max(abs(one - other) for one, other in zip(kept, drawn[2])) <= 2
