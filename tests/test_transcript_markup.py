"""Text of people and models on its way to a page: it stays in its place, and secrets are known by their names."""
import json

import pytest

from echolib import transcript_markup as markup
from echolib.transcript_entries import masked

TAME = {
    'heading': ('# A #\n####### b', '#### A\n####### b'),
    'deep heading': ('##### A', '###### A'),
    'tag': ('a <b>x</b> 1 < 2 <!-- y', 'a &lt;b>x&lt;/b> 1 < 2 &lt;!-- y'),
    'tag in code': ('`<b>` and ``a`<b>`` <i>', '`<b>` and ``a`<b>`` &lt;i>'),
    'links that are no pages': ('[a](javascript:x) [b](https://b.c) `[c](d)` [e]( <data:f>)', '[a]\\(javascript:x) [b](https://b.c) `[c](d)` [e]\\( &lt;data:f>)'),
    'links defined elsewhere': ('> [a]: javascript:x\n[b]: https://b.c\na[1]: int', '> \\[a]: javascript:x\n[b]: https://b.c\na[1]: int'),
    'picture': ('![x](https://a/b.png) `![`', '\\![x](https://a/b.png) `![`'),
    'open fence': ('a\n```py\nb', 'a\n```py\nb\n```'),
    'fence in fence': ('````\n```\n<b>\n````\nc', '````\n```\n<b>\n````\nc'),
    'tilde fence': ('~~~ a`b\n```\n~~~', '````ab\n```\n````'),
    'fence in a list': ('- ```sh\n  ls\n  ```\n<b>', '```sh\nls\n```\n&lt;b>'),
    'fence that ends with words': ('```\na\n``` b\n```', '````\na\n``` b\n````'),
}


@pytest.mark.parametrize('name', sorted(TAME))
def test_tame(name):
    given, expected = TAME[name]
    assert markup.tame(given) == expected


def test_work_grows_with_the_text():
    # Inputs on which a careless pattern takes the square of their length.
    for part in ('`', '` `` ', '**', '[', '**a ', '[a](https://', 'http://', '~~~', '|', '- ', '# ', '<a', '\n```', '![', '*a*'):
        for size in (1000, 100000):
            assert markup.to_html(part * size) is not None and markup.tame(part * size) is not None


def test_names_say_secret():
    assert masked({'password': 'hunter2pass9', 'n': 1.5, 'x': [float('nan')]}, lambda t: t.replace(
        '{"password": "hunter2pass9"}', '{"password": "***"}')) == {'password': '***', 'n': 1.5, 'x': [None]}
    deep = []
    for _ in range(3000):
        deep = [deep]
    assert json.dumps(masked(deep, str)) == '[' * 12 + 'null' + ']' * 12
